"""The configs, quotas and credentials that releases with ZooKeeper (1.1 to 3.9) accept, by Kafka's own checks.

The checks are those of ``AdminZkClient`` and ``ConfigCommand --zookeeper`` of each release (``LogConfig``,
``DynamicConfig``, ``DynamicBrokerConfig.validateConfigs``). They are stricter only if a release stores values that its
brokers cannot load: ``message.format.version`` before 2.1, ``message.timestamp.type`` before 2.0, lists of throttled
replicas with gaps or huge numbers, brokers' defaults of topic configs, classes, and the values of ``loads``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal

from kafka_tools.config_definitions import Row, dynamic
from kafka_tools.config_definitions.topic import BROKER_NAME
from kafka_tools.config_definitions.values import REPLICA_LIST, SENSITIVE_TYPE, check, invalid, parse
from kafka_tools.config_definitions.zookeeper import tables as tables
from kafka_tools.config_definitions.zookeeper.loads import check_loads
from kafka_tools.errors import ConfigError, InputError

RELEASES: tuple[str, ...] = tables.RELEASES
"""All releases that have tables, oldest first."""

Kind = Literal["topic", "client", "user", "ip", "broker", "all brokers"]
"""The owner of a config. ``client`` is also a user with a client and the default user, ``all brokers`` their default.
"""

THROTTLES = frozenset(dynamic.THROTTLES)
"""Configs of brokers that change in ZooKeeper at any time. From 2.0 on, others change while the brokers are down."""

VERSION_RULE = "a Kafka version"
"""The rule of ``message.format.version``: a name in ``tables.VERSIONS``."""

_TABLES = {
    "topic": tables.TOPIC,
    "client": tables.CLIENT,
    "user": tables.USER,
    "ip": tables.IP,
    "broker": tables.BROKER,
    "all brokers": tables.BROKER,
}
_NAMES = {"topic": "topic", "client": "client", "user": "user", "ip": "address"}
_TOPIC_CONFIGS = {broker: topic for topic, broker in BROKER_NAME.items()} | {
    "log.message.timestamp.difference.max.ms": "message.timestamp.difference.max.ms",
}
"""Broker config -> the topic config whose default it is. Brokers do not start if a topic cannot have the value."""
MOST_THREADS = 1000
"""Maximum number of threads of a kind that can be set through ZooKeeper, if Kafka has no limit."""
_STARTED_THREADS = ("num.io.threads", "num.network.threads", "num.recovery.threads.per.data.dir")
"""Threads that a broker creates when it starts. For the last ones, Kafka from 3.3 on also creates a metric each."""
_LISTS_OF_CLASSES = ("metric.reporters",)
_LISTENER_CONFIG = re.compile(r"listener\.name\.[^.]*\.(.*)")
_NOT_WITH_ZOOKEEPER = ("remote.log.copy.disable", "remote.log.delete.on.disable")
"""Configs of topics that 3.9 refuses in ZooKeeper mode, both when they change and when they are loaded (KIP-950)."""
_LAG = ("min.compaction.lag.ms", "max.compaction.lag.ms")


def row_of(release: str, kind: Kind, name: str) -> Row | None:
    """The row of a config in one release; None if the release does not have it, or a broker cannot change it."""
    row: Row | None = None
    for since, then in _TABLES[kind].get(name, {}).items():
        if RELEASES.index(since) <= RELEASES.index(release):
            row = then
    return row


def check_value(releases: Sequence[str], kind: Kind, name: str, value: str) -> None:
    """Raise InputError or ConfigError unless all ``releases`` accept ``name=value``. The error names the others."""
    refused = {}
    for release in releases:
        try:
            _check(release, kind, name, value)
        except (InputError, ConfigError) as error:
            refused[release] = error
    if refused:
        first = next(iter(refused.values()))
        raise InputError(f"{first} ({releases_text(list(refused))})", hint=first.hint) from first


def check_together(releases: Sequence[str], values: Mapping[str, str], judged: bool) -> None:
    """Raise InputError for configs of a topic that exclude each other. ``judged``: a broker has accepted them."""
    if any(len(row_of(each, "topic", "local.retention.ms") or ()) > 3 for each in releases):
        # 3.0 to 3.5, where it is internal: brokers accept it, and fail when they load the topic
        _check_local_retention("ms", values)
        _check_local_retention("bytes", values)
    if not judged:
        _check_unjudged(releases, values)


def _check_local_retention(unit: str, values: Mapping[str, str]) -> None:
    name, whole = f"local.retention.{unit}", f"retention.{unit}"
    default = tables.TOPIC[whole][RELEASES[0]]
    local = parse(name, "LONG", values.get(name, "-2"))
    most = parse(whole, "LONG", values.get(whole, (default and default[1]) or "-1"))
    assert isinstance(local, int) and isinstance(most, int)
    if local != -2 and (local > most or (local == -1 and most != -1)):
        raise InputError(f"{name} ({local}) must not be more than {whole} ({most})")


def _check_unjudged(releases: Sequence[str], values: Mapping[str, str]) -> None:
    if all(name in values for name in _LAG) and any(row_of(each, "topic", _LAG[1]) for each in releases):
        least, most = (parse(name, "LONG", values[name]) for name in _LAG)
        if isinstance(least, int) and isinstance(most, int) and least > most:
            raise InputError(f"conflict topic config setting {_LAG[0]} ({least}) > {_LAG[1]} ({most})")
    if values.get("remote.storage.enable", "").lower() == "true":
        raise InputError(
            "cannot set remote.storage.enable through ZooKeeper: only a broker knows whether a topic can have "
            "remote storage",
            hint="use --bootstrap-server with the address of a broker",
        )


def releases_text(releases: Sequence[str]) -> str:
    """Releases in a message: ``Kafka 2.2``, ``Kafka 1.1 to 2.2`` or ``Kafka 1.1, 2.8``."""
    numbers = [RELEASES.index(each) for each in releases]
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"Kafka {releases[0]} to {releases[-1]}"
    return f"Kafka {', '.join(releases)}"


def _check(release: str, kind: Kind, name: str, value: str) -> None:
    if kind in ("broker", "all brokers"):
        _check_broker(release, kind, name, value)
        return
    row = row_of(release, kind, name)
    if row is None:
        raise InputError(f"Unknown {_NAMES[kind]} config name: {name}")
    _check_value(release, name, row, value)
    if kind == "topic" and name in _NOT_WITH_ZOOKEEPER and parse(name, "BOOLEAN", value):
        raise InputError(f"It is invalid to set {name} in ZooKeeper mode: brokers with it do not start")


def _check_broker(release: str, kind: Kind, name: str, value: str) -> None:
    """As ``DynamicBrokerConfig.validateConfigs``. Plugins may own names that Kafka does not define."""
    match = _LISTENER_CONFIG.fullmatch(name)
    base = match[1] if match else name
    if release == RELEASES[0] and kind == "all brokers":
        raise InputError(f"cannot set {name} for all brokers through ZooKeeper")
    if name not in THROTTLES:
        if release == RELEASES[0]:
            raise InputError(
                f"cannot set {name} for brokers through ZooKeeper: only {', '.join(sorted(THROTTLES))} can be set",
                hint="use --bootstrap-server with the address of a broker",
            )
        if name in names_in("STATIC", release):
            raise InputError(f"Cannot update these configs dynamically: {name}", hint="set it in server.properties")
        if name in names_in("SECURITY", release):
            raise InputError(f"{name} can be changed only for a listener", hint=f"set listener.name.<listener>.{name}")
        if kind == "all brokers":
            _check_cluster_level(release, name, base if match else None)
    row = row_of(release, "broker", base) or _mechanism_row(release, base)
    if row is not None and row[0] == SENSITIVE_TYPE:
        raise InputError(
            f"cannot set {name} through ZooKeeper: brokers store secrets encrypted with their password.encoder.secret",
            hint="set it with --bootstrap-server while a broker runs",
        )
    if row is not None:
        _check_value(release, name, row, value)
        check_loads(name, base, value)
    if base in _STARTED_THREADS and int(value) > MOST_THREADS:
        raise InputError(
            f"{name}={value}: a broker that cannot start this many threads does not start at all",
            hint=f"set at most {MOST_THREADS} through ZooKeeper, or more in server.properties",
        )
    twin = row_of(release, "topic", _TOPIC_CONFIGS.get(base, ""))
    if twin is not None and twin[0] != "LIST":
        _check_value(release, name, twin, value)


def _check_cluster_level(release: str, name: str, listener_config: str | None) -> None:
    of_listener = listener_config is not None and listener_config not in names_in("CLUSTER_LEVEL_LISTENER", release)
    if of_listener or name in names_in("PER_BROKER", release):
        raise InputError(
            f"Cannot update these configs at default cluster level, broker id must be specified: {name}",
            hint="name the broker with --broker",
        )


def _mechanism_row(release: str, base: str) -> Row | None:
    """The row of ``<mechanism>.sasl.jaas.config`` and similar configs."""
    for name in names_in("LISTENER_MECHANISM", release):
        if base.endswith(f".{name}"):
            return row_of(release, "broker", name)
    return None


def _check_value(release: str, name: str, row: Row, value: str) -> None:
    if release == RELEASES[0] and not value:
        raise InputError(f"{name}: cannot set an empty value", hint="remove the config with --delete-config")
    if (row[0] == "CLASS" or name in _LISTS_OF_CLASSES) and value != row[1]:
        raise InputError(
            f"cannot set {name} through ZooKeeper: only a broker can check that it has the class '{value[:100]}'",
            hint="set it with --bootstrap-server while a broker runs, or in server.properties",
        )
    if row[2] != VERSION_RULE:
        found = check(name, row, value, empty_items=True)
        if row[2] == REPLICA_LIST and isinstance(found, list):
            _check_replica_numbers(name, found)
        return
    # As ApiVersion.apply: 2.2.1 is 2.2, 0.10.2.1 is 0.10.2.
    version = ".".join(value.strip().split(".")[: 3 if value.strip().startswith("0.") else 2])
    if version not in names_in("VERSIONS", release):
        raise invalid(name, value, f"Version `{value}` is not a valid version")


def _check_replica_numbers(name: str, replicas: Sequence[str]) -> None:
    """Brokers parse replicas as two numbers of 32 bits, and do not start with other values."""
    for number in ":".join(replicas).split(":"):
        if number.isdigit():
            parse(name, "INT", number)


@cache
def names_in(table: str, release: str) -> frozenset[str]:
    """The members of a set of ``tables`` in one release. ``table`` is the name of the set."""
    found: set[str] = set()
    changes: tables.Names = getattr(tables, table)
    for since, words in changes.items():
        if RELEASES.index(since) <= RELEASES.index(release):
            for word in words.split():
                found.discard(word[1:]) if word.startswith("-") else found.add(word)
    return frozenset(found)
