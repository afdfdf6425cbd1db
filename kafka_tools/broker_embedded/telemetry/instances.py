"""The instances of clients that ask for subscriptions and push metrics (Kafka's ``ClientMetricsManager``).

An instance is known from its first request until its connection closes, or until it has sent nothing for three push
intervals (at least a minute). An unknown id is no error: the client may have been connected to another broker.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.telemetry.pushed import PushedMetrics
from kafka_tools.broker_embedded.telemetry.subscriptions import MetricsSubscriptions, WantedMetrics
from kafka_tools.errors import BrokerError, CorruptBatch
from kafka_tools.metrics.otlp import InvalidMetrics
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CODECS
from kafka_tools.records.crc32c import crc32c
from kafka_tools.values import uuid_text

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.connection import Connection
    from kafka_tools.broker_embedded.metrics.counts import TelemetryCounts
    from kafka_tools.broker_embedded.timers import Timer, Timers

MOST_INSTANCES = 16_384
MIN_EXPIRY_MS = 60_000
ACCEPTED_CODECS = (4, 3, 1, 2)
"""zstd, lz4, gzip, snappy: the order in which Kafka prefers them."""
RESERVED = (uuid.UUID(int=0), uuid.UUID(int=1))
_NEVER_MS = -(2**62)


class InstanceCounts:
    """What the broker counts of one instance, with Kafka's names."""

    __slots__ = ("errors", "exports", "throttles")

    def __init__(self) -> None:
        self.throttles = self.exports = self.errors = 0


class Instance:
    """One instance of a client and its subscription. A change of the subscriptions replaces it."""

    def __init__(self, id: uuid.UUID, wanted: WantedMetrics, version: int, counts: InstanceCounts) -> None:
        self.id = id
        self.counts = counts
        self.wanted = wanted
        self.version = version
        """The version of the subscriptions."""
        self.subscription_id = _subscription_id(id, wanted)
        self.terminating = False
        self.last_error = 0
        self.expiry: Timer | None = None
        self._asked_ms = self._pushed_ms = _NEVER_MS

    def may_ask(self, now_ms: int) -> bool:
        """Whether the push interval is over since the last request. Starts the next one if it is."""
        if now_ms - max(self._asked_ms, self._pushed_ms) < self.wanted.interval_ms:
            return False
        self._asked_ms = now_ms
        return True

    def may_push(self, now_ms: int) -> bool:
        """Like ``may_ask``; the first push after a request for the subscriptions may come at any time (jitter)."""
        if self._asked_ms <= self._pushed_ms and now_ms - self._pushed_ms < self.wanted.interval_ms:
            return False
        self._pushed_ms = now_ms
        return True


class ClientTelemetry:
    """Answers GetTelemetrySubscriptions and PushTelemetry. Refusals are BrokerErrors with Kafka's codes."""

    def __init__(
        self, configs: ConfigStore, timers: Timers, counts: TelemetryCounts, most_instances: int = MOST_INSTANCES
    ) -> None:
        """``most_instances``: the instance whose last request is oldest is forgotten if there are more."""
        self.subscriptions = MetricsSubscriptions(configs)
        self.pushed = PushedMetrics(timers.clock)
        self._configs = configs
        self._timers = timers
        self._counts = counts
        self._most_instances = most_instances
        self._instances: OrderedDict[uuid.UUID, Instance] = OrderedDict()
        self._by_connection: dict[str, uuid.UUID] = {}

    def instances(self) -> list[Instance]:
        """The known instances, the one whose last request is oldest first."""
        return list(self._instances.values())

    @property
    def most_bytes(self) -> int:
        """``telemetry.max.bytes``: the maximum size of the metrics in one push, in bytes."""
        return self._configs.broker.integer("telemetry.max.bytes")

    def ask(self, id: uuid.UUID, client_id: str, connection: Connection) -> Instance:
        """The instance and its subscription. A client without an id (zero) gets a new one."""
        instance = self._instance(uuid.uuid4() if id == RESERVED[0] else id, client_id, connection)
        may_ask = instance.may_ask(self._now_ms())
        if not may_ask and instance.last_error not in (
            error_codes.UNKNOWN_SUBSCRIPTION_ID,
            error_codes.UNSUPPORTED_COMPRESSION_TYPE,
        ):
            instance.counts.throttles += 1
            raise error_for(error_codes.THROTTLING_QUOTA_EXCEEDED)
        instance.last_error = 0
        return instance

    def push(
        self, id: uuid.UUID, client_id: str, connection: Connection, subscription_id: int, codec: int, data: bytes,
        *, terminating: bool,
    ) -> None:  # fmt: skip
        """Take a push."""
        if id in RESERVED:
            raise error_for(error_codes.INVALID_REQUEST)
        instance = self._instance(id, client_id, connection)
        try:
            self._check(instance, subscription_id, codec, len(data), terminating=terminating)
            if data:
                self.pushed.add(id, client_id, codec, data, self.most_bytes)
                instance.counts.exports += 1
        except (CorruptBatch, InvalidMetrics) as error:
            instance.last_error = error_codes.INVALID_RECORD
            instance.counts.errors += 1
            raise error_for(error_codes.INVALID_RECORD) from error
        except BrokerError as error:
            instance.last_error = error.code.code
            raise
        finally:
            instance.terminating = terminating
        instance.last_error = 0

    def disconnected(self, connection_id: str) -> None:
        """Forget the instance of a closed connection; what it pushed is kept."""
        id = self._by_connection.pop(connection_id, None)
        if id is not None:
            self._forget(id)

    def _check(self, instance: Instance, subscription_id: int, codec: int, size: int, *, terminating: bool) -> None:
        """The checks of a push, in Kafka's order."""
        if instance.terminating:
            raise error_for(error_codes.INVALID_REQUEST)
        if not instance.may_push(self._now_ms()) and not terminating:
            instance.counts.throttles += 1
            raise error_for(error_codes.THROTTLING_QUOTA_EXCEEDED)
        if subscription_id != instance.subscription_id:
            self._counts.unknown_subscriptions += 1
            raise error_for(error_codes.UNKNOWN_SUBSCRIPTION_ID)
        if not 0 <= codec < len(CODECS):
            raise error_for(error_codes.UNSUPPORTED_COMPRESSION_TYPE)
        if size > self.most_bytes:
            raise error_for(error_codes.TELEMETRY_TOO_LARGE)

    def _instance(self, id: uuid.UUID, client_id: str, connection: Connection) -> Instance:
        instance = self._instances.get(id)
        if instance is None or instance.version < self.subscriptions.version:
            counts = InstanceCounts() if instance is None else instance.counts
            self._forget(id)
            wanted = self.subscriptions.wanted_of(_attributes(id, client_id, connection))
            instance = self._instances[id] = Instance(id, wanted, self.subscriptions.version, counts)
            self._by_connection[connection.id] = id
            while len(self._instances) > self._most_instances:
                self._forget(next(iter(self._instances)))
        self._instances.move_to_end(id)
        if instance.expiry is not None:
            instance.expiry.cancel()
        expiry_ms = max(MIN_EXPIRY_MS, 3 * instance.wanted.interval_ms)
        instance.expiry = self._timers.call_later(expiry_ms, lambda: self._expire(id, connection.id))
        return instance

    def _expire(self, id: uuid.UUID, connection_id: str) -> None:
        if self._by_connection.get(connection_id) == id:
            del self._by_connection[connection_id]
        self._forget(id)

    def _forget(self, id: uuid.UUID) -> None:
        instance = self._instances.pop(id, None)
        if instance is not None and instance.expiry is not None:
            instance.expiry.cancel()

    def _now_ms(self) -> int:
        return int(self._timers.clock.monotonic_s() * 1000)


def _attributes(id: uuid.UUID, client_id: str, connection: Connection) -> dict[str, str]:
    return {
        "client_instance_id": uuid_text(id),
        "client_id": client_id,
        "client_software_name": connection.software_name,
        "client_software_version": connection.software_version,
        "client_source_address": connection.kafka_host.lstrip("/"),
        "client_source_port": str(connection.client_port),
    }


def _subscription_id(id: uuid.UUID, wanted: WantedMetrics) -> int:
    """The CRC-32C of the subscription, XORed with the hash of the client's id; signed."""
    text = f"[{', '.join(wanted.metrics)}]{wanted.interval_ms}"
    folded = (id.int >> 64) ^ id.int
    number = (crc32c(text.encode("utf-8")) ^ (folded >> 32) ^ folded) & 0xFFFFFFFF
    return number - (1 << 32) if number >= 1 << 31 else number
