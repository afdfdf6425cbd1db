"""Sizes and spans in words."""

from __future__ import annotations

import pytest

from kafka_tools.texts.quantities import bytes_text, span_text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, "-"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        ((1 << 20) - 100, "1.0 MiB"),
        (1023 * 1024, "1023 KiB"),
        ((1 << 30) - 1, "1.0 GiB"),
        (200 << 20, "200 MiB"),
        (-(1 << 20), "-1.0 MiB"),
        (1 << 60, "1024.0 PiB"),
    ],
)
def test_a_size_is_in_the_unit_that_fits_it(size: int | None, text: str) -> None:
    assert bytes_text(size) == text


def test_a_span_is_in_its_two_largest_units() -> None:
    assert [span_text(seconds) for seconds in (0, 59.6, 725, 12_000, 700_000)] == [
        "0 s", "1 min", "12 min 5 s", "3 h 20 min", "8 d 2 h",
    ]  # fmt: skip
