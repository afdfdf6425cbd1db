"""Validates all configs of a resource, for changes of configs and for new topics.

The rules and their texts follow Kafka: ``DynamicBrokerConfig`` for brokers, ``LogConfig``, ``GroupConfig`` and
``ClientMetricsConfigs`` for the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kafka_tools.broker_embedded.cluster.topic_names import name_problem
from kafka_tools.broker_embedded.configs.store import BROKER, CLIENT_METRICS, GROUP, TOPIC, ConfigStore
from kafka_tools.broker_embedded.configs.together import check_together
from kafka_tools.broker_embedded.refusals import bad_config, bad_request, error_for
from kafka_tools.config_definitions import Row
from kafka_tools.config_definitions.broker_names import broker_row, listener_base
from kafka_tools.config_definitions.values import Value, check, default_of
from kafka_tools.errors import ConfigError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CoordinatorGroupType
from kafka_tools.texts.java_numbers import parse_int
from kafka_tools.texts.lists import split

_FIXED_WHILE_RUNNING = ("listeners", "listener.security.protocol.map")
_CLEANER_THREADS = "log.cleaner.threads"
_CONNECTIONS = ("max.connections", "max.connection.creation.rate")
_PER_IP = "max.connections.per.ip.overrides"
_MATCH_PARAMETERS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def validate(store: ConfigStore, resource_type: int, resource: str, wanted: Mapping[str, str]) -> None:
    """Validate all configs that a resource would have. Raises BrokerError."""
    if resource_type == TOPIC:
        if not resource:
            raise bad_request("Default topic resources are not allowed.")
        check_topic_name(resource)
        validate_topic(store, wanted)
    elif resource_type == BROKER:
        _validate_broker(store, resource, wanted)
    elif resource_type == GROUP:
        if not resource:
            raise bad_request("Default group resources are not allowed.")
        _validate_group(store, wanted)
    elif resource_type == CLIENT_METRICS:
        _validate_client_metrics(resource, wanted)
    else:
        raise bad_request(f"Unknown resource type {resource_type}")


def validate_topic(store: ConfigStore, wanted: Mapping[str, str | None]) -> None:
    """Validate the configs of an existing or new topic. Raises BrokerError with INVALID_CONFIG."""
    from kafka_tools.config_definitions.topic import TABLE

    missing = [name for name, value in wanted.items() if value is None]
    if missing:
        raise bad_config(f"Null value not supported for topic configs: {','.join(missing)}")
    values = _checked(TABLE, wanted, "Unknown topic config name: ")

    def effective(name: str) -> int:
        value = values[name] if name in values else store.topic_default(name)
        assert isinstance(value, int)
        return value

    low, high = effective("min.compaction.lag.ms"), effective("max.compaction.lag.ms")
    if low > high:
        raise bad_config(
            f"conflict topic config setting min.compaction.lag.ms ({low}) > max.compaction.lag.ms ({high})"
        )
    if values.get("remote.storage.enable"):
        raise bad_config(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )


def check_topic_name(name: str) -> None:
    """Raises BrokerError with INVALID_TOPIC_EXCEPTION and Kafka's text for an invalid topic name."""
    problem = name_problem(name)
    if problem is not None:
        raise error_for(error_codes.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")


def check_node(store: ConfigStore, resource_type: int, resource: str) -> None:
    """Raises BrokerError unless the resource is this broker or the default of all brokers."""
    if resource_type != BROKER or not resource:
        return
    number = parse_int(resource)
    if number is None:
        raise bad_request(f"Node id must be an integer, but it is: {resource}")
    if str(number) != store.node_name:
        raise bad_request(f"Unexpected broker id, expected {store.node_name}, but received {resource}")


def _checked(table: Mapping[str, Row], wanted: Mapping[str, str | None], unknown: str) -> dict[str, Value]:
    """The typed values of ``wanted``. Raises INVALID_CONFIG for the first unknown or invalid one."""
    for name in wanted:
        if name not in table:
            raise bad_config(unknown + name)
    try:
        return {name: check(name, table[name], text or "") for name, text in wanted.items()}
    except ConfigError as error:
        raise bad_config(str(error)) from error


def _validate_broker(store: ConfigStore, resource: str, wanted: Mapping[str, str]) -> None:
    """Validate broker configs. Errors are INVALID_REQUEST, not INVALID_CONFIG (KAFKA-13609)."""
    from kafka_tools.config_definitions import broker, dynamic

    check_node(store, BROKER, resource)
    changeable = dynamic.PER_BROKER | dynamic.CLUSTER_WIDE
    fixed = [name for name in wanted if name in broker.TABLE and name not in changeable]
    if fixed:
        raise bad_request(f"Cannot update these configs dynamically: {_listed(fixed)}")
    bare = [name for name in wanted if name in dynamic.SECURITY]
    if bare:
        raise bad_request(
            "These security configs can be dynamically updated only per-listener using the listener prefix: "
            + _listed(bare)
        )
    values: dict[str, Value] = {}
    try:
        for name, text in wanted.items():
            row = broker_row(name)
            if row is not None:
                values[name] = check(name, row, text)
    except ConfigError as error:
        raise bad_request(str(error)) from error
    if not resource:
        own = [name for name in wanted if name in dynamic.PER_BROKER or _is_per_broker_listener(name)]
        if own:
            raise bad_request(
                f"Cannot update these configs at default cluster level, broker id must be specified: {_listed(own)}"
            )
    for name in _FIXED_WHILE_RUNNING:
        if name in wanted and wanted[name] != store.static_properties().get(name):
            raise bad_request(f"{name} cannot change while this broker runs: set it in server.properties and restart")
    for name, value in values.items():
        base = listener_base(name) or name
        if value == 0 and base in _CONNECTIONS:  # no client could connect to change it back
            wrong = f"org.apache.kafka.common.config.ConfigException: Invalid {base} 0"
            raise bad_request(f"Invalid value {wrong} for configuration Invalid dynamic configuration")
    for entry in (wanted.get(_PER_IP) or "").split(","):
        host, colon, count = entry.strip().rpartition(":")
        if entry.strip() and not (host and colon and count.strip().isdecimal()):
            raise bad_request(f"Error parsing configuration property '{_PER_IP}': '{entry}' is not host:connections")
    in_force = store.broker_properties(own=wanted) if resource else store.broker_properties(default=wanted)
    try:  # as in Kafka, a broker must be able to start with the new configs (``new KafkaConfig``)
        check_together(in_force)
    except ConfigError as error:
        raise bad_request(f"requirement failed: {error}") from error
    for name in (*sorted(dynamic.THREAD_POOLS), _CLEANER_THREADS):
        _check_threads(name, in_force, store.broker.integer(name))
    for check_running in store.running_checks if resource else ():
        try:
            check_running(in_force)
        except ConfigError as error:
            raise bad_request(str(error)) from error


def _is_per_broker_listener(name: str) -> bool:
    from kafka_tools.config_definitions.dynamic import CLUSTER_LEVEL_LISTENER

    base = listener_base(name)
    return base is not None and base not in CLUSTER_LEVEL_LISTENER


def _check_threads(name: str, in_force: Mapping[str, str], current: int) -> None:
    """A thread pool may at most double and at most halve in one step (``DynamicThreadPool``, ``LogCleaner``)."""
    from kafka_tools.config_definitions.broker import TABLE

    row = TABLE[name]
    threads = check(name, row, in_force[name]) if name in in_force else default_of(name, row)
    assert isinstance(threads, int)
    if current // 2 <= threads <= current * 2:
        return
    is_less = threads < current
    if name == _CLEANER_THREADS:
        change = "reduced to less than half" if is_less else "increased to more than double"
        raise bad_request(f"Log cleaner threads cannot be {change} the current value {current}")
    wrong = f"Dynamic thread count update validation failed for {name}={threads}, value should"
    bound = "be at least half" if is_less else "not be greater than double"
    raise bad_request(f"{wrong} {bound} the current value {current}")


_BOUNDED = (
    "consumer.heartbeat.interval.ms", "consumer.session.timeout.ms", "consumer.assignment.interval.ms",
    "share.heartbeat.interval.ms", "share.session.timeout.ms", "share.record.lock.duration.ms",
    "share.delivery.count.limit", "share.partition.max.record.locks", "share.assignment.interval.ms",
    "streams.heartbeat.interval.ms", "streams.session.timeout.ms", "streams.num.standby.replicas",
    "streams.assignment.interval.ms", "streams.task.offset.interval.ms", "streams.num.warmup.replicas",
)  # fmt: skip
"""Group configs that the broker's group.<kind>.min and max bound, in Kafka's order (``GroupConfig.validateValues``)."""
_STREAMS_ASSIGNOR, _DEAD_LETTER_TOPIC = "streams.assignor.name", "errors.deadletterqueue.topic.name"


def _validate_group(store: ConfigStore, wanted: Mapping[str, str]) -> None:
    """Validate group configs: types, ranges, the broker's group.<kind>.min/max, sessions longer than heartbeats."""
    from kafka_tools.config_definitions import broker
    from kafka_tools.config_definitions.group import TABLE, broker_name

    values = _checked(TABLE, wanted, "Unknown group config name: ")

    def effective(name: str) -> Value:
        if name in values:
            return values[name]
        theirs = broker_name(name)
        return store.broker.get(theirs) if theirs in broker.TABLE else default_of(name, TABLE[name])

    for name in (name for name in _BOUNDED if name in values):
        kind, _, rest = name.partition(".")
        value = values[name]
        assert isinstance(value, int)
        low, high = (
            store.broker.integer(limit) if limit in broker.TABLE else None
            for limit in (f"group.{kind}.{bound}.{rest.removeprefix('num.')}" for bound in ("min", "max"))
        )
        if low is not None and high is not None:
            if not low <= value <= high:
                raise bad_config(f"{name} must be in the range {low} to {high} inclusive.")
        elif high is not None and value > high:
            raise bad_config(f"{name} must be less than or equal to {high}")
        elif low is not None and value < low:
            raise bad_config(f"{name} must be greater than or equal to {low}")
    assignor, assignors = values.get(_STREAMS_ASSIGNOR), store.broker.get("group.streams.assignors")
    if assignor is not None and isinstance(assignors, list) and assignor not in assignors:
        raise bad_config(
            f"{_STREAMS_ASSIGNOR} '{assignor}' is not a registered task assignor. Registered assignors are: "
            f"[{', '.join(assignors)}]."
        )
    dead_letters = values.get(_DEAD_LETTER_TOPIC)
    if isinstance(dead_letters, str) and dead_letters.startswith("__"):
        raise bad_config(f"{_DEAD_LETTER_TOPIC}: DLQ topic name must not start with '__'")
    for kind in (CoordinatorGroupType.CONSUMER, CoordinatorGroupType.SHARE, CoordinatorGroupType.STREAMS):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        session_ms, heartbeat_ms = effective(session), effective(heartbeat)
        assert isinstance(session_ms, int) and isinstance(heartbeat_ms, int)
        if session_ms <= heartbeat_ms:
            raise bad_config(f"{session} must be greater than {heartbeat}")


def _validate_client_metrics(resource: str, wanted: Mapping[str, str]) -> None:
    from kafka_tools.config_definitions.client_metrics import TABLE

    if not resource:
        raise bad_request("Subscription name can't be empty")
    for name in wanted:
        if name not in TABLE:
            raise bad_request(f"Unknown client metrics configuration: {name}")
    values = _checked(TABLE, wanted, "")
    interval = values.get("interval.ms")
    if isinstance(interval, int) and not 100 <= interval <= 3_600_000:
        raise bad_request(
            f"Invalid value {interval} for interval.ms, interval must be between 100 and 3600000 (1 hour)"
        )
    patterns = values.get("match") or []
    assert isinstance(patterns, list)
    for pattern in patterns:
        parts = split(pattern, "=")
        if len(parts) != 2 or parts[0].strip() not in _MATCH_PARAMETERS or not _is_regex(parts[1].strip()):
            raise bad_config(f"Illegal client matching pattern: {pattern}")


def _is_regex(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError, ValueError):  # the last two: numbers that are too large
        return False
    return True


def _listed(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"
