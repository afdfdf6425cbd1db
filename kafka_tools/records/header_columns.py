"""The headers of many records together: names and values as spans of the arena."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafka_tools.records.record_columns import RecordColumns
from kafka_tools.records.varint_columns import Numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.int64]


MOST_HEADERS = 64
"""The scalar loop reads records with more headers."""


class HeaderColumns(NamedTuple):
    """One header of each record whose index is in ``rows``; spans as in RecordColumns."""

    rows: Column
    name_start: Column
    name_size: Column
    value_start: Column
    value_size: Column


def headers(part: RecordColumns) -> Iterator[HeaderColumns]:
    """The first header of each record that has one, then the second ones, and so on."""
    numbers = Numbers(part.arena)
    return walk_headers(numbers, part.header_count, numbers.read(part.headers_at, 5)[1])


def walk_headers(numbers: Numbers, count: Column, position: Column) -> Iterator[HeaderColumns]:
    """The first header of each record with one, from ``position`` on, then the second ones, and so on."""
    rows = np.flatnonzero(count)
    at, number = position[rows], 0
    while rows.size:
        name_size, name_start = numbers.read(at, 5)
        value_size, value_start = numbers.read(name_start + np.maximum(name_size, 0), 5)
        yield HeaderColumns(rows, name_start, name_size, value_start, value_size)
        number += 1
        more = count[rows] > number
        rows, at = rows[more], (value_start + np.maximum(value_size, 0))[more]


def headers_fit(numbers: Numbers, count: Column, position: Column, stop: Column) -> bool:
    """Whether the headers of every record end at the end of the record."""
    if int(count.max()) > MOST_HEADERS:
        return False
    end = position.copy()
    for found in walk_headers(numbers, count, position):
        if np.any(found.name_size < 0):
            return False
        end[found.rows] = found.value_start + np.maximum(found.value_size, 0)
    return np.array_equal(end, stop)
