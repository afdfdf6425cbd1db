"""The beans of the bundled broker: the list of a real one, and values after known requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.metrics.absent import ABSENT
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.records.build import build_batch
from tests.broker_embedded.metrics.families import families, matches, of_kafka
from tests.broker_embedded.wire_client import WireClient

TOPICS = "kafka.server:type=BrokerTopicMetrics"
REQUESTS = "kafka.network:type=RequestMetrics"
CONTROLLER = "kafka.controller:type=KafkaController"
REPLICAS = "kafka.server:type=ReplicaManager"


def batch(size: int = 10, count: int = 3) -> bytes:
    return build_batch([(1_700_000_000_000, None, b"x" * size, ())] * count)


def produce(client: WireClient, topic: str, data: bytes) -> int:
    """Returns the error code."""
    Data = ProduceRequest.TopicProduceData
    asked = Data(name=topic, partition_data=[Data.PartitionProduceData(index=0, records=data)])
    answer = client.call(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[asked]), 9)
    return int(answer.responses[0].partition_responses[0].error_code)


def fetch(client: WireClient, topic: str, *, offset: int = 0, max_wait_ms: int = 0) -> int:
    """Returns the size of the records."""
    Topic = FetchRequest.Topic
    wanted = Topic(topic=topic, partitions=[Topic.Partition(fetch_offset=offset, partition_max_bytes=1 << 20)])
    request = FetchRequest(topics=[wanted], max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=1 << 20)
    answer = client.call(request, 11)
    return len(answer.responses[0].partitions[0].records or b"")


def create(client: WireClient, *names: str, partitions: int = 2) -> None:
    Topic = CreateTopicsRequest.CreatableTopic
    topics = [Topic(name=name, num_partitions=partitions, replication_factor=1) for name in names]
    answer = client.call(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 5)
    assert [topic.error_code for topic in answer.topics] == [0] * len(names)


def commit(client: WireClient, group: str, topic: str) -> None:
    Topic = OffsetCommitRequest.RequestTopic
    partitions = [Topic.RequestPartition(partition_index=number, committed_offset=1) for number in (0, 1)]
    request = OffsetCommitRequest(group_id=group, topics=[Topic(name=topic, partitions=partitions)])
    answer = client.call(request, 8)
    assert {part.error_code for topic in answer.topics for part in topic.partitions} == {0}


def limit_bytes(client: WireClient, client_id: str) -> None:
    Entry = AlterClientQuotasRequest.EntryData
    entity = [Entry.EntityData(entity_type="client-id", entity_name=client_id)]
    keys = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
    ops = [Entry.OpData(key=key, value=1e9) for key in keys]
    answer = client.call(AlterClientQuotasRequest(entries=[Entry(entity=entity, ops=ops)]), 1)
    assert not answer.entries[0].error_code


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    config = {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "3"}
    with EmbeddedBroker(config=config) as running:
        yield running


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[WireClient]:
    with WireClient(broker.bootstrap_servers, client_id="a") as connected:
        yield connected


def value(metrics: dict[str, dict[str, Any]], name: str) -> Any:
    return metrics[name]["Value"]


def test_every_bean_of_a_real_broker_is_there_or_has_a_reason(broker: EmbeddedBroker, client: WireClient) -> None:
    create(client, "orders")
    produce(client, "orders", batch())
    fetch(client, "orders")
    commit(client, "g", "orders")
    limit_bytes(client, "a")
    produce(client, "orders", batch())
    fetch(client, "orders")
    create(client, "more")
    ours = families(broker.metrics())
    theirs = of_kafka()
    unknown = {name: ours[name] - theirs.get(name, set()) for name in ours if ours[name] - theirs.get(name, set())}
    assert unknown == {}, "Kafka has no such bean"
    used: set[str] = set()
    missing = []
    for name, attributes in theirs.items():
        asked = [name] if name not in ours else [f"{name}#{each}" for each in sorted(attributes - ours[name])]
        for text in asked:
            found = [pattern for pattern, _ in ABSENT if matches(pattern, text)]
            used.update(found)
            missing += [] if found else [text]
    assert missing == []
    assert [pattern for pattern, _ in ABSENT if pattern not in used] == [], "these are there, or are no beans"


def test_topics_count_what_is_written_and_read(broker: EmbeddedBroker, client: WireClient) -> None:
    create(client, "orders", "other")
    data = batch(count=3)
    for _ in range(4):
        assert produce(client, "orders", data) == 0
    assert produce(client, "other", data) == 0
    assert produce(client, "missing", data) == error_codes.UNKNOWN_TOPIC_OR_PARTITION
    damaged = data[:-1] + bytes([data[-1] ^ 1])
    assert produce(client, "other", damaged) == error_codes.CORRUPT_MESSAGE
    read = fetch(client, "orders")
    metrics = broker.metrics()

    def count(name: str, topic: str = "") -> int:
        return int(metrics[f"{TOPICS},name={name}{topic and f',topic={topic}'}"]["Count"])

    assert (count("MessagesInPerSec"), count("MessagesInPerSec", "orders")) == (15, 12)
    assert (count("BytesInPerSec"), count("BytesInPerSec", "orders")) == (5 * len(data), 4 * len(data))
    assert count("BytesOutPerSec") == count("BytesOutPerSec", "orders") == read == 4 * len(data)
    assert (count("TotalProduceRequestsPerSec", "orders"), count("TotalProduceRequestsPerSec", "other")) == (4, 2)
    assert count("InvalidMessageCrcRecordsPerSec", "other") == 1
    assert count("TotalFetchRequestsPerSec", "orders") == 1
    assert f"{TOPICS},name=MessagesInPerSec,topic=missing" not in metrics


def test_rates_follow_the_clock(broker: EmbeddedBroker, client: WireClient) -> None:
    create(client, "orders")
    for _ in range(5):
        produce(client, "orders", batch(count=2))
    broker.advance(5)
    found = broker.metrics()[f"{TOPICS},name=MessagesInPerSec,topic=orders"]
    assert found["OneMinuteRate"] == 2  # ten records in five seconds
    broker.advance(3600)
    assert broker.metrics()[f"{TOPICS},name=MessagesInPerSec,topic=orders"]["OneMinuteRate"] < 1e-9


def test_requests_count_by_version_and_error_with_their_times(broker: EmbeddedBroker, client: WireClient) -> None:
    create(client, "orders")
    for _ in range(20):
        produce(client, "orders", batch())
    produce(client, "missing", batch())
    fetch(client, "orders", offset=60, max_wait_ms=30)  # waits, and nothing comes
    metrics = broker.metrics()
    unknown = error_codes.error(error_codes.UNKNOWN_TOPIC_OR_PARTITION).name
    assert metrics[f"{REQUESTS},name=RequestsPerSec,request=Produce,version=9"]["Count"] == 21
    assert metrics[f"{REQUESTS},name=ErrorsPerSec,request=Produce,error=NONE"]["Count"] == 20
    assert metrics[f"{REQUESTS},name=ErrorsPerSec,request=Produce,error={unknown}"]["Count"] == 1
    times = metrics[f"{REQUESTS},name=TotalTimeMs,request=Produce"]
    assert times["Count"] == 21
    assert 0 < times["Min"] <= times["50thPercentile"] <= times["999thPercentile"] <= times["Max"]
    assert metrics[f"{REQUESTS},name=RemoteTimeMs,request=Fetch"]["Max"] >= 25
    assert metrics[f"{REQUESTS},name=LocalTimeMs,request=Fetch"]["Max"] < 25_000
    assert metrics[f"{REQUESTS},name=RequestBytes,request=Produce"]["Max"] > len(batch())
    assert metrics["kafka.server:type=DelayedFetchMetrics,name=ExpiresPerSec,fetcherType=consumer"]["Count"] == 1


@pytest.mark.req("GC-5", "MET-7")
def test_the_group_coordinator_has_gauges_of_its_offsets_and_groups(broker: EmbeddedBroker, client: WireClient) -> None:
    kind = "kafka.coordinator.group:type=GroupMetadataManager"
    create(client, "orders")
    before = broker.metrics()
    assert (value(before, f"{kind},name=NumOffsets"), value(before, f"{kind},name=NumGroups")) == (0, 0)
    for group in ("g1", "g2", "g3"):
        commit(client, group, "orders")
    after = broker.metrics()
    assert (value(after, f"{kind},name=NumOffsets"), value(after, f"{kind},name=NumGroups")) == (6, 3)
    assert value(after, f"{kind},name=NumGroupsEmpty") == 3
    coordinator = after["kafka.server:type=group-coordinator-metrics"]
    assert (coordinator["offset-commit-count"], coordinator["offset-count"]) == (6, 6)


def test_state_is_read_when_somebody_asks(broker: EmbeddedBroker, client: WireClient) -> None:
    create(client, "orders", "other")
    produce(client, "orders", batch(count=3))
    metrics = broker.metrics()
    assert value(metrics, f"{CONTROLLER},name=GlobalTopicCount") == 2
    assert value(metrics, f"{CONTROLLER},name=GlobalPartitionCount") == 4
    assert value(metrics, f"{CONTROLLER},name=ActiveControllerCount") == 1
    assert value(metrics, f"{CONTROLLER},name=OfflinePartitionsCount") == 0
    assert value(metrics, f"{REPLICAS},name=PartitionCount") == 4
    assert value(metrics, f"{REPLICAS},name=LeaderCount") == 4
    assert value(metrics, "kafka.log:type=Log,name=LogEndOffset,topic=orders,partition=0") == 3
    assert value(metrics, "kafka.log:type=Log,name=Size,topic=orders,partition=0") == len(batch(count=3))
    sockets = metrics["kafka.server:type=socket-server-metrics,listener=PLAINTEXT,networkProcessor=0"]
    assert sockets["connection-count"] == 1
    assert sockets["request-total"] == sockets["response-total"] == 2
    assert sockets["incoming-byte-total"] > len(batch())


def test_a_deleted_topic_leaves_the_table_and_stays_in_the_totals(broker: EmbeddedBroker, client: WireClient) -> None:
    create(client, "orders")
    produce(client, "orders", batch(count=3))
    assert client.call(DeleteTopicsRequest(topic_names=["orders"], timeout_ms=30_000), 5).responses[0].error_code == 0
    metrics = broker.metrics()
    assert f"{TOPICS},name=MessagesInPerSec,topic=orders" not in metrics
    assert metrics[f"{TOPICS},name=MessagesInPerSec"]["Count"] == 3
