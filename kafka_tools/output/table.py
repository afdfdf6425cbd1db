"""Plain aligned tables, for pipes and tools such as cut: two spaces between columns, numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from kafka_tools.output.cells import Row, cell_of, heading


def write_table(columns: Sequence[str], rows: Sequence[Row], stream: TextIO) -> None:
    """Write a heading and one line per row; an empty result is the heading alone."""
    lines = [[heading(column) for column in columns]]
    lines += [[cell_of(row, column) for column in columns] for row in rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    right = [is_number_column(column, rows) for column in columns]
    for line in lines:
        padded = [
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ]
        stream.write("  ".join(padded).rstrip() + "\n")


def is_number_column(column: str, rows: Sequence[Row]) -> bool:
    """Whether all values of a column are numbers. Such a column is right-aligned."""
    values: list[Any] = [row.get(column) for row in rows]
    present = [value for value in values if value is not None]
    return bool(present) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in present)
