"""Times in patterns of SimpleDateFormat. The expected texts are those that Java 17 printed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from kafka_tools.errors import InputError
from kafka_tools.texts.simple_date_format import java_date_format

MOMENT_MS = 1_795_774_003_054  # 2026-11-27T10:06:43.054Z


@pytest.fixture(autouse=True)
def zone() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Asia/Kolkata"
    time.tzset()
    yield
    os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
    time.tzset()


@pytest.mark.parametrize(
    "pattern, text",
    [
        ("yyyy-MM-dd HH:mm:ss:SSS", "2026-11-27 15:36:43:054"),
        ("yy.M.d h:m:s.S a", "26.11.27 3:36:43.54 PM"),
        ("EEE, d MMM yyyy HH:mm:ss Z", "Fri, 27 Nov 2026 15:36:43 +0530"),
        ("EEEE MMMM D k K u", "Friday November 331 15 3 5"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2026-11-27T15:36:43.054+05:30"),
        ("X XX z", "+05 +0530 IST"),
        ("h 'o''clock' '' ''''", "3 o'clock ' ''"),
    ],
)
def test_a_pattern_gives_the_text_of_java(pattern: str, text: str) -> None:
    assert java_date_format(pattern)(MOMENT_MS) == text


@pytest.mark.parametrize(
    "pattern, reason", [("yyyy 'open", "a quote is not closed"), ("GG yyyy", "'GG' is not supported")]
)
def test_a_pattern_that_is_none_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        java_date_format(pattern)
