"""Which rows are wanted: topics, partitions, offsets and times, from options and from filters that Spark pushes down.

One value serves both. Options choose exactly these rows; of a pushed filter Spark checks every row again, so that it
only has to leave out what cannot match. Damage is never left out by offset or time: it has none that could be trusted.
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
    """The rows that are wanted; None or empty where all are.

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

    def has_segment(self, base_offset: int, next_base_offset: int | None) -> bool:
        """Whether a segment, and the one after it, leave room for wanted offsets."""
        if self.max_offset is not None and base_offset > self.max_offset:
            return False
        return self.min_offset is None or next_base_offset is None or next_base_offset > self.min_offset

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

    def records(self, offset: Any, timestamp: Any) -> NDArray[np.bool_]:
        """Which records are wanted."""
        wanted = self.batches_with_records(offset, offset, timestamp)
        if self.until_ms is not None:
            wanted &= timestamp < self.until_ms
        return wanted

    def and_below(self, bound: int, *, of: str) -> Selection:
        """Also nothing from ``bound`` on, for ``offset`` or ``time``."""
        if of == "offset":
            return self._replace(max_offset=_least(self.max_offset, bound - 1))
        return self._replace(until_ms=_least(self.until_ms, bound))

    def and_from(self, bound: int, *, of: str) -> Selection:
        """Also nothing before ``bound``, for ``offset`` or ``time``."""
        if of == "offset":
            return self._replace(min_offset=_most(self.min_offset, bound))
        return self._replace(since_ms=_most(self.since_ms, bound))


class Filterable(NamedTuple):
    """Which columns of a table stand for what a selection knows.

    ``lower``/``upper``: columns of which a lower or upper bound says something about offset or time.
    """

    lower: dict[str, str]
    upper: dict[str, str]


BATCH_FILTERS = Filterable(
    lower={"base_offset": "offset", "last_offset": "offset", "max_timestamp": "time", "max_timestamp_ms": "time"},
    upper={"base_offset": "offset", "last_offset": "offset", "max_timestamp": "time", "max_timestamp_ms": "time"},
)
RECORD_FILTERS = Filterable(
    lower={"offset": "offset", "timestamp": "time", "timestamp_ms": "time"},
    upper={"offset": "offset", "timestamp": "time", "timestamp_ms": "time"},
)
FILE_FILTERS = Filterable({}, {})


def push(selection: Selection, filters: Iterable[Any], columns: Filterable) -> Selection:
    """The selection less what ``pyspark.sql.datasource`` filters exclude, as far as they say something about it."""
    for each in filters:
        name = each.attribute[0] if len(getattr(each, "attribute", ())) == 1 else None
        operator = type(each).__name__
        value: Any = getattr(each, "value", None)
        if name == "topic" and operator in ("EqualTo", "EqualNullSafe", "In"):
            names = frozenset(value if operator == "In" else [value])
            selection = selection._replace(names=names if selection.names is None else selection.names & names)
        elif name == "partition":
            selection = _partition(selection, operator, value)
        elif name is not None and operator in ("EqualTo", "EqualNullSafe", "In"):
            values = [_number(one) for one in (value if operator == "In" else [value])]
            numbers = [one for one in values if one is not None]
            if len(numbers) == len(values) > 0:
                selection = _lower(selection, columns, name, min(numbers))
                selection = _upper(selection, columns, name, max(numbers) + 1)
        elif name is not None and (number := _number(value)) is not None:
            if operator in ("GreaterThan", "GreaterThanOrEqual"):
                # A time is cut to milliseconds, so one that is only greater is no later than this.
                after = operator == "GreaterThan" and not isinstance(value, datetime)
                selection = _lower(selection, columns, name, number + after)
            elif operator in ("LessThan", "LessThanOrEqual"):
                before = operator == "LessThan" and not isinstance(value, datetime)
                selection = _upper(selection, columns, name, number + (not before))
    return selection


def _partition(selection: Selection, operator: str, value: Any) -> Selection:
    bounds: dict[str, Any] = {
        "EqualTo": lambda: [(value, value)],
        "EqualNullSafe": lambda: [(value, value)],
        "In": lambda: [(one, one) for one in value if one is not None],
        "GreaterThan": lambda: [(value + 1, _MOST)],
        "GreaterThanOrEqual": lambda: [(value, _MOST)],
        "LessThan": lambda: [(0, value - 1)],
        "LessThanOrEqual": lambda: [(0, value)],
    }
    if operator not in bounds or value is None:
        return selection
    old = ((0, _MOST),) if selection.partitions is None else selection.partitions
    both = ((max(a, c), min(b, d)) for a, b in old for c, d in bounds[operator]())
    return selection._replace(partitions=tuple((low, high) for low, high in both if low <= high))


def _lower(selection: Selection, columns: Filterable, name: str, bound: int) -> Selection:
    return selection.and_from(bound, of=columns.lower[name]) if name in columns.lower else selection


def _upper(selection: Selection, columns: Filterable, name: str, bound: int) -> Selection:
    return selection.and_below(bound, of=columns.upper[name]) if name in columns.upper else selection


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


def _least(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


def _most(one: int | None, other: int) -> int:
    return other if one is None else max(one, other)
