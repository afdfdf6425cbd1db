"""Times in the patterns of Java's ``SimpleDateFormat``: ``yyyy-MM-dd HH:mm:ss:SSS``.

Names of months, weekdays and halves of a day are English. Letters that the patterns of measurements do not need, such
as the era, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from kafka_tools.errors import InputError

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_TOKEN = re.compile(r"''|'((?:[^']|'')*)'|([A-Za-z])\2*|[^'A-Za-z]+")
"""A quote, a text in quotes, a run of one letter, or other characters."""
_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "d": lambda at: at.day,
    "D": lambda at: at.timetuple().tm_yday,
    "H": lambda at: at.hour,
    "k": lambda at: at.hour or 24,
    "K": lambda at: at.hour % 12,
    "h": lambda at: at.hour % 12 or 12,
    "m": lambda at: at.minute,
    "s": lambda at: at.second,
    "S": lambda at: at.microsecond // 1000,
    "u": lambda at: at.isoweekday(),
}


def java_date_format(pattern: str) -> Callable[[int], str]:
    """A function from milliseconds since the epoch to the text of this pattern, in the local time zone.

    Raises InputError for a pattern that is not one, or that has a letter that is not supported.
    """
    parts = list(_parts(pattern))

    def text(milliseconds: int) -> str:
        seconds, rest = divmod(milliseconds, 1000)
        at = datetime.fromtimestamp(seconds).astimezone().replace(microsecond=rest * 1000)
        return "".join(part if isinstance(part, str) else part(at) for part in parts)

    return text


def _parts(pattern: str) -> list[str | Callable[[datetime], str]]:
    found: list[str | Callable[[datetime], str]] = []
    end = 0
    for token in _TOKEN.finditer(pattern):
        if token.start() != end:
            break
        end = token.end()
        quoted, letter = token[1], token[2]
        if quoted is not None:
            found.append(quoted.replace("''", "'"))
        elif letter is not None:
            found.append(_field(pattern, letter, end - token.start()))
        else:
            found.append("'" if token[0] == "''" else token[0])
    if end != len(pattern):
        raise InputError(f"invalid date format '{pattern}': a quote is not closed")
    return found


def _field(pattern: str, letter: str, count: int) -> Callable[[datetime], str]:
    """The text of a run of one letter."""
    if letter in _NUMBERS:
        number = _NUMBERS[letter]
        return lambda at: str(number(at)).zfill(count)
    if letter in "yY":
        return lambda at: f"{at.year % 100:02}" if count == 2 else str(at.year).zfill(count)
    if letter in "ML":
        if count < 3:
            return lambda at: str(at.month).zfill(count)
        return lambda at: _MONTHS[at.month - 1][: None if count > 3 else 3]
    if letter == "E":
        return lambda at: _DAYS[at.weekday()][: None if count > 3 else 3]
    if letter == "a":
        return lambda at: "AM" if at.hour < 12 else "PM"
    if letter == "z" and count < 4:
        return lambda at: at.tzname() or ""
    if letter == "Z":
        return lambda at: _offset(at, "")
    if letter == "X" and count <= 3:
        return lambda at: _iso_offset(at, count)
    raise InputError(
        f"invalid date format '{pattern}': '{letter * count}' is not supported",
        hint="use the letters y M d E D a H k K h m s S u z Z X of Java's SimpleDateFormat, and text in quotes",
    )


def _offset(at: datetime, separator: str) -> str:
    offset = at.utcoffset()
    minutes = int(offset.total_seconds()) // 60 if offset is not None else 0
    sign, minutes = ("-" if minutes < 0 else "+"), abs(minutes)
    return f"{sign}{minutes // 60:02}{separator}{minutes % 60:02}"


def _iso_offset(at: datetime, count: int) -> str:
    text = _offset(at, ":" if count == 3 else "")
    if text.strip("+-0:") == "":
        return "Z"
    return text[:3] if count == 1 else text
