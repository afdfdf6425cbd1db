"""Client quotas at work: what clients used, and how long those that used too much are held back.

As Kafka's ``ClientQuotaManager`` and ``QuotaUtils`` (KIP-13, KIP-124, KIP-219): the answer goes out at once with
the delay in ``throttle_time_ms``, then the connection is not read from until the delay is over. Which limit holds for
whom is ``limits``' knowledge; sockets are the listener's. Changes of topics (KIP-599) are paid from a bucket that
fills at the limit's rate, so that a burst is possible after a quiet time; new connections are ``connection_limits``'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from kafka_tools.broker_embedded.quotas.rates import Bucket, Rate
from kafka_tools.broker_embedded.refusals import refuse
from kafka_tools.config_definitions.quota_entities import CLIENT_ID, USER, QuotaEntity
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.fetch import FetchResponse

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.connection import Connection
    from kafka_tools.broker_embedded.quotas.limits import Quotas
    from kafka_tools.clock import Clock
    from kafka_tools.protocol import registry
    from kafka_tools.protocol.schema import Response

PRODUCE_KEY, FETCH_KEY = 0, 1

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"

_MOST_OWNERS = 10_000
"""Measures kept before idle ones are forgotten: client ids are whatever clients say they are."""


class Measured(Protocol):
    """A call, as far as it is measured: whose it is, what it asked for, and how long its client is to be held back."""

    connection: Connection
    api: registry.Api
    version: int
    client_id: str
    request: Any
    throttle_ms: int

    @property
    def principal(self) -> str: ...


class Throttling:
    """``finish`` sees every answer before it is written; handlers of topic changes call ``pay_mutations``."""

    def __init__(self, quotas: Quotas, configs: ConfigStore, clock: Clock) -> None:
        self._quotas = quotas
        self._configs = configs
        self._clock = clock
        self._rates: dict[tuple[str, str, str], Rate] = {}
        self._buckets: dict[tuple[str, str], Bucket] = {}

    def finish(self, call: Measured, response: Response | None, request_bytes: int, spent_s: float) -> Response | None:
        """Count one request, and mute its connection if its owner is over a limit.

        ``spent_s`` is the time that serving took. Returns the response to send, which is empty for a throttled fetch;
        None stays None (a produce without acknowledgement).
        """
        if not self._quotas.any:
            return response
        delay_ms = 0
        fetched_bytes = 0
        if call.api.key == PRODUCE_KEY:
            delay_ms = self._used(call, PRODUCER_BYTE_RATE, request_bytes)
        elif isinstance(response, FetchResponse):
            fetched_bytes = sum(len(p.records or b"") for topic in response.responses for p in topic.partitions)
            delay_ms = self._used(call, CONSUMER_BYTE_RATE, fetched_bytes)
        longest_ms = round(self._configs.broker.integer("quota.window.size.seconds") * 1000)
        delay_ms = max(delay_ms, min(longest_ms, self._used(call, REQUEST_PERCENTAGE, spent_s * 100)), call.throttle_ms)
        if not delay_ms:
            return response
        until_s = self._clock.monotonic_s() + delay_ms / 1000
        call.connection.muted_until_s = max(call.connection.muted_until_s, until_s)
        if isinstance(response, FetchResponse):
            self._used(call, CONSUMER_BYTE_RATE, -fetched_bytes)  # not sent, so not used
            in_session = call.version >= 7 and call.request.session_epoch > 0
            response = FetchResponse(session_id=call.request.session_id if in_session else 0)
        if response is not None and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = delay_ms
        return response

    def pay_mutations(self, call: Measured, partitions: int, *, strict_since: int) -> None:
        """Count ``partitions`` that a client makes or deletes.

        From request version ``strict_since`` on, a client that owes from before is refused with
        THROTTLING_QUOTA_EXCEEDED (BrokerError); an older one is served and held back afterwards.
        """
        user = call.principal.partition(":")[2]
        found = self._quotas.effective(CONTROLLER_MUTATION_RATE, user, call.client_id)
        if found is None:
            return
        now_s = self._clock.monotonic_s()
        bucket = self._bucket(*found, user, call.client_id, now_s)
        strict = call.version >= strict_since
        owed_ms = bucket.owed_ms(now_s)
        if not (strict and owed_ms):
            bucket.spend(partitions, now_s)
        call.throttle_ms = max(call.throttle_ms, owed_ms if strict else bucket.owed_ms(now_s))
        if strict and owed_ms:
            raise refuse(error_codes.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded.")

    def _bucket(self, entity: QuotaEntity, limit: float, user: str, client_id: str, now_s: float) -> Bucket:
        configs = self._configs.broker
        burst = (
            limit
            * configs.integer("controller.quota.window.num")
            * configs.integer("controller.quota.window.size.seconds")
        )
        owner = _sharers(entity, user, client_id)
        bucket = self._buckets.get(owner)
        if bucket is None:
            if len(self._buckets) >= _MOST_OWNERS:
                self._buckets = {key: kept for key, kept in self._buckets.items() if not kept.is_idle(now_s)}
            bucket = self._buckets[owner] = Bucket(limit, burst, now_s)
        else:
            bucket.limit(limit, burst, now_s)
        return bucket

    def _used(self, call: Measured, key: str, amount: float) -> int:
        """Count, and return for how many milliseconds the owner must be held back to come down to its limit."""
        user = call.principal.partition(":")[2]
        found = self._quotas.effective(key, user, call.client_id)
        if found is None:
            return 0
        entity, limit = found
        rate = self._rate(key, entity, user, call.client_id)
        now_s = self._clock.monotonic_s()
        rate.record(amount, now_s)
        over = rate.per_second(now_s) - limit
        return round(over / limit * rate.elapsed_s(now_s) * 1000) if over > 0 else 0

    def _rate(self, key: str, entity: QuotaEntity, user: str, client_id: str) -> Rate:
        owner = (key, *_sharers(entity, user, client_id))
        rate = self._rates.get(owner)
        if rate is None:
            if len(self._rates) >= _MOST_OWNERS:
                self._forget_idle()
            configs = self._configs.broker
            windows, window_s = configs.integer("quota.window.num"), configs.integer("quota.window.size.seconds")
            rate = self._rates[owner] = Rate(windows, window_s)
        return rate

    def _forget_idle(self) -> None:
        now_s = self._clock.monotonic_s()
        for owner in [owner for owner, rate in self._rates.items() if rate.is_idle(now_s)]:
            del self._rates[owner]


def _sharers(entity: QuotaEntity, user: str, client_id: str) -> tuple[str, str]:
    """Whose budget it is: everybody to whom the limit's own entity types give the same names shares it."""
    types = {kind for kind, _ in entity}
    return user if USER in types else "", client_id if CLIENT_ID in types else ""
