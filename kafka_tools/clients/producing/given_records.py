"""Checks and copies the parts of a record that users pass, before the record is queued."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_tools.clients.producing.batch import Header
from kafka_tools.errors import InputError
from kafka_tools.values import as_int, can_be_sent


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
