"""Records as columns are those that ``poll`` returns, whatever the batches are like."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.broker_embedded.broker import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.fetched_data import Chunk, PartitionData
from kafka_tools.clients.producer import Producer
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.errors import CorruptBatch
from kafka_tools.protocol.codec import encode_versioned
from kafka_tools.protocol.enums import ControlRecordType
from kafka_tools.protocol.stored.control_records import ControlRecordTypeSchema
from kafka_tools.records.build import build_batch
from kafka_tools.values import TopicPartition

T0 = TopicPartition("t", 0)
SETTINGS = ConsumerSettings(read_committed=True)
texts = st.none() | st.binary(max_size=200)
rows = st.tuples(st.integers(0, 2**41), texts, texts, st.just(()) | st.just((("h", b"x"),)))


def chunk(data: bytes, offset: int = 0, *aborted: tuple[int, int]) -> Chunk:
    starts = [PartitionData.AbortedTransaction(producer_id=each, first_offset=at) for each, at in aborted]
    return Chunk(T0, offset, PartitionData(records=memoryview(data), aborted_transactions=starts), SETTINGS)


def as_rows(found: Chunk) -> list[tuple[Any, ...]]:
    out = []
    while not found.exhausted:
        out += [(each.offset, each.timestamp_ms, each.key, each.value, len(each.headers)) for each in found.take(3)]
    return out


def as_columns(found: Chunk) -> list[tuple[Any, ...]]:
    out: list[tuple[Any, ...]] = []
    while not found.exhausted:
        columns = found.take_columns()
        if columns is not None:
            assert (columns.topic, columns.partition) == T0
            numbers = columns.offsets.tolist(), columns.timestamps_ms.tolist()
            out += zip(*numbers, columns.keys(), columns.values(), columns.header_count.tolist(), strict=True)
    return out


@given(st.lists(st.tuples(st.lists(rows, min_size=1, max_size=5), st.sampled_from(["none", "gzip", "lz4"]),
                          st.sampled_from([0, 1, 2, 2, 2])), max_size=6), st.integers(0, 8))  # fmt: skip
def test_columns_are_the_records(batches: list[tuple[list[Any], str, int]], offset: int) -> None:
    data, base = b"", 0
    for records, codec, magic in batches:
        plain = [(time, key, value, headers if magic == 2 else ()) for time, key, value, headers in records]
        data += build_batch(plain, base_offset=base, codec=codec, magic=magic)
        base += len(records)
    assert as_columns(chunk(data, offset)) == as_rows(chunk(data, offset))


def batch(base_offset: int, *values: bytes, **fields: Any) -> bytes:
    return build_batch([(1000, b"k", value, ()) for value in values], base_offset=base_offset, **fields)


def test_control_batches_and_aborted_transactions_are_left_out() -> None:
    transaction = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    key = encode_versioned(ControlRecordTypeSchema(type=ControlRecordType.ABORT), 0)
    marker = build_batch([(0, key, b"\0" * 6, ())], base_offset=4, control=True, **transaction)
    data = batch(0, b"a") + batch(1, b"x", b"y", **transaction) + batch(3, b"b") + marker
    found = chunk(data, 0, (7, 1))
    columns = found.take_columns()
    assert columns is not None
    assert list(columns.values()) == [b"a", b"b"]
    assert found.take_columns() is None
    assert (found.exhausted, found.position) == (True, 5)


def test_bad_batch_is_raised_after_the_records_before_it_and_again() -> None:
    bad = bytearray(batch(2, b"c"))
    bad[-1] ^= 1
    found = chunk(batch(0, b"a", b"b") + bytes(bad) + batch(3, b"d"))
    columns = found.take_columns()
    assert columns is not None
    assert columns.offsets.tolist() == [0, 1]
    for _ in range(2):
        with pytest.raises(CorruptBatch, match="t-0 at offset 2: batch at offset 2: the CRC does not match"):
            found.take_columns()
    assert found.position == 2


def test_rows_and_columns_can_take_turns() -> None:
    found = chunk(batch(0, b"a", b"b", b"c") + batch(3, b"d") + batch(4, b"e", leader_epoch=6))
    assert [each.value for each in found.take(1)] == [b"a"]
    columns = found.take_columns()
    assert columns is not None
    assert columns.offsets.tolist() == [1, 2, 3, 4]
    assert (found.position, found.leader_epoch) == (5, 6)


def test_consumer_returns_columns_of_each_partition_and_goes_on_with_records() -> None:
    with EmbeddedBroker(config={"num.partitions": 2}) as broker:
        with Producer(broker.bootstrap_servers) as producer:
            for number in range(2000):
                producer.send("t", b"%d" % number, partition=number % 2)
        with Consumer(broker.bootstrap_servers, max_poll_records=10) as consumer:
            consumer.assign([T0, TopicPartition("t", 1)])
            consumer.seek_to_beginning()
            found: dict[int, list[bytes | None]] = {0: [], 1: []}
            while sum(map(len, found.values())) < 2000:
                for columns in consumer.poll_columns(5.0):
                    assert columns.offsets[0] == len(found[columns.partition])
                    found[columns.partition] += columns.values()
            assert found == {half: [b"%d" % number for number in range(half, 2000, 2)] for half in (0, 1)}
            assert consumer.position(T0) == 1000
            with Producer(broker.bootstrap_servers) as producer:
                producer.send("t", b"last", partition=0)
            assert [record.value for record in consumer.poll(5.0)] == [b"last"]
