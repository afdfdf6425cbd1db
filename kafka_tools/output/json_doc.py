"""JSON on stdout: one indented document, or one object per line; keys in the order of the rows.

Control characters beyond those that JSON demands to be escaped (DEL and C1) are escaped too: the text is the same
to a reader of JSON, and a terminal is not commanded by it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TextIO

_CONTROLS = {code: f"\\u{code:04x}" for code in range(127, 160)}


def write(document: dict[str, Any], stream: TextIO) -> None:
    """Write ``document`` and a newline."""
    stream.write(_quiet(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)) + "\n")


def write_lines(rows: Iterable[dict[str, Any]], stream: TextIO) -> None:
    """Write each row as an object on a line of its own."""
    for row in rows:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        stream.write(_quiet(text) + "\n")


def _quiet(text: str) -> str:
    return text.translate(_CONTROLS) if "\x7f" in text or not text.isascii() else text
