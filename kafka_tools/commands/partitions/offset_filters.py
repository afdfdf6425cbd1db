"""The partitions and the kind of offset that ``kafka-get-offsets`` asks for (GetOffsetShell, ``org...tools.filter``).

A rule is a pattern over topic names and a choice of partitions. Texts of mistakes are Kafka's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kafka_tools.commands.topics.patterns import TopicPattern, is_plain
from kafka_tools.errors import InputError, UsageError
from kafka_tools.protocol.enums import OffsetSpec

SPECS = {
    "earliest": OffsetSpec.EARLIEST,
    "latest": OffsetSpec.LATEST,
    "max-timestamp": OffsetSpec.MAX_TIMESTAMP,
    "earliest-local": OffsetSpec.EARLIEST_LOCAL,
    "latest-tiered": OffsetSpec.LATEST_TIERED,
    "earliest-pending-upload": OffsetSpec.EARLIEST_PENDING_UPLOAD,
}
_WORDS = (
    "-1 or latest / -2 or earliest / -3 or max-timestamp / -4 or earliest-local / -5 or latest-tiered / -6 or "
    "earliest-pending-upload"
)
_RULE = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")
_ANY = ".*"
_MOST = 2**31 - 1


class OffsetRule(NamedTuple):
    """A pattern that matches whole topic names, and a choice of partitions."""

    topics: TopicPattern
    takes: Callable[[int], bool]


class OffsetFilter:
    """The union of some rules."""

    def __init__(self, rules: Iterable[OffsetRule]) -> None:
        self._rules = tuple(rules)

    def allows_topic(self, name: str) -> bool:
        return any(rule.topics.matches(name) for rule in self._rules)

    def chosen(self, topic: str, numbers: Iterable[int]) -> list[int]:
        """The partitions of a topic that a rule selects."""
        rules = [rule.takes for rule in self._rules if rule.topics.matches(topic)]
        return [number for number in numbers if any(takes(number) for takes in rules)]

    @property
    def only_topic(self) -> str | None:
        """The only topic that can match; None if others can match."""
        names = {rule.topics.text for rule in self._rules}
        return names.pop() if len(names) == 1 and all(map(is_plain, names)) else None


def of_patterns(text: str) -> OffsetFilter:
    """Parse ``topic1:1,topic2:0-3,topic3,topic4:5-,topic5:-3``. A range excludes its end. Raises UsageError."""
    return OffsetFilter(map(_rule, _parts(text)))


def of_topic(topic: str | None, partitions: str | None) -> OffsetFilter:
    """A filter of a topic pattern (None: all), and comma-separated partition numbers (None: all)."""
    numbers = frozenset(_numbers(partitions)) if partitions is not None else None
    return OffsetFilter([OffsetRule(TopicPattern(topic or _ANY), lambda each: numbers is None or each in numbers)])


def parse_time(text: str, now_ms: int) -> tuple[int, bool]:
    """The timestamp or special number for ListOffsets, and whether it was typed as a date or a time span.

    Raises UsageError with Kafka's text for an invalid value.
    """
    from kafka_tools.texts.moments import moment_ms

    if text in SPECS:
        return SPECS[text], False
    if re.fullmatch(r"[+-]?[0-9]{1,19}", text):
        number = int(text)
        if number in SPECS.values() or 0 <= number < 2**63:
            return number, False
    else:
        try:
            return moment_ms(text, now_ms), True
        except InputError as error:
            raise UsageError(_malformed(text), hint=f"or pass a time: {error}") from None
    raise UsageError(_malformed(text))


def _malformed(text: str) -> str:
    return f"Malformed time argument {text}. Please use {_WORDS}, or a specified long format timestamp"


def _parts(text: str) -> list[str]:
    """As ``String.split(",")`` of Java: drops empty parts at the end."""
    parts = text.split(",")
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _rule(text: str) -> OffsetRule:
    found = _RULE.fullmatch(text)
    if found is None:
        raise UsageError(f"Invalid rule specification: {text}")
    topic, only, low, high = (each or None for each in found.groups())
    pattern = TopicPattern(topic or _ANY)
    if only is not None:
        number = _number(only, text)
        return OffsetRule(pattern, lambda each: each == number)
    first = 0 if low is None else _number(low, text)
    end = _MOST if high is None else _number(high, text)
    return OffsetRule(pattern, lambda each: first <= each < end)


def _number(digits: str, rule: str) -> int:
    if len(digits) > 10 or int(digits) > _MOST:
        raise UsageError(f"Invalid rule specification: {rule}: a partition is at most {_MOST}")
    return int(digits)


def _numbers(text: str) -> list[int]:
    parts = _parts(text)
    if not parts or not all(re.fullmatch(r"[+-]?[0-9]{1,10}", part) and abs(int(part)) <= _MOST for part in parts):
        raise UsageError(f"--partitions expects a comma separated list of numeric partition ids, but received: {text}")
    return [int(part) for part in parts]
