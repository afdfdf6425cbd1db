"""Tables for a terminal, with rich. Imported only for ``-o table`` and ``wide`` when stdout is a terminal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, TextIO

from kafka_tools.output.cells import Row, cell_of, heading
from kafka_tools.output.table import is_number_column
from kafka_tools.output.table import write_table as plain_table

_READABLE = 12


def write_table(columns: Sequence[str], rows: Sequence[Row], stream: TextIO) -> None:
    """Write the rows as a table that fits the terminal. Long values continue on the next line, and nothing is cut.

    The heading is bold, unless ``NO_COLOR`` is set (no-color.org) or the terminal does not support it.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    if _least_width(columns, rows) > console.width:
        # Columns of a few characters are unreadable: the terminal wraps whole lines instead.
        plain_table(columns, rows, stream)
        return
    table = Table(box=None, header_style="" if os.environ.get("NO_COLOR") else "bold", pad_edge=False)
    for column in columns:
        justify: Literal["left", "right"] = "right" if is_number_column(column, rows) else "left"
        table.add_column(heading(column), justify=justify, overflow="fold")
    for row in rows:
        # Text, not markup: a topic or client id may contain square brackets.
        table.add_row(*(Text(cell_of(row, column)) for column in columns))
    console.print(table)


def _least_width(columns: Sequence[str], rows: Sequence[Row]) -> int:
    """Characters that a readable table needs: whole headings, and ``_READABLE`` of each longer value."""
    longest = (max((len(cell_of(row, column)) for row in rows), default=0) for column in columns)
    return sum(
        max(len(heading(column)), min(length, _READABLE)) + 2 for column, length in zip(columns, longest, strict=True)
    )
