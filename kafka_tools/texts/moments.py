"""Parses times and time spans that people type: ``2026-11-22``, ``2026-11-22T10:30``, ``2 hours ago``, ``7d``.

All options that take a time use this module. Times are in UTC unless a zone follows. Plain digits are milliseconds
since the epoch, as in Kafka's tools. Commands print the resulting time. Times, spans and values of configs all use
``unit_ms`` for units.
"""

from __future__ import annotations

import re

from kafka_tools.errors import InputError

FORMS = "2026-11-22, 2026-11-22T10:30:00 (UTC unless a zone such as Z or +02:00 follows), or '2 hours ago'"
"""The forms of a time, for hints."""

LONGEST_TEXT = 100
"""Characters. No value in range is longer, and Python does not convert thousands of digits."""
_LONGEST_MS = 2**62
"""The largest span or distance from the epoch, in ms. The difference of two times still fits Kafka's INT64."""

_DATE_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?",
    re.IGNORECASE | re.ASCII,
)
_SPAN = re.compile(r"(\d{1,12})(?:\.(\d{1,3}))?\s*([a-z]+)", re.IGNORECASE | re.ASCII)
_ISO_SPAN = re.compile(
    r"P(?=.)(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?=.)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?",
    re.IGNORECASE | re.ASCII,
)
_ISO_MS = (604_800_000, 86_400_000, 3_600_000, 60_000, 1000)
_AGO = re.compile(r"(.*\S)\s+ago", re.IGNORECASE)
_UNITS = {
    1: ("ms", "millisecond", "milliseconds"),
    1000: ("s", "sec", "secs", "second", "seconds"),
    60_000: ("m", "min", "mins", "minute", "minutes"),
    3_600_000: ("h", "hour", "hours"),
    86_400_000: ("d", "day", "days"),
    604_800_000: ("w", "week", "weeks"),
}
_UNIT_MS = {name: milliseconds for milliseconds, names in _UNITS.items() for name in names}


class AmbiguousUnit(InputError):
    """A unit of time with two meanings: ``M`` means minutes to some people, months to others."""


def unit_ms(word: str) -> int:
    """Milliseconds of a unit of time, in upper or lower case.

    Raises AmbiguousUnit for ``M``, and InputError for a word that is not a unit of time.
    """
    if word == "M":
        raise AmbiguousUnit("ambiguous unit 'M', minutes or months: write m for minutes, and days or weeks for months")
    milliseconds = _UNIT_MS.get(word.lower())
    if milliseconds is None:
        raise InputError(f"invalid unit of time '{word}': expected ms, s, m, h, d or w")
    return milliseconds


def moment_ms(text: str, now_ms: int, *, any_fraction: bool = False) -> int:
    """Milliseconds since the epoch of a typed time. A span such as ``2h`` means that long before ``now_ms``.

    A fraction of a second must have three digits: Kafka reads ``.5`` as 5 ms, ISO 8601 as 500 ms. With ``any_fraction``
    other fractions have ISO's meaning. Raises InputError for other texts.
    """
    if len(text) > LONGEST_TEXT:
        raise InputError(f"invalid time: {len(text)} characters are too long")
    typed = text.strip()
    if typed.isascii() and typed.isdigit():
        return in_range(text, int(typed))
    if typed.lower() == "now":
        return now_ms
    ago = _AGO.fullmatch(typed)
    span = span_ms(ago[1] if ago is not None else typed)
    if span is not None:
        return in_range(text, now_ms - span)
    found = _DATE_TIME.fullmatch(typed)
    if found is None:
        raise InputError(f"invalid time '{text}': expected {FORMS}")
    return _of_date(text, found, any_fraction)


def span_ms(text: str) -> int | None:
    """Milliseconds of ``2h``, ``1.5 days`` or ``PT2H``; None for other forms.

    Raises InputError for a number with a unit other than time, and AmbiguousUnit for ``3M``.
    """
    found = _SPAN.fullmatch(text)
    if found is not None:
        try:
            milliseconds = unit_ms(found[3])
        except InputError as error:
            raise type(error)(f"'{text}': {error}") from None
        fraction = (found[2] or "").ljust(3, "0")
        return int(found[1]) * milliseconds + int(fraction) * milliseconds // 1000
    found = _ISO_SPAN.fullmatch(text)
    if found is None:
        return None
    return sum(int(part or 0) * each_ms for part, each_ms in zip(found.groups(), _ISO_MS, strict=True))


def in_range(text: str, milliseconds: int) -> int:
    """``milliseconds``. Raises InputError if the number is too large for Kafka's INT64."""
    if abs(milliseconds) > _LONGEST_MS:
        raise InputError(f"invalid time '{text}': outside the range of Kafka's timestamps")
    return milliseconds


def _of_date(text: str, found: re.Match[str], any_fraction: bool) -> int:
    from datetime import UTC, datetime, timedelta

    fraction = found[7] or ""
    if fraction and len(fraction) != 3 and not any_fraction:
        raise InputError(f"write the fraction of '{text}' with three digits (milliseconds)")
    try:
        year, month, day, hour, minute, second = (int(found[at] or 0) for at in range(1, 7))
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise InputError(f"invalid time '{text}': {error}") from error
    elapsed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return elapsed // timedelta(milliseconds=1) + int(fraction.ljust(3, "0")[:3]) - _zone_ms(text, found[8])


def _zone_ms(text: str, zone: str | None) -> int:
    if zone is None or zone in "Zz":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:  # Java's limits
        raise InputError(f"invalid zone {zone} in '{text}': expected at most 23 hours and 59 minutes from UTC")
    offset_ms = (hours * 60 + minutes) * 60_000
    return -offset_ms if zone[0] == "-" else offset_ms
