"""Enforcement of client quotas: measured use, and throttle times of clients above their quota.

As Kafka's ``ClientQuotaManager`` and ``QuotaUtils`` (KIP-13, KIP-124, KIP-219): the answer is sent immediately with
the delay in ``throttle_time_ms``, then the connection is muted until the delay is over. ``limits`` finds the limit of a
client. Changes of topics (KIP-599) use credit from a bucket that fills at the limit's rate, so that a burst is possible
after a quiet time. ``connection_limits`` limits new connections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from kafka_tools.broker_embedded.answers import encode_with_files
from kafka_tools.broker_embedded.quotas.rates import Bucket, LimitedRate, Measures
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.errors import EncodeError
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.messages.fetch import FetchResponse

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.connection import Connection
    from kafka_tools.broker_embedded.quotas.limits import Quotas
    from kafka_tools.clock import Clock
    from kafka_tools.protocol.schema import Response

PRODUCE_KEY = registry.key_of("produce")
_EXEMPT = {registry.key_of(stem) for stem in ("sasl_handshake", "sasl_authenticate", "write_txn_markers")}
"""APIs whose time does not count: logins, and requests between brokers."""
_FLEXIBLE_FETCH = 12
_NO_LIMIT = 2**31 - 1

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"


class Measured(Protocol):
    """The attributes of a call that throttling uses."""

    connection: Connection
    api: registry.Api
    version: int
    client_id: str
    request: Any
    throttle_ms: int
    on_throttled: Callable[[], None] | None

    @property
    def principal(self) -> str: ...


class Throttling:
    """``finish`` processes every answer before it is written. Handlers of topic changes call ``pay_mutations``."""

    def __init__(self, quotas: Quotas, configs: ConfigStore, clock: Clock) -> None:
        self._quotas = quotas
        self._configs = configs
        self._clock = clock
        self._rates = Measures[tuple[str, str, str], LimitedRate]()
        self._buckets = Measures[tuple[str, str], Bucket]()

    def finish(self, call: Measured, response: Response | None, request_bytes: int, spent_s: float) -> Response | None:
        """Count one request, and mute its connection if its owner is over a limit.

        ``request_bytes``: header and body. ``spent_s`` is the time that serving took. Returns the response to send,
        which is empty for a throttled fetch; None stays None (a produce without acknowledgement).
        """
        if not self._quotas.any:
            return response
        now_ms = self._now_ms()
        delay_ms = call.throttle_ms
        if call.api.key not in _EXEMPT and response is not None:
            longest_ms = self._configs.broker.integer("quota.window.size.seconds") * 1000
            delay_ms = max(delay_ms, min(longest_ms, self._used(call, REQUEST_PERCENTAGE, spent_s * 100, now_ms)))
        fetched_bytes = 0
        if call.api.key == PRODUCE_KEY:
            delay_ms = max(delay_ms, self._used(call, PRODUCER_BYTE_RATE, request_bytes, now_ms))
        elif isinstance(response, FetchResponse) and self._quotas.limits(CONSUMER_BYTE_RATE):
            fetched_bytes = size_of(response, call.version)
            delay_ms = max(delay_ms, self._used(call, CONSUMER_BYTE_RATE, fetched_bytes, now_ms))
        if not delay_ms:
            return response
        until_s = self._clock.monotonic_s() + delay_ms / 1000
        call.connection.muted_until_s = max(call.connection.muted_until_s, until_s)
        if isinstance(response, FetchResponse):
            self._used(call, CONSUMER_BYTE_RATE, -fetched_bytes, now_ms)  # not sent, so not used
            if call.on_throttled is not None:
                call.on_throttled()
            asked = call.request
            # If its session is over or unknown, the client starts a new one, as with Kafka.
            goes_on = call.version >= 7 and asked.session_epoch > 0 and response.session_id == asked.session_id
            response = FetchResponse(session_id=asked.session_id if goes_on else 0)
        if response is not None and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = delay_ms
        return response

    def rates(self) -> Iterator[tuple[str, str, str, float]]:
        """(quota key, user, client id, rate) of every owner whose use is measured."""
        now_ms = self._now_ms()
        for (key, user, client_id), rate in list(self._rates.items()):
            yield key, user, client_id, rate.per_second(now_ms)

    def credits(self) -> Iterator[tuple[str, str, float]]:
        """(user, client id, tokens) of every owner with a quota of controller mutations."""
        now_ms = self._now_ms()
        for (user, client_id), bucket in list(self._buckets.items()):
            yield user, client_id, bucket.credit(now_ms)

    def most_fetched(self, call: Measured) -> int:
        """The maximum bytes of one fetch: more would always exceed its quota (``maxValueInQuotaWindow``)."""
        found = self._quotas.budget(CONSUMER_BYTE_RATE, _user(call), call.client_id)
        if found is None or found.limit is None:
            return _NO_LIMIT
        configs = self._configs.broker
        windows, window_s = configs.integer("quota.window.num"), configs.integer("quota.window.size.seconds")
        return int(min(_NO_LIMIT, found.limit * (windows - 1) * window_s))

    def pay_mutations(self, call: Measured, partitions: int, *, strict_since: int) -> None:
        """Count ``partitions`` that a client creates or deletes.

        From request version ``strict_since`` on, a client with negative credit is refused with
        THROTTLING_QUOTA_EXCEEDED (BrokerError). Older requests are served, and the client is throttled afterwards.
        """
        found = self._quotas.budget(CONTROLLER_MUTATION_RATE, _user(call), call.client_id)
        if found is None:
            return
        if found.limit is None:
            self._buckets.pop(found.owner, None)  # forget its negative credit
            return
        now_ms = self._now_ms()
        bucket = self._bucket(found.owner, found.limit, now_ms)
        strict = call.version >= strict_since
        owed_ms = bucket.owed_ms(now_ms)
        if not (strict and owed_ms):
            bucket.spend(partitions, now_ms)
        call.throttle_ms = max(call.throttle_ms, owed_ms if strict else bucket.owed_ms(now_ms))
        if strict and owed_ms:
            raise error_for(error_codes.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded.")

    def _bucket(self, owner: tuple[str, str], limit: float, now_ms: int) -> Bucket:
        configs = self._configs.broker
        windows = configs.integer("controller.quota.window.num")
        burst = windows * configs.integer("controller.quota.window.size.seconds") * limit
        bucket = self._buckets.of(owner, now_ms, lambda: Bucket(limit, burst, now_ms))
        bucket.limit(limit, burst)
        return bucket

    def _used(self, call: Measured, key: str, amount: float, now_ms: int) -> int:
        """Count a use. Returns the milliseconds to throttle the owner until its rate is within the limit."""
        found = self._quotas.budget(key, _user(call), call.client_id)
        if found is None:
            return 0
        configs = self._configs.broker
        rate = self._rates.of(
            (key, *found.owner),
            now_ms,
            lambda: LimitedRate(configs.integer("quota.window.num"), configs.integer("quota.window.size.seconds")),
        )
        rate.record(amount, now_ms)
        return 0 if found.limit is None else rate.over_ms(found.limit, now_ms)

    def _now_ms(self) -> int:
        return int(self._clock.monotonic_s() * 1000)


def size_of(response: FetchResponse, version: int) -> int:
    """The size of a response with records as quotas count it: its body and its length prefix."""
    try:
        parts = encode_with_files(response, version, 0)
    except EncodeError:  # sending it reports the error
        return 0
    header = 5 if version >= _FLEXIBLE_FETCH else 4
    return sum(map(len, parts)) - header + 4


def _user(call: Measured) -> str:
    return call.principal.partition(":")[2]
