"""Ranges on the command line of kafka-dump-log: ``--offsets FROM:TO``, ``--time FROM:TO``, ``--from-position``.

Ranges exclude their end, and both limits are optional. Times are those of ``texts.moments``: ISO-8601, in UTC unless a
zone follows, milliseconds since 1970, ``now``, or a span before now (``2h``, ``PT2H``, ``2 hours ago``).
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_tools.errors import InputError, UsageError
from kafka_tools.texts.moments import AmbiguousUnit, moment_ms
from kafka_tools.values import number_below

_INT64 = 2**63
_EXAMPLES = "2024-05-01T10:00:00Z:2024-05-01T10:05:00Z, 1714557600000:, 2h: or :now"


class StartPosition(NamedTuple):
    """The first byte to read, of the log whose name starts with ``base_offset`` (None: of the only log)."""

    base_offset: int | None
    position: int


def offset_range(text: str) -> tuple[int | None, int | None]:
    """``FROM:TO``, ``FROM:``, ``:TO`` or one offset. Raises UsageError."""
    first, colon, last = text.strip().partition(":")
    start, end = (_offset(part, text) for part in (first, last))
    if not colon and start is not None:
        end = start + 1
    if start is None and end is None:
        raise UsageError(f"invalid --offsets '{text}': no offset", hint="write for example 100:200, 100: or 100")
    if start is not None and end is not None and start >= end:
        raise UsageError(f"invalid --offsets '{text}': the range is empty, because its end is exclusive")
    return start, end


def _offset(part: str, text: str) -> int | None:
    part = part.strip()
    if not part:
        return None
    offset = number_below(_INT64, part)
    if offset is None:
        raise UsageError(
            f"invalid --offsets '{text}': '{part}' is not an offset", hint="write for example 100:200, 100: or 100"
        )
    return offset


def position(text: str) -> StartPosition:
    """``BYTES`` or ``BASE_OFFSET:BYTES``. Raises UsageError."""
    base, colon, byte = text.strip().rpartition(":")
    for part in (base, byte) if colon else (byte,):
        if number_below(_INT64, part) is None:
            raise UsageError(
                f"invalid --from-position '{text}': expected BYTE or BASE:BYTE",
                hint="write a byte of the log, or the base offset of the segment and a byte: 4096, 5000:4096",
            )
    return StartPosition(int(base) if colon else None, int(byte))


def time_range(text: str, now_ms: int) -> tuple[int | None, int | None]:
    """``FROM:TO`` in milliseconds. Times also contain colons, so the range is split where both sides are times.

    Raises UsageError.
    """
    if _moment(text, now_ms) not in (None, False):
        raise UsageError(f"invalid --time '{text}': expected a range FROM:TO, such as {_EXAMPLES}")
    found: list[tuple[int | None, int | None]] = []
    for at, character in enumerate(text):
        if character == ":":
            start, end = _moment(text[:at], now_ms), _moment(text[at + 1 :], now_ms)
            if start is not False and end is not False and (start is not None or end is not None):
                found.append((start, end))
    if not found:
        raise UsageError(f"invalid --time '{text}': expected a range FROM:TO, such as {_EXAMPLES}")
    if len(found) > 1:
        raise UsageError(
            f"ambiguous --time '{text}': {len(found)} ways to read it",
            hint="write times with seconds and a zone such as Z",
        )
    start, end = found[0]
    if start is not None and end is not None and start >= end:
        raise UsageError(f"invalid --time '{text}': the range is empty, because its end is exclusive")
    return start, end


def _moment(text: str, now_ms: int) -> int | bool | None:
    """Milliseconds since 1970; None for an empty text, False for a text that is not a time."""
    typed = text.strip()
    if not typed:
        return None
    if typed.isascii() and typed.isdecimal() and len(typed) < 20:
        return int(typed) if int(typed) < _INT64 else False
    try:
        return moment_ms(typed, now_ms, any_fraction=True)
    except AmbiguousUnit as error:
        raise UsageError(f"--time: {error}") from None
    except InputError:
        return False
