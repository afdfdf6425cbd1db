"""JSON documents on stdout: one document, indented, keys in the order of the rows. NaN becomes null (RFC 8259)."""

from __future__ import annotations

import json
from typing import Any, TextIO


def write(document: dict[str, Any], stream: TextIO) -> None:
    """Write ``document`` and a newline."""
    json.dump(_plain(document), stream, indent=2, ensure_ascii=False, allow_nan=False)
    stream.write("\n")


def _plain(value: Any) -> Any:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value
