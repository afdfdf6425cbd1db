"""The result of a command as plain rows: made once, printed in any form.

Knows no command and no cluster. A row is a dict of plain values (str, int, float, bool, None, lists and dicts of
them); ``columns`` says which keys a table shows, in which order. JSON and YAML show the whole rows in an envelope.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, TextIO

Row = dict[str, Any]

# C0 and C1 control characters but tab and newline.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))}


class ItemError(NamedTuple):
    """One item of a call that failed: what it was, the protocol's name of the error (or None), and the text."""

    item: str
    error: str | None
    message: str

    @classmethod
    def of(cls, item: object, error: Exception) -> ItemError:
        """The error of one key of a call; the name is the protocol's where a broker answered."""
        code = getattr(error, "code", None)
        return cls(str(item), code.name if code is not None else None, str(error))


class Rows(NamedTuple):
    """Rows of one kind. ``kind`` names their documented form: ``topics`` is ``kafka-tools/topics/v1``."""

    kind: str
    columns: Sequence[str]
    rows: Sequence[Row]
    errors: Sequence[ItemError] = ()


def envelope(result: Rows) -> Row:
    """The document that ``-o json`` and ``-o yaml`` print: schema, data, errors."""
    return {
        "schema": f"kafka-tools/{result.kind}/v1",
        "data": list(result.rows),
        "errors": [error._asdict() for error in result.errors],
    }


def show(result: Rows, form: str, stream: TextIO | None = None) -> None:
    """Print ``result`` as ``table``, ``json`` or ``yaml``."""
    out = stream if stream is not None else sys.stdout
    if form == "json":
        from kafka_tools.output.json_doc import write
    elif form == "yaml":
        from kafka_tools.output.yaml_doc import write
    elif form == "table":
        if out.isatty():
            from kafka_tools.output.pretty import write_table
        else:
            from kafka_tools.output.table import write_table
        write_table(result.columns, result.rows, out)
        return
    else:
        raise ValueError(form)
    write(envelope(result), out)


def cell(value: Any) -> str:
    """A value as a table shows it: ``-`` for nothing, lists with commas, booleans in lower case."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(cell(each) for each in value) or "-"
    if isinstance(value, dict):
        if value and all(isinstance(each, list) for each in value.values()):
            return ";".join(f"{key}:{cell(each)}" for key, each in value.items())
        return ",".join(f"{key}={cell(each)}" for key, each in value.items()) or "-"
    return str(value)


def printable(text: str) -> str:
    """``text`` with control characters escaped, for a terminal that a name must not be able to command."""
    return text.translate(_CONTROLS)


def heading(column: str) -> str:
    """The heading of a column: ``log_end_offset`` is ``LOG-END-OFFSET``; no spaces, so that columns can be cut."""
    return column.replace("_", "-").upper()
