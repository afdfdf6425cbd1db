"""Config values like in ConfigDef: parse, validate and format them.

It knows types and notations, but no single config. The messages are those of
``org.apache.kafka.common.config.ConfigDef`` (4.3.1), because operators search for them.
"""

from __future__ import annotations

import re

from kafka_tools.config_definitions import Row
from kafka_tools.errors import ConfigError
from kafka_tools.texts.java_numbers import java_double

Value = int | float | bool | str | list[str] | None
"""INT, SHORT, LONG -> int; DOUBLE -> float; BOOLEAN -> bool; LIST -> list of str; the rest -> str."""

SENSITIVE_TYPE = "PASSWORD"

_BOUNDS = {"SHORT": 1 << 15, "INT": 1 << 31, "LONG": 1 << 63}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)")
_RANGE = re.compile(r"\[(-?[0-9.]+),\.\.\.(?:,(-?[0-9.]+))?\]")
_RANGE_OR = re.compile(r"\[(-?\d+),\.\.\.,(-?\d+)\] or (-?\d+)")
_ONE_OF = re.compile(r"(\(case insensitive\) |non-empty )?\[(.*)\]")
_REPLICAS = re.compile(r"\d+:\d+")
_DURATION = re.compile(r"P(?=.)(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d{1,9})?S)?)?", re.IGNORECASE)
REPLICA_LIST = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
_OFFSET_RESET = "[latest, earliest, by_duration:PnDTnHnMn.nS]"


def parse(name: str, kind: str, text: str) -> Value:
    """The value of ``text``, without surrounding blanks. Raises ConfigError for a text of another type."""
    trimmed = text.strip()
    if kind == "BOOLEAN":
        if trimmed.lower() not in ("true", "false"):
            raise invalid(name, text, "Expected value to be either true or false")
        return trimmed.lower() == "true"
    if kind in _BOUNDS:
        # Java's longest number has 19 digits. The length check limits the work of int().
        if not _INTEGER.fullmatch(trimmed) or len(trimmed.lstrip("+-0")) > 19:
            raise invalid(name, text, f"Not a number of type {kind}")
        number = int(trimmed)
        if not -_BOUNDS[kind] <= number < _BOUNDS[kind]:
            raise invalid(name, text, f"Not a number of type {kind}")
        return number
    if kind == "DOUBLE":
        if not _DOUBLE.fullmatch(trimmed):
            raise invalid(name, text, "Not a number of type DOUBLE")
        return float(trimmed.rstrip("fFdD"))
    if kind == "LIST":
        return re.split(r"\s*,\s*", trimmed) if trimmed else []
    return trimmed


def check(name: str, row: Row, text: str, *, empty_items: bool = False) -> Value:
    """Parse ``text`` and apply the row's rule. Raises ConfigError with the valid values.

    ``empty_items``: lists may be empty and may have empty items, as before Kafka 4.
    """
    value = parse(name, row[0], text)
    if isinstance(value, list) and "" in value and not empty_items:
        raise ConfigError(f"Configuration '{name}' values must not be empty.")
    if row[2]:
        _check_valid(name, row[2], value)
    return value


def default_of(name: str, row: Row) -> Value:
    """The default value."""
    return None if row[1] is None else parse(name, row[0], row[1])


def to_text(value: Value) -> str | None:
    """The form of DescribeConfigs: lists joined by commas, doubles in Java's notation."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double(value)
    if isinstance(value, list):
        return ",".join(value)
    return str(value)


def invalid(name: str, value: object, why: str) -> ConfigError:
    """ConfigDef's error for an invalid value."""
    return ConfigError(f"Invalid value {value} for configuration {name}: {why}")


def _check_valid(name: str, rule: str, value: Value) -> None:
    if match := _RANGE.fullmatch(rule):
        _check_range(name, value, match[1], match[2])
    elif match := _RANGE_OR.fullmatch(rule):
        low, high, other = (int(number) for number in match.groups())
        if not isinstance(value, int) or not (low <= value <= high or value == other):
            raise invalid(name, value, f"Value must be between {low} and {high} or equal to {other}")
    elif rule == REPLICA_LIST:
        _check_replicas(name, value)
    elif rule == _OFFSET_RESET:
        _check_offset_reset(name, value)
    elif match := _ONE_OF.fullmatch(rule):
        _check_one_of(name, value, match[2].split(", "), match[1] or "")
    elif rule == "non-empty string":
        if value == "":
            raise invalid(name, value, "String must be non-empty")
    elif rule == "non-empty":
        _check_not_empty(name, value)
    elif rule != "non-null string":
        raise AssertionError(f"config table: {name} has an unknown rule: {rule}")


def _check_range(name: str, value: Value, low: str, high: str | None) -> None:
    assert isinstance(value, (int, float))
    shown = to_text(value)
    if value < float(low):
        raise invalid(name, shown, f"Value must be at least {low}")
    if high is not None and value > float(high):
        raise invalid(name, shown, f"Value must be no more than {high}")


def _check_one_of(name: str, value: Value, allowed: list[str], mode: str) -> None:
    if mode.startswith("non-empty"):
        _check_not_empty(name, value)
    for item in value if isinstance(value, list) else [value]:
        if mode.startswith("(case"):
            if str(item).upper() not in (word.upper() for word in allowed):
                words = ", ".join(word.upper() for word in allowed)
                raise invalid(name, item, f"String must be one of (case insensitive): {words}")
        elif item not in allowed:
            raise invalid(name, item, f"String must be one of: {', '.join(allowed)}")


def _check_not_empty(name: str, value: Value) -> None:
    if value == []:
        raise ConfigError(f"Configuration '{name}' must not be empty. Valid values include: any non-empty value")


def _check_replicas(name: str, value: Value) -> None:
    """As Kafka's ThrottledReplicaListValidator: ``*`` alone, or partition:broker pairs."""
    assert isinstance(value, list)
    if value != ["*"] and not all(_REPLICAS.fullmatch(item) for item in value):
        shown = f"[{', '.join(value)}]"
        why = f"{name} must be the literal '*' or a list of replicas in the following format: {REPLICA_LIST}"
        raise invalid(name, shown, why)


def _check_offset_reset(name: str, value: Value) -> None:
    """KIP-1106's strategies, as in Kafka's ShareGroupAutoOffsetResetStrategy."""
    text = str(value)
    if text not in ("earliest", "latest") and not (
        text.startswith("by_duration:") and _DURATION.fullmatch(text.removeprefix("by_duration:"))
    ):
        why = (
            f"Invalid value `{text}` for configuration {name}. The value must be either 'earliest', 'latest' "
            "or of the format 'by_duration:<PnDTnHnMn.nS>'."
        )
        raise invalid(name, text, why)
