"""What producers may get wrong in a batch: refused with the record at fault, or stored so that anybody can read it."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded.partitions.produce_rules import Limits, RejectedBatch
from kafka_tools.broker_embedded.partitions.produced_batches import take
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import build_batch, encode_message
from kafka_tools.values import TopicPartition
from tests.against_kafka.produced_batches import Batch, Header, Parts, varint
from tests.broker_embedded.disk_broker import DiskBroker, fetch_request

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture
def broker(tmp_path: Path) -> DiskBroker:
    opened = DiskBroker(tmp_path / "data")
    opened.create("t")
    return opened


def stored(broker: DiskBroker) -> list[BatchView]:
    answer = broker.call(fetch_request("t", 0, max_wait_ms=0), 11).responses[0].partitions[0]
    return list(batches(bytes(answer.records or b"")))


def newest(broker: DiskBroker) -> tuple[int, int]:
    """ListOffsets -3: (error code, timestamp)."""
    Topic = ListOffsetsRequest.Topic
    wanted = Topic(name="t", partitions=[Topic.Partition(partition_index=0, timestamp=-3)])
    answer = broker.call(ListOffsetsRequest(replica_id=-1, topics=[wanted]), 7).topics[0].partitions[0]
    return answer.error_code, answer.timestamp


def spoiled(broker: DiskBroker, codec: str, change: Callable[[Batch], None]) -> bytes:
    """Three sound records with one change."""
    batch = Batch([Parts(0), Parts(1), Parts(2)], CODECS.index(codec), base_timestamp=broker.clock.now_ms())
    change(batch)
    return batch.encode()


def set_second(**changes: Any) -> Callable[[Batch], None]:
    def change(batch: Batch) -> None:
        for name, value in changes.items():
            setattr(batch.records[1], name, value)

    return change


UNREADABLE = {
    "garbage": lambda batch: setattr(batch, "change_body", lambda body: b"\xa5" * len(body)),
    "key beyond the record": set_second(key_size=varint(500)),
    "value beyond the record": set_second(value_size=varint(2**31 - 1)),
    "negative header count": set_second(header_count=varint(-1)),
    "huge header count": set_second(header_count=varint(2**31 - 1)),
    "null header name": set_second(headers=[Header(b"a", b"b", name_size=varint(-1))]),
    "record longer than it says": set_second(behind=b"more"),
    "number without end": set_second(key_size=b"\xff" * 6),
    "bytes behind the records": lambda batch: setattr(batch, "behind", b"more"),
    "more records than it says": lambda batch: batch.records.append(Parts(3)) or setattr(batch, "count", 3),
}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("fault", UNREADABLE)
def test_what_no_client_could_read_is_refused_and_the_record_at_fault_is_named(
    broker: DiskBroker, fault: str, codec: str
) -> None:
    answer = broker.produce("t", spoiled(broker, codec, UNREADABLE[fault]))
    assert answer.error_code == codes.INVALID_RECORD, answer
    if fault != "more records than it says":  # which the header of the batch tells by itself
        expected = {"garbage": 0, "bytes behind the records": 2}.get(fault, 1)
        assert [error.batch_index for error in answer.record_errors] == [expected]
        assert answer.error_message
    assert not stored(broker)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "deltas", [(0, 0, 1), (0, 1, 1), (0, 5, 6), (1, 2, 3), (2, 1, 0), (0, -1, 2), (0, 1, 2**31 - 1)]
)
def test_offsets_that_repeat_or_skip_never_reach_the_log(
    broker: DiskBroker, deltas: tuple[int, ...], codec: str
) -> None:
    """Kafka stores them as they come if nothing is compressed; here all records can be read."""

    def change(batch: Batch) -> None:
        for record, delta in zip(batch.records, deltas, strict=True):
            record.offset_delta = delta

    answer = broker.produce("t", spoiled(broker, codec, change))
    if codec == "none":
        assert answer.error_code == 0
        (view,) = stored(broker)
        assert [record.offset for record in view.records()] == [0, 1, 2]
        assert view.crc_ok()
    else:
        assert answer.error_code == codes.INVALID_RECORD
        wrong = [number for number, delta in enumerate(deltas) if number != delta]
        assert [error.batch_index for error in answer.record_errors] == wrong


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_length_that_lies_in_a_compressed_batch_is_seen(broker: DiskBroker, codec: str) -> None:
    """Kafka skips over the records of such a batch and keeps it; its consumers then fail."""
    answer = broker.produce("t", spoiled(broker, codec, set_second(size=varint(2))))
    assert answer.error_code == codes.INVALID_RECORD


@pytest.mark.parametrize("codec", CODECS)
def test_a_record_that_is_too_large_once_decompressed_is_refused(tmp_path: Path, codec: str) -> None:
    """max.decompressed.message.bytes (Kafka 4.4) counts a record of a compressed batch, not the batch."""
    opened = DiskBroker(tmp_path / "data")
    opened.create("t", max_decompressed_message_bytes="1000")
    fits, large = (opened.clock.now_ms(), None, b"v" * 900, ()), (opened.clock.now_ms(), None, b"v" * 1001, ())
    assert opened.produce("t", build_batch([fits] * 20, codec=codec)).error_code == 0
    answer = opened.produce("t", build_batch([fits, large], codec=codec))
    if codec == "none":
        assert answer.error_code == 0
    else:
        assert answer.error_code == codes.INVALID_RECORD
        assert "exceeds the configured maximum record size of 1000." in answer.error_message


@pytest.mark.parametrize("magic", [0, 1])
def test_a_message_of_an_old_producer_is_measured_likewise(magic: int) -> None:
    messages = b"".join(
        encode_message(magic, 0, number, 1, None, b"v" * size) for number, size in enumerate((10, 2000))
    )
    wrapper = encode_message(magic, 1, 1, 1, None, gzip.compress(messages))
    size = 2000 + (14 if magic == 0 else 22)
    take(wrapper, 2, Limits(max_record_bytes=size), 1, TopicPartition("t", 0))
    with pytest.raises(RejectedBatch, match=f"Invalid record size: {size} exceeds the configured maximum record size"):
        take(wrapper, 2, Limits(max_record_bytes=size - 1), 1, TopicPartition("t", 0))


@pytest.mark.parametrize("version", [3, 9, 12])
def test_a_batch_starts_at_offset_0(broker: DiskBroker, version: int) -> None:
    batch = spoiled(broker, "none", lambda batch: setattr(batch, "base_offset", 7))
    assert broker.produce("t", batch, version=version).error_code == codes.INVALID_RECORD


@pytest.mark.parametrize("claimed", [-1, 0, 2**63 - 1, "one less"])
@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_the_largest_timestamp_is_the_brokers_to_set(broker: DiskBroker, claimed: int | str, codec: str) -> None:
    now_ms = broker.clock.now_ms()

    def change(batch: Batch) -> None:
        batch.records[1].timestamp_delta = 5
        batch.max_timestamp = now_ms + 4 if claimed == "one less" else int(claimed)

    assert broker.produce("t", spoiled(broker, codec, change)).error_code == 0
    (view,) = stored(broker)
    assert (view.max_timestamp, view.crc_ok()) == (now_ms + 5, True)
    assert newest(broker) == (0, now_ms + 5)


def test_the_kind_of_timestamp_is_the_brokers_to_set(broker: DiskBroker) -> None:
    batch = spoiled(broker, "none", lambda batch: setattr(batch, "attributes", 0x4148))
    assert broker.produce("t", batch).error_code == 0
    (view,) = stored(broker)
    assert (view.attributes, view.max_timestamp, view.crc_ok()) == (0x40, broker.clock.now_ms(), True)
    broker.create("c", message_timestamp_type="LogAppendTime")
    answer = broker.produce("c", batch)
    assert answer.error_code == codes.INVALID_TIMESTAMP
    assert [error.batch_index for error in answer.record_errors] == [0, 1, 2]


def test_records_out_of_time_are_named(broker: DiskBroker) -> None:
    answer = broker.produce("t", spoiled(broker, "none", set_second(timestamp_delta=3_700_000)))
    assert answer.error_code == codes.INVALID_TIMESTAMP
    assert answer.error_message == "One or more records have been rejected due to invalid timestamp"
    (error,) = answer.record_errors
    assert error.batch_index == 1
    assert f"Timestamp {broker.clock.now_ms() + 3_700_000} of message with offset 1" in error.batch_index_error_message


def test_what_is_looked_at_one_by_one_is_looked_at_elsewhere_where_it_is_much(broker: DiskBroker) -> None:
    """A few hundred kilobytes of records of seven bytes kept everybody waiting for a second."""
    elsewhere: list[str] = []
    slices: Any = broker.core.slices
    offload = slices.offload
    broker.create("c", cleanup_policy="compact")
    now_ms = broker.clock.now_ms()

    def offloaded(run: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
        elsewhere.append("")
        offload(run, done)

    slices.offload = offloaded

    def batch(count: int, **last: Any) -> bytes:
        records = [Parts(number, key=b"", value=b"") for number in range(count - 1)]
        return Batch([*records, Parts(count - 1, **last)], base_timestamp=now_ms).encode()

    def produced(topic: str, data: bytes, version: int = 9) -> tuple[int, bool]:
        """(error code, whether something was done elsewhere)."""
        elsewhere.clear()
        pending = broker.produce_pending(topic, data, version=version)
        while pending.response is None:
            broker.step()
        return pending.response.responses[0].partition_responses[0].error_code, bool(elsewhere)

    late = {"timestamp_delta": 3_700_000}
    long_null = {"key": None, "key_size": b"\x81\x00"}  # only a lenient reader understands it: it is written anew
    for count, is_much in ((1000, False), (1001, True)):
        assert produced("t", batch(count, **late)) == (codes.INVALID_TIMESTAMP, is_much)
        assert produced("t", batch(count, **long_null)) == (codes.NONE, is_much)
        assert produced("c", batch(count, key=None)) == (codes.INVALID_RECORD, is_much)
        messages = b"".join(encode_message(1, 0, number, now_ms, b"", b"") for number in range(count))
        assert produced("t", messages, 2) == (codes.NONE, is_much)
    assert produced("t", batch(20_000)) == (codes.NONE, False)
    assert produced("t", batch(20_001)) == (codes.NONE, True)
    message = encode_message(0, 0, 0, -1, None, b"")
    assert produced("t", batch(1) + message * 10_000, 2) == (codes.INVALID_RECORD, True)


@pytest.mark.parametrize("base_timestamp", [2**63 - 1, -(2**63)])
def test_times_that_run_over_are_no_internal_error(broker: DiskBroker, base_timestamp: int) -> None:
    """As Java's longs do; where the broker gives the time it does not matter what they say."""
    records = [Parts(0), Parts(1, timestamp_delta=1), Parts(2, timestamp_delta=-1)]
    batch = Batch(records, 0, base_timestamp=base_timestamp, max_timestamp=0).encode()
    broker.create("c", message_timestamp_type="LogAppendTime", compression_type="gzip")
    assert broker.produce("c", batch).error_code == codes.NONE
    broker.create("e", message_timestamp_type="LogAppendTime")
    assert broker.produce("e", batch).error_code == codes.NONE
    assert broker.produce("t", batch).error_code == codes.INVALID_TIMESTAMP
    assert [record.timestamp for record in next(batches(batch)).records()] == [
        (base_timestamp + delta + 2**63) % 2**64 - 2**63 for delta in (0, 1, -1)
    ]


def test_no_more_than_ten_thousand_records_at_fault_are_named_in_one_answer(broker: DiskBroker) -> None:
    """Kafka names all: a request of 15 MB to ten thousand partitions would be answered with a gigabyte."""
    broker.create("c", 12, cleanup_policy="compact")
    batch = build_batch([(broker.clock.now_ms(), None, b"", ())] * 1000, codec="gzip")
    Data = ProduceRequest.TopicProduceData
    rows = [Data.PartitionProduceData(index=at, records=batch) for at in range(12)]
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[Data(name="c", partition_data=rows)])
    pending = broker.send(request, 9)
    while pending.response is None:
        broker.step()
    (topic,) = pending.response.responses
    assert [len(row.record_errors) for row in topic.partition_responses] == [1000] * 10 + [0] * 2
    assert {row.error_code for row in topic.partition_responses} == {codes.INVALID_RECORD}


def test_what_needs_no_change_is_not_copied() -> None:
    """Only a request's own memory is written to: offsets are put where the batch lies."""
    sound = Batch([Parts(0), Parts(1)], 0, base_timestamp=0).encode()
    limits, partition = Limits(before_max_ms=2**62), TopicPartition("t", 0)
    request = bytearray(b"before" + sound + b"after")
    (taken,) = take(memoryview(request)[6:-5], 9, limits, 0, partition)
    assert bytes(taken.buffer) == sound
    taken.buffer[7] = 9  # type: ignore[index]
    assert request == b"before" + bytes(taken.buffer) + b"after"
    (copied,) = take(sound, 9, limits, 0, partition)
    copied.buffer[7] = 9  # type: ignore[index]
    assert bytes(copied.buffer) == bytes(taken.buffer) != sound
