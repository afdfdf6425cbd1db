"""Moments as people type them, in UTC unless a zone follows."""

from __future__ import annotations

import pytest

from kafka_tools.errors import InputError
from kafka_tools.texts.moments import AmbiguousUnit, moment_ms

NOW = 1_800_000_000_123
HOUR, DAY = 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1577836800000", 1577836800000),
        ("now", NOW),
        ("2 hours ago", NOW - 2 * HOUR),
        ("1 hour ago", NOW - HOUR),
        ("90m ago", NOW - 90 * 60_000),
        (" 30 SECONDS  AGO ", NOW - 30_000),
        ("3 days ago", NOW - 3 * DAY),
        ("2w ago", NOW - 14 * DAY),
        ("1.5h ago", NOW - HOUR * 3 // 2),
        ("7d", NOW - 7 * DAY),
        ("PT2H", NOW - 2 * HOUR),
        ("P1DT1S ago", NOW - DAY - 1000),
        ("1970-01-02Z", DAY),
        ("1970-01-02", DAY),
        ("1970-01-02 01:00", DAY + HOUR),
        ("1970-01-02T01:00Z", DAY + HOUR),
        ("1970-01-02T01:00:00+01:00", DAY),
        ("1970-01-02T01:00:00.250-0100", DAY + 2 * HOUR + 250),
        ("1969-12-31", -DAY),
        ("1970-01-02T01:00-23:59", 3 * DAY - 60_000 + HOUR - DAY),
    ],
)
def test_a_moment_is_read_as_it_is_typed(text: str, expected: int) -> None:
    assert moment_ms(text, NOW) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2026-13-01", "invalid time '.*': month must be in 1..12"),
        ("2026-02-30", "invalid time"),
        ("2026-01-01T10:30+24:00", r"invalid zone \+24:00"),
        ("2026-01-01T10:30+0160", r"invalid zone \+0160"),
        ("2026-1-1", "invalid time"),
        ("tomorrow", "invalid time"),
        ("2 fortnights ago", "invalid unit of time 'fortnights'"),
        ("-5", "invalid time"),
        ("", "invalid time"),
        ("2026-01-01T00:00:00.5", "write the fraction"),
        ("9" * 30, "outside the range of Kafka's timestamps"),
        ("9" * 5000, "invalid time: 5000 characters are too long"),
        ("\u0663 hours ago", "invalid time"),
        ("\u0662\u0660\u0662\u0666-\u0660\u0661-\u0660\u0661", "invalid time"),
    ],
)
def test_what_is_not_a_moment_is_said(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        moment_ms(text, NOW)


def test_a_fraction_of_another_length_is_iso_s_where_that_is_said() -> None:
    assert moment_ms("1970-01-01T00:00:00.5", NOW, any_fraction=True) == 500
    assert moment_ms("1970-01-01T00:00:00.123456789Z", NOW, any_fraction=True) == 123


@pytest.mark.parametrize("text", ["3M", "3 M ago", "1.5M"])
def test_a_unit_with_two_readings_is_refused_and_told_what_to_type(text: str) -> None:
    with pytest.raises(AmbiguousUnit, match="ambiguous unit 'M', minutes or months: write m for minutes"):
        moment_ms(text, NOW)
