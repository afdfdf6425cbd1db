"""A group that reads very many topics holds nobody up: no piece of a request grows with their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafka_tools.protocol import error_codes
from kafka_tools.protocol.codec import encode_versioned
from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_delete import OffsetDeleteRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest
from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from tests.broker_embedded.coordinators.consumer_member import ModernMember
from tests.broker_embedded.coordinators.pieces import counted
from tests.broker_embedded.memory_broker import MemoryBroker

TOPICS = 600
MOST_STEPS = 100
"""Of the interpreter for each topic in one piece: some 30 ms for a group that reads 10,000."""


class Broker(MemoryBroker):
    """``call`` waits for what is done in slices."""

    def call(self, request: Any, version: int | None = None, **rest: Any) -> Any:
        answer = self.send(request, version, **rest)
        for _ in range(10):
            if not answer.done:
                self.advance(0)
        assert answer.done
        return answer.response


def modern(broker: Broker, names: list[str]) -> None:
    members = [ModernMember(broker, name, "modern", instance=f"i{name}") for name in "ab"]
    for member in members:
        assert member.join(*names).error_code == 0
    for _ in range(3):
        for member in members:
            member.beat(member.assigned)
    assert sum(len(member.assigned) for member in members) == len(names)
    (found,) = broker.call(ConsumerGroupDescribeRequest(group_ids=["modern"])).groups
    assert len(found.members) == 2
    members[0].leave(-2)
    back = ModernMember(broker, "again", "modern", instance="ia")
    assert back.join(*names).error_code == 0
    back.leave()


def expressions(broker: Broker, names: list[str]) -> None:
    members = [ModernMember(broker, f"m-{end}", "resolved") for end in "ab"]
    for member in members:
        assert member.join(regex=f"topic-.*|{member.id}").error_code == 0
        while len(broker.core.slices):
            broker.advance(0)
        broker.advance(11_000)
    for _ in range(3):
        for member in members:
            member.beat(member.assigned)
            broker.advance(0)
    assert sum(len(member.assigned) for member in members) == len(names)
    for member in members:
        member.leave()


def classic(broker: Broker, names: list[str]) -> None:
    said = encode_versioned(ConsumerProtocolSubscription(topics=names), 0)
    protocol = JoinGroupRequest.RequestProtocol(name="range", metadata=said)

    def join(member_id: str) -> Any:
        answer = broker.send(
            JoinGroupRequest(
                group_id="mixed", session_timeout_ms=30_000, rebalance_timeout_ms=60_000, member_id=member_id,
                protocol_type="consumer", protocols=[protocol],
            )
        )  # fmt: skip
        broker.advance(3000)
        return answer.response

    def sync(generation: int, assignment: bytes = b"") -> Any:
        given = [SyncGroupRequest.RequestAssignment(member_id=member_id, assignment=assignment)] if assignment else []
        return broker.call(
            SyncGroupRequest(
                group_id="mixed", generation_id=generation, member_id=member_id, protocol_type="consumer",
                protocol_name="range", assignments=given,
            )
        )  # fmt: skip

    member_id = join("").member_id
    parts = [ConsumerProtocolAssignment.TopicPartition(topic=name, partitions=[0]) for name in names]
    generation = join(member_id).generation_id
    assert sync(generation, encode_versioned(ConsumerProtocolAssignment(assigned_partitions=parts), 0)).error_code == 0
    modern_member = ModernMember(broker, "upgrades", "mixed")
    assert modern_member.join(*names).error_code == 0
    broker.call(HeartbeatRequest(group_id="mixed", generation_id=generation, member_id=member_id))
    answer = sync(join(member_id).generation_id)
    assert len(answer.assignment) > 10 * len(names) / 2


def subscriptions(broker: Broker, names: list[str]) -> None:
    """Members of a classic group that each read something else, and offsets of the group that are deleted."""
    protocols = [
        JoinGroupRequest.RequestProtocol(name="range", metadata=encode_versioned(subscription, 0))
        for subscription in (ConsumerProtocolSubscription(topics=[*names, f"own-{number}"]) for number in range(8))
    ]
    asked = [
        JoinGroupRequest(
            group_id="g", session_timeout_ms=30_000, rebalance_timeout_ms=60_000, protocol_type="consumer",
            protocols=[protocol],
        )
        for protocol in protocols
    ]  # fmt: skip
    joining = [broker.send(request, 3) for request in asked]
    broker.advance(10_000)
    leader = next(each.response for each in joining if each.response.members)
    broker.call(
        SyncGroupRequest(group_id="g", generation_id=leader.generation_id, member_id=leader.member_id), 3
    )  # fmt: skip
    partition = OffsetDeleteRequest.RequestTopic.RequestPartition(partition_index=0)
    deleted = OffsetDeleteRequest.RequestTopic(name=names[0], partitions=[partition])
    (answer,) = broker.call(OffsetDeleteRequest(group_id="g", topics=[deleted])).topics
    assert answer.partitions[0].error_code == error_codes.GROUP_SUBSCRIBED_TO_TOPIC


def offsets(broker: Broker, names: list[str]) -> None:
    topic, partition = OffsetCommitRequest.RequestTopic, OffsetCommitRequest.RequestTopic.RequestPartition
    committed = [topic(name=name, partitions=[partition(partition_index=0, committed_offset=5)]) for name in names]
    for group in ("one", "two"):
        broker.call(OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=committed), 9)
    group_asked = OffsetFetchRequest.RequestGroup
    named = [group_asked.RequestTopics(name=name, partition_indexes=[0]) for name in names]
    for topics in (None, named):
        (found,) = broker.call(OffsetFetchRequest(groups=[group_asked(group_id="one", topics=topics)]), 9).groups
        assert len(found.topics) == len(names)
    assert len(broker.call(OffsetFetchRequest(group_id="one", topics=None), 3).topics) == len(names)
    deleted = OffsetDeleteRequest.RequestTopic
    gone = [deleted(name=name, partitions=[deleted.RequestPartition(partition_index=0)]) for name in names]
    assert len(broker.call(OffsetDeleteRequest(group_id="one", topics=gone)).topics) == len(names)
    assert broker.call(DeleteGroupsRequest(groups_names=["two"])).results[0].error_code == 0


def metadata(broker: Broker, names: list[str]) -> None:
    asked = [MetadataRequest.RequestTopic(name=name) for name in names]
    assert len(broker.call(MetadataRequest(topics=asked)).topics) == len(names)
    assert len(broker.call(MetadataRequest(topics=None)).topics) >= len(names)


def longest_piece(story: Callable[[Broker, list[str]], None], topics: int, monkeypatch: pytest.MonkeyPatch) -> int:
    broker = Broker({"group.consumer.assignment.interval.ms": "0"})
    names = [f"topic-{number}" for number in range(topics)]
    for name in names:
        broker.create_topic(name)
    with counted(monkeypatch) as pieces:
        story(broker, names)
    return pieces.longest


@pytest.mark.parametrize("story", [modern, expressions, classic, subscriptions, offsets, metadata])
def test_no_piece_has_much_to_do_with_each_topic(
    story: Callable[[Broker, list[str]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    longest_piece(story, 3, monkeypatch)  # which makes encoders and decoders
    assert longest_piece(story, TOPICS, monkeypatch) < MOST_STEPS * TOPICS
