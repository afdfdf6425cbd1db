"""Parses and formats numbers like Java, for numbers that Kafka stores as text."""

from __future__ import annotations

_MOST_DIGITS = 4_000
"""Including leading zeros. Python does not parse longer numbers."""


def parse_int(text: str) -> int | None:
    """``Integer.parseInt``: a sign, and digits of any script; None for other texts and beyond 32 bits."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isdecimal() or max(digits) > "\uffff":
        return None
    if len(digits) > _MOST_DIGITS:
        return None
    value = int(text)
    return value if -(1 << 31) <= value < 1 << 31 else None


def java_double(value: float, digits: str | None = None) -> str:
    """``Double.toString``: plain digits from 0.001 up to 10,000,000, else one digit, a fraction and an exponent.

    ``digits``: the number in decimal. It defaults to Python's ``repr``.
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or (digits is None and 1e-3 <= abs(value) < 1e7):
        return repr(float(value))
    from decimal import Decimal

    # Use the digits, not the number: 1e23 is slightly less than its digits.
    written = Decimal(digits or repr(value))
    power = written.adjusted()
    significant = "".join(map(str, written.as_tuple().digits)).rstrip("0")
    sign = "-" if value < 0 else ""
    if -3 <= power < 7:
        whole = significant[: power + 1].ljust(power + 1, "0") if power >= 0 else "0"
        fraction = significant[power + 1 :] if power >= 0 else "0" * (-power - 1) + significant
        return f"{sign}{whole}.{fraction or '0'}"
    return f"{sign}{significant[0]}.{significant[1:] or '0'}E{power}"
