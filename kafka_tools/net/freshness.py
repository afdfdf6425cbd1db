"""When to refresh the metadata of a cluster (``net.metadata``): when it proved wrong or is too old, and never twice
within the backoff.

The rules are those of Kafka's ``AdminMetadataManager`` and ``Metadata``.
"""

from __future__ import annotations

from kafka_tools.clock import Clock

NEVER = float("-inf")


class Freshness:
    """``wanted``: the metadata is known to be missing, incomplete or wrong."""

    def __init__(self, clock: Clock, *, max_age_ms: int, backoff_ms: int) -> None:
        self._clock = clock
        self._max_age_s = max_age_ms / 1000
        self._backoff_s = backoff_ms / 1000
        self._attempted_s = NEVER
        self._updated_s = NEVER
        self.wanted = True

    def attempted(self) -> None:
        """A request for metadata is sent now; the backoff starts."""
        self._attempted_s = self._clock.monotonic_s()

    def updated(self) -> None:
        """The metadata was updated from a response."""
        self._updated_s = self._clock.monotonic_s()
        self.wanted = False

    @property
    def is_stale(self) -> bool:
        """Whether the metadata is wanted, or older than its maximum age."""
        return self.wanted or self._clock.monotonic_s() - self._updated_s >= self._max_age_s

    @property
    def is_due(self) -> bool:
        """Whether it is stale, and a request is allowed now."""
        return self.is_stale and self.pause_s() <= 0.0

    def due_in_s(self) -> float:
        """Seconds until ``is_due``."""
        if self.wanted:
            return self.pause_s()
        return max(self.pause_s(), self._updated_s + self._max_age_s - self._clock.monotonic_s())

    def pause_s(self) -> float:
        """Seconds until the next request is allowed; 0 for now. Retries must not overload the brokers."""
        return max(0.0, self._attempted_s + self._backoff_s - self._clock.monotonic_s())
