"""Ranges on the command line of kafka-dump-log: ``--offsets FROM:TO``, ``--time FROM:TO``, ``--from-position``.

Ranges are half open and either end may be left out. A time is ISO-8601 with its zone, milliseconds since 1970, ``now``,
or a span before now (``2h``, ``PT2H``): what a reader of logs knows when something happened.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from kafka_tools.errors import UsageError

_INT64 = 2**63
_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?(Z|z|[+-]\d\d:?\d\d)?", re.ASCII
)
_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d|w)", re.ASCII)
_ISO_SPAN = re.compile(
    r"P(?=.)(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?=.)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?", re.ASCII
)
_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXAMPLES = "2024-05-01T10:00:00Z:2024-05-01T10:05:00Z, 1714557600000:, 2h: or :now"


class StartPosition(NamedTuple):
    """Where to begin: a byte of the log file whose name starts with ``base_offset`` (None: of the only one)."""

    base_offset: int | None
    position: int


def offset_range(text: str) -> tuple[int | None, int | None]:
    """``FROM:TO``, ``FROM:``, ``:TO`` or one offset. Raises UsageError."""
    first, colon, last = text.strip().partition(":")
    start, end = (_offset(part, text) for part in (first, last))
    if not colon and start is not None:
        end = start + 1
    if start is None and end is None:
        raise UsageError(f"--offsets: '{text}' names no offset", hint="write for example 100:200, 100: or 100")
    if start is not None and end is not None and start >= end:
        raise UsageError(f"--offsets: '{text}' is empty: the second offset is the first one that is not shown")
    return start, end


def _offset(part: str, text: str) -> int | None:
    part = part.strip()
    if not part:
        return None
    if not (part.isascii() and part.isdecimal()) or int(part) >= _INT64:
        raise UsageError(
            f"--offsets: '{part}' in '{text}' is not an offset", hint="write for example 100:200, 100: or 100"
        )
    return int(part)


def position(text: str) -> StartPosition:
    """``BYTES`` or ``BASE_OFFSET:BYTES``. Raises UsageError."""
    base, colon, byte = text.strip().rpartition(":")
    for part in (base, byte) if colon else (byte,):
        if not (part.isascii() and part.isdecimal()) or int(part) >= _INT64:
            raise UsageError(
                f"--from-position: '{text}' is not a position",
                hint="write a byte of the log, or the segment's base offset and a byte: 4096, 5000:4096",
            )
    return StartPosition(int(base) if colon else None, int(byte))


def time_range(text: str, now_ms: int) -> tuple[int | None, int | None]:
    """``FROM:TO`` in milliseconds. Times have colons themselves: the one where both sides are times counts.

    Raises UsageError.
    """
    found: list[tuple[int | None, int | None]] = []
    for at, character in enumerate(text):
        if character == ":":
            start, end = _moment(text[:at], now_ms), _moment(text[at + 1 :], now_ms)
            if start is not False and end is not False and (start is not None or end is not None):
                found.append((start, end))
    if not found:
        hint = "the zone is part of a time: write Z for UTC, or +02:00" if _lacks_zone(text) else None
        raise UsageError(
            f"--time: '{text}' is not a range of times FROM:TO, such as {_EXAMPLES}",
            hint=hint,
        )
    if len(found) > 1:
        raise UsageError(f"--time: '{text}' can be read in {len(found)} ways", hint="write times with Z or an offset")
    start, end = found[0]
    if start is not None and end is not None and start >= end:
        raise UsageError(f"--time: '{text}' is empty: the second time is the first one that is not shown")
    return start, end


def _lacks_zone(text: str) -> bool:
    return any(match[4] and not match[8] for match in _MOMENT.finditer(text))


def _moment(text: str, now_ms: int) -> int | bool | None:
    """Milliseconds since 1970; None for nothing, False for what is not a time."""
    text = text.strip()
    if not text:
        return None
    if text.lower() == "now":
        return now_ms
    if text.isascii() and text.isdecimal():
        return int(text) if int(text) < _INT64 else False
    span_ms = _span_ms(text)
    if span_ms is not None:
        return now_ms - span_ms
    match = _MOMENT.fullmatch(text)
    if match is None or match[8] is None:
        return False
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    zone = match[8].replace(":", "")
    ahead = timedelta()
    if zone not in "Zz":
        ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:5])) * (-1 if zone[0] == "-" else 1)
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - ahead
    except (ValueError, OverflowError):
        return False
    return (moment - _EPOCH) // timedelta(milliseconds=1) + int((match[7] or "").ljust(3, "0")[:3])


def _span_ms(text: str) -> int | None:
    match = _SPAN.fullmatch(text.lower().removesuffix(" ago").strip())
    if match is not None:
        return round(float(match[1]) * _UNIT_MS[match[2]])
    match = _ISO_SPAN.fullmatch(text.upper())
    if match is None:
        return None
    return sum(int(part or 0) * _UNIT_MS[unit] for part, unit in zip(match.groups(), "wdhms", strict=True))
