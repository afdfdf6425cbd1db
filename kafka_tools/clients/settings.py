"""Settings of producers and consumers: Kafka's names, defaults and bounds, read from a ClientConfig.

``net.config`` reads the connection settings (``security.protocol``, ``request.timeout.ms``, ...). This module reads the
settings that ``ProducerConfig`` and ``ConsumerConfig`` of Kafka add and that this client supports.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from kafka_tools.config_definitions.client import INT32_MAX, INT64_MAX, Number
from kafka_tools.errors import ConfigError
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol.enums import CODECS, CoordinatorGroupType, IsolationLevel

T = TypeVar("T")

DEFAULT_ASSIGNORS = ("range", "cooperative-sticky")
MAX_IN_FLIGHT_IDEMPOTENT = 5
"""Brokers remember this many batches per producer and partition."""


class ProducerSettings(NamedTuple):
    """Settings of grouping, sending and retries. Sizes in bytes, times in milliseconds."""

    acks: int = -1
    codec: str = "none"
    compression_level: int | None = None
    linger_ms: int = 5
    batch_size_bytes: int = 16_384
    buffer_memory_bytes: int = 33_554_432
    max_request_size_bytes: int = 1_048_576
    max_in_flight: int = 5
    idempotent: bool = True
    retries: int = INT32_MAX
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    delivery_timeout_ms: int = 120_000
    request_timeout_ms: int = 30_000
    max_block_ms: int = 60_000
    ignore_keys: bool = False
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000
    near_rack: str = ""
    """``client.rack`` where ``partitioner.rack.aware`` is true (KIP-1123)."""

    @classmethod
    def load(cls, config: ClientConfig) -> ProducerSettings:
        """The settings of ``config``; ConfigError names one that cannot be used or contradicts another."""
        read = _Reader(config)
        acks = read.choice("acks", {"all": -1, "-1": -1, "0": 0, "1": 1}, -1)
        linger_ms = read.number("linger.ms", 5, 0, INT32_MAX)
        request_timeout_ms = config.number("request.timeout.ms")
        delivery_timeout_ms = read.number("delivery.timeout.ms", 120_000, 0, INT32_MAX)
        if delivery_timeout_ms < linger_ms + request_timeout_ms:
            if read.has("delivery.timeout.ms"):
                raise ConfigError(
                    f"delivery.timeout.ms: {delivery_timeout_ms} is less than linger.ms + request.timeout.ms "
                    f"({linger_ms} + {request_timeout_ms})"
                )
            delivery_timeout_ms = min(linger_ms + request_timeout_ms, INT32_MAX)
        retries = config.number("retries")
        codec = read.choice("compression.type", {name: name for name in CODECS}, "none")
        max_in_flight = read.number("max.in.flight.requests.per.connection", 5, 1, INT32_MAX)
        idempotent = _idempotent(read, acks, retries, max_in_flight)
        transactional_id = read.text("transactional.id", "") or None
        if transactional_id is not None and not idempotent:
            raise ConfigError("transactional.id: transactions need enable.idempotence, acks=all and retries")
        return cls(
            acks=acks,
            codec=codec,
            compression_level=_level(read, codec),
            linger_ms=linger_ms,
            batch_size_bytes=read.number("batch.size", 16_384, 0, INT32_MAX),
            buffer_memory_bytes=read.number("buffer.memory", 33_554_432, 0, INT64_MAX),
            max_request_size_bytes=read.number("max.request.size", 1_048_576, 0, INT32_MAX),
            max_in_flight=max_in_flight,
            idempotent=idempotent,
            retries=retries,
            retry_backoff_ms=config.number("retry.backoff.ms"),
            retry_backoff_max_ms=config.number("retry.backoff.max.ms"),
            delivery_timeout_ms=delivery_timeout_ms,
            request_timeout_ms=request_timeout_ms,
            max_block_ms=read.number("max.block.ms", 60_000, 0, INT64_MAX),
            transactional_id=transactional_id,
            transaction_timeout_ms=read.number("transaction.timeout.ms", 60_000, 1, INT32_MAX),
            ignore_keys=read.boolean("partitioner.ignore.keys", False),
            near_rack=read.text("client.rack", "") if read.boolean("partitioner.rack.aware", False) else "",
        )


class ConsumerSettings(NamedTuple):
    """Settings of fetches and group membership. Sizes in bytes, times in milliseconds."""

    group_id: str | None = None
    group_instance_id: str | None = None
    assignors: tuple[str, ...] = DEFAULT_ASSIGNORS
    auto_offset_reset: str = "latest"
    reset_duration_ms: int | None = None
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    read_committed: bool = False
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    max_poll_records: int = 500
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    fetch_max_wait_ms: int = 500
    max_partition_fetch_bytes: int = 1_048_576
    check_crcs: bool = True
    exclude_internal_topics: bool = True
    allow_auto_create_topics: bool = True
    client_rack: str = ""
    retry_backoff_ms: int = 100
    request_timeout_ms: int = 30_000
    default_api_timeout_ms: int = 60_000
    metadata_max_age_ms: int = 300_000
    is_new_protocol: bool = False
    """``group.protocol`` is ``consumer`` (KIP-848), not ``classic``."""
    remote_assignor: str | None = None
    """``group.remote.assignor``: the assignor of the brokers that this member prefers."""

    @property
    def is_cooperative(self) -> bool:
        """Whether members keep their partitions through a rebalance: if every assignor supports it (KIP-429)."""
        return set(self.assignors) == {"cooperative-sticky"}

    @property
    def isolation_level(self) -> int:
        """The value for requests."""
        return IsolationLevel.READ_COMMITTED if self.read_committed else IsolationLevel.READ_UNCOMMITTED

    @classmethod
    def load(cls, config: ClientConfig) -> ConsumerSettings:
        """The settings of ``config``; ConfigError names one that cannot be used or contradicts another."""
        read = _Reader(config)
        is_new_protocol = _is_new_protocol(read)
        reset, reset_duration_ms = _reset_policy(read)
        group_id = read.text("group.id", "") or None
        session_timeout_ms = read.number("session.timeout.ms", 45_000, 0, INT32_MAX)
        heartbeat_interval_ms = read.number("heartbeat.interval.ms", 3_000, 0, INT32_MAX)
        if heartbeat_interval_ms >= session_timeout_ms:
            if read.has("heartbeat.interval.ms"):
                raise ConfigError(
                    f"heartbeat.interval.ms: {heartbeat_interval_ms} must be below session.timeout.ms "
                    f"({session_timeout_ms})"
                )
            heartbeat_interval_ms = max(1, session_timeout_ms // 3)
        return cls(
            group_id=group_id,
            group_instance_id=read.text("group.instance.id", "") or None,
            assignors=_assignors(read),
            auto_offset_reset=reset,
            reset_duration_ms=reset_duration_ms,
            enable_auto_commit=read.boolean("enable.auto.commit", True),
            auto_commit_interval_ms=read.number("auto.commit.interval.ms", 5_000, 0, INT32_MAX),
            read_committed=read.choice("isolation.level", {"read_committed": True, "read_uncommitted": False}, False),
            session_timeout_ms=session_timeout_ms,
            heartbeat_interval_ms=heartbeat_interval_ms,
            max_poll_interval_ms=read.number("max.poll.interval.ms", 300_000, 1, INT32_MAX),
            max_poll_records=read.number("max.poll.records", 500, 1, INT32_MAX),
            fetch_min_bytes=read.number("fetch.min.bytes", 1, 0, INT32_MAX),
            fetch_max_bytes=read.number("fetch.max.bytes", 52_428_800, 0, INT32_MAX),
            fetch_max_wait_ms=read.number("fetch.max.wait.ms", 500, 0, INT32_MAX),
            max_partition_fetch_bytes=read.number("max.partition.fetch.bytes", 1_048_576, 0, INT32_MAX),
            check_crcs=read.boolean("check.crcs", True),
            exclude_internal_topics=read.boolean("exclude.internal.topics", True),
            allow_auto_create_topics=read.boolean("allow.auto.create.topics", True),
            client_rack=read.text("client.rack", ""),
            retry_backoff_ms=config.number("retry.backoff.ms"),
            request_timeout_ms=config.number("request.timeout.ms"),
            default_api_timeout_ms=config.number("default.api.timeout.ms"),
            metadata_max_age_ms=config.number("metadata.max.age.ms"),
            is_new_protocol=is_new_protocol,
            remote_assignor=read.text("group.remote.assignor", "") or None,
        )


class _Reader:
    """Typed access to settings by name; every failure names the setting."""

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self._values = config.values

    def has(self, key: str) -> bool:
        return key in self._values

    def text(self, key: str, default: str) -> str:
        return self._values.get(key, default).strip()

    def number(self, key: str, default: int, low: int, high: int) -> int:
        return self._config.bounded(key, Number(default, low, high))

    def boolean(self, key: str, default: bool) -> bool:
        return self.choice(key, {"true": True, "false": False}, default)

    def choice(self, key: str, choices: Mapping[str, T], default: T) -> T:
        text = self._values.get(key)
        if text is None:
            return default
        if text.strip().lower() not in choices:
            raise ConfigError(f"invalid {key} '{text}': expected one of {', '.join(choices)}")
        return choices[text.strip().lower()]


def _idempotent(read: _Reader, acks: int, retries: int, max_in_flight: int) -> bool:
    """As in Java: on by default, silently off when another setting rules it out, refused when both are explicit."""
    conflicts = []
    if acks != -1:
        conflicts.append("acks is not 'all'")
    if retries == 0:
        conflicts.append("retries is 0")
    if max_in_flight > MAX_IN_FLIGHT_IDEMPOTENT:
        conflicts.append(f"max.in.flight.requests.per.connection is above {MAX_IN_FLIGHT_IDEMPOTENT}")
    wanted = read.boolean("enable.idempotence", True)
    if conflicts and wanted and read.has("enable.idempotence"):
        raise ConfigError(f"enable.idempotence: true is impossible because {' and '.join(conflicts)}")
    return wanted and not conflicts


_NOT_FOR = {
    CoordinatorGroupType.CLASSIC: ("group.remote.assignor",),
    CoordinatorGroupType.CONSUMER: ("partition.assignment.strategy", "heartbeat.interval.ms", "session.timeout.ms"),
}
"""Value of ``group.protocol`` -> settings that it excludes, as ``ConsumerConfig`` of Kafka's Java client."""


def _is_new_protocol(read: _Reader) -> bool:
    """Whether ``group.protocol`` is ``consumer``. Raises ConfigError for settings that it excludes."""
    key = "group.protocol"
    protocol = read.choice(key, {name: name for name in _NOT_FOR}, CoordinatorGroupType.CLASSIC)
    excluded = [name for name in _NOT_FOR[protocol] if read.text(name, "")]
    if excluded:
        raise ConfigError(
            f"{', '.join(excluded)} cannot be set when {key}={protocol.upper()}",
            hint=f"remove {', '.join(excluded)}, or change {key}",
        )
    return protocol == CoordinatorGroupType.CONSUMER


_LEVELS = {
    "gzip": ("compression.gzip.level", 1, 9),
    "lz4": ("compression.lz4.level", 1, 17),
    "zstd": ("compression.zstd.level", -131_072, 22),
}


def _level(read: _Reader, codec: str) -> int | None:
    """The codec's own level, None for its default (KIP-390)."""
    if codec not in _LEVELS:
        return None
    key, low, high = _LEVELS[codec]
    # -1 is gzip's own name for its default.
    if not read.has(key) or (codec == "gzip" and read.text(key, "") == "-1"):
        return None
    return read.number(key, 0, low, high)


_DURATION = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d{1,9})?)S)?)?",
    re.IGNORECASE,
)


def _reset_policy(read: _Reader) -> tuple[str, int | None]:
    """(policy, milliseconds back for ``by_duration:P1DT2H`` (KIP-1106), else None)."""
    key = "auto.offset.reset"
    text = read.text(key, "latest")
    kind, colon, duration = text.partition(":")
    if kind.lower() == "by_duration" and colon:
        found = _DURATION.fullmatch(duration)
        if found is None or not any(found.groups()):
            raise ConfigError(f"invalid {key} '{duration}': expected an ISO 8601 duration such as PT1H30M or P2D")
        days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
        return "by_duration", round(((days * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000)
    return read.choice(key, {"earliest": "earliest", "latest": "latest", "none": "none"}, "latest"), None


_JAVA_ASSIGNORS = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.StickyAssignor": "sticky",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
}


def _assignors(read: _Reader) -> tuple[str, ...]:
    key = "partition.assignment.strategy"
    if not read.has(key):
        return DEFAULT_ASSIGNORS
    names = [name.strip() for name in read.text(key, "").split(",") if name.strip()]
    if not names:
        raise ConfigError(f"Must configure at least one partition assigner class name to {key} configuration property")
    chosen = [_JAVA_ASSIGNORS.get(name, name) for name in names]
    for given, name in zip(names, chosen, strict=True):
        if name not in _JAVA_ASSIGNORS.values():
            raise ConfigError(
                f"invalid {key} '{given}': expected one of {', '.join((*_JAVA_ASSIGNORS, *_JAVA_ASSIGNORS.values()))}"
            )
    return tuple(chosen)
