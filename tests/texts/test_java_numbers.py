"""Numbers as Java writes them."""

from __future__ import annotations

import math

import pytest

from kafka_tools.texts.java_numbers import java_double, java_fixed, java_ratio


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


@pytest.mark.parametrize(
    "value, texts",
    [
        (0.125, "0.1 0.13 0.1250"),
        (0.135, "0.1 0.14 0.1350"),
        (2.675, "2.7 2.68 2.6750"),
        (1.005, "1.0 1.01 1.0050"),
        (0.00005, "0.0 0.00 0.0001"),
        (123456.78945, "123456.8 123456.79 123456.7895"),
        (9.995, "10.0 10.00 9.9950"),
        (-0.125, "-0.1 -0.13 -0.1250"),
        (1e22, "10000000000000000000000.0 10000000000000000000000.00 10000000000000000000000.0000"),
        (math.nan, "NaN NaN NaN"),
        (math.inf, "Infinity Infinity Infinity"),
    ],
)
def test_fixed_places_are_rounded_as_java_rounds_them(value: float, texts: str) -> None:
    assert [java_fixed(value, places) for places in (1, 2, 4)] == texts.split()


def test_a_division_by_zero_is_no_error() -> None:
    assert java_ratio(3, 2) == 1.5
    assert (java_ratio(3, 0), java_ratio(-3, 0)) == (math.inf, -math.inf)
    assert math.isnan(java_ratio(0, 0))
