"""JSON on stdout: one indented document, or one object per line; keys in the order of the rows.

Control characters beyond those that JSON demands to be escaped (DEL and C1) are escaped too: the text is the same
to a reader of JSON, and a terminal is not commanded by it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TextIO

from kafka_tools.shown_text import STEERING

_CONTROLS = {code: f"\\u{code:04x}" for code in (*range(127, 160), *STEERING)}


def write(document: dict[str, Any], stream: TextIO) -> None:
    """Write ``document`` and a newline."""
    stream.write(_text(document, indent=2) + "\n")


def write_lines(rows: Iterable[dict[str, Any]], stream: TextIO) -> None:
    """Write each row as an object on a line of its own."""
    for row in rows:
        stream.write(_text(row, separators=(",", ":")) + "\n")


def _text(value: Any, **layout: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, **layout)
    except ValueError:
        # JSON has no NaN and no infinities; looking for them beforehand would take longer than writing.
        from kafka_tools.output.cells import plain

        text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, **layout)
    return harmless(text)


def harmless(text: str) -> str:
    """JSON that means the same, and commands no terminal."""
    return text.translate(_CONTROLS) if "\x7f" in text or not text.isascii() else text
