"""Moments as people type them: ``2026-11-22``, ``2026-11-22T10:30``, ``2 hours ago``; UTC unless a zone follows.

Every option that takes a moment reads it here, says to what it was resolved, and takes bare digits as milliseconds
since the epoch, as Kafka's tools do.
"""

from __future__ import annotations

import re

from kafka_tools.errors import InputError

FORMS = "2026-11-22, 2026-11-22T10:30:00 (UTC unless a zone such as Z or +02:00 follows), or '2 hours ago'"
"""The forms of a moment, for hints."""

LONGEST_TEXT = 100
"""Longer than any value in range can be; thousands of digits would not even convert."""
_LONGEST_MS = 2**62
"""Most milliseconds before or after a moment: the difference of two still fits Kafka's INT64."""

_DATE_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.IGNORECASE | re.ASCII,
)
_AGO = re.compile(r"(\d{1,12})\s*([a-z]+)\s+ago", re.IGNORECASE | re.ASCII)
_UNITS = {
    1: ("ms", "millisecond", "milliseconds"),
    1000: ("s", "sec", "secs", "second", "seconds"),
    60_000: ("m", "min", "mins", "minute", "minutes"),
    3_600_000: ("h", "hour", "hours"),
    86_400_000: ("d", "day", "days"),
    604_800_000: ("w", "week", "weeks"),
}
_UNIT_MS = {name: milliseconds for milliseconds, names in _UNITS.items() for name in names}


def moment_ms(text: str, now_ms: int) -> int:
    """Milliseconds since the epoch of a moment as it was typed; ``now_ms`` is what "ago" counts from.

    A fraction of a second has three digits: Kafka reads ``.5`` as 5 ms and ISO 8601 as 500, so anything shorter is
    refused. InputError for what is not a moment.
    """
    if len(text) > LONGEST_TEXT:
        raise InputError(f"a value of {len(text)} characters is not a time")
    typed = text.strip()
    if typed.isascii() and typed.isdigit():
        return in_range(text, int(typed))
    if typed.lower() == "now":
        return now_ms
    ago = _AGO.fullmatch(typed)
    if ago is not None:
        unit = _UNIT_MS.get(ago[2].lower())
        if unit is None:
            raise InputError(f"'{text}': '{ago[2]}' is not a unit of time: s, m, h, days or weeks for example")
        return in_range(text, now_ms - int(ago[1]) * unit)
    found = _DATE_TIME.fullmatch(typed)
    if found is None:
        raise InputError(f"'{text}' is not a moment: {FORMS} is expected")
    return _of_date(text, found)


def in_range(text: str, milliseconds: int) -> int:
    """``milliseconds``; InputError where Kafka could not hold them."""
    if abs(milliseconds) > _LONGEST_MS:
        raise InputError(f"'{text}' is outside the times that Kafka can hold")
    return milliseconds


def _of_date(text: str, found: re.Match[str]) -> int:
    from datetime import UTC, datetime, timedelta

    fraction = found[7]
    if fraction is not None and len(fraction) != 3:
        raise InputError(f"write the fraction of '{text}' with three digits (milliseconds)")
    try:
        year, month, day, hour, minute, second = (int(found[at] or 0) for at in range(1, 7))
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise InputError(f"'{text}' is not a date and time: {error}") from error
    elapsed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return elapsed // timedelta(milliseconds=1) + int(fraction or 0) - _zone_ms(found[8])


def _zone_ms(zone: str | None) -> int:
    if zone is None or zone in "Zz":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    offset_ms = (int(digits[:2]) * 60 + int(digits[2:])) * 60_000
    return -offset_ms if zone[0] == "-" else offset_ms
