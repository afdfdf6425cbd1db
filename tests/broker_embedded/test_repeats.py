"""What a request names again and again is told a few times: of some bytes a client could make an answer of any size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_tools.broker_embedded.handlers._repeats import MOST_REPEATS
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

TWICE = ["g", "h", "h", "g"]
AGAIN = ["g"] * 50 + ["h"] * 50
TOLD = MOST_REPEATS + 1


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[DiskBroker]:
    found = DiskBroker(tmp_path, {})
    found.create("t", 2)
    found.call(FindCoordinatorRequest(key="g", key_type=0), 1)
    found.call(FindCoordinatorRequest(key="g", key_type=1), 1)
    yield found
    found.core.close()


@pytest.mark.parametrize(
    ("kind", "version", "asked", "answers", "name"),
    [
        (DescribeGroupsRequest, 5, "groups", "groups", "group_id"),
        (ConsumerGroupDescribeRequest, 0, "group_ids", "groups", "group_id"),
        (DescribeTransactionsRequest, 0, "transactional_ids", "transaction_states", "transactional_id"),
    ],
)
def test_a_name_is_told_again_as_by_kafka_but_not_for_ever(
    broker: DiskBroker, kind: type[Request], version: int, asked: str, answers: str, name: str
) -> None:
    def told(names: list[str]) -> list[str]:
        return [getattr(each, name) for each in getattr(broker.call(kind(**{asked: names}), version), answers)]

    assert told(TWICE) == TWICE
    assert told(AGAIN) == ["g"] * TOLD + ["h"]


def test_producers_of_a_partition_are_not_told_for_ever(broker: DiskBroker) -> None:
    Topic = DescribeProducersRequest.TopicRequest
    topics = [Topic(name="t", partition_indexes=[1] * 50 + [0]), Topic(name="t", partition_indexes=[0, 7])]
    answer = broker.call(DescribeProducersRequest(topics=topics), 0)
    told = [[each.partition_index for each in topic.partitions] for topic in answer.topics]
    assert told == [[1] * TOLD + [0], [7]]


def test_configs_of_a_resource_are_not_told_for_ever_for_the_same_names(broker: DiskBroker) -> None:
    Resource = DescribeConfigsRequest.Resource
    names = [*[["retention.ms"]] * 50, ["retention.bytes"], *[["retention.ms"]] * 50]
    resources = [Resource(resource_type=2, resource_name="t", configuration_keys=keys) for keys in names]
    answer = broker.call(DescribeConfigsRequest(resources=resources), 4)
    told = [[config.name for config in result.configs] for result in answer.results]
    assert told == [*[["retention.ms"]] * TOLD, ["retention.bytes"]]


@pytest.mark.parametrize("version", [1, 7, 9])
def test_the_offset_of_a_partition_is_not_told_for_ever(broker: DiskBroker, version: int) -> None:
    committed(broker)
    wanted = ([0] * 50 + [1], [1, 0])
    if version < 8:
        Topic = OffsetFetchRequest.RequestTopic
        topics = [Topic(name="t", partition_indexes=numbers) for numbers in wanted]
        found = broker.call(OffsetFetchRequest(group_id="g", topics=topics), version).topics
    else:
        Group = OffsetFetchRequest.RequestGroup
        of_group = [Group.RequestTopics(name="t", partition_indexes=numbers) for numbers in wanted]
        groups = [Group(group_id="g", topics=of_group), Group(group_id="g", topics=of_group[:1])]
        first, again = broker.call(OffsetFetchRequest(groups=groups), version).groups
        assert [topic.partitions for topic in again.topics] == [[]]
        found = first.topics
    assert [[each.partition_index for each in topic.partitions] for topic in found] == [[0] * TOLD + [1], []]
    assert found[0].partitions[TOLD - 1].metadata == "m" * 100


def test_all_offsets_of_a_group_are_not_told_for_ever(broker: DiskBroker) -> None:
    committed(broker)
    groups = [OffsetFetchRequest.RequestGroup(group_id=name, topics=None) for name in [*["g"] * 50, "other"]]
    answer = broker.call(OffsetFetchRequest(groups=groups), 8)
    assert [(group.group_id, len(group.topics)) for group in answer.groups] == [("g", 1)] * TOLD + [("other", 0)]


def committed(broker: DiskBroker) -> None:
    """Offset 5 of ``t-0``, by the group ``g``."""
    Topic = OffsetCommitRequest.RequestTopic
    partition = Topic.RequestPartition(partition_index=0, committed_offset=5, committed_metadata="m" * 100)
    request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, member_id="")
    request.topics = [Topic(name="t", partitions=[partition])]
    assert not broker.call(request, 7).topics[0].partitions[0].error_code
