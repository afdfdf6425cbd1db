"""Messages as lines: the default text, and a template."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from kafka_tools.errors import UsageError
from kafka_tools.output.cells import Row
from kafka_tools.shown_text import counted, one_line
from kafka_tools.values import moment_text

Line = Callable[[Row], str]
FIELDS = ("topic", "partition", "offset", "time", "timestamp", "key", "value", "headers")
"""Fields of ``--template``."""
_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|\\([nt\\])|[{}]")


def default_line(row: Row) -> str:
    """``2026-11-27T12:27:33.526Z 5@3388 k-1999 {"a":1} (2 headers)``."""
    more = f" ({counted(len(row['headers']), 'header', 'headers')})" if row["headers"] else ""
    return f"{_time(row)} {row['partition']}@{row['offset']} {shown(row['key'])} {shown(row['value'])}{more}\n"


def shown(value: Any) -> str:
    """A key or value in one line; ``-`` for null."""
    if value is None:
        return "-"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return one_line(text)


def template_line(template: str) -> Line:
    r"""The line of a template such as ``{time} {key}\t{value}``. Raises UsageError for an unknown field."""
    parts: list[str | tuple[str]] = []
    at = 0
    for found in _FIELD.finditer(template):
        parts.append(template[at : found.start()])
        at = found.end()
        if found[1] is not None:
            if found[1] not in FIELDS and not found[1].startswith("header."):
                raise UsageError(
                    f"invalid field '{found[1]}' in --template: expected {', '.join(FIELDS)} or header.NAME"
                )
            parts.append((found[1],))
        elif found[2] is not None:
            parts.append({"n": "\n", "t": "\t", "\\": "\\"}[found[2]])
        elif found[0] in ("{", "}"):
            raise UsageError(f"invalid --template: '{found[0]}' alone; write '{found[0] * 2}' for the character")
        else:
            parts.append(found[0][0])
    parts.append(template[at:])
    return lambda row: "".join(part if isinstance(part, str) else _field(row, part[0]) for part in parts) + "\n"


def _field(row: Row, name: str) -> str:
    if name == "time":
        return _time(row)
    if name == "timestamp":
        return shown(row["timestamp_ms"])
    if name == "headers":
        return ",".join(f"{one_line(each['name'])}={shown(each['value'])}" for each in row["headers"])
    if name.startswith("header."):
        return ",".join(shown(each["value"]) for each in row["headers"] if each["name"] == name[len("header.") :])
    return shown(row[name])


def _time(row: Row) -> str:
    return "-" if row["timestamp_ms"] is None else moment_text(row["timestamp_ms"])


def line_of(form: str | None, template: str | None) -> Line | None:
    """The line of a message, for the default text and for a template; None with ``-o``."""
    if template is not None:
        return template_line(template)
    return default_line if form is None else None
