"""Writes JSON as Jackson's ``toString`` does: no blanks, Java's floating-point numbers and control characters."""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring
from typing import Any

from kafka_tools.texts.java_numbers import java_double

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
