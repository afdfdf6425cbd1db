"""JSON as Jackson's ``toString`` writes it: no blanks, Java's floating-point numbers and control characters."""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_CONTROL = re.compile(r"\\u00[01][0-9a-f]")


def java_json(document: Any) -> str:
    """The document as one line of JSON."""
    text = _slow(document) if _has_float(document) else _encode(document)
    return _CONTROL.sub(lambda match: match[0][:4] + match[0][4:].upper(), text) if "\\u00" in text else text


def _has_float(value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        return any(_has_float(item) for item in value.values())
    if kind is list:
        return any(_has_float(item) for item in value)
    return kind is float


def _slow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{encode_basestring(key)}:{_slow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_slow(item) for item in value) + "]"
    if isinstance(value, float):
        text = java_double(value)
        return text if text[-1].isdigit() else f'"{text}"'
    return _encode(value)


def java_double(value: float) -> str:
    """``Double.toString``: plain from 0.001 up to 10,000,000, else with an exponent; at least one decimal."""
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)  # Python writes these the same way
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        sign = "-" if mantissa.startswith("-") else ""
        whole, _, fraction = mantissa.lstrip("-").partition(".")
        digits = (whole + fraction).lstrip("0").rstrip("0")
        power = len(whole) - 1 if whole != "0" else -1 - (len(fraction) - len(fraction.lstrip("0")))
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"
