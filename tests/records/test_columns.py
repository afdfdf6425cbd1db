"""Columns are what the scalar loop gives, on everything Kafka wrote and on anything else; or they say no."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.errors import CorruptBatch
from kafka_tools.protocol.enums import CODECS
from kafka_tools.records import columns
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import build_batch
from kafka_tools.records.columns import decode, decode_headers, new_arena
from kafka_tools.records.header_columns import headers
from kafka_tools.records.record import Record
from kafka_tools.records.record_columns import BatchColumns, RecordColumns
from kafka_tools.records.text import java_text
from kafka_tools.records.v2 import read_headers
from kafka_tools.storage.segment import Segment
from tests.corpus.golden import files
from tests.records.test_batches import ROWS

INT64 = st.integers(-(2**63), 2**63 - 1)


def rows_of(found: RecordColumns) -> list[tuple[int, Record]]:
    arena = bytes(found.arena)

    def span(start: int, size: int) -> bytes | None:
        return None if size < 0 else arena[start : start + size]

    return [
        (
            batch,
            Record(
                offset,
                timestamp,
                span(key_start, key_size),
                span(value_start, value_size),
                read_headers(arena, headers_at, end)[0],
                sequence,
            ),
        )
        for batch, offset, timestamp, sequence, key_start, key_size, value_start, value_size, _, headers_at, end in zip(
            *(column.tolist() for column in found[2:]), strict=True
        )
    ]


def scalar(views: Sequence[BatchView]) -> list[tuple[int, Record]]:
    return [(number, record) for number, view in enumerate(views) for record in view.records()]


@pytest.fixture(params=["in step", "one by one"])
def chain(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to follow the lengths, whatever the shape of the batches."""
    monkeypatch.setattr(columns, "_STEP_COST", 0 if request.param == "in step" else 1 << 60)


@pytest.mark.usefixtures("chain")
def test_columns_of_every_golden_log_are_those_of_the_scalar_loop() -> None:
    compared = 0
    for path in files(".log"):
        with Segment(path) as segment:
            views = []
            try:
                views = [view for view in segment.walk() if view.magic == 2]
                expected = scalar(views)
            except CorruptBatch:
                continue
            found = decode(views)
            assert found is not None, path
            assert rows_of(found) == expected, path
            compared += found.record_count
    assert compared > 15000


def test_batches_known_by_their_columns_give_the_same_records() -> None:
    """Of each golden log those of one codec; the arena takes some at a time."""
    compared = 0
    for path in files(".log"):
        with Segment(path) as segment:
            try:
                views = [view for view in segment.walk() if view.magic == 2]
                scalar(views)
            except CorruptBatch:
                continue
        data = path.read_bytes()
        for codec in {view.codec for view in views}:
            left = [view for view in views if view.codec == codec]
            arena = new_arena(2 * max(view.size_bytes for view in left) + 20_000)
            while left:
                numbers = [
                    (view.file_position, view.size_bytes, view.record_count, view.base_offset, view.base_sequence,
                     view.base_timestamp, view.max_timestamp, view.timestamp_type)
                    for view in left
                ]  # fmt: skip
                found = decode_headers(data, BatchColumns(*np.array(numbers, np.int64).T), codec, arena)
                assert found is not None and found.batch_count, path
                assert rows_of(found) == scalar(left[: found.batch_count]), path
                left = left[found.batch_count :]
                compared += found.record_count
    assert compared > 15000


@pytest.mark.usefixtures("chain")
def test_damaged_golden_logs_are_left_to_the_scalar_loop() -> None:
    refused = 0
    for path in files(".log"):
        if "corrupt-" not in str(path):
            continue
        with Segment(path) as segment:
            for item in segment.batches():
                if not isinstance(item, BatchView) or item.magic != 2 or item.codec > 4:
                    continue
                found = decode([item])
                try:
                    expected = scalar([item])
                except CorruptBatch:
                    assert found is None, path
                    refused += 1
                else:
                    assert found is None or rows_of(found) == expected
    assert refused >= 5


@given(
    groups=st.lists(st.tuples(ROWS, st.sampled_from(CODECS), st.booleans(), st.integers(-1, 2**31 - 1)), max_size=5),
    step_cost=st.sampled_from([0, 1 << 60]),
)
def test_columns_of_random_batches_are_those_of_the_scalar_loop(
    groups: list[
        tuple[list[tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]], str, bool, int]
    ],
    step_cost: int,
) -> None:
    data = b""
    for rows, codec, append_time, sequence in groups:
        data += build_batch(
            rows,
            codec=codec,
            base_offset=len(data) * 3,
            timestamp_type=int(append_time),
            append_time_ms=123 if append_time else None,
            producer_id=0 if sequence >= 0 else -1,
            base_sequence=sequence,
        )
    views = list(batches(data))
    kept, columns._STEP_COST = columns._STEP_COST, step_cost
    try:
        found = decode(views)
    finally:
        columns._STEP_COST = kept
    # Timestamps 2**62 ms apart need ten bytes: the scalar loop's.
    if found is None:
        assert any(abs(row[0] - rows[0][0]) >= 2**61 for rows, _, _, _ in groups for row in rows)
    else:
        assert rows_of(found) == scalar(views)


@given(body=st.binary(max_size=120), count=st.integers(-1, 40), step_cost=st.sampled_from([0, 1 << 60]))
def test_columns_refuse_what_the_scalar_loop_refuses(body: bytes, count: int, step_cost: int) -> None:
    header = bytearray(build_batch([(1, b"k", b"v", ())])[:61])
    header[8:12] = (49 + len(body)).to_bytes(4, "big")
    header[57:61] = count.to_bytes(4, "big", signed=True)
    (view,) = batches(bytes(header) + body)
    kept, columns._STEP_COST = columns._STEP_COST, step_cost
    try:
        found = decode([view])
    finally:
        columns._STEP_COST = kept
    try:
        expected = scalar([view])
    except CorruptBatch:
        assert found is None
        return
    assert found is None or rows_of(found) == expected


HEADER = st.tuples(st.sampled_from(["", "a", "n" * 70]), st.none() | st.binary(max_size=70))
ROW_WITH_HEADERS = st.tuples(st.just(1), st.just(b"k"), st.just(b"v"), st.lists(HEADER, max_size=4).map(tuple))


@given(
    rows=st.lists(ROW_WITH_HEADERS, min_size=1, max_size=6),
    flip=st.none() | st.tuples(st.floats(0, 0.999), st.integers(0, 7)),
)
def test_headers_are_columns_too_and_damaged_ones_are_refused(
    rows: list[tuple[int, bytes, bytes, tuple[tuple[str, bytes | None], ...]]], flip: tuple[float, int] | None
) -> None:
    data = bytearray(build_batch(rows))
    if flip is not None:
        data[61 + int(flip[0] * (len(data) - 61))] ^= 1 << flip[1]
    (view,) = batches(bytes(data))
    found = decode([view])
    try:
        expected = [record.headers for record in view.records()]
    except CorruptBatch:
        assert found is None
        return
    if found is None:
        return
    read: list[list[tuple[str, bytes | None]]] = [[] for _ in expected]
    for header in headers(found):
        for row, name, name_size, value, value_size in zip(*(column.tolist() for column in header), strict=True):
            content = None if value_size < 0 else bytes(found.arena[value : value + value_size])
            read[row].append((java_text(bytes(found.arena[name : name + name_size])), content))
    assert [tuple(each) for each in read] == expected


def test_a_count_that_lies_allocates_nothing() -> None:
    data = bytearray(build_batch([(1, b"k", b"v", ())]))
    data[57:61] = (2**31 - 1).to_bytes(4, "big")
    assert decode(list(batches(data))) is None


def test_no_batches_have_no_records() -> None:
    found = decode([])
    assert found is not None and found.record_count == 0
