"""Filters of records: ``PATH OP VALUE``, such as ``value.customer.id = 7`` or ``header.trace ~ ^a``.

There is no language to evaluate. Regular expressions are RE2's, which take linear time whatever the text is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_tools.clients.fetched_data import ConsumedRecord
from kafka_tools.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.clients.fetching.polled_columns import PolledColumns
    from kafka_tools.messages.decoders import Decoders

OPERATORS = ("!=", "<=", ">=", "!~", "==", "=", "<", ">", "~")
_PART = re.compile(r"\s*(?P<path>[^\s=!<>~]+)\s*(?P<operator>!=|<=|>=|!~|==|=|<|>|~)\s*(?P<value>.*?)\s*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_STEP = re.compile(r"\[(\d{1,9})\]|\.?([^.\[\]]+)")
_FIELDS = ("key", "value", "header", "partition", "offset", "time")
FORM = f"PATH OP VALUE, with a path that starts with {', '.join(_FIELDS)}, and one of {' '.join(OPERATORS)}"
ABSENT = object()
"""The value of a path that a record does not have. It differs from every value, and from null."""
Test = Callable[[Any], bool]


class FilterPart(NamedTuple):
    """One condition: the field, the steps below it (member names, indexes), the operator and the typed value."""

    field: str
    steps: tuple[str | int, ...]
    operator: str
    test: Test
    exact: bytes | None = None
    """The only bytes of the whole field that match, if there are such."""
    needle: bytes | None = None
    """Bytes that every matching document contains, unless it has escapes. So most records need no JSON parser."""


class Candidate(NamedTuple):
    """A record from columns, which have no headers: whether it has some."""

    without_headers: ConsumedRecord
    has_headers: bool


def parse_part(text: str, now_ms: int) -> FilterPart:
    """The condition of a text. Raises InputError for other texts, and for an invalid regular expression."""
    found = _PART.fullmatch(text)
    field, _, rest = (found["path"] if found else "").partition(".")
    name, bracket, index = field.partition("[")
    if found is None or name not in _FIELDS:
        raise InputError(f"invalid filter '{text}': expected {FORM}")
    rest = f"{bracket}{index}" + (f".{rest}" if rest and bracket else rest)
    steps = (rest,) if name == "header" else _steps(rest, text)
    if name == "header" and not rest:
        raise InputError(f"invalid filter '{text}': expected the name of a header, as in header.trace = a")
    if name in ("partition", "offset", "time") and rest:
        raise InputError(f"invalid filter '{text}': {name} has no members")
    operator = found["operator"].replace("==", "=")
    value = _unquoted(found["value"])
    if name == "time":
        from kafka_tools.texts.moments import moment_ms

        value = str(moment_ms(value, now_ms))
    is_word = operator == "=" and bool(steps) and _WORD.fullmatch(value) is not None and name in ("key", "value")
    is_whole_text = operator == "=" and not steps and name in ("key", "value") and found["value"] != "null"
    return FilterPart(
        name, steps, operator, _test(operator, value, found["value"] == "null"),
        value.encode() if is_whole_text else None, value.encode() if is_word else None,
    )  # fmt: skip


def key_part(key: str) -> FilterPart:
    """The condition that a record's key is this text."""
    return FilterPart("key", (), "=", _test("=", key, False), key.encode())


class RecordFilter:
    """Conditions that a record must all satisfy; without conditions every record matches."""

    def __init__(self, parts: Sequence[FilterPart], decoders: Decoders, from_ms: int | None, to_ms: int | None) -> None:
        """``from_ms``, ``to_ms``: the times of the range; records outside it do not match."""
        self.parts = list(parts)
        if from_ms is not None:
            self.parts.append(FilterPart("time", (), ">=", _test(">=", str(from_ms), False)))
        if to_ms is not None:
            self.parts.append(FilterPart("time", (), "<", _test("<", str(to_ms), False)))
        self._decoders = decoders
        self.needs_headers = any(part.field == "header" for part in self.parts)

    def matches(self, record: ConsumedRecord) -> bool:
        """Whether the record satisfies all conditions."""
        return all(self._matches(part, record) for part in self.parts)

    def candidates(self, columns: PolledColumns, inside: NDArray[Any]) -> Iterator[Candidate]:
        """The records of ``inside`` that may match, by the conditions that columns can decide."""
        import numpy as np

        for part in self.parts:
            if part.exact is not None and self._is_text(part):
                inside = inside & (_sizes(part.field, columns) == len(part.exact))
            if part.needle is not None and not self._decoders.uses_internal(part.field):
                inside = inside & _containing(part.needle, part.field, columns)
        for at in np.flatnonzero(inside).tolist():
            key = _cut(columns, "key", at)
            value = _cut(columns, "value", at)
            record = ConsumedRecord(
                columns.topic, columns.partition, int(columns.offsets[at]), int(columns.timestamps_ms[at]), 0, key,
                value, (), -1,
            )  # fmt: skip
            yield Candidate(record, bool(columns.header_count[at]))

    def _is_text(self, part: FilterPart) -> bool:
        return self._decoders.is_plain(part.field)

    def _matches(self, part: FilterPart, record: ConsumedRecord) -> bool:
        if part.exact is not None and self._is_text(part):
            return (record.key if part.field == "key" else record.value) == part.exact
        if part.field == "header":
            return any(
                name == part.steps[0] and part.test(self._decoders.header(value)[0]) for name, value in record.headers
            )
        if part.field in ("partition", "offset", "time"):
            return part.test(
                {"partition": record.partition, "offset": record.offset}.get(part.field, record.timestamp_ms)
            )
        if not part.steps:
            return part.test(self._decoders.of(record, part.field)[0])
        if part.needle is not None and not self._decoders.uses_internal(part.field):
            data = record.key if part.field == "key" else record.value
            if data is None or (part.needle not in data and b"\\" not in data):
                return False
        return part.test(_below(self._decoders.document(record, part.field), part.steps))


def _containing(needle: bytes, field: str, columns: PolledColumns) -> NDArray[Any]:
    """Which keys or values contain ``needle``; all, if any bytes may be escapes of JSON.

    A needle is a word. It cannot begin before a document and end inside, because documents begin with a bracket.
    """
    import numpy as np

    start, size = (columns.key_start, columns.key_size) if field == "key" else (columns.value_start, columns.value_size)
    if b"\\" in columns.data:
        return size >= 0
    hits = [found.start() for found in re.finditer(re.escape(needle), columns.data)]
    return np.searchsorted(hits, start) < np.searchsorted(hits, start + size - len(needle), side="right")


def _sizes(field: str, columns: PolledColumns) -> NDArray[Any]:
    return columns.key_size if field == "key" else columns.value_size


def _cut(columns: PolledColumns, field: str, at: int) -> bytes | None:
    start, size = (
        (columns.key_start[at], columns.key_size[at]) if field == "key"
        else (columns.value_start[at], columns.value_size[at])
    )  # fmt: skip
    return None if size < 0 else columns.data[int(start) : int(start) + int(size)]


def _steps(text: str, whole: str) -> tuple[str | int, ...]:
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise InputError(f"invalid path in '{whole}': expected members and indexes, such as value.items[0].id")
        steps.append(int(found[1]) if found[1] is not None else found[2])
        at = found.end()
    return tuple(steps)


def _below(document: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        if isinstance(step, int) and isinstance(document, list) and step < len(document):
            document = document[step]
        elif isinstance(document, dict) and str(step) in document:
            document = document[str(step)]
        else:
            return ABSENT
    return document


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'" else text


def _test(operator: str, text: str, is_null: bool) -> Test:
    if operator in ("~", "!~"):
        from kafka_tools.texts.regular_expressions import compile_pattern

        pattern = compile_pattern(text)
        return lambda value: value is not ABSENT and pattern.is_in(_text(value)) == (operator == "~")
    if is_null:
        return {"=": lambda value: value is None, "!=": lambda value: value is not None and value is not ABSENT}.get(
            operator, lambda value: False
        )
    number = _number(text)

    def order(value: Any) -> int | None:
        """-1, 0 or 1 as ``value`` is below, equal to or above the typed value; None if they cannot be compared."""
        if value is ABSENT or value is None:
            return None
        own = _number(value)
        if own is not None and number is not None:
            return (own > number) - (own < number)
        shown = _text(value)
        return (shown > text) - (shown < text)

    tests: dict[str, Test] = {
        "=": lambda value: order(value) == 0,
        "!=": lambda value: value is not ABSENT and order(value) != 0,
        "<": lambda value: order(value) == -1,
        ">": lambda value: order(value) == 1,
        "<=": lambda value: order(value) in (-1, 0),
        ">=": lambda value: order(value) in (0, 1),
    }
    return tests[operator]


def _number(value: Any) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if (
        isinstance(value, str)
        and len(value) <= 40
        and re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d{1,3})?", value, re.ASCII)
    ):
        return float(value) if "." in value or "e" in value.lower() else int(value)
    return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
