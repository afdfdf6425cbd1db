"""Conversion between magics, where no other implementation is needed to know what is right.

``tests/against_kafka/test_record_classes.py`` compares the same functions with Kafka's own.
"""

from __future__ import annotations

import pytest

from kafka_tools.errors import CorruptBatch, UnsupportedCodec
from kafka_tools.records import convert
from kafka_tools.records.batches import batches
from kafka_tools.records.build import build_batch
from kafka_tools.records.control import build_marker
from kafka_tools.records.convert import (
    CHUNK_BYTES,
    ConversionStats,
    Converted,
    LazyConversion,
    down_convert,
    down_convert_slice,
    up_convert,
)
from kafka_tools.records.record import Record

T = 1_700_000_000_000


def batch(
    count: int, offset: int, *, codec: str = "none", magic: int = 2, size: int = 20, headers: bool = False
) -> bytes:
    names = (("name", b"header"),) if headers else ()
    rows = [(T + n, b"k%d" % n, (b"value %d " % n).ljust(size, b"."), names) for n in range(offset, offset + count)]
    return build_batch(rows, base_offset=offset, codec=codec, magic=magic)


def records(data: bytes) -> list[Record]:
    return [record for view in batches(data) for record in view.records()]


def whole(data: bytes, magic: int, first_offset: int = 0) -> bytes:
    return down_convert(batches(data), magic, first_offset=first_offset).data


def lazy(data: bytes, magic: int = 1, first_offset: int = 0) -> LazyConversion:
    return LazyConversion(data, magic, first_offset=first_offset)


@pytest.mark.req("DC-13")
def test_headers_are_lost_and_append_time_is_the_batchs() -> None:
    rows = [(T, b"k", b"v", (("h", b"1"),)), (T + 9, b"k", b"w", ())]
    data = build_batch(rows, timestamp_type=1, append_time_ms=T + 500)
    found = list(batches(whole(data, 1)))
    assert [(view.magic, view.timestamp_type, view.max_timestamp) for view in found] == [(1, 1, T + 500)] * 2
    assert [record.headers for view in found for record in view.records()] == [(), ()]


@pytest.mark.req("DC-11")
def test_what_was_not_asked_for_is_left_out_of_uncompressed_batches_only() -> None:
    assert [record.offset for record in records(whole(batch(5, 10), 1, 12))] == [12, 13, 14]
    assert [record.offset for record in records(whole(batch(5, 10, codec="gzip"), 1, 12))] == [10, 11, 12, 13, 14]


@pytest.mark.req("DC-9", "DC-10", "DC-12")
def test_markers_go_old_batches_stay_and_what_is_left_empty_is_skipped() -> None:
    marker = build_marker(1, 0, committed=True, coordinator_epoch=0, timestamp=T, base_offset=0)
    old = batch(2, 1, codec="gzip", magic=0)
    assert whole(marker + old + batch(2, 3), 1, 5) == old
    assert whole(marker + old, 2) == marker + old


def test_old_consumers_cannot_have_zstd() -> None:
    with pytest.raises(UnsupportedCodec, match="zstandard"):
        whole(batch(2, 0, codec="zstd"), 1)
    assert whole(batch(2, 0, codec="zstd"), 2) == batch(2, 0, codec="zstd")


@pytest.mark.req("DC-15")
def test_a_slice_without_a_whole_batch_comes_back_as_it_is() -> None:
    data = batch(3, 0)
    assert down_convert_slice(data[:-1], 1, first_offset=0) == Converted(data[:-1], ConversionStats())
    converted = down_convert_slice(data, 1, first_offset=0)
    assert (len(records(converted.data)), converted.stats.records_converted) == (3, 3)


@pytest.mark.req("DC-14")
def test_costs_add_up_and_are_written_as_kafka_writes_them() -> None:
    first, second = ConversionStats(100, 2, 30), ConversionStats(1, 1, 1)
    assert first.plus(second) == ConversionStats(101, 3, 31)
    assert (
        str(first) == "RecordConversionStats(temporaryMemoryBytes=100, numRecordsConverted=2, conversionTimeNanos=30)"
    )
    data = batch(2, 0)
    stats = down_convert(batches(data), 1, first_offset=0).stats
    assert stats.temporary_memory_bytes == len(data) + len(whole(data, 1))


@pytest.mark.req("DC-2")
def test_a_fetch_promises_its_bytes_or_its_first_batch_converted_if_that_is_more() -> None:
    grows = batch(50, 0, size=0)  # a message of its own takes 34 bytes more than a record
    assert len(whole(grows, 1)) > len(grows)
    assert lazy(grows).size_bytes == len(whole(grows, 1))
    shrinks = batch(2, 0, headers=True, codec="gzip")
    assert lazy(shrinks + shrinks).size_bytes == max(2 * len(shrinks), len(whole(shrinks, 1)))
    assert lazy(b"").size_bytes == 0
    assert list(lazy(b"").chunks()) == []


@pytest.mark.req("DC-1", "DC-3")
def test_the_log_is_converted_in_chunks_while_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    converted: list[list[int]] = []
    real = down_convert

    def watched(views: list[object], magic: int, **rest: object) -> Converted:
        converted.append([view.size_bytes for view in views])  # type: ignore[attr-defined]
        return real(views, magic, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(convert, "down_convert", watched)
    sizes = [CHUNK_BYTES // 3, CHUNK_BYTES // 3, CHUNK_BYTES // 3, CHUNK_BYTES * 2, 100]
    data = b"".join(batch(1, n, size=size) for n, size in enumerate(sizes))
    conversion = lazy(data)
    assert len(converted) == 1  # the first batch, to know its size
    chunks = conversion.chunks()
    next(chunks)
    assert len(converted) == 1
    next(chunks)
    assert [len(sizes) for sizes in converted] == [1, 2]  # as many batches as fit
    list(chunks)
    assert [len(sizes) for sizes in converted] == [1, 2, 1, 1]  # and one at least
    assert conversion.stats.records_converted == 5


@pytest.mark.req("DC-4")
def test_the_first_batch_is_let_go_once_it_is_taken() -> None:
    conversion = lazy(batch(2, 0))
    assert conversion._first is not None
    next(conversion.chunks())
    assert conversion._first is None


@pytest.mark.req("DC-7", "DC-8", "EASY-12")
@pytest.mark.parametrize("missing", [1, 5, 11, 12, 13, 1000, CHUNK_BYTES + 500])
def test_what_is_missing_is_filled_with_a_batch_that_is_cut_off(missing: int) -> None:
    compressed = batch(1, 0, headers=True)
    conversion = lazy(compressed)
    conversion.size_bytes = len(whole(compressed, 1)) + missing
    sent = b"".join(conversion.chunks())
    assert len(sent) == conversion.size_bytes
    assert [record.offset for record in records(sent)] == [0]  # a reader takes the rest for a batch that was cut off
    filler = sent[-missing:]
    assert filler[:12] == ((-1).to_bytes(8, "big", signed=True) + max(14, missing + 1).to_bytes(4, "big"))[:missing]


@pytest.mark.req("DC-8")
def test_no_more_is_sent_than_was_promised() -> None:
    data = batch(1, 0) + batch(200, 1, size=0)
    conversion = lazy(data)
    assert len(whole(data, 1)) > conversion.size_bytes
    assert len(b"".join(conversion.chunks())) == conversion.size_bytes


@pytest.mark.req("DC-5")
def test_a_first_batch_beyond_the_promise_is_an_error() -> None:
    conversion = lazy(batch(1, 0))
    conversion.size_bytes = 20
    why = r"^Unable to send first batch completely\. maximum_size: 20 converted_records_size: \d+$"
    with pytest.raises(CorruptBatch, match=why):
        list(conversion.chunks())


def test_a_fetch_of_nothing_that_old_clients_know_is_all_filler() -> None:
    marker = build_marker(1, 0, committed=True, coordinator_epoch=0, timestamp=T, base_offset=0)
    sent = b"".join(lazy(marker).chunks())
    assert len(sent) == len(marker)
    assert records(sent) == []


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_messages_become_one_batch(magic: int, codec: str) -> None:
    data = batch(3, 70, codec=codec, magic=magic)
    (view,) = batches(up_convert(batches(data), base_offset=500, leader_epoch=3))
    assert (view.base_offset, view.last_offset, view.codec) == (500, 502, next(batches(data)).codec)
    assert [(r.key, r.value) for r in view.records()] == [(r.key, r.value) for r in records(data)]
    assert [r.timestamp for r in view.records()] == [T + 70, T + 71, T + 72] if magic else [-1, -1, -1]
    (stamped,) = batches(up_convert(batches(data), append_time_ms=T + 9, codec="none"))
    assert {r.timestamp for r in stamped.records()} == {T + 9}
    assert (stamped.timestamp_type, stamped.codec) == (1, 0)


def test_what_cannot_be_converted_up_is_said() -> None:
    damaged = bytearray(batch(1, 0, magic=1))
    damaged[-1] ^= 1
    with pytest.raises(CorruptBatch, match="CRC"):
        up_convert(batches(damaged))
    with pytest.raises(CorruptBatch, match="magic 2"):
        up_convert(batches(batch(1, 0)))
    with pytest.raises(CorruptBatch, match="no messages"):
        up_convert(batches(b""))
