"""Values of configs with units, as people type them: ``retention.ms=7d``, ``segment.bytes=10MiB``.

A unit has effect only if Kafka defines the config in ms or bytes, and if Kafka does not accept the text as a number. A
value that a broker accepts is unchanged. MB is 10^6 bytes, MiB 2^20.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from kafka_tools.config_definitions import Row
from kafka_tools.config_definitions.lookup import row_of
from kafka_tools.errors import ConfigError, InputError
from kafka_tools.texts.moments import unit_ms

_LONGEST_TEXT = 60
"""Characters. No number with a unit is longer, so longer texts go to the broker unchanged."""
_QUANTITY = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([A-Za-z]+(?:/s)?)")
_LIKE_A_NUMBER = re.compile(r"[+-]?\.?[0-9].*[A-Za-z].*", re.DOTALL)
_JAVA_DOUBLE = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|0[xX][0-9a-fA-F.]+[pP][+-]?[0-9]+)[fFdD]?"
)
_LARGEST = {"SHORT": 2**15 - 1, "INT": 2**31 - 1, "LONG": 2**63 - 1}

_SIZES = "kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024)"
_BYTES: dict[str, int] = {"B": 1, "kB": 1000} | {
    f"{prefix}{unit}": base**power
    for base, unit in ((1000, "B"), (1024, "iB"))
    for power, prefix in enumerate("KMGTP", 1)
}
_BYTES |= {name.lower(): size for name, size in _BYTES.items()}

_SUFFIX_MS = {".ms": 1, ".millis": 1, ".secs": 1000, ".seconds": 1000, ".minutes": 60_000, ".hours": 3_600_000}
_MILLISECONDS = frozenset(("sasl.kerberos.min.time.before.relogin",))
_SIZES_BY_NAME = frozenset(
    (
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.io.buffer.size",
        "metadata.log.max.record.bytes.between.snapshots",
        "offsets.load.buffer.size",
        "sasl.server.max.receive.size",
        "share.coordinator.load.buffer.size",
        "transaction.state.log.load.buffer.size",
    )
)
_RATES = frozenset(
    (
        "consumer_byte_rate",
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "producer_byte_rate",
    )
)
"""Bytes per second."""
_QUOTA: Row = ("DOUBLE", None, "")
_FAR = 100_000
"""If a default is this many times as large as a value, a unit is probably missing: 8 for 8d, 10 for 10MB."""


class Unit(NamedTuple):
    """The unit of a config, as a number of ms or bytes (``size``); ``rate``: per second."""

    word: str
    size: int
    is_time: bool = False
    rate: bool = False


OF_METAVARS = {
    "MS": Unit("ms", 1, is_time=True),
    "MINUTES": Unit("minutes", 60_000, is_time=True),
    "BYTES": Unit("bytes", 1),
    "BYTES/S": Unit("bytes per second", 1, rate=True),
}
"""The units of numbers in options of commands, by the option's placeholder on a help page."""


def unit_of(name: str) -> Unit | None:
    """The unit of a config, by its name; None if it does not count time or bytes."""
    for suffix, milliseconds in _SUFFIX_MS.items():
        if name.endswith(suffix):
            return Unit("ms" if milliseconds == 1 else suffix[1:], milliseconds, is_time=True)
    if name in _MILLISECONDS:
        return Unit("ms", 1, is_time=True)
    if name in _RATES or name.endswith(".bytes.per.second"):
        return Unit("bytes per second", 1, rate=True)
    return Unit("bytes", 1) if name.endswith(".bytes") or name in _SIZES_BY_NAME else None


def resolved(entity_type: str, name: str, text: str) -> str | None:
    """``text``, a number with a unit, converted to the config's own unit; None for any other text.

    ``entity_type`` is that of kafka-configs: topics, brokers, groups, client-metrics, users or clients. Raises
    ConfigError for a number with a unit that cannot be a value of that config.
    """
    typed = text.strip()
    if len(typed) > _LONGEST_TEXT or not _LIKE_A_NUMBER.fullmatch(typed):
        return None
    unit = unit_of(name)
    row = _row(entity_type, name) if unit is not None else None
    if unit is None or row is None or (row[0] not in _LARGEST and row[0] != "DOUBLE"):
        return None
    if row[0] == "DOUBLE" and _JAVA_DOUBLE.fullmatch(typed):
        return None
    refused = f"Invalid value {typed} for configuration {name}: Not a number of type {row[0]}"
    number = _number(typed, unit, refused)
    if row[0] != "DOUBLE" and number.denominator != 1:
        raise ConfigError(f"{refused}: {typed} is not a whole number of {unit.word}")
    if number > _LARGEST.get(row[0], _LARGEST["LONG"]):
        largest = _LARGEST.get(row[0], _LARGEST["LONG"])
        raise ConfigError(f"{refused}: {typed} exceeds the maximum of {largest} {unit.word}")
    return str(number.numerator) if number.denominator == 1 else repr(float(number))


def far_below_default(entity_type: str, name: str, text: str) -> str | None:
    """The default of a time or size, as words, if ``text`` is so small that its unit may be missing.

    This means a number from 2 to 999 without a unit, if the default is at least ``_FAR`` times as large, or if the
    default of a size or rate is no limit. It does not apply to times without a limit, because ``flush.ms=100`` is
    plausible, or to 1, which means "as little as possible".
    """
    typed = text.strip()
    unit = unit_of(name)
    if unit is None or typed == "1" or not re.fullmatch("[1-9][0-9]{0,2}", typed):
        return None
    row = _row(entity_type, name)
    default = None if row is None else _default(row, name)
    if default is None:
        return None
    if default < 0 or default >= _LARGEST["LONG"]:
        return None if unit.is_time else "no limit"
    return f"{default:.0f} {unit.word}" if default >= _FAR * int(typed) else None


def _default(row: Row, name: str) -> float | None:
    """The default as a number, negative or huge for no limit; None if it is no number, or depends on other configs."""
    if row is _QUOTA:
        return -1
    if row[0] not in _LARGEST and row[0] != "DOUBLE":
        return None
    if row[1] is None and name.startswith("log."):
        from kafka_tools.config_definitions.topic import BROKER_NAME, TABLE

        topic = next((topic for topic, broker in BROKER_NAME.items() if broker == name), None)
        return None if topic is None else float(TABLE[topic][1] or -1)
    return None if row[1] is None else float(row[1])


def in_unit(text: str, unit: Unit) -> int | None:
    """``text``, a number with a unit, converted to a whole number of ``unit``; None for any other text.

    Raises ConfigError for a unit of another kind, and for a fraction of ms or bytes.
    """
    typed = text.strip()
    if len(typed) > _LONGEST_TEXT or not _LIKE_A_NUMBER.fullmatch(typed):
        return None
    number = _number(typed, unit, f"'{typed}' is not a whole number")
    if number.denominator != 1:
        raise ConfigError(f"invalid number '{typed}': expected a whole number of {unit.word}")
    return number.numerator


def _number(typed: str, unit: Unit, refused: str) -> Fraction:
    found = _QUANTITY.fullmatch(typed)
    if found is None:
        example = "7d" if unit.is_time else "10MiB"
        raise ConfigError(f"{refused}, and not a number with one unit, such as {example}")
    return Fraction(found[1]) * _size(found[2], unit, refused) / unit.size


def _size(word: str, unit: Unit, refused: str) -> int:
    """The unit ``word`` in milliseconds or bytes. Raises ConfigError with ``refused`` for the wrong kind of unit."""
    if unit.is_time:
        try:
            return unit_ms(word)
        except InputError as error:
            raise ConfigError(f"{refused}: {error}") from None
    size = _BYTES.get(word.removesuffix("/s") if unit.rate else word)
    if size is None:
        raise ConfigError(f"{refused}: invalid unit of {unit.word} '{word}': expected {_SIZES}")
    return size


def _row(entity_type: str, name: str) -> Row | None:
    """The definition of a config, in 4.3.1 or in the last release with ZooKeeper; None if neither has it."""
    if entity_type in ("users", "clients"):
        return _QUOTA if name in _RATES and "_" in name else None
    older = {"brokers": "broker", "topics": "topic"}.get(entity_type)
    return row_of(entity_type, name) or (_older_row(older, name) if older else None)


def _older_row(kind: str, name: str) -> Row | None:
    from kafka_tools.config_definitions.zookeeper import tables

    rows = (tables.TOPIC if kind == "topic" else tables.BROKER).get(name, {})
    return next((row for row in reversed(rows.values()) if row is not None), None)
