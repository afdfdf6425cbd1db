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


def java_fixed(value: float, places: int) -> str:
    """``String.format("%.2f", value)``: halves are rounded up, and by the decimal digits that Java shows.

    Python rounds the binary number instead: 0.125 would become 0.12.
    """
    if value != value or value in (float("inf"), float("-inf")):
        return java_double(value)
    from decimal import ROUND_HALF_UP, Context, Decimal

    # The largest double has 309 digits before the point.
    rounding = Context(prec=320 + places, rounding=ROUND_HALF_UP)
    return f"{Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-places), context=rounding):f}"


def java_ratio(value: float, divisor: float) -> float:
    """``value / divisor`` of doubles: a division by zero is NaN or an infinity, and no error."""
    if divisor:
        return value / divisor
    return float("nan") if not value or value != value else float("inf") if value > 0 else float("-inf")
