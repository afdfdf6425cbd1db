"""``Producer.send_many``: the batches of ``send``, and one result for all records."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from random import Random
from typing import Any

import numpy as np
import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.producer import Producer, RecordTooLarge
from kafka_tools.clients.producing.deliveries import Deliveries, RecordsFailed
from kafka_tools.clients.producing.partitioner import partition_for_key, partitions_for_keys
from kafka_tools.clients.producing.reports import RecordsLost
from kafka_tools.clock import ManualClock
from kafka_tools.errors import BrokerError, DeadlineExceeded, InputError, KafkaToolsError
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.produce import ProduceRequest
from tests.clients.fake_cluster import NEVER, FakeCluster
from tests.clients.test_producer import Log

NOW_MS = 1_700_000_000_000


class Peer:
    """A producer of its own with its own cluster, in virtual time."""

    def __init__(
        self,
        partitions: int = 1,
        *,
        partitioner: Any = None,
        on_failure: Any = None,
        interceptors: Any = (),
        **values: object,
    ) -> None:
        self.clock = ManualClock()
        self.cluster = FakeCluster(self.clock)
        self.cluster.topic("t", partitions)
        self.log = Log(self.cluster)
        settings = {"bootstrap.servers": "one:9092"} | {
            name.replace("_", "."): str(value) for name, value in values.items()
        }
        self.cluster.config = ClientConfig(settings)
        exchange: Any = self.cluster
        self.producer = Producer(
            self.cluster.config,
            exchange=exchange,
            clock=self.clock,
            random=Random(1),
            partitioner=partitioner,
            on_failure=on_failure,
            interceptors=interceptors,
        )

    def written(self) -> dict[int, list[bytes]]:
        """The batches of each partition."""
        found: dict[int, list[bytes]] = {}
        for topic_partition, batch in self.log.batches:
            found.setdefault(topic_partition.partition, []).append(bytes(batch.raw()))
        return found


def varied(count: int) -> list[bytes]:
    random = Random(3)
    return [random.randbytes(random.randrange(120)) for _ in range(count)]


def keyed(values: Iterable[bytes | None], every: int = 1) -> list[tuple[bytes | None, bytes | None]]:
    return [(b"key%d" % number if number % every == 0 else None, value) for number, value in enumerate(values)]


def third(topic: str, key: bytes | None, partitions: Any) -> int:
    return len(key or b"") % 3


SHAPES: dict[str, tuple[list[Any], dict[str, Any], dict[str, Any]]] = {
    "values": ([b"v" * 100] * 1000, {}, {}),
    "values of every size": (varied(1000), {}, {}),
    "values to several partitions": (varied(3000), {}, {"partitions": 5}),
    "empty values and tombstones": ([b"", None] * 300, {}, {"partitions": 3}),
    "keys": (keyed(varied(1000)), {}, {"partitions": 7}),
    "keys to one partition": (keyed(varied(500)), {}, {}),
    "keys of some records": (keyed(varied(1000), 3), {}, {"partitions": 4}),
    "keys that count for nothing": (keyed(varied(500)), {}, {"partitions": 4, "partitioner_ignore_keys": "true"}),
    "a partition": (keyed(varied(500)), {"partition": 2}, {"partitions": 4}),
    "a partitioner": (keyed(varied(500)), {}, {"partitions": 3, "partitioner": third}),
    "headers": (varied(300), {"headers": [("a", b"1"), ("b", None)]}, {}),
    "a time": (varied(300), {"timestamp_ms": 5}, {}),
    "times": (varied(300), {"timestamp_ms": list(range(300, 0, -1))}, {"partitions": 3}),
    "times of keyed records": (keyed(varied(300)), {"timestamp_ms": range(300)}, {"partitions": 3}),
    "lz4": (varied(1000), {}, {"compression_type": "lz4"}),
    "small batches": (varied(300), {}, {"batch_size": 150}),
    "batches of one record": (varied(50), {}, {"batch_size": 0, "partitions": 2}),
    "no idempotence": (varied(300), {}, {"enable_idempotence": "false"}),
    "little memory": (varied(1000), {}, {"buffer_memory": 20_000}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_bytes_are_those_of_send(shape: str) -> None:
    records, arguments, settings = SHAPES[shape]
    one, many = Peer(**settings), Peer(**settings)
    times = arguments.get("timestamp_ms")
    for number, record in enumerate(records):
        key, value = record if isinstance(record, tuple) else (None, record)
        time_ms = times if times is None or isinstance(times, int) else times[number]
        one.producer.send("t", value, key, **arguments | {"timestamp_ms": time_ms})
    one.producer.flush()
    deliveries = many.producer.send_many("t", records, **arguments)
    many.producer.flush()
    assert deliveries.done
    assert many.written() == one.written()
    offsets = {index: run.offset + at for run in deliveries.result() for at, index in enumerate(run.indexes)}
    assert sorted(offsets) == list(range(len(records)))


def test_records_of_send_and_of_send_many_share_batches_and_keep_their_order() -> None:
    peer = Peer()
    peer.producer.send("t", b"0")
    peer.producer.send_many("t", [b"1", b"2"])
    peer.producer.send("t", b"3")
    peer.producer.send_many("t", [b"4"])
    peer.producer.flush()
    assert peer.log.values() == [b"%d" % number for number in range(5)]
    assert len(peer.log.batches) == 1


def test_the_result_has_offsets_by_batch_and_indexes_by_partition() -> None:
    peer = Peer(2, batch_size=150)
    deliveries = peer.producer.send_many("t", [(b"21", b"a"), (b"abc", b"b"), (b"21", b"c")])
    assert (len(deliveries), deliveries.done, deliveries.delivered()) == (3, False, [])
    chosen = [partition_for_key(key, 2) for key in (b"21", b"abc")]
    assert chosen == [0, 1]
    assert deliveries.result() == [("t", 0, 0, [0, 2]), ("t", 1, 0, [1])]
    (run,) = peer.producer.send_many("t", [b"d", b"e"], partition=0).result()
    assert run == ("t", 0, 2, range(2))


def test_no_records_are_delivered_at_once() -> None:
    deliveries = Peer().producer.send_many("t", [])
    assert (deliveries.done, deliveries.result(), len(deliveries)) == (True, [], 0)


def test_failures_have_the_index_of_the_record() -> None:
    peer = Peer(batch_size=100)
    peer.log.codes = [0, error_codes.INVALID_RECORD]
    deliveries = peer.producer.send_many("t", [b"%d" % number * 20 for number in range(4)])
    with pytest.raises(RecordsFailed, match=r"^1 of 4 records failed, records\[1\]: .*INVALID_RECORD") as caught:
        deliveries.result()
    assert list(caught.value.failures) == [1]
    assert isinstance(deliveries.failures()[1], BrokerError)
    assert [list(run.indexes) for run in deliveries.delivered()] == [[0], [2], [3]]
    peer.producer.close()  # nothing is lost unseen


def test_failures_that_nobody_looked_at_are_lost_records() -> None:
    peer = Peer()
    peer.log.codes = [error_codes.INVALID_RECORD]
    peer.producer.send_many("t", [b"1", b"2", b"3"])
    with pytest.raises(RecordsLost) as caught:
        peer.producer.close()
    assert caught.value.count == 3


def test_indexes_follow_a_batch_that_the_broker_finds_too_large() -> None:
    peer = Peer()
    peer.log.limit_bytes = 200
    peer.log.codes = []
    values = [b"%03d" % number * 10 for number in range(21)]
    told: list[Deliveries] = []
    peer.producer.send("t", b"first")
    deliveries = peer.producer.send_many("t", values, on_delivery=told.append)
    peer.producer.send("t", b"last")
    found = {run.offset + at: index for run in deliveries.result() for at, index in enumerate(run.indexes)}
    peer.producer.flush()
    assert {offset: values[index] for offset, index in found.items()} == dict(enumerate(values, 1))
    assert peer.log.values() == [b"first", *values, b"last"]
    assert told == [deliveries]


def test_a_part_of_a_split_batch_that_fails_is_known_by_its_indexes() -> None:
    peer = Peer()
    peer.log.codes = [error_codes.MESSAGE_TOO_LARGE, 0, error_codes.INVALID_RECORD]
    failed: list[Any] = []
    peer.producer.send_many("t", [b"%d" % number for number in range(7)], on_delivery=lambda each: failed.append(each))
    peer.producer.close()
    assert list(failed[0].failures()) == [3, 4, 5, 6]


@pytest.mark.parametrize(
    ("records", "arguments", "text"),
    [
        ([b"1", "2"], {}, r"invalid records\[1\]: expected bytes or None, not a value of type str"),
        ([(b"k", b"1"), ("k", b"2")], {}, r"invalid the key of records\[1\]|invalid key of records\[1\]"),
        ([(b"k", b"1"), (b"k", 2)], {}, r"invalid (the )?value of records\[1\]"),
        ([(b"k", b"1"), b"2"], {}, r"invalid records\[1\]: expected a pair \(key, value\)"),
        ([(b"k", b"1"), (b"k", b"2", b"3")], {}, r"invalid records\[1\]: expected a pair \(key, value\)"),
        (b"12", {}, "expected a list of values"),
        (7, {}, "expected a list, not a value of type int"),
        ([b"1"], {"partition": 9}, "Invalid partition 9"),
        ([b"1", b"2"], {"timestamp_ms": [1]}, "expected one time, or 2 as there are records, not 1"),
        ([b"1"], {"timestamp_ms": -1}, "invalid timestamp_ms"),
        ([b"1"], {"headers": [(1, b"")]}, "invalid headers"),
        ([b"1"], {"on_delivery": 1}, "invalid on_delivery"),
        (np.zeros(3, "S3"), {}, r"not an array of \|S3 with 1 dimensions"),
    ],
)
def test_nothing_is_queued_if_a_record_cannot_be_sent(records: Any, arguments: Any, text: str) -> None:
    peer = Peer()
    with pytest.raises(InputError, match=text):
        peer.producer.send_many("t", records, **arguments)
    peer.producer.flush()
    assert peer.log.batches == []


def test_a_record_that_is_too_large_is_named() -> None:
    peer = Peer(max_request_size=1000)
    with pytest.raises(RecordTooLarge, match=r"^records\[2\] is 1082 bytes .* the max.request.size configuration"):
        peer.producer.send_many("t", [b"", b"1", b"2" * 1000])
    peer.producer.flush()
    assert peer.log.batches == []


def test_numpy_arrays() -> None:
    peer = Peer()
    peer.producer.send_many("t", np.arange(6, dtype=np.uint8).reshape(3, 2))
    peer.producer.send_many("t", np.array([b"a\0", None, bytearray(b"b")], dtype=object))
    peer.producer.send_many("t", (bytes([number]) for number in range(2)))
    peer.producer.flush()
    assert peer.log.values() == [b"\0\1", b"\2\3", b"\4\5", b"a\0", None, b"b", b"\0", b"\1"]


def test_records_wait_for_memory_and_all_of_them_arrive() -> None:
    peer = Peer(buffer_memory=5_000, batch_size=1_000, linger_ms=10_000, delivery_timeout_ms=60_000)
    values = varied(500)
    peer.producer.send_many("t", values).result()
    assert peer.log.values() == values


def test_records_for_which_no_memory_comes_fail_by_index() -> None:
    failed: list[Any] = []
    peer = Peer(buffer_memory=1_000, batch_size=300, max_block_ms=100, on_failure=lambda *about: failed.append(about))
    answered = peer.cluster.answers[ProduceRequest]
    peer.cluster.answers[ProduceRequest] = lambda *_: NEVER
    deliveries = peer.producer.send_many("t", [b"%02d" % number * 50 for number in range(20)])
    failures = deliveries.failures()
    assert list(failures) == list(range(9, 20))
    assert {type(error) for error in failures.values()} == {DeadlineExceeded}
    assert "Failed to allocate 100 bytes within the configured max blocking time 100 ms." in str(failures[9])
    assert [record[2] for _, record, _ in failed] == [b"%02d" % number * 50 for number in range(9, 20)]
    assert not deliveries.done
    peer.cluster.answers[ProduceRequest] = answered
    with pytest.raises(RecordsFailed, match="11 of 20"):
        deliveries.result()
    assert [index for run in deliveries.delivered() for index in run.indexes] == list(range(9))


def test_nothing_is_raised_or_queued_by_halves_if_there_is_no_memory_at_all() -> None:
    peer = Peer(buffer_memory=1_000, max_block_ms=100, linger_ms=10_000)
    answered = peer.cluster.answers[ProduceRequest]
    peer.cluster.answers[ProduceRequest] = lambda *_: NEVER
    peer.producer.send_many("t", [b"1" * 900])
    with pytest.raises(DeadlineExceeded, match="Failed to allocate"):
        peer.producer.send_many("t", [b"2" * 100, b"3"])
    peer.cluster.answers[ProduceRequest] = answered
    peer.producer.close()
    assert peer.log.values() == [b"1" * 900]


def test_records_expire_after_the_delivery_timeout() -> None:
    peer = Peer(delivery_timeout_ms=40_000)
    peer.cluster.answers[ProduceRequest] = lambda *_: NEVER
    deliveries = peer.producer.send_many("t", [b"1", b"2"])
    with pytest.raises(RecordsFailed, match="2 of 2 records failed"):
        deliveries.result()
    assert {type(error) for error in deliveries.failures().values()} == {DeadlineExceeded}


def test_the_callback_is_called_once_when_every_record_is_through() -> None:
    peer = Peer(batch_size=100)
    peer.log.codes = [0, error_codes.INVALID_RECORD]
    told: list[tuple[Deliveries, bool]] = []
    deliveries = peer.producer.send_many(
        "t", [b"1" * 50, b"2" * 50, b"3" * 50], on_delivery=lambda each: told.append((each, each.done))
    )
    peer.producer.close()  # no RecordsLost: the callback knows
    assert told == [(deliveries, True)]
    assert list(deliveries.failures()) == [1]


def test_a_closed_producer_takes_no_records() -> None:
    peer = Peer()
    peer.producer.close()
    with pytest.raises(KafkaToolsError, match="after producer has been closed"):
        peer.producer.send_many("t", [b"1"])


def test_records_of_a_transaction_need_one() -> None:
    with EmbeddedBroker() as broker, Producer(broker.bootstrap_servers, transactional_id="x") as producer:
        producer.init_transactions()
        with pytest.raises(KafkaToolsError):
            producer.send_many("t", [b"1"])
        with producer.transaction():
            deliveries = producer.send_many("t", [b"%d" % number for number in range(1000)])
        assert deliveries.done
        assert sum(len(run.indexes) for run in deliveries.result()) == 1000


def test_records_of_several_threads_keep_their_order() -> None:
    with EmbeddedBroker() as broker, Producer(broker.bootstrap_servers, linger_ms=1, batch_size=500) as producer:
        values = {name: [b"%s%d" % (name, number) for number in range(25_000)] for name in (b"a", b"b")}
        results: dict[bytes, Deliveries] = {}

        def send(name: bytes) -> None:
            results[name] = producer.send_many("many", values[name], partition=0)

        threads = [threading.Thread(target=send, args=(name,)) for name in values]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60.0)
        found: dict[int, bytes] = {}
        for name, deliveries in results.items():
            for run in deliveries.result(60.0):
                found |= {run.offset + at: values[name][index] for at, index in enumerate(run.indexes)}
        assert sorted(found) == list(range(50_000))
        for name in values:
            assert [found[offset] for offset in sorted(found) if found[offset][:1] == name] == values[name]


def test_many_keys_have_the_partitions_of_single_keys() -> None:
    random = Random(5)
    keys = [random.randbytes(random.randrange(20)) for _ in range(2000)]
    for few in (keys, keys[:3], [b"12345678"] * 100, [b""] * 70):
        assert partitions_for_keys(few, 7) == [partition_for_key(key, 7) for key in few]
