"""``__cluster_metadata`` is not a topic of clients: every API answers for it as Kafka does, by name and by id."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.protocol.messages.alter_configs import AlterConfigsRequest
from kafka_tools.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kafka_tools.protocol.messages.create_partitions import CreatePartitionsRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_records import DeleteRecordsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_tools.protocol.messages.describe_producers import DescribeProducersRequest
from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kafka_tools.protocol.messages.elect_leaders import ElectLeadersRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.protocol.schema import Request, Struct
from kafka_tools.records.build import build_batch
from tests.against_kafka.harness import RealKafka
from tests.broker_embedded.wire_client import WireClient

NAME, ID = "__cluster_metadata", uuid.UUID(int=1)


def requests() -> Iterator[tuple[int, Request]]:
    """(version, request) for each way in which a topic can be named."""
    Topic = CreateTopicsRequest.CreatableTopic
    wanted = Topic(name=NAME, num_partitions=1, replication_factor=1)
    wrong = Topic(name=NAME, num_partitions=-5, replication_factor=1)
    for version in range(2, 8):
        yield version, CreateTopicsRequest(topics=[wanted], timeout_ms=9000)
    yield 7, CreateTopicsRequest(topics=[wanted], timeout_ms=9000, validate_only=True)
    yield 7, CreateTopicsRequest(topics=[wrong], timeout_ms=9000)
    yield 7, CreateTopicsRequest(topics=[wanted, wanted], timeout_ms=9000)
    by_name, by_id = MetadataRequest.RequestTopic(name=NAME), MetadataRequest.RequestTopic(name=None, topic_id=ID)
    for version in (1, 4, 9, 12, 13):
        yield version, MetadataRequest(topics=[by_name], allow_auto_topic_creation=True)
    yield 12, MetadataRequest(topics=[by_name], allow_auto_topic_creation=False)
    yield 12, MetadataRequest(topics=[by_id])
    Described = DescribeTopicPartitionsRequest.TopicRequest
    yield 0, DescribeTopicPartitionsRequest(topics=[Described(name=NAME)])
    Data = ProduceRequest.TopicProduceData
    records = Data.PartitionProduceData(index=0, records=build_batch([(1000, b"k", b"v", ())]))
    for version in (3, 9, 12, 13):
        named = {"topic_id": ID} if version >= 13 else {"name": NAME}
        topic_data = [Data(partition_data=[records], **named)]
        yield version, ProduceRequest(acks=-1, timeout_ms=9000, topic_data=topic_data)
    Fetched = FetchRequest.Topic
    partition = Fetched.Partition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    for version in (4, 11, 12, 13, 17):
        named = {"topic_id": ID} if version >= 13 else {"topic": NAME}
        yield version, FetchRequest(max_wait_ms=0, min_bytes=0, topics=[Fetched(partitions=[partition], **named)])
    Listed = ListOffsetsRequest.Topic
    for version in (1, 7):
        listed = Listed(name=NAME, partitions=[Listed.Partition(partition_index=0, timestamp=-1)])
        yield version, ListOffsetsRequest(replica_id=-1, topics=[listed])
    Emptied = DeleteRecordsRequest.Topic
    emptied = Emptied(name=NAME, partitions=[Emptied.Partition(partition_index=0, offset=1)])
    yield 2, DeleteRecordsRequest(topics=[emptied], timeout_ms=9000)
    yield 5, DeleteTopicsRequest(topic_names=[NAME], timeout_ms=9000)
    for named in ({"name": NAME}, {"topic_id": ID}):
        yield 6, DeleteTopicsRequest(topics=[DeleteTopicsRequest.DeleteTopicState(**named)], timeout_ms=9000)
    yield 3, CreatePartitionsRequest(topics=[CreatePartitionsRequest.Topic(name=NAME, count=3)], timeout_ms=9000)
    resource: dict[str, Any] = {"resource_type": 2, "resource_name": NAME}
    yield 4, DescribeConfigsRequest(resources=[DescribeConfigsRequest.Resource(**resource)])
    Altered = AlterConfigsRequest.Resource
    config = Altered.AlterableConfig(name="retention.ms", value="1")
    yield 2, AlterConfigsRequest(resources=[Altered(configs=[config], **resource)])
    Changed = IncrementalAlterConfigsRequest.AlterConfigsResource
    change = Changed.AlterableConfig(name="retention.ms", value="1")
    yield 1, IncrementalAlterConfigsRequest(resources=[Changed(configs=[change], **resource)])
    Epochs = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    epochs = Epochs(topic=NAME, partitions=[Epochs.OffsetForLeaderPartition(partition=0, leader_epoch=0)])
    yield 4, OffsetForLeaderEpochRequest(replica_id=-1, topics=[epochs])
    Producers = DescribeProducersRequest.TopicRequest
    yield 0, DescribeProducersRequest(topics=[Producers(name=NAME, partition_indexes=[0])])
    Committed = OffsetCommitRequest.RequestTopic
    offset = Committed.RequestPartition(partition_index=0, committed_offset=1)
    for version, named in ((8, {"name": NAME}), (10, {"topic_id": ID})):
        topics = [Committed(partitions=[offset], **named)]
        yield version, OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, topics=topics)
    elected = ElectLeadersRequest.TopicPartitions(topic=NAME, partitions=[0])
    yield 2, ElectLeadersRequest(topic_partitions=[elected], timeout_ms=9000)
    Moved = AlterPartitionReassignmentsRequest.ReassignableTopic
    moved = Moved(name=NAME, partitions=[Moved.ReassignablePartition(partition_index=0, replicas=[1])])
    yield 1, AlterPartitionReassignmentsRequest(topics=[moved], timeout_ms=9000)


def codes(answer: Struct) -> list[tuple[str, int]]:
    """Every error code in a response, with where it stands."""
    found = []
    for name in type(answer).__slots__:
        value = getattr(answer, name)
        if name == "error_code":
            found.append((type(answer).__name__, value))
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, Struct):
                found += codes(item)
    return found


def answers(address: str) -> list[tuple[str, int, list[tuple[str, int]], list[str]]]:
    rows = []
    for version, request in requests():
        with WireClient(address) as client:
            answer = client.call(request, version)
        texts = [topic.error_message for topic in answer.topics] if isinstance(request, CreateTopicsRequest) else []
        rows.append((type(request).__name__, version, codes(answer), texts))
    return rows


def test_the_metadata_log_is_no_topic_for_clients_as_in_kafka(kafka_new: RealKafka) -> None:
    real = answers(kafka_new.bootstrap_servers)
    with EmbeddedBroker() as broker:
        ours = answers(broker.bootstrap_servers)
        assert broker.call(lambda core: NAME in core.cluster.topics) is False
    assert ours == real
