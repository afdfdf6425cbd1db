"""Automatic commits of positions, at an interval (``enable.auto.commit``).

Commits what was handed out before the poll that is going on, so records are handed out at least once. Follows
``ConsumerCoordinator.maybeAutoCommitOffsetsAsync`` of Kafka's Java client.
"""

from __future__ import annotations

from kafka_tools.clients.group import GroupClient, OffsetAndMetadata, is_retriable
from kafka_tools.clients.positions import Positions
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.clock import Clock
from kafka_tools.errors import KafkaToolsError
from kafka_tools.values import TopicPartition


class AutoCommit:
    """The time and the offsets of the next commit."""

    def __init__(
        self, settings: ConsumerSettings, clock: Clock, positions: Positions, group: GroupClient | None
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._positions = positions
        self._group = group
        self._due_at_s = 0.0
        self.restart()

    @property
    def enabled(self) -> bool:
        return self._settings.enable_auto_commit and self._group is not None

    def restart(self) -> None:
        """Count the interval from now."""
        self._due_at_s = self._clock.monotonic_s() + self._settings.auto_commit_interval_ms / 1000

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Every known position, as the offsets of a commit."""
        return {
            topic_partition: OffsetAndMetadata(offset, epoch)
            for topic_partition, (offset, epoch) in self._positions.consumed().items()
        }

    def due_in_s(self) -> float:
        """Seconds until ``advance`` may commit."""
        return max(0.0, self._due_at_s - self._clock.monotonic_s()) if self.enabled else float("inf")

    def advance(self) -> None:
        """Start a commit if one is due."""
        if not self.enabled or self._clock.monotonic_s() < self._due_at_s:
            return
        self.restart()
        offsets = self.consumed()
        if offsets and self._group is not None:
            self._group.commit(offsets, self._done)

    def _done(self, error: KafkaToolsError | None) -> None:
        # The next commit replaces a failed one. A removed member rejoins and starts from the committed offsets.
        if error is not None and is_retriable(error):
            soon_s = self._clock.monotonic_s() + self._settings.retry_backoff_ms / 1000
            self._due_at_s = min(self._due_at_s, soon_s)
