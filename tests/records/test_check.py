"""The quick checks of produced bodies say what the reference reader says, whatever the bytes."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_tools.errors import CorruptBatch
from kafka_tools.records import check, v2
from kafka_tools.records.build import encode_record
from kafka_tools.records.chain import HEADER_BYTES
from kafka_tools.records.check import in_runs, ordinary, walk, without_keys
from kafka_tools.records.check_columns import in_columns
from kafka_tools.records.ordinary import Ordinary
from kafka_tools.records.record import Record
from tests.against_kafka.produced_batches import FAULTS, sound

Row = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]
TIMES = (0, 0, 1, -1, 63, 64, -65, 8191, 8192, 2**40, -(2**62))
SIZES = (0, 1, 5, 62, 63, 64, 80, 8180, 8195)


def rows_of(rng: random.Random) -> list[Row]:
    """Up to 200 records, of one shape or of any."""

    def part() -> bytes | None:
        return rng.choice((None, rng.randbytes(rng.choice(SIZES))))

    def row() -> Row:
        headers = [(rng.choice(("", "name", "x" * 70)), part()) for _ in range(rng.choice((0, 0, 0, 1, 3)))]
        return rng.choice(TIMES), part(), part(), headers

    count = rng.choice((1, 2, 8, 70, 100, 200))
    return [row()] * count if rng.random() < 0.5 else [row() for _ in range(count)]


def body_of(rows: list[Row]) -> bytes:
    return b"".join(encode_record(time, number, *rest) for number, (time, *rest) in enumerate(rows))


def reference(body: bytes, count: int) -> list[Record] | None:
    try:
        return list(v2.read_records(body, count, 0, 0, None, -1))
    except CorruptBatch:
        return None


def agree(body: bytes, count: int) -> None:
    """Whoever says that the records are ordinary is right, and all who say so say the same."""
    records = reference(body, count)
    before = b"\0\x80\2" * 5  # what a batch's header leaves before its records
    ways = (walk, in_columns, in_runs, without_keys, ordinary)
    results = [(way(body, count), way(before + body, count, len(before))) for way in ways]
    assert all(alone == behind for alone, behind in results)
    said = {alone for alone, _ in results if alone is not None}
    assert len(said) <= 1
    if said:
        assert records is not None
        assert [record.offset for record in records] == list(range(count))
        times = [record.timestamp for record in records]
        assert said == {Ordinary(min(times), max(times), any(record.key is None for record in records))}


@given(st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_sound_records_are_ordinary_to_each(seed: int) -> None:
    rows = rows_of(random.Random(seed))
    body = body_of(rows)
    assert walk(body, len(rows)) is not None
    agree(body, len(rows))


@given(st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_changed_bytes_are_judged_alike(seed: int) -> None:
    rng = random.Random(seed)
    rows = rows_of(rng)
    body = bytearray(body_of(rows))
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(body)) if rng.random() < 0.5 else rng.randrange(min(len(body), 12))
        body[at] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    changed = bytes(body[: rng.choice((len(body), len(body), len(body) - 1))])
    agree(changed, max(1, len(rows) + rng.choice((0, 0, 0, -1, 1))))


@pytest.mark.parametrize("count", [3, 64, 65, 130])
def test_each_byte_of_records_without_keys_counts(count: int) -> None:
    """Whatever stands before a value, or behind it: of the first records, at a block's edges and at the end."""
    rows: list[Row] = [(number % 64, None, bytes(120 + number), []) for number in range(count)]
    body = body_of(rows)
    assert without_keys(body, count) == walk(body, count) == Ordinary(0, min(count - 1, 63), True)
    numbers = {0, 1, 2, 62, 63, 64, 65, 127, 128, count - 1}
    starts = [len(body_of(rows[:number])) for number in numbers if number < count]
    for at in {start + ahead for start in starts for ahead in range(-1, 10)} | {len(body) - 1}:
        for byte in range(0x100) if count < 65 else (0, 1, 2, 3, 0x7F, 0x80, 0x81, 0xFF, body[at] ^ 1, body[at] ^ 2):
            changed = bytearray(body)
            changed[at] = byte
            agree(bytes(changed), count)


@given(st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_records_without_keys_are_found_whatever_they_hold(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.choice((64, 70, 100, 1000, 8000))
    rows: list[Row] = []
    for _ in range(rng.choice((8, 62, 64, 65, 128, 300))):
        value = rng.randbytes(rng.randint(max(64, size // 2), min(8150, 2 * size)))
        rows.append((rng.choice((0, 1, 7, 63, -64)), None, value, []))
    body = body_of(rows)
    found = without_keys(body, len(rows))
    assert found is not None or len(body) < 128 * len(rows)
    agree(body, len(rows))
    other = bytearray(body)
    for _ in range(rng.choice((1, 1, 3))):
        number = rng.randrange(len(rows))
        at = len(body_of(rows[:number])) + rng.randrange(-1, 11)
        other[at] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    agree(bytes(other), len(rows))
    agree(bytes(other), max(1, len(rows) + rng.choice((-1, 1))))
    longer = other + b"\0" * rng.choice((1, 9, 10, 11))
    agree(bytes(longer), len(rows))


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_small_records_without_keys_are_judged_alike(seed: int) -> None:
    """What producers of short lines send."""
    rng = random.Random(seed)
    least, most = rng.choice(((0, 3), (40, 80), (50, 150)))
    alphabet = rng.choice((b"abc", bytes(range(0x100))))
    rows: list[Row] = []
    for number in range(rng.choice((1, 63, 64, 65, 255, 256, 300, 700))):
        value = bytes(rng.choices(alphabet, k=rng.randint(least, most)))
        rows.append((min(number // 8, 63), None, value, []))
    body = body_of(rows)
    count = len(rows)
    assert least == 0 or in_columns(body, count) == walk(body, count) == Ordinary(0, min((count - 1) // 8, 63), True)
    agree(body, count)
    for _ in range(8):
        other = bytearray(body)
        at = len(body_of(rows[: rng.randrange(count)])) + rng.randrange(-1, 10)
        other[min(at, len(other) - 1)] = rng.choice((0, 1, 2, 3, 0x7F, 0x80, 0x81, 0xFF, rng.randrange(256)))
        agree(bytes(other), count)
    agree(body, count + 1)
    agree(body + b"\0", count)


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_every_kind_of_fault_is_judged_alike(name: str) -> None:
    rng = random.Random(name)
    for _ in range(25):
        batch = sound(rng, 0)
        FAULTS[name](rng, batch, rng.choice(batch.records))
        data = batch.encode()
        count = len(batch.records) if batch.count is None else batch.count
        if 0 < count < 10_000:
            agree(data[HEADER_BYTES:], count)


LONG_NULL = b"\x81\x00"  # -1 in two bytes, which Kafka's readers understand and no producer writes


@pytest.mark.parametrize(
    ("record", "null_key"),
    [
        (b"\x00\x00%s" + LONG_NULL + b"\x00\x00", True),
        (b"\x00\x00%s\x00" + LONG_NULL + b"\x00", False),
        (b"\x00\x00%s\x00\x00\x02" + LONG_NULL + b"\x00", None),
        (b"\x00\x00%s\x00\x00\x02\x00" + LONG_NULL, False),
        (b"\x00\x00%s\x00\x00\x02\x01\x00", None),
        (b"\x00\x00%s\x00\x00\x02\x01\x02v", None),
    ],
    ids=["key", "value", "header name", "header value", "header name in one byte", "the same before a value"],
)
def test_null_in_two_bytes_is_judged_by_the_reference(record: bytes, null_key: bool | None) -> None:
    records = []
    for number in range(50):
        body = record % bytes([number << 1])
        records.append(bytes([len(body) << 1]) + body)
    body = b"".join(records)
    found = reference(body, 50)
    assert (found and any(each.key is None for each in found)) == null_key
    agree(body, 50)


def test_headers_end_where_the_body_does() -> None:
    """An empty value of a header is the last byte of all."""
    rows: list[Row] = [(0, b"k", b"v" * (number % 5), [("a", b"")] * (number % 3)) for number in range(60)]
    assert in_columns(body_of(rows), 60) == Ordinary(0, 0, False)


def test_each_way_is_taken_where_it_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    alike = body_of([(number // 50, b"key", b"value" * 20, []) for number in range(600)])
    mixed = body_of([(number, b"key", b"v" * (number % 90), [("a", b"b")]) for number in range(600)])
    long_times = body_of([(number * 1000, None, b"v" * (number % 90), []) for number in range(9000)])
    assert in_runs(alike, 600) == in_columns(alike, 600) == walk(alike, 600) == Ordinary(0, 11, False)
    assert in_runs(mixed, 600) is None
    assert in_columns(mixed, 600) == walk(mixed, 600) == Ordinary(0, 599, False)
    assert in_columns(long_times, 9000) == walk(long_times, 9000) == Ordinary(0, 8_999_000, True)
    few = body_of([(number, None, b"v" * (100 + number), []) for number in range(60)])
    monkeypatch.setattr(check, "walk", None)
    assert ordinary(alike, 600) and ordinary(mixed, 600) and ordinary(few, 60)
