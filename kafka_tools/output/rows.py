"""The result of a command as plain rows, which can be printed in any form.

It has no code for commands or clusters. A row is a dict of plain values (str, int, float, bool, None, lists and dicts
of them). ``output/kinds.py`` lists the table columns and the identifier of each kind of rows.
``schemas/<kind>.v1.schema.json`` describes the rows as they are in JSON.

====== ===========================================================================================================
form   what it is
====== ===========================================================================================================
table  the useful columns, aligned; for people
wide   all columns, aligned
json   one document: schema, data (the rows as they are), errors
jsonl  one row per line, as an element of ``data``
yaml   the document of json
csv    all columns with a heading, for spreadsheets (``output/csv_doc.py``)
tsv    all columns with a heading, one row per line, for cut and awk
name   the identifier of each row, one per line
prom.  prometheus: samples for Prometheus, of kinds that have metrics (``output/prometheus_doc.py``)
====== ===========================================================================================================
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple, TextIO

from kafka_tools.errors import UnsupportedVersion
from kafka_tools.output.cells import Row, plain
from kafka_tools.shown_text import one_line

_NAMED = 3
"""Maximum number of named items with the same cause."""


class ItemError(NamedTuple):
    """One failed item of a call: the item (None: the whole call), the protocol's name of the error (or None), and the
    message."""

    item: str | None
    error: str | None
    message: str

    @classmethod
    def of(cls, item: object, error: Exception) -> ItemError:
        """The error of one key of a call. The name is the protocol's if a broker returned the error.

        The message for a feature that a broker lacks includes the hint: the release that has it, or an alternative.
        """
        code = getattr(error, "code", None)
        name = getattr(code, "name", None)
        hint = error.hint if isinstance(error, UnsupportedVersion) else None
        return cls(None if item is None else str(item), name, f"{error} ({hint})" if hint else str(error))


def by_cause(errors: Sequence[ItemError], what: str) -> list[ItemError]:
    """One error for all items that failed for the same cause: ``3 partitions (t-0, t-1, t-2)``.

    ``what``: the items, in the plural. Messages that differ only in the name of their item have the same cause.
    """
    causes: dict[str, list[ItemError]] = {}
    for error in errors:
        item = error.item or ""
        cause = error.message.replace(f"{item}: ", "").replace(item, "each") if item else error.message
        causes.setdefault(cause, []).append(error)
    found = []
    for cause, each in causes.items():
        named = ", ".join(str(error.item) for error in each[:_NAMED]) + (", ..." if len(each) > _NAMED else "")
        found.append(each[0] if len(each) == 1 else ItemError(f"{len(each)} {what} ({named})", each[0].error, cause))
    return found


class Rows(NamedTuple):
    """Rows of one kind, which is a key of ``kinds.KINDS``, and the items that failed, which have no row.

    ``columns``: the columns of ``-o table``, if they differ from those of the kind. ``summary``: totals of the rows,
    for the documents.
    """

    kind: str
    rows: Sequence[Row]
    errors: Sequence[ItemError] = ()
    columns: Sequence[str] = ()
    summary: Row | None = None


def envelope(result: Rows) -> Row:
    """The document that ``-o json`` and ``-o yaml`` print: schema, data, errors, and the summary if there is one."""
    summary = {} if result.summary is None else {"summary": result.summary}
    return {
        "schema": f"kafka-tools/{result.kind}/v1",
        **summary,
        "data": list(result.rows),
        "errors": [{name: _text(value) for name, value in error._asdict().items()} for error in result.errors],
    }


def _text(value: str | None) -> str | None:
    """``value`` with invalid bytes of a file name escaped, because documents are text."""
    return value and value.encode("utf-8", "backslashreplace").decode()


def show(result: Rows, form: str, stream: TextIO | None = None) -> None:
    """Print ``result`` in one of the forms above. Only ``json`` and ``yaml`` contain items that failed."""
    out = stream if stream is not None else sys.stdout
    if form not in ("table", "wide"):
        # Programs read UTF-8, whatever the terminal's encoding is (RFC 8259 for JSON).
        getattr(out, "reconfigure", lambda **_: None)(encoding="utf-8", errors="backslashreplace")
    if form == "json":
        from kafka_tools.output.json_doc import write

        write(envelope(result), out)
    elif form == "jsonl":
        from kafka_tools.output.json_doc import write_lines

        write_lines(result.rows, out)
    elif form == "yaml":
        from kafka_tools.output import yaml_doc

        yaml_doc.write(plain(envelope(result)), out)
    elif form == "prometheus":
        from kafka_tools.output import prometheus_doc

        prometheus_doc.write(result, out)
    else:
        _show_lines(result, form, out)


def _show_lines(result: Rows, form: str, out: TextIO) -> None:
    """Print a form that has lines and cells. A row that contains several items becomes several lines."""
    from kafka_tools.output.kinds import KINDS

    kind = KINDS[result.kind]
    lines = [line for row in result.rows for line in kind.lines(row)]
    if form == "table":
        show_table(result.columns or kind.table, lines, out)
    elif form == "wide":
        show_table(kind.wide, lines, out)
    elif form in ("csv", "tsv"):
        from kafka_tools.output.csv_doc import write_csv, write_tsv

        (write_csv if form == "csv" else write_tsv)(kind.wide, lines, out)
    elif form == "name":
        names = dict.fromkeys(_name(kind.name, line) for line in lines)
        out.writelines(f"{one_line(name)}\n" for name in names if name)
    else:
        raise ValueError(form)


def _name(template: str, line: Row) -> str:
    return template.format_map({key: "" if value is None else value for key, value in line.items()})


def show_table(columns: Sequence[str], lines: Sequence[Row], out: TextIO) -> None:
    """Print a table: plain on a pipe, fitted to the screen on a terminal. No cell is ever cut."""
    if out.isatty():
        from kafka_tools.output.pretty import write_table
    else:
        from kafka_tools.output.table import write_table
    write_table(columns, lines, out)
