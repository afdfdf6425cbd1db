"""Applies the assignments of a KIP-848 group to a consumer: commit, revoke, assign, tell the application.

Runs inside ``poll``, so that partitions change only there. Follows ``AbstractMembershipManager.maybeReconcile`` of
Kafka's Java client.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_tools.clients.auto_commit import AutoCommit
from kafka_tools.clients.groups.committed import OffsetAndMetadata
from kafka_tools.clients.groups.consumer_heartbeats import ConsumerHeartbeats, Reconciliation
from kafka_tools.clients.groups.heartbeats import JOIN_EPOCH
from kafka_tools.clients.groups.listeners import RebalanceListeners
from kafka_tools.clients.positions import Positions
from kafka_tools.clock import Clock
from kafka_tools.errors import KafkaToolsError
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.values import TopicPartition

Commit = Callable[[dict[TopicPartition, OffsetAndMetadata], Callable[[KafkaToolsError | None], None]], bool]
"""Starts a commit; whether it could be started. Its end is a call of the function given."""


class Reconciler:
    """One member's assignments. ``is_committing``: a revocation waits for a commit, so nothing may be returned."""

    def __init__(
        self,
        member: ConsumerHeartbeats,
        clock: Clock,
        metadata: ClusterMetadata,
        positions: Positions,
        auto_commit: AutoCommit,
        commit: Commit,
        is_retriable: Callable[[KafkaToolsError], bool],
    ) -> None:
        self.listeners = RebalanceListeners()
        self.is_committing = False
        self._member = member
        self._clock = clock
        self._metadata = metadata
        self._positions = positions
        self._auto_commit = auto_commit
        self._commit = commit
        self._is_retriable = is_retriable
        self._is_committed = False
        self._commit_until_s: float | None = None

    def advance(self) -> None:
        """Drop what is lost, and take the next step towards the target. Raises what ended the membership."""
        member = self._member
        if member.failure is not None:
            self._drop()
            raise member.failure
        if member.must_drop:
            self._drop()
            member.rejoin()
        self._learn_names()
        change = member.change(list(self._positions))
        if change is not None and self._is_ready_for(change):
            self._carry_out(change)

    def release(self) -> None:
        """The member leaves: revoke its partitions, or lose them if it is in no group."""
        if self._member.epoch > JOIN_EPOCH:
            try:
                self.listeners.revoked(list(self._positions))
            finally:
                self._positions.replace((), keep=False)
        else:
            self._drop()

    def _drop(self) -> None:
        lost = list(self._positions)
        self._end_commit()
        try:
            self.listeners.lost(lost)
        finally:
            self._positions.replace((), keep=False)

    def _learn_names(self) -> None:
        member = self._member
        if not member.unnamed:
            return
        member.learn({topic.topic_id: name for name, topic in self._metadata.topics.items()})
        if member.unnamed:
            self._metadata.look_up_ids(member.unnamed)
        if member.regex is not None:
            self._metadata.watch(member.assigned_names)

    def _is_ready_for(self, change: Reconciliation) -> bool:
        """Whether the positions of revoked partitions are committed, or need not be, or could not be in time."""
        if not change.revoked or not self._auto_commit.enabled or self._is_committed:
            return True
        if not self.is_committing:
            self._begin_commit()
        return self._is_committed

    def _begin_commit(self) -> None:
        offsets = self._auto_commit.consumed()
        if not offsets:
            self._is_committed = True
            return
        now_s = self._clock.monotonic_s()
        if self._commit_until_s is None:
            self._commit_until_s = now_s + self._member.settings.max_poll_interval_ms / 1000
        self.is_committing = True
        if not self._commit(offsets, self._on_commit):
            self.is_committing = False
            self._is_committed = now_s >= self._commit_until_s

    def _on_commit(self, error: KafkaToolsError | None) -> None:
        self.is_committing = False
        in_time = self._commit_until_s is not None and self._clock.monotonic_s() < self._commit_until_s
        # If it failed for good, the next owners return the records again: at-least-once delivery.
        self._is_committed = error is None or not self._is_retriable(error) or not in_time

    def _end_commit(self) -> None:
        self.is_committing = self._is_committed = False
        self._commit_until_s = None

    def _carry_out(self, change: Reconciliation) -> None:
        self.listeners.revoked(change.revoked)
        revoked = set(change.revoked)
        self._positions.replace([each for each in self._positions if each not in revoked], keep=True)
        self._positions.replace(change.assigned, keep=True)
        self._end_commit()
        self._auto_commit.restart()
        # The application may ask for its partitions' positions, or seek, inside the listener.
        self.listeners.assigned(change.added)
        self._member.apply(change)
