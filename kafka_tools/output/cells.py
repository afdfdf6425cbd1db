"""The values of rows in each form: cells of a table, and values of JSON."""

from __future__ import annotations

from typing import Any

from kafka_tools.shown_text import one_line
from kafka_tools.values import moment_text

Row = dict[str, Any]

MOMENTS = frozenset(
    {
        "issued_ms",
        "expires_ms",
        "max_ms",
        "last_fetch_ms",
        "last_caught_up_ms",
        "last_timestamp_ms",
        "oldest_unread_ms",
        "looked_at_ms",
        "newest_ms",
        "last_write_ms",
        "timestamp_ms",
        "start_time_ms",
        "end_time_ms",
    }
)
"""Columns that contain times (ms since the epoch). A table shows them as dates."""
SPANS = frozenset({"age_ms", "catch_up_ms", "full_in_ms"})
"""Columns that contain spans of time (ms). A table shows them as ``1h48min``."""


def cell_of(line: Row, column: str) -> str:
    """The cell of a table: as ``cell``, but a time as ``2026-01-31T12:00:00.000Z`` and a span as ``1h48min``."""
    value = line.get(column)
    if column in SPANS and isinstance(value, int):
        from kafka_tools.texts.quantities import span_text

        return span_text(value / 1000).replace(" ", "")
    if column not in MOMENTS or not isinstance(value, int):
        return cell(value)
    return moment_text(value)


def cell(value: Any) -> str:
    """A value in a table: ``-`` for no value, lists with commas, booleans in lower case."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        separator = ";" if value and isinstance(value[0], dict) else ","
        return separator.join(cell(each) for each in value) or "-"
    if isinstance(value, dict):
        if value and all(isinstance(each, list) for each in value.values()):
            return ";".join(f"{one_line(key)}:{cell(each)}" for key, each in value.items())
        return ",".join(f"{one_line(key)}={cell(each)}" for key, each in value.items()) or "-"
    return one_line(str(value))


def heading(column: str) -> str:
    """The heading of a column: ``log_end_offset`` is ``LOG-END-OFFSET``; no spaces, so that columns can be cut."""
    return (column.removesuffix("_ms") if column in MOMENTS | SPANS else column).replace("_", "-").upper()


def plain(value: Any) -> Any:
    """A value in which null replaces NaN and the infinities, which JSON does not have (RFC 8259)."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value


def rounded(row: Row) -> Row:
    """A row of measurements with three decimals; None for NaN and the infinities."""
    return {name: plain(round(value, 3)) if isinstance(value, float) else value for name, value in row.items()}
