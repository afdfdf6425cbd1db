"""Broker configs that ZooKeeper stores but a broker cannot load when it starts: ``KafkaConfig``'s own checks.

Kafka's tool stores them. A broker that finds such a config logs an error, and starts without all of its configs in
ZooKeeper.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_tools.config_definitions.zookeeper import tables
from kafka_tools.errors import InputError

_LISTENERS = ("listeners", "advertised.listeners", "listener.security.protocol.map")
_OVERRIDES = "max.connections.per.ip.overrides"
_LEAST = {
    "log.retention.ms": (1, "must be unlimited (-1) or at least 1"),
    "log.cleaner.threads": (1, "must be at least 1"),
    "log.cleaner.dedupe.buffer.size": ((1 << 20) + 1, "must be more than 1 MiB for each cleaner thread"),
    "max.connections.per.ip": (1, f"can be 0 only if {_OVERRIDES} is set"),
}
_OTHERWISE = "a broker that reads this value ignores all of its dynamic configs"
CLEANER = ("log.cleaner.threads", "log.cleaner.dedupe.buffer.size")
"""Configs that a broker compares with each other when it starts."""
_CLEANER_LEAST_BYTES = 1 << 20
_JUDGE = "set it with --bootstrap-server while a broker runs, or in server.properties"


def check_loads(name: str, base: str, value: str) -> None:
    """Raise InputError for a value of the right type that brokers do not load. ``base``: the name without listener."""
    if base in _LISTENERS:
        raise InputError(
            f"cannot set {name} through ZooKeeper: only a broker can check that it matches the other listeners",
            hint=_JUDGE,
        )
    if base == "max.connections" and int(value) == 0:
        raise InputError(
            f"{name}={value}: with this value a broker accepts no connections", hint="set it to at least 1"
        )
    if base == _OVERRIDES:
        _check_overrides(name, value)
    least, rule = _LEAST.get(base, (0, ""))
    if rule and int(value) < least and not (base == "log.retention.ms" and int(value) == -1):
        raise InputError(f"{name}={value}: {rule}; {_OTHERWISE}")


def check_cleaner(values: Mapping[str, str]) -> None:
    """Raise InputError if a broker with these dynamic configs has too little memory for its cleaner threads.

    Configs that are not set dynamically count as Kafka's default: server.properties is not visible in ZooKeeper.
    """
    threads, buffer_bytes = (int(values.get(name, _default(name))) for name in CLEANER)
    if buffer_bytes // max(1, threads) <= _CLEANER_LEAST_BYTES:
        told = " (Kafka's default)" if CLEANER[1] not in values else ""
        raise InputError(
            f"{CLEANER[0]}={threads} with {CLEANER[1]}={buffer_bytes}{told}: each cleaner thread needs more than "
            f"1 MiB of the buffer; {_OTHERWISE}",
            hint=f"set {CLEANER[1]} in the same change" if told else None,
        )


def _default(name: str) -> str:
    row = tables.BROKER[name]["1.1"]
    assert row is not None and row[1] is not None
    return row[1]


def _check_overrides(name: str, value: str) -> None:
    import ipaddress

    for item in value.split(",") if value else ():
        host, _, count = item.strip().rpartition(":")
        try:
            ipaddress.ip_address(host.strip())
            valid = count.strip().isdecimal() and int(count) < 1 << 31
        except ValueError:
            valid = False
        if not valid:
            raise InputError(
                f"{name}={value[:100]}: must be a list of <IP address>:<count>; {_OTHERWISE}",
                hint=f"use IP addresses; for host names: {_JUDGE}",
            )
