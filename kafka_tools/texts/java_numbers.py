"""Numbers as Java reads them, where Kafka lets clients send them as text."""

from __future__ import annotations

_MOST_DIGITS = 4_000
"""Zeros in front included; Python reads no more."""


def parse_int(text: str) -> int | None:
    """``Integer.parseInt``: a sign, and digits of any script; None for what is not a number of 32 bits."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isdecimal() or max(digits) > "\uffff":
        return None
    if len(digits) > _MOST_DIGITS:
        return None
    value = int(text)
    return value if -(1 << 31) <= value < 1 << 31 else None
