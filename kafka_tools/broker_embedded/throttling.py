"""Client quotas at work: what clients used, and how long those that used too much are held back.

As Kafka's ``ClientQuotaManager`` and ``QuotaUtils`` (KIP-13, KIP-124, KIP-219): the answer goes out at once with
the delay in ``throttle_time_ms``, then the connection is not read from until the delay is over. Which limit holds for
whom is ``quotas``' knowledge; sockets are the listener's. Limits on connection creation and on controller mutations
(KIP-612, KIP-599) are kept but not measured.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.quotas import CLIENT_ID, USER, Entity
from kafka_tools.protocol.messages.fetch import FetchResponse

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.core import Core
    from kafka_tools.broker_embedded.dispatch import Call
    from kafka_tools.protocol.schema import Response

PRODUCE_KEY, FETCH_KEY = 0, 1

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"

_MOST_OWNERS = 10_000
"""Measures kept before idle ones are forgotten: client ids are whatever clients say they are."""


class Rate:
    """A value per second over sliding windows, many small ones rather than one large (``SampledStat``, ``Rate``)."""

    def __init__(self, windows: int, window_s: float) -> None:
        self._windows = windows
        self._window_s = window_s
        self._samples: deque[tuple[float, float]] = deque()
        """(start of the window on the monotonic clock, sum)"""

    def record(self, value: float, now_s: float) -> None:
        """Add ``value`` now; a negative one takes back."""
        if not self._samples or now_s - self._samples[-1][0] >= self._window_s:
            self._samples.append((now_s, 0.0))
            if len(self._samples) > self._windows:
                self._samples.popleft()
        start_s, total = self._samples[-1]
        self._samples[-1] = (start_s, total + value)

    def elapsed_s(self, now_s: float) -> float:
        """The time that the rate is taken over: all but one of the windows at least, so that a start is no burst."""
        self._forget(now_s)
        elapsed_s = now_s - self._samples[0][0] if self._samples else 0.0
        missing = max(0, self._windows - 1 - int(elapsed_s / self._window_s))
        return elapsed_s + missing * self._window_s

    def per_second(self, now_s: float) -> float:
        elapsed_s = self.elapsed_s(now_s)
        return sum(total for _, total in self._samples) / elapsed_s if elapsed_s else 0.0

    def is_idle(self, now_s: float) -> bool:
        """Whether nothing was recorded in any window."""
        self._forget(now_s)
        return not self._samples

    def _forget(self, now_s: float) -> None:
        while self._samples and now_s - self._samples[0][0] >= self._windows * self._window_s:
            self._samples.popleft()


class Throttling:
    """``finish`` sees every answer before it is written."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._rates: dict[tuple[str, str, str], Rate] = {}

    def finish(self, call: Call, response: Response | None, request_bytes: int, spent_s: float) -> Response | None:
        """Count one request, and mute its connection if its owner is over a limit.

        ``spent_s`` is the time that serving took. Returns the response to send, which is empty for a throttled fetch;
        None stays None (a produce without acknowledgement).
        """
        if not self._core.quotas.any:
            return response
        delay_ms = 0
        fetched_bytes = 0
        if call.api.key == PRODUCE_KEY:
            delay_ms = self._used(call, PRODUCER_BYTE_RATE, request_bytes)
        elif isinstance(response, FetchResponse):
            fetched_bytes = sum(len(p.records or b"") for topic in response.responses for p in topic.partitions)
            delay_ms = self._used(call, CONSUMER_BYTE_RATE, fetched_bytes)
        longest_ms = round(self._core.configs.broker.integer("quota.window.size.seconds") * 1000)
        delay_ms = max(delay_ms, min(longest_ms, self._used(call, REQUEST_PERCENTAGE, spent_s * 100)))
        if not delay_ms:
            return response
        until_s = self._core.clock.monotonic_s() + delay_ms / 1000
        call.connection.muted_until_s = max(call.connection.muted_until_s, until_s)
        if isinstance(response, FetchResponse):
            self._used(call, CONSUMER_BYTE_RATE, -fetched_bytes)  # not sent, so not used
            in_session = call.version >= 7 and call.request.session_epoch > 0
            response = FetchResponse(session_id=call.request.session_id if in_session else 0)
        if response is not None and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = delay_ms
        return response

    def _used(self, call: Call, key: str, amount: float) -> int:
        """Count, and return for how many milliseconds the owner must be held back to come down to its limit."""
        user = call.principal.partition(":")[2]
        found = self._core.quotas.effective(key, user, call.client_id)
        if found is None:
            return 0
        entity, limit = found
        rate = self._rate(key, entity, user, call.client_id)
        now_s = self._core.clock.monotonic_s()
        rate.record(amount, now_s)
        over = rate.per_second(now_s) - limit
        return round(over / limit * rate.elapsed_s(now_s) * 1000) if over > 0 else 0

    def _rate(self, key: str, entity: Entity, user: str, client_id: str) -> Rate:
        """The budget's measure: everybody to whom the limit's own entity types give the same names shares it."""
        types = {kind for kind, _ in entity}
        owner = (key, user if USER in types else "", client_id if CLIENT_ID in types else "")
        rate = self._rates.get(owner)
        if rate is None:
            if len(self._rates) >= _MOST_OWNERS:
                self._forget_idle()
            configs = self._core.configs.broker
            windows, window_s = configs.integer("quota.window.num"), configs.integer("quota.window.size.seconds")
            rate = self._rates[owner] = Rate(windows, window_s)
        return rate

    def _forget_idle(self) -> None:
        now_s = self._core.clock.monotonic_s()
        for owner in [owner for owner, rate in self._rates.items() if rate.is_idle(now_s)]:
            del self._rates[owner]
