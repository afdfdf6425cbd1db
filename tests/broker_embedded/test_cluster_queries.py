"""What operators ask of a running broker: log directories, producers, elections, reassignments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kafka_tools.protocol.messages.create_acls import CreateAclsRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_acls import DeleteAclsRequest
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.describe_acls import DescribeAclsRequest
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafka_tools.protocol.messages.describe_producers import DescribeProducersRequest
from kafka_tools.protocol.messages.describe_quorum import DescribeQuorumRequest
from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kafka_tools.protocol.messages.elect_leaders import ElectLeadersRequest
from kafka_tools.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from tests.broker_embedded.disk_broker import DiskBroker
from tests.broker_embedded.wire_client import WireClient


@pytest.fixture
def broker(tmp_path: Path) -> DiskBroker:
    made = DiskBroker(tmp_path / "a", {"log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}"})
    made.create("t", 2)
    return made


@pytest.mark.req("LD-2", "LD-3")
@pytest.mark.parametrize("version", range(6))
def test_log_directories_list_partitions_with_sizes(broker: DiskBroker, version: int) -> None:
    batch = broker.batch(b"x")
    broker.produce("t", batch, partition=1)
    (result,) = broker.call(DescribeLogDirsRequest(topics=None), version).results
    assert (result.error_code, result.log_dir) == (0, str(broker.path))
    (topic,) = result.topics
    assert [(p.partition_index, p.partition_size, p.offset_lag, p.is_future_key) for p in topic.partitions] == [
        (0, 0, 0, False),
        (1, len(batch), 0, False),
    ]
    if version >= 4:
        assert 0 < result.usable_bytes <= result.total_bytes
    Topic = DescribeLogDirsRequest.DescribableLogDirTopic
    (some,) = broker.call(DescribeLogDirsRequest(topics=[Topic(topic="t", partitions=[1])]), version).results
    assert [p.partition_index for p in some.topics[0].partitions] == [1]
    twice = [Topic(topic="t", partitions=[1]), Topic(topic="t")]
    (both,) = broker.call(DescribeLogDirsRequest(topics=twice), version).results
    assert [p.partition_index for p in both.topics[0].partitions] == [1]
    (none,) = broker.call(DescribeLogDirsRequest(topics=[]), version).results
    assert none.topics == []


@pytest.mark.req("LD-7")
def test_without_permission_there_is_an_empty_list(broker: DiskBroker) -> None:
    broker.core.authorizer = lambda *question: False
    assert broker.call(DescribeLogDirsRequest(topics=None), 1).results == []
    response = broker.call(DescribeLogDirsRequest(topics=None), 3)
    assert (response.error_code, response.results) == (codes.CLUSTER_AUTHORIZATION_FAILED, [])


def test_producers_of_a_partition_are_described(broker: DiskBroker) -> None:
    broker.produce("t", broker.batch(b"a", b"b", producer_id=5, producer_epoch=2, base_sequence=0))
    Topic = DescribeProducersRequest.TopicRequest
    (topic,) = broker.call(DescribeProducersRequest(topics=[Topic(name="t", partition_indexes=[0, 9])]), 0).topics
    known, unknown = topic.partitions
    (producer,) = known.active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (5, 2, 1)
    assert (producer.current_txn_start_offset, producer.coordinator_epoch) == (-1, -1)
    assert unknown.error_code == codes.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.req("CTL-9")
@pytest.mark.parametrize("version", range(3))
def test_a_partition_led_by_its_only_replica_needs_no_election(broker: DiskBroker, version: int) -> None:
    Topic = ElectLeadersRequest.TopicPartitions
    request = ElectLeadersRequest(topic_partitions=[Topic(topic="t", partitions=[0, 7])])
    (result,) = broker.call(request, version).replica_election_results
    assert [p.error_code for p in result.partition_result] == [
        codes.ELECTION_NOT_NEEDED,
        codes.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    (everything,) = broker.call(ElectLeadersRequest(topic_partitions=None), version).replica_election_results
    assert everything.topic == "t" and not everything.partition_result  # as Kafka lists topics without anything done
    if version >= 1:
        assert broker.call(ElectLeadersRequest(election_type=5), version).error_code == codes.INVALID_REQUEST


def test_reassignments_to_where_a_partition_is_are_done_at_once(broker: DiskBroker) -> None:
    Topic = AlterPartitionReassignmentsRequest.ReassignableTopic

    def move(number: int, replicas: list[int] | None) -> int:
        wanted = Topic.ReassignablePartition(partition_index=number, replicas=replicas)
        request = AlterPartitionReassignmentsRequest(topics=[Topic(name="t", partitions=[wanted])])
        return int(broker.call(request, 0).responses[0].partitions[0].error_code)

    assert move(0, [1]) == 0
    assert move(0, [1, 2]) == codes.INVALID_REPLICA_ASSIGNMENT
    assert move(0, []) == codes.INVALID_REPLICA_ASSIGNMENT
    assert move(0, None) == codes.NO_REASSIGNMENT_IN_PROGRESS
    assert move(9, [1]) == codes.UNKNOWN_TOPIC_OR_PARTITION
    assert broker.call(ListPartitionReassignmentsRequest(topics=None), 0).topics == []


@pytest.mark.req("ACL-6")
@pytest.mark.parametrize("version", range(4))
def test_without_an_authorizer_acls_are_security_disabled(broker: DiskBroker, version: int) -> None:
    described = broker.call(
        DescribeAclsRequest(
            resource_type_filter=1, resource_name_filter=None, principal_filter=None, host_filter=None,
            operation=1, permission_type=1,
        ),
        version,
    )  # fmt: skip
    assert (described.error_code, described.error_message) == (54, "No Authorizer is configured.")
    Creation = CreateAclsRequest.AclCreation
    creation = Creation(
        resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
    )
    created = broker.call(CreateAclsRequest(creations=[creation, creation]), version).results
    assert [result.error_code for result in created] == [54, 54]
    Filter = DeleteAclsRequest.Filter
    wanted = Filter(resource_type_filter=2, resource_name_filter="t", principal_filter=None, host_filter=None,
                    operation=1, permission_type=1)  # fmt: skip
    deleted = broker.call(DeleteAclsRequest(filters=[wanted]), version).filter_results
    assert [result.error_code for result in deleted] == [54]


@pytest.mark.parametrize("version", range(3))
def test_the_quorum_is_this_broker_and_its_metadata_log(broker: DiskBroker, version: int) -> None:
    Topic = DescribeQuorumRequest.TopicData

    def asking(*numbers: int) -> DescribeQuorumRequest:
        rows = [Topic.PartitionData(partition_index=number) for number in numbers]
        return DescribeQuorumRequest(topics=[Topic(topic_name="__cluster_metadata", partitions=rows)])

    request = asking(0)
    (wrong,) = broker.call(asking(0, 1), version).topics
    assert {row.error_code for row in wrong.partitions} == {codes.UNKNOWN_TOPIC_OR_PARTITION}
    answer = broker.call(request, version)
    ((first,),) = (row.partitions for row in answer.topics)
    if version >= 2:
        assert [node.node_id for node in answer.nodes] == [broker.core.node_id]
    assert (first.error_code, first.leader_id, first.leader_epoch) == (0, broker.core.node_id, 1)
    (leader,) = first.current_voters
    assert (leader.replica_id, leader.log_end_offset) == (first.leader_id, first.high_watermark)
    if version >= 1:
        assert leader.last_fetch_timestamp == leader.last_caught_up_timestamp == broker.clock.now_ms()
    # The log grows by what changes: a topic with two partitions is three records.
    broker.create("more", 2)
    ((after,),) = (row.partitions for row in broker.call(request, version).topics)
    assert after.high_watermark == first.high_watermark + 3
    broker.restart()
    ((again,),) = (row.partitions for row in broker.call(request, version).topics)
    assert again.high_watermark >= after.high_watermark


MANY = 12_000
"""More than a handler takes that is not in slices."""


def test_questions_about_many_partitions_and_groups_are_served_in_slices() -> None:
    """As Kafka serves them: what has more elements than a handler takes at once closes the connection instead."""
    Wanted = AlterPartitionReassignmentsRequest.ReassignableTopic
    moves = [Wanted.ReassignablePartition(partition_index=number, replicas=None) for number in range(MANY)]
    names = [f"t{number}" for number in range(MANY)]
    numbers = list(range(MANY))
    Log, Listed = DescribeLogDirsRequest.DescribableLogDirTopic, ListPartitionReassignmentsRequest.Topics
    Led, Written = ElectLeadersRequest.TopicPartitions, DescribeProducersRequest.TopicRequest
    Named = DescribeTopicPartitionsRequest.TopicRequest
    cases: list[tuple[Any, int, Callable[[Any], int]]] = [
        (
            AlterPartitionReassignmentsRequest(topics=[Wanted(name="t", partitions=moves)]), 1,
            lambda answer: len(answer.responses[0].partitions),
        ),
        (
            ListPartitionReassignmentsRequest(topics=[Listed(name="t", partition_indexes=numbers)]), 0,
            lambda answer: MANY if answer.topics == [] else 0,
        ),
        (
            DescribeLogDirsRequest(topics=[Log(topic="t", partitions=numbers)]), 4,
            lambda answer: MANY if len(answer.results[0].topics[0].partitions) == 2 else 0,
        ),
        (
            ElectLeadersRequest(topic_partitions=[Led(topic="t", partitions=numbers)], timeout_ms=60_000), 2,
            lambda answer: len(answer.replica_election_results[0].partition_result),
        ),
        (
            DescribeProducersRequest(topics=[Written(name="t", partition_indexes=numbers)]), 0,
            lambda answer: len(answer.topics[0].partitions),
        ),
        (
            DescribeTopicPartitionsRequest(topics=[Named(name=name) for name in names]), 0,
            lambda answer: len(answer.topics),
        ),
        (DescribeGroupsRequest(groups=names), 5, lambda answer: len(answer.groups)),
        (DeleteGroupsRequest(groups_names=names), 2, lambda answer: len(answer.results)),
    ]  # fmt: skip
    with EmbeddedBroker() as broker, WireClient(broker.bootstrap_servers) as client:
        topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=2, replication_factor=1)
        client.call(CreateTopicsRequest(topics=[topic]), 5)
        for request, version, answered in cases:
            assert answered(client.call(request, version)) == MANY, type(request).__name__
