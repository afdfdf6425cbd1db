"""What a request names again and again is told once: of a few bytes a client could make an answer of any size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.describe_producers import DescribeProducersRequest
from kafka_tools.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.schema import Request
from tests.broker_embedded.disk_broker import DiskBroker

AGAIN = ["g", "h", "g", "g", "h"]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[DiskBroker]:
    found = DiskBroker(tmp_path, {})
    found.create("t", 2)
    found.call(FindCoordinatorRequest(key="g", key_type=0), 1)
    found.call(FindCoordinatorRequest(key="g", key_type=1), 1)
    yield found
    found.core.close()


@pytest.mark.parametrize(
    ("request_", "version", "answers", "name"),
    [
        (DescribeGroupsRequest(groups=AGAIN), 5, "groups", "group_id"),
        (ConsumerGroupDescribeRequest(group_ids=AGAIN), 0, "groups", "group_id"),
        (DescribeTransactionsRequest(transactional_ids=AGAIN), 0, "transaction_states", "transactional_id"),
    ],
)
def test_a_name_is_told_once(broker: DiskBroker, request_: Request, version: int, answers: str, name: str) -> None:
    answer = broker.call(request_, version)
    assert [getattr(each, name) for each in getattr(answer, answers)] == ["g", "h"]


def test_producers_of_a_partition_are_told_once(broker: DiskBroker) -> None:
    Topic = DescribeProducersRequest.TopicRequest
    topics = [Topic(name="t", partition_indexes=[1, 1, 0, 1]), Topic(name="t", partition_indexes=[0, 7])]
    answer = broker.call(DescribeProducersRequest(topics=topics), 0)
    assert [[each.partition_index for each in topic.partitions] for topic in answer.topics] == [[1, 0], [7]]


def test_configs_of_a_resource_are_told_once_for_the_same_names(broker: DiskBroker) -> None:
    Resource = DescribeConfigsRequest.Resource
    names = [None, ["retention.ms"], None, ["retention.ms"], ["retention.bytes"]]
    resources = [Resource(resource_type=2, resource_name="t", configuration_keys=keys) for keys in names]
    answer = broker.call(DescribeConfigsRequest(resources=resources), 4)
    _, *some = answer.results
    assert [[config.name for config in result.configs] for result in some] == [["retention.ms"], ["retention.bytes"]]


@pytest.mark.parametrize("version", [1, 7, 9])
def test_the_offset_of_a_partition_is_told_once(broker: DiskBroker, version: int) -> None:
    committed(broker)
    if version < 8:
        Topic = OffsetFetchRequest.RequestTopic
        topics = [Topic(name="t", partition_indexes=[0, 1, 0]), Topic(name="t", partition_indexes=[1, 1])]
        found = broker.call(OffsetFetchRequest(group_id="g", topics=topics), version).topics
    else:
        Group = OffsetFetchRequest.RequestGroup
        of_group = [Group.RequestTopics(name="t", partition_indexes=numbers) for numbers in ([0, 1, 0], [1, 1])]
        groups = [Group(group_id="g", topics=of_group), Group(group_id="g", topics=of_group[:1])]
        first, again = broker.call(OffsetFetchRequest(groups=groups), version).groups
        assert [topic.partitions for topic in again.topics] == [[]]
        found = first.topics
    assert [[each.partition_index for each in topic.partitions] for topic in found] == [[0, 1], []]
    assert found[0].partitions[0].metadata == "m" * 100


def test_all_offsets_of_a_group_are_told_once(broker: DiskBroker) -> None:
    committed(broker)
    groups = [OffsetFetchRequest.RequestGroup(group_id=name, topics=None) for name in ("g", "other", "g", "g")]
    answer = broker.call(OffsetFetchRequest(groups=groups), 8)
    assert [(group.group_id, len(group.topics)) for group in answer.groups] == [("g", 1), ("other", 0)]


def committed(broker: DiskBroker) -> None:
    """Offset 5 of ``t-0``, by the group ``g``."""
    Topic = OffsetCommitRequest.RequestTopic
    partition = Topic.RequestPartition(partition_index=0, committed_offset=5, committed_metadata="m" * 100)
    request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, member_id="")
    request.topics = [Topic(name="t", partitions=[partition])]
    assert not broker.call(request, 7).topics[0].partitions[0].error_code
