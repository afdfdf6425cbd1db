"""Numbers as Java writes them."""

from __future__ import annotations

import math

import pytest

from kafka_tools.texts.java_numbers import java_double


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (0.5, "0.5"),
        (1.5e-5, "1.5E-5"),
        (1e23, "1.0E23"),
        (-2e10, "-2.0E10"),
        (1024.0, "1024.0"),
        (2048.5, "2048.5"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (123456789.125, "1.23456789125E8"),
        (0.001, "0.001"),
        (0.00012, "1.2E-4"),
        (1e-5, "1.0E-5"),
        (-3e-7, "-3.0E-7"),
        (1e22, "1.0E22"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_doubles_are_written_as_java_writes_them(value: float, text: str) -> None:
    assert java_double(value) == text
