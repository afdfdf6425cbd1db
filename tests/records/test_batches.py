"""Batches: what brokers wrote is read, and written again to the byte; what is damaged is an error, never a surprise."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.errors import CorruptBatch, UnknownMagic
from kafka_tools.protocol.enums import CODECS
from kafka_tools.records import legacy
from kafka_tools.records.batches import BatchView, batches, sole_batch
from kafka_tools.records.build import BatchBuilder, build_batch, encode_message, set_times
from kafka_tools.records.v2 import sequence_after
from kafka_tools.storage.segment import Segment
from tests.corpus.golden import files

INT64 = st.integers(-(2**62), 2**62)
CONTENT = st.none() | st.binary(max_size=300)
HEADERS = st.lists(st.tuples(st.text(max_size=8), st.none() | st.binary(max_size=20)), max_size=3).map(tuple)
ROWS = st.lists(st.tuples(INT64, CONTENT, CONTENT, HEADERS), min_size=1, max_size=12)
ANY_CODEC = st.sampled_from(CODECS)


def golden_batches(magic: int) -> Iterator[BatchView]:
    for path in files(".log"):
        if "corrupt-" in str(path) or ".deleted" in path.name or "preallocated" in str(path):
            continue
        with Segment(path) as segment:
            yield from (view for view in segment.walk() if view.magic == magic)


@pytest.mark.req("REC-4", "REC-6")
def test_batches_of_kafka_are_built_again_to_the_byte() -> None:
    compared = 0
    for view in golden_batches(2):
        if view.codec or not view.record_count or view.timestamp_type == 1:
            continue
        records = list(view.records())
        horizon = view.delete_horizon_ms
        if horizon is None and view.base_timestamp != records[0].timestamp:
            continue  # the cleaner keeps the base timestamp of records that are gone
        built = build_batch(
            [(record.timestamp, record.key, record.value, record.headers) for record in records],
            base_offset=view.base_offset,
            producer_id=view.producer_id,
            producer_epoch=view.producer_epoch,
            base_sequence=view.base_sequence,
            transactional=view.is_transactional,
            control=view.is_control,
            leader_epoch=view.partition_leader_epoch,
            offsets=[record.offset for record in records],
            last_offset=view.last_offset,
            delete_horizon_ms=horizon,
        )
        if "\ufffd" in "".join(name for record in records for name, _ in record.headers):
            continue
        if horizon is None and view.max_timestamp == max(record.timestamp for record in records):
            assert built == view.raw()
            compared += 1
    assert compared > 1500


@pytest.mark.req("REC-5")
@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_kafka_are_built_again_to_the_byte(magic: int) -> None:
    compared = 0
    for view in golden_batches(magic):
        assert view.crc_ok()
        records = list(view.records())
        assert [record.crc_ok for record in records] == [True] * len(records)
        assert records[-1].offset == view.last_offset
        assert [record.offset for record in records] == list(range(view.base_offset, view.last_offset + 1))
        assert view.record_count == len(records)
        if not view.codec:
            (record,) = records
            attributes = view.attributes
            assert (
                encode_message(magic, attributes, record.offset, record.timestamp, record.key, record.value)
                == view.raw()
            )
            compared += 1
    assert compared > 50


@given(rows=ROWS, codec=ANY_CODEC, base_offset=st.integers(0, 2**62), sequence=st.integers(0, 2**31 - 1))
def test_magic_2_gives_back_what_was_put_in(
    rows: list[tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]],
    codec: str,
    base_offset: int,
    sequence: int,
) -> None:
    data = build_batch(
        rows, codec=codec, base_offset=base_offset, producer_id=7, producer_epoch=1, base_sequence=sequence
    )
    (view,) = batches(data)
    assert view.crc_ok() and view.size_bytes == len(data)
    assert (view.base_offset, view.last_offset) == (base_offset, base_offset + len(rows) - 1)
    records = list(view.records())
    assert [(r.timestamp, r.key, r.value, r.headers) for r in records] == rows
    assert [r.offset for r in records] == list(range(base_offset, base_offset + len(rows)))
    assert [r.sequence for r in records] == [sequence_after(sequence, number) for number in range(len(rows))]
    assert view.last_sequence == records[-1].sequence


@given(rows=ROWS, codec=st.sampled_from(CODECS[:4]), magic=st.sampled_from([0, 1]), base_offset=st.integers(0, 2**62))
def test_old_magics_give_back_what_was_put_in(
    rows: list[tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]],
    codec: str,
    magic: int,
    base_offset: int,
) -> None:
    plain = [(timestamp, key, value, ()) for timestamp, key, value, _ in rows]
    views = list(batches(build_batch(plain, codec=codec, magic=magic, base_offset=base_offset)))
    assert len(views) == (1 if codec != "none" else len(rows))
    records = [record for view in views for record in view.records()]
    assert [(r.key, r.value) for r in records] == [(key, value) for _, key, value, _ in rows]
    assert [r.timestamp for r in records] == [timestamp if magic else -1 for timestamp, _, _, _ in rows]
    assert [r.offset for r in records] == list(range(base_offset, base_offset + len(rows)))
    assert all(view.crc_ok() for view in views) and all(record.crc_ok for record in records)


@pytest.mark.parametrize("magic", [0, 1])
def test_bytes_behind_the_value_of_a_message_are_left_alone(magic: int) -> None:
    """As Kafka's reader leaves them; the CRC tells whether they are damage."""
    message = bytearray(build_batch([(1, b"k", b"v", ())], magic=magic) + b"more")
    message[8:12] = (len(message) - 12).to_bytes(4, "big")
    (view,) = batches(bytes(message))
    (record,) = view.records()
    assert (record.key, record.value, record.crc_ok, view.crc_ok()) == (b"k", b"v", False, False)


@pytest.mark.parametrize("magic", [0, 1])
def test_inner_messages_end_where_one_is_cut_off(magic: int) -> None:
    """As in Kafka's reader: only an impossible size is an error."""
    inner = build_batch([(1, None, b"a", ()), (2, None, b"b", ())], magic=magic)
    size_bytes = len(inner) // 2

    def offsets(messages: bytes) -> list[int]:
        wrapper = bytearray(build_batch([(2, None, gzip.compress(messages), ())], magic=magic, base_offset=7))
        wrapper[17] |= 1
        return [record.offset for record in next(batches(bytes(wrapper))).records()]

    assert offsets(inner) == ([0, 1] if magic == 0 else [6, 7])
    assert offsets(inner[:-1]) == ([0] if magic == 0 else [7])
    with pytest.raises(CorruptBatch, match="cannot have"):
        offsets(
            inner[:size_bytes] + inner[size_bytes : size_bytes + 8] + b"\x00\x00\x00\x05" + inner[size_bytes + 12 :]
        )


@pytest.mark.parametrize("append_time", [False, True])
@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_may_hold_messages_of_the_other_old_magic(magic: int, append_time: bool) -> None:
    """Kafka reads them: offsets are as the wrapper's magic has them, times as the message's own."""
    inner = build_batch([(1, b"k", b"a", ()), (2, None, b"b", ())], magic=1 - magic)
    wrapper = bytearray(build_batch([(5, None, gzip.compress(inner), ())], magic=magic, base_offset=7))
    wrapper[17] |= 1 | 8 * append_time
    (view,) = batches(bytes(wrapper))
    expected = [(0, 1), (1, 2)] if magic == 0 else [(6, -1), (7, -1)]
    assert [(each.offset, each.timestamp) for each in view.records()] == expected
    assert [(each.key, each.value) for each in view.records()] == [(b"k", b"a"), (None, b"b")]
    with pytest.raises(CorruptBatch, match=f"magic {1 - magic}, but its wrapper has {magic}"):
        list(legacy.read_records(view, 1000, same_magic=True))


@pytest.mark.parametrize("magic", [1, 2])
@pytest.mark.parametrize("size_bytes", [1 << 20, (1 << 20) + 1, 9_000_000])
def test_the_crc_of_a_large_batch_takes_little_memory(magic: int, size_bytes: int) -> None:
    """A damaged length may claim hundreds of megabytes."""
    data = build_batch([(1, None, bytes(size_bytes), ())], magic=magic)
    view = next(batches(data))
    tracemalloc.start()
    try:
        assert view.crc_ok()
        assert tracemalloc.get_traced_memory()[1] < 3 << 20
    finally:
        tracemalloc.stop()
    for at in (100, len(data) - 1):
        assert not BatchView(data[:at] + b"?" + data[at + 1 :], 0).crc_ok()


def test_sequences_start_again_at_zero() -> None:
    assert sequence_after(2**31 - 1, 0) == 2**31 - 1
    assert sequence_after(2**31 - 1, 1) == 0
    assert sequence_after(2**31 - 3, 5) == 2
    # Damaged ones as Java adds them: Kafka's tool prints them.
    assert sequence_after(-538264455, 185) == -538264270
    assert sequence_after(5, -3) == -(2**31) + 2


def test_a_leader_stamps_offset_and_epoch_without_touching_the_crc() -> None:
    buffer = bytearray(build_batch([(5, b"k", b"v", ())] * 3))
    before = next(batches(bytes(buffer)))
    (placed,) = batches(buffer)
    placed.place(1000, 9)
    (view,) = batches(buffer)
    assert (placed.base_offset, placed.last_offset, placed.partition_leader_epoch) == (1000, 1002, 9)
    assert (view.base_offset, view.last_offset, view.partition_leader_epoch) == (1000, 1002, 9)
    assert view.crc == before.crc and view.crc_ok()


def test_append_time_replaces_every_timestamp() -> None:
    buffer = bytearray(build_batch([(5, b"k", b"v", ()), (9, None, None, ())], codec="lz4"))
    set_times(buffer, 0, max_timestamp=777, appended=True)
    (view,) = batches(buffer)
    assert view.crc_ok() and view.timestamp_type == 1
    assert [record.timestamp for record in view.records()] == [777, 777]


def test_a_compacted_batch_keeps_its_range_and_its_horizon() -> None:
    rows = [(1000, b"a", b"1", ()), (1500, b"b", None, ())]
    data = build_batch(
        rows, base_offset=40, offsets=[41, 44], last_offset=49, base_sequence=3, producer_id=1, delete_horizon_ms=99
    )
    (view,) = batches(data)
    assert (view.base_offset, view.last_offset, view.record_count, view.last_sequence) == (40, 49, 2, 12)
    assert view.delete_horizon_ms == 99
    assert [(r.offset, r.timestamp, r.sequence) for r in view.records()] == [(41, 1000, 4), (44, 1500, 7)]


def test_an_emptied_batch_has_61_bytes_and_no_records() -> None:
    data = BatchBuilder().build(base_offset=5, last_offset_delta=4)
    (view,) = batches(data)
    assert len(data) == 61 and list(view.records()) == [] and (view.record_count, view.last_offset) == (0, 9)


# What Kafka's reader of buffers says about bad input


@pytest.mark.req("REC-3", "REC-7")
def test_a_cut_last_batch_is_the_end_of_the_input() -> None:
    one = build_batch([(1, b"k", b"v", ())])
    for cut in range(len(one)):
        assert [view.position for view in batches(one + one[:cut])] == [0]


@pytest.mark.req("REC-8", "REC-11")
@pytest.mark.parametrize("size", [13, 0, -1, -(2**31)])
def test_a_length_below_14_is_an_error_even_in_a_short_buffer(size: int) -> None:
    with pytest.raises(CorruptBatch, match=rf"^Record size {size} is less than the minimum record overhead \(14\)$"):
        list(batches(bytes(8) + size.to_bytes(4, "big", signed=True)))


@pytest.mark.req("REC-9", "DL-11")
def test_a_length_above_the_limit_is_an_error() -> None:
    data = build_batch([(1, b"k", b"v", ())])
    with pytest.raises(
        CorruptBatch, match=rf"^Record size {len(data) - 12} exceeds the largest allowable message size \(20\)\.$"
    ):
        list(batches(data, max_batch_bytes=20))


@pytest.mark.req("REC-10", "DL-11")
@pytest.mark.parametrize(("magic", "shown"), [(3, "3"), (255, "-1"), (127, "127")])
def test_an_unknown_magic_is_an_error(magic: int, shown: str) -> None:
    data = bytearray(build_batch([(1, b"k", b"v", ())]))
    data[16] = magic
    with pytest.raises(UnknownMagic, match=f"^Invalid magic found in record: {shown}$"):
        list(batches(data))
    assert list(batches(data, strict=False)) == []


# Hostile bytes


def damaged_is_an_error(data: bytes) -> None:
    """Whatever the bytes are: records, or CorruptBatch."""
    try:
        for view in batches(data):
            view.crc_ok()
            for _ in view.records(limit_bytes=1 << 20):
                pass
    except CorruptBatch:
        pass


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_no_flipped_bit_and_no_cut_surprises(codec: str, magic: int) -> None:
    if codec == "zstd" and magic < 2:
        pytest.skip("zstd needs magic 2")
    headers = (("h", b"1"), ("", None)) if magic == 2 else ()
    data = build_batch([(7, b"key", b"value" * 9, headers), (8, None, b"", ())], codec=codec, magic=magic)
    for position in range(len(data)):
        damaged_is_an_error(data[:position])
        for bit in range(8):
            damaged_is_an_error(data[:position] + bytes((data[position] ^ 1 << bit,)) + data[position + 1 :])


@given(st.binary(max_size=200))
def test_no_body_surprises(body: bytes) -> None:
    good = build_batch([(1, b"k", b"v", ())])
    for codec in range(8):
        header = bytearray(good[:61])
        header[8:12] = (49 + len(body)).to_bytes(4, "big")
        header[22] = codec
        damaged_is_an_error(bytes(header) + body)


def test_bytes_behind_the_last_record_are_its_fault() -> None:
    data = bytearray(build_batch([(1, b"k", b"v", ()), (1, b"k", b"w", ())]))
    data[57:61] = (1).to_bytes(4, "big")
    (view,) = batches(data)
    records = view.records()
    with pytest.raises(CorruptBatch, match="bytes follow"):
        next(records)


def test_a_count_of_records_that_cannot_be_costs_nothing() -> None:
    data = bytearray(build_batch([(1, b"k", b"v", ())]))
    data[57:61] = (2**31 - 1).to_bytes(4, "big")
    (view,) = batches(data)
    records = view.records()
    assert next(records).value == b"v"
    with pytest.raises(CorruptBatch):
        next(records)


def test_magics_may_be_mixed_and_a_batch_that_is_not_whole_is_left_out() -> None:
    whole = b"".join(build_batch([(1, b"k", b"v", ())], magic=magic, base_offset=magic) for magic in (0, 1, 2))
    assert [(view.magic, view.base_offset) for view in batches(whole)] == [(0, 0), (1, 1), (2, 2)]
    assert [view.magic for view in batches(whole[:-1])] == [0, 1]
    assert next(batches(whole[:16]), None) is None


@pytest.mark.req("REC-1")
@pytest.mark.parametrize("magic", [-1, 3])
def test_there_are_three_record_versions(magic: int) -> None:
    for known in (0, 1, 2):
        (view,) = batches(build_batch([(1, b"k", b"v", ())], magic=known))
        assert view.magic == known
    (newest,) = batches(build_batch([(1, b"k", b"v", ())]))
    assert newest.magic == 2
    with pytest.raises(ValueError, match=f"^Unknown record version: {magic}$"):
        build_batch([(1, b"k", b"v", ())], magic=magic)


def test_a_sole_batch_is_all_of_the_buffer() -> None:
    batch = build_batch([(1, None, b"a", ())])
    found = sole_batch(memoryview(bytearray(batch)))
    assert found is not None
    assert (found.size_bytes, found.record_count) == (len(batch), 1)
    old = build_batch([(1, None, b"a", ())], magic=1)
    for other in (b"", batch[:-1], batch + b"\0", batch * 2, old, batch[:60], batch[:16] + b"\x03" + batch[17:]):
        assert sole_batch(other) is None
    claims_less = batch[:8] + (48).to_bytes(4, "big") + batch[12:60]
    assert sole_batch(claims_less) is None, "shorter than its header"
