"""CSV and TSV on stdout: a heading with the column names of JSON, then a line per row.

A cell is the value's text: numbers, ``true`` and ``false``, nothing for null. Lists and objects are compact JSON, so
that no cell is ambiguous.

* CSV is RFC 4180 with line feeds, for spreadsheets and ``csv`` modules: cells with commas, quotes or line ends are
  quoted. Text that a spreadsheet would read as a formula (it starts with ``=``, ``+``, ``-``, ``@``, a tab or a
  carriage return, and is not a number) gets an apostrophe in front, because clients choose group and client ids.
* TSV is the format of jq's ``@tsv``, for ``cut`` and ``awk``: no quotes, and ``\\t``, ``\\n``, ``\\r``, ``\\\\``
  for a tab, the line ends and a backslash, so that a row is always one line. All other text is unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TextIO

from kafka_tools.output.cells import Row
from kafka_tools.shown_text import printable

_FORMULA = re.compile(r"[=+\-@\t\r]")
_SPECIAL = re.compile(r'[,"\r\n]')
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TSV_ESCAPES = {ord("\\"): "\\\\", ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}


def write_csv(columns: Sequence[str], lines: Sequence[Row], stream: TextIO) -> None:
    """Write ``lines`` as CSV; columns that a line lacks are empty."""
    write = _writing(stream)
    write(",".join(columns) + "\n")
    for line in lines:
        # A reader would skip an empty line.
        write((",".join(_quoted(_disarmed(line.get(column))) for column in columns) or '""') + "\n")


def write_tsv(columns: Sequence[str], lines: Sequence[Row], stream: TextIO) -> None:
    """Write ``lines`` as TSV."""
    write = _writing(stream)
    write("\t".join(columns) + "\n")
    for line in lines:
        write("\t".join(cell(line.get(column)).translate(_TSV_ESCAPES) for column in columns) + "\n")


def cell(value: Any) -> str:
    """The text of a value in CSV and TSV."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and all(type(each) is int for each in value):
        return f"[{','.join(map(str, value))}]"  # most lists are ids of brokers
    if isinstance(value, list | dict):
        return _compact_json()(value)
    return str(value)


@cache
def _compact_json() -> Callable[[Any], str]:
    """One encoder for all cells: creating an encoder takes longer than using it."""
    from json import JSONEncoder

    return JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _disarmed(value: Any) -> str:
    text = cell(value)
    if isinstance(value, str) and _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return "'" + text
    return text


def _quoted(text: str) -> str:
    """A cell of CSV. Python's writer does not quote a carriage return if lines end without one, and readers fail."""
    return '"' + text.replace('"', '""') + '"' if _SPECIAL.search(text) else text


def _writing(stream: TextIO) -> Callable[[str], int]:
    """The write function of the stream. On a terminal it escapes control characters in names."""
    return (lambda text: stream.write(printable(text))) if stream.isatty() else stream.write
