"""The page about the tables lists every column, option and type as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_tools.spark import options
from kafka_tools.spark.columns import tables as rows

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("table", ["BATCH_COLUMNS", "RECORD_COLUMNS", "CONTENT_COLUMNS", "FILE_COLUMNS"])
def test_every_column_is_told(table: str) -> None:
    for column in getattr(rows, table):
        assert f"| `{column.name}` | {column.type} | {column.meaning} |\n" in PAGE


def test_every_option_is_told() -> None:
    for name, meaning in {**options.BATCH_OPTIONS, **options.RECORD_OPTIONS, **options.FILE_OPTIONS}.items():
        assert f"| `{name}` | {meaning} |\n" in PAGE
