"""What a group member owes its coordinator while the application does not poll: heartbeats, and a leave in time.

The background thread of the consumer calls ``work``. It starts no rebalance and calls no listener; these belong to
``poll``. A member that is not polled for ``max.poll.interval.ms`` leaves, so that others get its partitions (KIP-62).
Follows ``AbstractCoordinator.HeartbeatThread`` of Kafka's Java client.
"""

from __future__ import annotations

from kafka_tools.clients.calls import Calls, Interruptible
from kafka_tools.clients.group import GroupClient
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.clients.threads.background import LOOK_AGAIN_S
from kafka_tools.clients.threads.lock import ClientLock
from kafka_tools.clock import Clock
from kafka_tools.errors import KafkaToolsError

_KEYS = ("coordinator", "membership", "leave")
"""The requests whose responses are processed here. The application's calls process the others."""
_LONGEST_TURN_S = 1.0


class KeepAlive:
    """See the module. Whoever calls it holds the lock."""

    def __init__(
        self, settings: ConsumerSettings, clock: Clock, calls: Calls, group: GroupClient, lock: ClientLock
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._calls = calls
        self._group = group
        self._lock = lock
        self._polled_s = clock.monotonic_s()
        self._failure: KafkaToolsError | None = None

    def polled(self) -> None:
        """The application polls now."""
        self._polled_s = self._clock.monotonic_s()

    def due_in_s(self) -> float:
        """Seconds until ``work`` has something to do; infinity for a consumer that is not a member."""
        membership = self._group.membership
        if membership is None:
            return float("inf")
        if self._is_waiting:
            return LOOK_AGAIN_S  # the application may be back in its poll by then
        now_s = self._clock.monotonic_s()
        leave_s = max(0.0, self._poll_by_s - now_s) if membership.is_member else float("inf")
        return min(self._group.beat_in_s(now_s), leave_s)

    def work(self) -> float:
        """Do what is due. Returns the seconds until there is more to do."""
        try:
            return self._work()
        except KafkaToolsError as error:
            self._failure = error
            return self._settings.retry_backoff_ms / 1000

    def raise_failure(self) -> None:
        """Raise the error that ``work`` met, once."""
        error, self._failure = self._failure, None
        if error is not None:
            raise error

    def _work(self) -> float:
        membership = self._group.membership
        if membership is None:
            return float("inf")
        if self._lock.application_waits:
            return max(LOOK_AGAIN_S, self.due_in_s())
        if membership.is_member and self._clock.monotonic_s() >= self._poll_by_s:
            self._group.leave_unpolled(self._settings.request_timeout_ms / 1000)
        self._group.beat()
        if self._is_waiting:
            deadline = Interruptible(self._clock, _LONGEST_TURN_S, lambda: self._lock.application_waits)
            self._calls.finish(_KEYS, deadline)
        return 0.0 if self._is_waiting else self.due_in_s()

    @property
    def _poll_by_s(self) -> float:
        return self._polled_s + self._settings.max_poll_interval_ms / 1000

    @property
    def _is_waiting(self) -> bool:
        return any(map(self._calls.is_under_way, _KEYS))
