"""The producer against a scripted cluster: what it sends, and what becomes of records when brokers refuse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from kafka_tools.clients.producer import Producer
from kafka_tools.clients.producing.partitions import Partitioner
from kafka_tools.clients.producing.reports import RecordsLost
from kafka_tools.clock import ManualClock
from kafka_tools.errors import BrokerError, DeadlineExceeded, Disconnected, InputError, KafkaToolsError
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.values import Node, TopicPartition
from tests.clients.fake_cluster import NEVER, NODES, FakeCluster

PartitionResponse = ProduceResponse.TopicProduceResponse.PartitionProduceResponse


class Log:
    """The leader's side of Produce: keeps batches whose sequence is the next, unless ``codes`` says what to answer.

    Answers nothing before ``hold_until`` requests have come.
    """

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.codes: list[Any] = []
        self.batches: list[tuple[TopicPartition, BatchView]] = []
        self.sizes: dict[TopicPartition, int] = {}
        self.next_sequence: dict[tuple[TopicPartition, int, int], int] = {}
        self.limit_bytes = 2**31
        self.hold_until = 0
        cluster.answers[ProduceRequest] = self.produce

    def produce(self, node: Node, request: ProduceRequest, version: int) -> Any:
        if len(self.cluster.requests(ProduceRequest)) < self.hold_until:
            return NEVER
        code = self.codes.pop(0) if self.codes else 0
        if not isinstance(code, int):
            return code
        names = {topic_id: name for name, topic_id in self.cluster.ids.items()}
        response = ProduceResponse()
        for topic in request.topic_data:
            name = topic.name or names[topic.topic_id]
            rows = [
                self._append(TopicPartition(name, data.index), bytes(data.records or b""), code)
                for data in topic.partition_data
            ]
            response.responses.append(
                ProduceResponse.TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=rows)
            )
        return response if request.acks else None

    def _append(self, topic_partition: TopicPartition, data: bytes, code: int) -> PartitionResponse:
        if len(data) > self.limit_bytes:
            code = error_codes.MESSAGE_TOO_LARGE
        if code:
            return PartitionResponse(index=topic_partition.partition, error_code=code, base_offset=-1)
        (batch,) = batches(data)
        assert batch.crc_ok()
        if batch.producer_id >= 0:
            key = (topic_partition, batch.producer_id, batch.producer_epoch)
            if batch.base_sequence != self.next_sequence.get(key, 0):
                return PartitionResponse(
                    index=topic_partition.partition, error_code=error_codes.OUT_OF_ORDER_SEQUENCE_NUMBER, base_offset=-1
                )
            self.next_sequence[key] = batch.base_sequence + batch.record_count
        self.batches.append((topic_partition, batch))
        base = self.sizes.get(topic_partition, 0)
        self.sizes[topic_partition] = base + batch.record_count
        return PartitionResponse(index=topic_partition.partition, base_offset=base)

    def values(self) -> list[bytes | None]:
        return [record.value for _, batch in self.batches for record in batch.records()]


@pytest.fixture
def log(cluster: FakeCluster) -> Log:
    cluster.topic("t")
    return Log(cluster)


@pytest.fixture
def make(cluster: FakeCluster, clock: ManualClock) -> Callable[..., Producer]:
    def make(partitioner: Partitioner | None = None, **values: str) -> Producer:
        settings = {"bootstrap.servers": "one:9092", **{key.replace("_", "."): value for key, value in values.items()}}
        cluster.config = ClientConfig(settings)
        exchange: Any = cluster
        return Producer(cluster.config, exchange=exchange, clock=clock, random=Random(1), partitioner=partitioner)

    return make


def test_record_arrives_and_its_place_is_told(make: Callable[..., Producer], log: Log) -> None:
    producer = make()
    first = producer.send("t", b"v", b"k", [("h", b"x"), ("n", None)])
    second = producer.send("t", None, timestamp_ms=5)
    producer.flush()
    assert first.result() == ("t", 0, 0, 1_700_000_000_000)
    assert second.result() == ("t", 0, 1, 5)
    ((_, batch),) = log.batches
    (one, two) = batch.records()
    assert (one.key, one.value, one.headers) == (b"k", b"v", (("h", b"x"), ("n", None)))
    assert (two.key, two.value, two.headers) == (None, None, ())


def test_idempotent_by_default(make: Callable[..., Producer], log: Log) -> None:
    with make() as producer:
        producer.send("t", b"1").result()
        producer.send("t", b"2").result()
    assert [(b.producer_id, b.producer_epoch, b.base_sequence) for _, b in log.batches] == [(100, 0, 0), (100, 0, 1)]


def test_no_producer_id_without_idempotence(make: Callable[..., Producer], log: Log, cluster: FakeCluster) -> None:
    with make(acks="1") as producer:
        producer.send("t", b"1").result()
    assert [(b.producer_id, b.base_sequence) for _, b in log.batches] == [(-1, -1)]
    assert not cluster.requests(InitProducerIdRequest)


def test_acks_0_does_not_wait_for_an_answer(make: Callable[..., Producer], log: Log) -> None:
    with make(acks="0") as producer:
        assert producer.send("t", b"1").result().offset == -1
    assert log.values() == [b"1"]


def test_newest_version_names_topics_by_id(make: Callable[..., Producer], log: Log, cluster: FakeCluster) -> None:
    with make() as producer:
        producer.send("t", b"1").result()
    request = cluster.requests(ProduceRequest)[0]
    assert (request.topic_data[0].name, request.topic_data[0].topic_id) == ("", cluster.ids["t"])


def test_topics_without_id_are_named(make: Callable[..., Producer], log: Log, cluster: FakeCluster) -> None:
    del cluster.ids["t"]
    with make() as producer:
        producer.send("t", b"1").result()
    _, request, version = next(sent for sent in cluster.sent if isinstance(sent[1], ProduceRequest))
    assert isinstance(request, ProduceRequest)
    assert (version, request.topic_data[0].name) == (12, "t")


def test_old_broker_gets_its_version(make: Callable[..., Producer], log: Log, cluster: FakeCluster) -> None:
    cluster.limits = {0: 5, 3: 5, 22: 0}  # Kafka 1.1
    with make() as producer:
        assert producer.send("t", b"1").result().offset == 0


def test_zstd_needs_a_broker_that_knows_it(make: Callable[..., Producer], log: Log, cluster: FakeCluster) -> None:
    cluster.limits = {0: 5, 3: 5, 22: 0}
    with pytest.raises(KafkaToolsError, match=r"one:9092 \(id 1\) does not support zstd, which is new in Kafka 2.1"):
        make(compression_type="zstd").send("t", b"1").result()


@pytest.mark.req("DESIGN-6")
def test_a_function_of_ones_own_chooses_partitions(make: Callable[..., Producer], cluster: FakeCluster) -> None:
    cluster.topic("t", partitions=4)
    log = Log(cluster)
    asked: list[tuple[str, bytes | None, list[int]]] = []

    def by_length(topic: str, key: bytes | None, partitions: Sequence[int]) -> int:
        asked.append((topic, key, list(partitions)))
        return len(key or b"")

    producer = make(partitioner=by_length)
    for key in (b"ab", None, b"abc"):
        producer.send("t", b"v", key)
    producer.send("t", b"v", b"abc", partition=1)  # chosen already
    producer.flush()
    assert [asked_of[1] for asked_of in asked] == [b"ab", None, b"abc"]
    assert {(topic, *partitions) for topic, _, partitions in asked} == {("t", 0, 1, 2, 3)}
    assert sorted(topic_partition.partition for topic_partition, _ in log.batches) == [0, 1, 2, 3]
    with pytest.raises(InputError, match="Invalid partition 4 for topic 't': it has partitions 0 to 3"):
        producer.send("t", b"v", b"abcd")


@pytest.mark.req("DESIGN-6")
def test_each_leader_gets_one_request_with_its_partitions(make: Callable[..., Producer], cluster: FakeCluster) -> None:
    cluster.topic("t", partitions=4)
    cluster.leaders[TopicPartition("t", 3)] = 2
    log = Log(cluster)
    producer = make()
    for number in range(4):
        producer.send("t", b"%d" % number, partition=number)
    producer.flush()
    requests = [
        (node, [data.index for data in request.topic_data[0].partition_data])
        for node, request, _ in cluster.sent
        if isinstance(request, ProduceRequest)
    ]
    assert sorted(requests) == [(NODES[0], [0, 1, 2]), (NODES[1], [3])]
    assert len(log.batches) == 4


@pytest.mark.req("PROD-9")
def test_moved_leader_is_found_and_the_batch_sent_again(
    make: Callable[..., Producer], log: Log, cluster: FakeCluster
) -> None:
    producer = make()
    producer.send("t", b"0").result()
    log.codes = [error_codes.NOT_LEADER_OR_FOLLOWER]
    cluster.leaders[TopicPartition("t", 0)] = 2
    before = len(cluster.requests(MetadataRequest))
    producer.send("t", b"1").result()
    assert len(cluster.requests(MetadataRequest)) > before
    assert [node.id for node, request, _ in cluster.sent if isinstance(request, ProduceRequest)] == [1, 1, 2]
    assert log.values() == [b"0", b"1"]


def test_lost_connection_is_retried_with_the_same_sequence(make: Callable[..., Producer], log: Log) -> None:
    log.codes = [Disconnected("one:9092 closed the connection")]
    with make() as producer:
        producer.send("t", b"1").result()
    assert [batch.base_sequence for _, batch in log.batches] == [0]


def test_order_survives_failures_with_five_requests_in_flight(
    make: Callable[..., Producer], log: Log, cluster: FakeCluster
) -> None:
    producer = make(batch_size="0")
    log.codes = [0, error_codes.NOT_ENOUGH_REPLICAS]
    log.hold_until = 5
    sent = [producer.send("t", b"%d" % number) for number in range(10)]
    producer.flush()
    assert [delivery.error for delivery in sent] == [None] * 10
    assert log.values() == [b"%d" % number for number in range(10)]
    assert [batch.base_sequence for _, batch in log.batches] == list(range(10))
    assert {batch.producer_epoch for _, batch in log.batches} == {0}


def test_fatal_refusal_fails_the_record_and_the_next_one_starts_a_new_epoch(
    make: Callable[..., Producer], log: Log
) -> None:
    producer = make()
    log.codes = [error_codes.INVALID_RECORD]
    with pytest.raises(BrokerError, match=r"INVALID_RECORD: .* \(partition t-0\)"):
        producer.send("t", b"bad").result()
    producer.send("t", b"good").result()
    assert [(batch.producer_epoch, batch.base_sequence) for _, batch in log.batches] == [(1, 0)]


def test_a_topic_of_an_old_format_is_told_with_what_to_do(make: Callable[..., Producer], log: Log) -> None:
    log.codes = [error_codes.UNSUPPORTED_FOR_MESSAGE_FORMAT]
    with pytest.raises(BrokerError, match="UNSUPPORTED_FOR_MESSAGE_FORMAT") as caught:
        make().send("t", b"v").result()
    assert caught.value.hint is not None
    assert "enable.idempotence=false" in caught.value.hint
    log.codes = [error_codes.UNKNOWN_SERVER_ERROR]
    with pytest.raises(BrokerError, match="UNKNOWN_SERVER_ERROR") as caught:
        make(enable_idempotence="false").send("t", b"v", headers=[("h", b"1")]).result()
    assert caught.value.hint is not None
    assert "headers need a topic" in caught.value.hint


def test_a_refusal_names_the_right_that_is_missing(make: Callable[..., Producer], log: Log) -> None:
    log.codes = [error_codes.TOPIC_AUTHORIZATION_FAILED]
    with pytest.raises(BrokerError, match=r"\(requires Write on the topic\) \(partition t-0\)$"):
        make().send("t", b"v").result()


def test_duplicate_of_an_earlier_attempt_counts_as_delivered(make: Callable[..., Producer], log: Log) -> None:
    log.codes = [Disconnected("gone"), error_codes.DUPLICATE_SEQUENCE_NUMBER]
    assert make().send("t", b"1").result().offset == -1


@pytest.mark.req("PROD-10")
def test_too_large_batch_is_split_and_sent_in_halves(make: Callable[..., Producer], log: Log) -> None:
    log.limit_bytes = 300
    producer = make()
    sent = [producer.send("t", bytes([number]) * 50) for number in range(10)]
    producer.flush()
    assert [delivery.result().offset for delivery in sent] == list(range(10))
    assert [batch.base_sequence for _, batch in log.batches] == [0, 2, 4, 6, 8] or len(log.batches) > 2
    assert log.values() == [bytes([number]) * 50 for number in range(10)]


@pytest.mark.req("PROD-10")
def test_too_large_batch_of_one_record_fails(make: Callable[..., Producer], log: Log) -> None:
    log.limit_bytes = 100
    with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
        make().send("t", b"x" * 200).result()


def test_record_above_max_request_size_is_refused_at_once(make: Callable[..., Producer], log: Log) -> None:
    with pytest.raises(InputError, match=r"larger than 1000, which is the value of the max\.request\.size config"):
        make(max_request_size="1000").send("t", b"x" * 1000)


def test_retries_end_after_the_delivery_timeout(make: Callable[..., Producer], log: Log) -> None:
    log.codes = [error_codes.NOT_ENOUGH_REPLICAS] * 10_000
    producer = make(delivery_timeout_ms="31000")
    with pytest.raises(
        DeadlineExceeded, match=r"Expiring 1 record\(s\) for t-0:31\d\d\d ms has passed since batch creat"
    ):
        producer.send("t", b"1").result()


def test_retries_end_after_their_number(make: Callable[..., Producer], log: Log, cluster: FakeCluster) -> None:
    log.codes = [error_codes.NOT_ENOUGH_REPLICAS] * 10
    with pytest.raises(BrokerError, match="NOT_ENOUGH_REPLICAS"):
        make(retries="2").send("t", b"1").result()
    assert len(cluster.requests(ProduceRequest)) == 3


def test_unknown_topic_is_waited_for_and_then_reported(make: Callable[..., Producer], cluster: FakeCluster) -> None:
    with pytest.raises(DeadlineExceeded, match=r"Topic gone not present in metadata after 1000 ms\."):
        make(max_block_ms="1000").send("gone", b"1")
    assert all(request.allow_auto_topic_creation for request in cluster.requests(MetadataRequest))


def test_forbidden_topic_is_reported_at_once(make: Callable[..., Producer], cluster: FakeCluster) -> None:
    cluster.topic_errors["t"] = error_codes.TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED: topic 't'"):
        make().send("t", b"1")


@pytest.mark.req("PROD-8")
def test_leader_that_appears_later_gets_the_record(
    make: Callable[..., Producer], log: Log, cluster: FakeCluster
) -> None:
    producer = make()
    producer.send("t", b"0").result()
    cluster.leaders[TopicPartition("t", 0)] = -1
    log.codes = [error_codes.LEADER_NOT_AVAILABLE]
    delivery = producer.send("t", b"1")
    asked = []
    for _ in range(40):
        producer.poll(0.1)
        cluster.clock.advance(0.1)
        asked.append(len(cluster.requests(MetadataRequest)))
    assert not delivery.done
    assert asked[39] > asked[20] > asked[10], "it asks again and again who leads"
    cluster.leaders[TopicPartition("t", 0)] = 2
    assert delivery.result().offset == 1


@pytest.mark.req("PROD-8")
def test_a_partition_that_the_metadata_lacks_is_asked_for_until_it_is_there(
    make: Callable[..., Producer], log: Log, cluster: FakeCluster
) -> None:
    """Nothing else asks then: its topic is there, and each partition that it has has a leader."""
    cluster.topic("t", partitions=2)
    producer = make()
    producer.send("t", b"0", partition=1).result()
    del cluster.leaders[TopicPartition("t", 1)]
    log.codes = [error_codes.UNKNOWN_TOPIC_OR_PARTITION]
    delivery = producer.send("t", b"1", partition=1)
    for _ in range(20):
        producer.poll(0.1)
        cluster.clock.advance(0.1)
    asked = len(cluster.requests(MetadataRequest))
    for _ in range(20):
        producer.poll(0.1)
        cluster.clock.advance(0.1)
    assert len(cluster.requests(MetadataRequest)) > asked + 3
    cluster.leaders[TopicPartition("t", 1)] = 2
    assert delivery.result().offset == 1


def test_refused_producer_id_fails_records_with_a_hint(
    make: Callable[..., Producer], log: Log, cluster: FakeCluster
) -> None:
    code = error_codes.CLUSTER_AUTHORIZATION_FAILED
    cluster.answers[InitProducerIdRequest] = lambda *_: InitProducerIdResponse(error_code=code)
    with pytest.raises(BrokerError, match="asking for a producer id") as caught:
        make().send("t", b"1").result()
    assert caught.value.hint is not None
    assert "enable.idempotence=false" in caught.value.hint


def test_full_memory_blocks_and_then_reports(make: Callable[..., Producer], log: Log, cluster: FakeCluster) -> None:
    cluster.answers[ProduceRequest] = lambda *_: NEVER
    producer = make(buffer_memory="1000", max_block_ms="500", linger_ms="0")
    with pytest.raises(DeadlineExceeded, match=r"within the configured max blocking time 500 ms"):
        for _ in range(3):
            producer.send("t", b"x" * 400, on_delivery=lambda *_: None)
    producer.close(0.0)


def test_callbacks_say_where_or_why(make: Callable[..., Producer], log: Log) -> None:
    producer = make(batch_size="0", max_in_flight_requests_per_connection="1")
    log.codes = [0, error_codes.INVALID_RECORD]
    calls: list[tuple[Any, Any]] = []
    for number in range(2):
        producer.send(
            "t", b"%d" % number, timestamp_ms=9, on_delivery=lambda place, error: calls.append((place, error))
        )
    producer.flush()
    assert calls[0] == (("t", 0, 0, 9), None)
    assert calls[1][0] is None
    assert isinstance(calls[1][1], BrokerError)


def test_close_without_time_fails_what_is_left(make: Callable[..., Producer], log: Log, cluster: FakeCluster) -> None:
    cluster.answers[ProduceRequest] = lambda *_: NEVER
    producer = make()
    delivery = producer.send("t", b"1")
    with pytest.raises(RecordsLost, match=r"^1 record was not delivered: Producer is closed forcefully\.$"):
        producer.close(0.0)
    assert cluster.closed
    assert str(delivery.error) == "Producer is closed forcefully."
    with pytest.raises(KafkaToolsError, match="after producer has been closed"):
        producer.send("t", b"2")


def test_keyless_records_spread_in_batches(make: Callable[..., Producer], cluster: FakeCluster) -> None:
    cluster.topic("t", partitions=3)
    log = Log(cluster)
    with make(batch_size="500") as producer:
        for _ in range(100):
            producer.send("t", b"x" * 100)
    used = {topic_partition for topic_partition, _ in log.batches}
    assert len(used) == 3
    assert max(batch.record_count for _, batch in log.batches) > 2


@pytest.mark.parametrize(
    ("settings", "used"),
    [
        ({"client_rack": "r2", "partitioner_rack_aware": "true"}, {1, 3}),
        ({"client_rack": "r2"}, {0, 1, 2, 3}),
        ({"client_rack": "r9", "partitioner_rack_aware": "true"}, {0, 1, 2, 3}),
        ({"partitioner_rack_aware": "true"}, {0, 1, 2, 3}),
    ],
)
def test_keyless_records_stay_in_the_producers_rack(
    make: Callable[..., Producer], cluster: FakeCluster, settings: dict[str, str], used: set[int]
) -> None:
    """KIP-1123; where no leader is in the rack, all of them will do."""
    cluster.topic("t", partitions=4)
    cluster.leaders |= {TopicPartition("t", number): 2 for number in (1, 3)}
    log = Log(cluster)
    with make(batch_size="300", **settings) as producer:
        for _ in range(200):
            producer.send("t", b"x" * 100)
    assert {topic_partition.partition for topic_partition, _ in log.batches} == used


def test_invalid_partition_is_refused(make: Callable[..., Producer], log: Log) -> None:
    with pytest.raises(InputError, match="Invalid partition 5 for topic 't': it has partitions 0 to 0"):
        make().send("t", b"1", partition=5)


WRONG_VALUES: list[tuple[dict[str, Any], str]] = [
    ({"value": "text"}, r"^invalid value: expected bytes or None, not a value of type str$"),
    ({"value": ""}, r"^invalid value: expected bytes or None, not a value of type str$"),
    ({"value": 5}, r"^invalid value: expected bytes or None, not a value of type int$"),
    ({"key": "text"}, r"^invalid key: expected bytes or None, not a value of type str$"),
    ({"headers": {"name": b"1"}}, r"^invalid headers: expected a list of pairs"),
    ({"headers": [("name", "text")]}, r"^invalid header 'name': expected bytes or None, not a value of type str$"),
    ({"headers": [(b"name", b"1")]}, r"^invalid headers: expected a str as the name, not b'name'$"),
    ({"headers": [("\ud800", b"1")]}, r"^invalid headers: expected a str as the name"),
    ({"headers": "text"}, r"^invalid headers: expected a list of pairs"),
    ({"headers": 5}, r"^invalid headers: expected a list of pairs"),
    ({"partition": 1}, r"^Invalid partition 1 for topic 't': it has partitions 0 to 0$"),
    ({"partition": -1}, r"^Invalid partition -1 for topic 't'"),
    ({"partition": "0"}, r"^Invalid partition '0' for topic 't'"),
    ({"partition": 0.0}, r"^Invalid partition 0\.0 for topic 't'"),
    ({"timestamp_ms": -1}, r"^invalid timestamp_ms -1: expected milliseconds since 1970"),
    ({"timestamp_ms": 2**63}, r"^invalid timestamp_ms 9223372036854775808"),
    ({"timestamp_ms": 1.5}, r"^invalid timestamp_ms 1\.5"),
    ({"on_delivery": 5}, r"^invalid on_delivery: expected a function$"),
    ({"value": bytes(2_000_000)}, r"^The message is 2000082 bytes when serialized which is larger than 1048576"),
    ({"topic": b"t"}, r"^invalid topic b't': expected its name as a str$"),
    ({"topic": "\ud800"}, r"^invalid topic '\\ud800': expected its name as a str$"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG_VALUES, ids=[str(wrong)[:40] for wrong, _ in WRONG_VALUES])
def test_what_cannot_be_sent_is_refused_by_the_call_that_brings_it(
    make: Callable[..., Producer], log: Log, wrong: dict[str, Any], message: str
) -> None:
    with make(linger_ms="600000") as producer:
        producer.send("t", b"good")
        with pytest.raises(InputError, match=message):
            producer.send(**{"topic": "t", "value": b"1", **wrong})
        producer.send("t", b"better")
    assert log.values() == [b"good", b"better"]


def test_numbers_of_numpy_are_taken(make: Callable[..., Producer], log: Log) -> None:
    numpy = pytest.importorskip("numpy")
    with make() as producer:
        sent = producer.send("t", b"1", partition=numpy.int32(0), timestamp_ms=numpy.int64(2**40))
        assert type(sent.result().partition) is int
    (record,) = [record for _, batch in log.batches for record in batch.records()]
    assert record.timestamp == 2**40


def test_what_is_given_can_be_changed_after_it_was_sent(make: Callable[..., Producer], log: Log) -> None:
    value, headers = bytearray(b"before"), [("h", b"1")]
    with make(linger_ms="600000") as producer:
        producer.send("t", value, key=memoryview(b"key"), headers=headers)
        value[:] = b"after"
        headers.append(("i", b"2"))
    (record,) = [record for _, batch in log.batches for record in batch.records()]
    assert (record.value, record.key, len(record.headers)) == (b"before", b"key", 1)


def test_close_tells_of_records_that_failed_and_nobody_was_told(make: Callable[..., Producer], log: Log) -> None:
    log.codes = [error_codes.TOPIC_AUTHORIZATION_FAILED] * 4
    producer = make(linger_ms="600000")
    producer.send("t", b"1")
    producer.send("t", b"2")
    with pytest.raises(RecordsLost, match=r"^2 records were not delivered: .*requires Write on the topic"):
        producer.close()
    told: list[KafkaToolsError | None] = []
    with make() as producer:
        producer.send("t", b"1", on_delivery=lambda _, error: told.append(error))
    assert [type(error) for error in told] == [BrokerError]
    with make() as producer, pytest.raises(BrokerError):
        producer.send("t", b"1").result()
    with pytest.raises(ValueError, match="the block's own"), make() as producer:
        producer.send("t", b"1")
        producer.flush()
        raise ValueError("the block's own")


def test_a_callback_that_raises_loses_no_other_callback_and_no_record(
    make: Callable[..., Producer], log: Log, cluster: FakeCluster
) -> None:
    cluster.topic("u", partitions=1)
    called: list[bytes] = []

    def fail(*_: object) -> None:
        called.append(b"fails")
        raise ZeroDivisionError

    producer = make(linger_ms="600000")
    for topic in ("t", "u"):
        producer.send(topic, b"1", on_delivery=fail)
        producer.send(topic, b"2", on_delivery=lambda *_: called.append(b"2"))
    with pytest.raises(ZeroDivisionError):
        producer.flush()
    with pytest.raises(ZeroDivisionError):
        producer.close()
    assert called == [b"fails", b"2", b"fails", b"2"]
    assert log.values() == [b"1", b"2"] * 2


def test_records_survive_an_interrupt_while_they_are_sent(
    make: Callable[..., Producer], log: Log, cluster: FakeCluster
) -> None:
    def interrupted(*_: object) -> None:
        cluster.answers[ProduceRequest] = log.produce
        raise KeyboardInterrupt

    cluster.answers[ProduceRequest] = interrupted
    with make(linger_ms="600000") as producer:
        producer.send("t", b"1")
        with pytest.raises(KeyboardInterrupt):
            producer.flush()
    assert log.values() == [b"1"]
