"""The selection of rows by topic, partition, offset and time, from options and from filters that Spark pushes down.

Options select exactly these rows. Spark checks every row again with the filters that it pushed, so a pushed filter may
select more. No selection by offset or time leaves out damage, because its offsets and times cannot be trusted.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kafka_tools.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST = 2**63 - 1


class Selection(NamedTuple):
    """The selected rows; a field is None or empty to select all.

    ``topics`` are glob patterns, ``names`` exact ones. Offsets are inclusive; ``since_ms`` is the first time wanted,
    ``until_ms`` the first one no longer wanted, in milliseconds since the epoch.
    """

    topics: tuple[str, ...] = ()
    names: frozenset[str] | None = None
    partitions: tuple[tuple[int, int], ...] | None = None
    min_offset: int | None = None
    max_offset: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None

    def has_partition(self, topic: str, partition: int) -> bool:
        """Whether anything of a partition may be wanted."""
        return (
            (not self.topics or any(fnmatchcase(topic, pattern) for pattern in self.topics))
            and (self.names is None or topic in self.names)
            and (self.partitions is None or any(low <= partition <= high for low, high in self.partitions))
        )

    @property
    def chooses_rows(self) -> bool:
        """Whether rows are chosen by offset or time."""
        return any(bound is not None for bound in self[3:])

    def batches(self, base_offset: Any, last_offset: Any, max_timestamp: Any) -> NDArray[np.bool_]:
        """Which batches are wanted; the times of a batch are that of its latest record."""
        wanted = self.batches_with_records(base_offset, last_offset, max_timestamp)
        if self.until_ms is not None:
            wanted &= max_timestamp < self.until_ms
        return wanted

    def batches_with_records(self, base_offset: Any, last_offset: Any, max_timestamp: Any) -> NDArray[np.bool_]:
        """Which batches may hold wanted records."""
        wanted = np.ones(len(base_offset), np.bool_)
        if self.min_offset is not None:
            wanted &= last_offset >= self.min_offset
        if self.max_offset is not None:
            wanted &= base_offset <= self.max_offset
        if self.since_ms is not None:
            wanted &= max_timestamp >= self.since_ms
        return wanted

    def between(self, of: str, first: int | None, end: int | None) -> Selection:
        """Also nothing before ``first`` and nothing from ``end`` on; ``of`` is offset or time."""
        names = ("min_offset", "max_offset") if of == "offset" else ("since_ms", "until_ms")
        last = end - 1 if end is not None and of == "offset" else end
        changed: dict[str, Any] = {}
        for name, bound, closer in zip(names, (first, last), (max, min), strict=True):
            known = [each for each in (getattr(self, name), bound) if each is not None]
            changed[name] = closer(known, default=None)
        return self._replace(**changed)


EVERYTHING = Selection()

_BOUNDED = {
    **dict.fromkeys(("base_offset", "last_offset", "offset"), "offset"),
    **dict.fromkeys(("max_timestamp", "max_timestamp_ms", "timestamp", "timestamp_ms"), "time"),
}
"""Columns of all tables that limit offset or time."""


def push(selection: Selection, filters: Iterable[Any]) -> Selection:
    """The selection less what ``pyspark.sql.datasource`` filters exclude, as far as they say something about it."""
    for each in filters:
        name = each.attribute[0] if len(getattr(each, "attribute", ())) == 1 else None
        operator = type(each).__name__
        value: Any = getattr(each, "value", None)
        is_one_of = operator in ("EqualTo", "EqualNullSafe", "In")
        if name == "topic" and is_one_of:
            names = frozenset(value if operator == "In" else [value])
            selection = selection._replace(names=names if selection.names is None else selection.names & names)
        elif name == "partition":
            selection = _partition(selection, operator, value)
        elif name in _BOUNDED:
            first, end = _bounds(operator, value)
            selection = selection.between(_BOUNDED[name], first, end)
    return selection


def _bounds(operator: str, value: Any) -> tuple[int | None, int | None]:
    """(the first number, the first one beyond) that a filter lets pass; None for no bound."""
    if operator in ("EqualTo", "EqualNullSafe", "In"):
        numbers = [number for one in (value if operator == "In" else [value]) if (number := _number(one)) is not None]
        complete = len(numbers) == (len(value) if operator == "In" else 1)
        return (min(numbers), max(numbers) + 1) if numbers and complete else (None, None)
    number = _number(value)
    if number is None:
        return None, None
    # A time is cut to milliseconds: one that is only greater is no later, and one that is only less no earlier.
    exact = not isinstance(value, datetime)
    if operator in ("GreaterThan", "GreaterThanOrEqual"):
        return number + (operator == "GreaterThan" and exact), None
    if operator in ("LessThan", "LessThanOrEqual"):
        return None, number + 1 - (operator == "LessThan" and exact)
    return None, None


def _partition(selection: Selection, operator: str, value: Any) -> Selection:
    if operator == "In":
        ranges = [(one, one) for one in value if one is not None]
    else:
        first, end = _bounds(operator, value)
        if first is None and end is None:
            return selection
        ranges = [(first or 0, _MOST if end is None else end - 1)]
    old = ((0, _MOST),) if selection.partitions is None else selection.partitions
    both = ((max(a, c), min(b, d)) for a, b in old for c, d in ranges)
    return selection._replace(partitions=tuple((low, high) for low, high in both if low <= high))


def _number(value: Any) -> int | None:
    """A whole number, or a time as milliseconds since the epoch, rounded down."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        since = moment - _EPOCH
        return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def parse_partitions(text: str) -> tuple[tuple[int, int], ...]:
    """``0,4-7`` as ranges; InputError."""
    ranges = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if not (low.isascii() and low.isdecimal() and (not dash or (high.isascii() and high.isdecimal()))):
            raise InputError(f"invalid option 'partitions' '{text}': expected numbers, for example 0,4-7")
        ranges.append((int(low), int(high) if dash else int(low)))
    return tuple(ranges)


def parse_time(name: str, text: str) -> int:
    """Milliseconds since the epoch from such a number, or from ISO 8601 (UTC unless it says otherwise); InputError."""
    if text.isascii() and text.removeprefix("-").isdecimal():
        return int(text)
    try:
        number = _number(datetime.fromisoformat(text))
    except ValueError:
        number = None
    if number is None:
        raise InputError(
            f"invalid option '{name}' '{text}': expected milliseconds since 1970 or a time such as 2026-01-31T12:00:00Z"
        )
    return number
