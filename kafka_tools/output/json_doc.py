"""JSON on stdout: one indented document, or one object per line, with keys in the order of the rows.

It also escapes DEL and the C1 control characters, which JSON does not require. The meaning is the same, and a terminal
does not obey them.
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
        # JSON has no NaN and no infinities. A check beforehand would take longer than writing.
        from kafka_tools.output.cells import plain

        text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, **layout)
    return harmless(text)


def harmless(text: str) -> str:
    """Equivalent JSON without characters that control a terminal."""
    return text.translate(_CONTROLS) if "\x7f" in text or not text.isascii() else text
