"""Tables for a terminal, with rich. Imported only for ``-o table`` when stdout is a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from kafka_tools.output.rows import Row, cell, heading, printable
from kafka_tools.output.table import is_number_column


def write_table(columns: Sequence[str], rows: Sequence[Row], stream: TextIO) -> None:
    """Write the rows as a table that fits the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(heading(column), justify="right" if is_number_column(column, rows) else "left")
    for row in rows:
        # Text, not markup: a topic or client id may hold square brackets.
        table.add_row(*(Text(printable(cell(row.get(column)))) for column in columns))
    Console(file=stream, highlight=False).print(table)
