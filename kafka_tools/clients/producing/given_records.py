"""Checks and copies the parts of a record that users pass, before the record is queued."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from kafka_tools.clients.producing.batch import Header
from kafka_tools.errors import InputError
from kafka_tools.values import as_int, can_be_sent

Column: TypeAlias = Sequence[bytes | None]
GivenRecords: TypeAlias = Iterable[bytes | None] | Iterable[tuple[bytes | None, bytes | None]]
"""Values, or pairs of key and value."""


def bytes_of(name: str, given: object) -> bytes:
    """A key or value as immutable bytes. Raises InputError."""
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(given)
    hint = "encode it: text.encode()" if isinstance(given, str) else None
    raise InputError(f"invalid {name}: expected bytes or None, not a value of type {type(given).__name__}", hint=hint)


def headers_of(given: Sequence[Header]) -> tuple[Header, ...]:
    """Headers in immutable form. Raises InputError."""
    try:
        pairs = [(name, content) for name, content in given]
    except (TypeError, ValueError):
        raise InputError("invalid headers: expected a list of pairs (name, bytes or None)") from None
    for name, _ in pairs:
        if not (isinstance(name, str) and can_be_sent(name)):
            raise InputError(f"invalid headers: expected a str as the name, not {name!r}")
    return tuple((name, None if content is None else bytes_of(f"header '{name}'", content)) for name, content in pairs)


def timestamp_of(given: object) -> int:
    """The time of a record. Raises InputError for one that a record cannot have."""
    number = as_int(given)
    if number is None or not 0 <= number < 2**63:
        raise InputError(f"invalid timestamp_ms {given!r}: expected milliseconds since 1970, or None for now")
    return number


def headers_size_bytes(headers: Sequence[Header]) -> int:
    """Names and values, with an upper bound of what their lengths take."""
    return sum(len(name.encode()) + (len(content) if content else 0) + 10 for name, content in headers)


def columns_of(given: GivenRecords) -> tuple[Column | None, Column]:
    """The keys (None if no record has one) and values of many records. Raises InputError, naming the record."""
    records: Sequence[Any] = _listed(given)
    kinds = set(map(type, records))
    if tuple not in kinds:
        return None, _checked("records[{}]", records, kinds)
    if kinds != {tuple} or set(map(len, records)) != {2}:
        wrong = next(number for number, each in enumerate(records) if type(each) is not tuple or len(each) != 2)
        raise InputError(f"invalid records[{wrong}]: expected a pair (key, value), as in the other records")
    keys, values = (list(map(itemgetter(place), records)) for place in (0, 1))
    key_kinds = set(map(type, keys))
    checked = _checked("the key of records[{}]", keys, key_kinds) if key_kinds != {type(None)} else None
    return checked, _checked("the value of records[{}]", values, set(map(type, values)))


def _listed(given: Any) -> Sequence[Any]:
    if isinstance(given, str | bytes | bytearray | memoryview):
        raise InputError("invalid records: expected a list of values or of pairs (key, value)", hint="pass [value]")
    shape, dtype = getattr(given, "shape", None), getattr(given, "dtype", None)
    if dtype is not None and shape is not None:  # an array of numpy
        if dtype.kind == "u" and dtype.itemsize == 1 and len(shape) == 2:
            data, width = given.tobytes(), shape[1]
            return [data[start : start + width] for start in range(0, len(data), width)] if width else [b""] * shape[0]
        if dtype.kind != "O":
            raise InputError(
                f"invalid records: expected bytes, not an array of {dtype} with {len(shape)} dimensions",
                hint="pass a list, or an array of uint8 with a row for each value",
            )
    try:
        return list(given)
    except TypeError:
        raise InputError(f"invalid records: expected a list, not a value of type {type(given).__name__}") from None


def _checked(name: str, column: Sequence[Any], kinds: set[type]) -> Column:
    if kinds <= {bytes, type(None)}:
        return column
    return [
        each if each is None or each.__class__ is bytes else bytes_of(name.format(number), each)
        for number, each in enumerate(column)
    ]


def times_of(given: object, count: int) -> Sequence[int] | int | None:
    """The time of many records, or the times of each. Raises InputError."""
    if given is None or isinstance(given, str | bytes) or not isinstance(given, Iterable):
        return None if given is None else timestamp_of(given)
    times = [timestamp_of(each) for each in given]
    if len(times) != count:
        raise InputError(f"invalid timestamp_ms: expected one time, or {count} as there are records, not {len(times)}")
    return times
