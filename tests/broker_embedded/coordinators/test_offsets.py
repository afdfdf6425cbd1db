"""Committed offsets: commit, fetch, delete, expiry (KIP-211, KIP-496), and what stands in ``__consumer_offsets``.

Behaviour: ``OffsetMetadataManager`` of Kafka 4; most cases have a counterpart in its ``OffsetMetadataManagerTest``.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from kafka_tools.broker_embedded.coordinators.classic.group import ClassicGroup
from kafka_tools.broker_embedded.coordinators.loaded_groups import LoadedGroups
from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorLog, partition_for
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.codec import decode, encode_versioned
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_delete import OffsetDeleteRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest
from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolSubscription
from kafka_tools.protocol.stored.group_metadata import GroupMetadataKey, GroupMetadataValue
from kafka_tools.protocol.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from kafka_tools.records.batches import batches
from kafka_tools.values import TopicPartition
from tests.broker_embedded.memory_broker import MemoryBroker
from tests.corpus.golden import case, cases, golden_root

DAY_MS = 24 * 3600 * 1000
SWEEP_MS = 600_000
HALF_HOUR_MS = 1_800_000
"""The longest session that the defaults allow."""
Committed = tuple[int, int, str, int]
"""(offset, leader epoch, metadata, error code)"""


@pytest.fixture
def broker() -> MemoryBroker:
    broker = MemoryBroker({"group.initial.rebalance.delay.ms": "0", "offsets.retention.minutes": str(24 * 60)})
    broker.create_topic("t", 2)
    return broker


def commit(
    broker: MemoryBroker,
    offsets: dict[tuple[str, int], tuple[int, str | None]],
    *,
    group: str = "g",
    generation: int = -1,
    member: str = "",
    instance: str | None = None,
    version: int = 9,
    epoch: int = -1,
    retention_ms: int = -1,
) -> dict[tuple[str, int], int]:
    request = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=generation, member_id=member)
    request.group_instance_id, request.retention_time_ms = instance, retention_ms
    for name in dict.fromkeys(topic for topic, _ in offsets):
        topic = request.RequestTopic(name=name)
        if version >= 10:
            known = broker.core.cluster.topic(name)
            topic.topic_id = known.id if known else uuid.uuid4()
        topic.partitions = [
            topic.RequestPartition(
                partition_index=partition,
                committed_offset=offset,
                committed_metadata=text,
                committed_leader_epoch=epoch,
            )
            for (owner, partition), (offset, text) in offsets.items()
            if owner == name
        ]
        request.topics.append(topic)
    response = broker.call(request, version)
    return {
        (sent.name, partition.partition_index): partition.error_code
        for sent, topic in zip(request.topics, response.topics, strict=True)
        for partition in topic.partitions
    }


def fetch(
    broker: MemoryBroker, topics: dict[str, list[int]] | None = None, *, group: str = "g", version: int = 9
) -> dict[tuple[str, int], Committed]:
    if version >= 8:
        wanted = OffsetFetchRequest.RequestGroup(group_id=group, topics=None)
        if topics is not None:
            wanted.topics = []
            for name, numbers in topics.items():
                entry = wanted.RequestTopics(name=name, partition_indexes=numbers)
                known = broker.core.cluster.topic(name)
                if version >= 10:
                    entry.topic_id = known.id if known else uuid.uuid4()
                wanted.topics.append(entry)
        (found,) = broker.call(OffsetFetchRequest(groups=[wanted]), version).groups
    else:
        request = OffsetFetchRequest(group_id=group, topics=None)
        if topics is not None:
            request.topics = [
                request.RequestTopic(name=name, partition_indexes=numbers) for name, numbers in topics.items()
            ]
        found = broker.call(request, version)
    if version >= 2:
        assert found.error_code == codes.NONE
    names = {topic.id: topic.name for topic in broker.core.cluster.topics.values()}
    return {
        (names.get(topic.topic_id, "?") if version >= 10 else topic.name, p.partition_index): (
            p.committed_offset,
            p.committed_leader_epoch,
            p.metadata,
            p.error_code,
        )
        for topic in found.topics
        for p in topic.partitions
    }


def delete(broker: MemoryBroker, *partitions: int, group: str = "g", topic: str = "t") -> tuple[int, list[int]]:
    request = OffsetDeleteRequest(group_id=group)
    entry = request.RequestTopic(name=topic)
    entry.partitions = [entry.RequestPartition(partition_index=number) for number in partitions]
    request.topics = [entry]
    response = broker.call(request)
    return response.error_code, [p.error_code for topic in response.topics for p in topic.partitions]


def delete_groups(broker: MemoryBroker, *groups: str) -> dict[str, int]:
    response = broker.call(DeleteGroupsRequest(groups_names=list(groups)))
    return {result.group_id: result.error_code for result in response.results}


def lone_member(broker: MemoryBroker, *topics: str, protocol_type: str = "consumer", session_ms: int = 10_000) -> str:
    """A stable group of one member, generation 1."""
    metadata = encode_versioned(ConsumerProtocolSubscription(topics=list(topics)), 0)
    request = JoinGroupRequest(
        group_id="g", session_timeout_ms=session_ms, rebalance_timeout_ms=60_000, protocol_type=protocol_type
    )
    request.protocols = [request.RequestProtocol(name="range", metadata=metadata)]
    answer = broker.send(request, 3)
    broker.advance(0)
    member = str(answer.response.member_id)
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id=member)
    sync.assignments = [sync.RequestAssignment(member_id=member, assignment=b"assigned")]
    broker.call(sync, 3)
    return member


def leave(broker: MemoryBroker, member: str) -> None:
    request = LeaveGroupRequest(group_id="g")
    request.members = [request.MemberIdentity(member_id=member)]
    broker.call(request)


def group_ids(broker: MemoryBroker) -> list[str]:
    return [group.group_id for group in broker.call(ListGroupsRequest()).groups]


# commit and fetch


@pytest.mark.parametrize("version", range(11))
def test_what_is_committed_is_fetched_in_every_version(broker: MemoryBroker, version: int) -> None:
    epoch = 7 if version >= 6 else -1
    result = commit(broker, {("t", 0): (42, "note"), ("t", 1): (43, "")}, version=version, epoch=epoch)
    assert result == {("t", 0): codes.NONE, ("t", 1): codes.NONE}
    shown = epoch if version >= 5 else -1
    expected = {("t", 0): (42, shown, "note", 0), ("t", 1): (43, shown, "", 0)}
    assert fetch(broker, {"t": [0, 1]}, version=version) == expected
    if version >= 2:
        assert fetch(broker, version=version) == expected


def test_several_groups_are_fetched_at_once(broker: MemoryBroker) -> None:
    commit(broker, {("t", 0): (1, "")}, group="a")
    commit(broker, {("t", 0): (2, "")}, group="b")
    groups = [OffsetFetchRequest.RequestGroup(group_id=name, topics=None) for name in ("a", "b", "c")]
    found = broker.call(OffsetFetchRequest(groups=groups)).groups
    assert [(g.group_id, [p.committed_offset for t in g.topics for p in t.partitions]) for g in found] == [
        ("a", [1]),
        ("b", [2]),
        ("c", []),
    ]


@pytest.mark.req("GC-15", "GC-16")
def test_what_was_never_committed_is_offset_minus_one_and_no_error(broker: MemoryBroker) -> None:
    nothing = (-1, -1, "", codes.NONE)
    assert fetch(broker, {"t": [0], "nosuch": [5]}) == {("t", 0): nothing, ("nosuch", 5): nothing}
    assert fetch(broker) == {}
    commit(broker, {("t", 0): (1, "")})
    assert fetch(broker, {"t": [0, 1]})["t", 1] == nothing


@pytest.mark.parametrize("version", range(1, 10))
def test_a_topic_without_a_name_has_no_commits_either(broker: MemoryBroker, version: int) -> None:
    assert fetch(broker, {"": [0]}, version=version) == {("", 0): (-1, -1, "", codes.NONE)}


def test_in_version_0_what_was_never_committed_is_an_unknown_partition(broker: MemoryBroker) -> None:
    found = fetch(broker, {"t": [0]}, version=0)
    assert found == {("t", 0): (-1, -1, "", codes.UNKNOWN_TOPIC_OR_PARTITION)}


def test_partitions_that_do_not_exist_are_refused_one_by_one(broker: MemoryBroker) -> None:
    unknown = codes.UNKNOWN_TOPIC_OR_PARTITION
    result = commit(broker, {("t", 0): (1, ""), ("t", 9): (1, ""), ("nosuch", 0): (1, "")})
    assert result == {("t", 0): codes.NONE, ("t", 9): unknown, ("nosuch", 0): unknown}
    result = commit(broker, {("nosuch", 0): (1, "")}, version=10)
    assert result == {("nosuch", 0): codes.UNKNOWN_TOPIC_ID}


@pytest.mark.req("GC-10", "GC-11", "GC-12")
def test_metadata_is_bounded_in_characters_and_null_counts_as_empty() -> None:
    broker = MemoryBroker({"offset.metadata.max.bytes": "4"})
    broker.create_topic("t", 3)
    too_large = codes.OFFSET_METADATA_TOO_LARGE
    result = commit(broker, {("t", 0): (1, "\u00e4" * 4), ("t", 1): (1, "12345"), ("t", 2): (1, None)})
    assert result == {("t", 0): codes.NONE, ("t", 1): too_large, ("t", 2): codes.NONE}
    assert fetch(broker) == {("t", 0): (1, -1, "\u00e4" * 4, 0), ("t", 2): (1, -1, "", 0)}
    batches = sum(len(log) for log in broker.batches.values())
    result = commit(broker, {("t", 0): (1, "12345"), ("t", 1): (1, "\U0001f600" * 3)}, group="other")
    assert result == {("t", 0): too_large, ("t", 1): too_large}
    assert sum(len(log) for log in broker.batches.values()) == batches
    assert "other" not in group_ids(broker)


@pytest.mark.req("GAP-16")
def test_a_commit_that_cannot_be_stored_is_not_acknowledged(
    broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(broker, {("t", 0): (1, "")})
    broker.fail_appends(OSError("disk full"))
    assert commit(broker, {("t", 0): (2, "")}) == {("t", 0): codes.NOT_COORDINATOR}
    assert commit(broker, {("t", 0): (2, "")}, group="new") == {("t", 0): codes.NOT_COORDINATOR}
    broker.fail_appends(None)
    with monkeypatch.context() as patched:
        patched.setattr(broker.core.partitions, "get", lambda topic, partition: None)
        assert commit(broker, {("t", 0): (2, "")}) == {("t", 0): codes.COORDINATOR_NOT_AVAILABLE}
    assert fetch(broker) == {("t", 0): (1, -1, "", 0)}
    assert group_ids(broker) == ["g"]


@pytest.mark.req("GC-8")
def test_a_commit_larger_than_a_batch_may_be_is_refused_as_such(broker: MemoryBroker) -> None:
    broker.properties["message.max.bytes"] = "300"
    broker.restart()
    result = commit(broker, {("t", 0): (1, "x" * 300)})
    assert result == {("t", 0): codes.INVALID_COMMIT_OFFSET_SIZE}


# who may commit


def test_members_commit_with_their_generation(broker: MemoryBroker) -> None:
    member = lone_member(broker, "t")

    def code(**options: Any) -> int:
        return commit(broker, {("t", 0): (1, "")}, **options)["t", 0]

    assert code(generation=1, member=member) == codes.NONE
    assert code(generation=0, member=member) == codes.ILLEGAL_GENERATION
    assert code(generation=1, member="nobody") == codes.UNKNOWN_MEMBER_ID
    assert code() == codes.UNKNOWN_MEMBER_ID  # the group has members: nobody commits from outside
    assert code(version=0) == codes.UNKNOWN_MEMBER_ID
    leave(broker, member)
    assert code() == codes.NONE
    assert code(generation=2, member=member) == codes.UNKNOWN_MEMBER_ID


def test_a_generation_of_a_group_that_does_not_exist_is_refused(broker: MemoryBroker) -> None:
    result = commit(broker, {("t", 0): (1, "")}, generation=3, member="m", version=9)
    assert result == {("t", 0): codes.GROUP_ID_NOT_FOUND}
    result = commit(broker, {("t", 0): (1, "")}, generation=3, member="m", version=8)
    assert result == {("t", 0): codes.ILLEGAL_GENERATION}
    assert group_ids(broker) == []


def test_no_commits_while_the_assignment_is_awaited(broker: MemoryBroker) -> None:
    member = lone_member(broker, "t")
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        member_id=member,
        protocol_type="consumer",
    )
    metadata = encode_versioned(ConsumerProtocolSubscription(topics=["t"]), 0)
    request.protocols = [request.RequestProtocol(name="range", metadata=metadata)]
    assert broker.call(request).generation_id == 2
    result = commit(broker, {("t", 0): (1, "")}, generation=2, member=member)
    assert result == {("t", 0): codes.REBALANCE_IN_PROGRESS}


@pytest.mark.req("GC-17", "GC-48")
def test_a_commit_of_several_partitions_is_one_batch_and_the_newest_one_holds(broker: MemoryBroker) -> None:
    for offset in (1, 2, 3):
        commit(broker, {("t", 0): (offset, ""), ("t", 1): (offset + 10, "")})
        assert fetch(broker) == {("t", 0): (offset, -1, "", 0), ("t", 1): (offset + 10, -1, "", 0)}
    assert sum(len(log) for log in broker.batches.values()) == 3
    broker.restart()
    assert fetch(broker) == {("t", 0): (3, -1, "", 0), ("t", 1): (13, -1, "", 0)}


@pytest.mark.parametrize("codec", range(5))
def test_the_offsets_topic_may_be_compressed(codec: int) -> None:
    broker = MemoryBroker({"offsets.topic.compression.codec": str(codec)})
    broker.create_topic("t")
    commit(broker, {("t", 0): (7, "note")})
    ((raw,),) = broker.batches.values()
    (batch,) = batches(raw)
    assert batch.codec == codec
    broker.restart()
    assert fetch(broker) == {("t", 0): (7, -1, "note", 0)}


def twice(version: int, *sent: tuple[str, int, str]) -> OffsetCommitRequest:
    """A commit of (topic, partition, metadata), each topic by itself."""
    Topic = OffsetCommitRequest.RequestTopic
    return OffsetCommitRequest(
        group_id="g",
        topics=[
            Topic(
                name=topic,
                partitions=[
                    Topic.RequestPartition(partition_index=at, committed_offset=offset, committed_metadata=metadata)
                ],
            )
            for offset, (topic, at, metadata) in enumerate(sent)
        ],
    )


@pytest.mark.parametrize("version", [2, 9])
def test_a_partition_that_is_committed_twice_is_answered_twice_and_the_last_offset_holds(version: int) -> None:
    broker = MemoryBroker({"offset.metadata.max.bytes": "4"})
    broker.create_topic("t", 2)
    none, too_large, unknown = codes.NONE, codes.OFFSET_METADATA_TOO_LARGE, codes.UNKNOWN_TOPIC_OR_PARTITION

    def answered(*sent: tuple[str, int, str]) -> list[tuple[str, list[tuple[int, int]]]]:
        response = broker.call(twice(version, *sent), version)
        return [(t.name, [(p.partition_index, p.error_code) for p in t.partitions]) for t in response.topics]

    assert answered(("t", 0, ""), ("t", 0, "")) == [("t", [(0, none)]), ("t", [(0, none)])]
    assert fetch(broker) == {("t", 0): (1, -1, "", 0)}
    # one that is refused does not take the other along
    assert answered(("t", 0, "note"), ("t", 0, "12345")) == [("t", [(0, none)]), ("t", [(0, too_large)])]
    assert fetch(broker) == {("t", 0): (0, -1, "note", 0)}
    # with what the group is not asked about, the topics are put together
    assert answered(("t", 7, ""), ("t", 0, ""), ("no", 1, ""), ("t", 0, "")) == [
        ("t", [(7, unknown), (0, none), (0, none)]),
        ("no", [(1, unknown)]),
    ]
    assert fetch(broker) == {("t", 0): (3, -1, "", 0)}


# deleting


def test_a_topic_that_is_named_twice_is_answered_as_by_kafka_when_offsets_are_deleted(broker: MemoryBroker) -> None:
    commit(broker, {("t", 0): (1, "")})
    Topic = OffsetDeleteRequest.RequestTopic
    none, unknown = codes.NONE, codes.UNKNOWN_TOPIC_OR_PARTITION

    def answered(*sent: tuple[str, int]) -> list[tuple[str, list[tuple[int, int]]]]:
        topics = [Topic(name=name, partitions=[Topic.RequestPartition(partition_index=at)]) for name, at in sent]
        response = broker.call(OffsetDeleteRequest(group_id="g", topics=topics))
        assert response.error_code == none
        return [(t.name, [(p.partition_index, p.error_code) for p in t.partitions]) for t in response.topics]

    assert answered(("t", 1), ("t", 1)) == [("t", [(1, none)]), ("t", [(1, none)])]
    assert answered(("no", 0), ("t", 1), ("no", 0), ("t", 1)) == [
        ("no", [(0, unknown), (0, unknown)]),
        ("t", [(1, none), (1, none)]),
    ]


def test_offsets_of_topics_that_are_read_are_not_deleted(broker: MemoryBroker) -> None:
    broker.create_topic("u")
    member = lone_member(broker, "t")
    commit(broker, {("t", 0): (1, ""), ("u", 0): (1, "")}, generation=1, member=member)
    assert delete(broker, 0) == (codes.NONE, [codes.GROUP_SUBSCRIBED_TO_TOPIC])
    assert delete(broker, 0, topic="u") == (codes.NONE, [codes.NONE])
    assert list(fetch(broker)) == [("t", 0)]
    leave(broker, member)
    # what the group is not asked comes first
    assert delete(broker, 0, 1, 7) == (codes.NONE, [codes.UNKNOWN_TOPIC_OR_PARTITION, codes.NONE, codes.NONE])
    assert fetch(broker) == {}
    broker.restart()
    assert fetch(broker) == {}


def test_offset_deletes_that_cannot_be_are_refused(broker: MemoryBroker) -> None:
    assert delete(broker, 0, group="") == (codes.INVALID_GROUP_ID, [])
    assert delete(broker, 0, group="nope") == (codes.GROUP_ID_NOT_FOUND, [])
    lone_member(broker, protocol_type="connect")
    assert delete(broker, 0) == (codes.NON_EMPTY_GROUP, [])


@pytest.mark.req("CG-7")
def test_groups_are_deleted_with_their_offsets_once_they_are_empty(broker: MemoryBroker) -> None:
    member = lone_member(broker, "t")
    commit(broker, {("t", 0): (1, "")}, generation=1, member=member)
    commit(broker, {("t", 0): (5, "")}, group="simple")
    assert delete_groups(broker, "g", "nope", "simple", "simple") == {
        "g": codes.NON_EMPTY_GROUP,
        "nope": codes.GROUP_ID_NOT_FOUND,
        "simple": codes.NONE,
    }
    leave(broker, member)
    assert delete_groups(broker, "g") == {"g": codes.NONE}
    assert group_ids(broker) == []
    broker.restart()
    assert group_ids(broker) == []
    assert fetch(broker) == {}


def test_offsets_end_with_their_topic(broker: MemoryBroker) -> None:
    broker.create_topic("u")
    commit(broker, {("t", 0): (1, ""), ("u", 0): (2, "")})
    broker.delete_topic("t")
    assert list(fetch(broker)) == [("u", 0)]
    broker.restart()
    assert list(fetch(broker)) == [("u", 0)]


def test_offsets_of_many_groups_go_with_pauses_for_requests_and_those_for_a_new_topic_stay(
    broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand groups that had read a topic once held everybody up when it was deleted."""
    for number in range(3):
        commit(broker, {("t", 0): (1, ""), ("t", 1): (2, "")}, group=f"g-{number}")
    begun: list[Any] = []
    with monkeypatch.context() as patched:
        patched.setattr(broker.core.slices, "begin", lambda work, done: begun.append(work))
        broker.delete_topic("t")
    (work,) = begun
    next(work)
    broker.create_topic("t", 2)
    commit(broker, {("t", 1): (9, "")}, group="g-1")
    assert sum(1 for _ in work) >= 2
    for _ in range(2):
        assert [fetch(broker, group=f"g-{number}") for number in range(3)] == [{}, {("t", 1): (9, -1, "", 0)}, {}]
        broker.restart()


# expiry


@pytest.mark.req("GC-29")
def test_a_group_that_ends_leaves_a_tombstone_for_each_offset_and_one_for_itself(broker: MemoryBroker) -> None:
    member = lone_member(broker, "t")
    commit(broker, {("t", 0): (1, ""), ("t", 1): (2, "")}, generation=1, member=member)
    leave(broker, member)
    before = len(stored(broker))
    broker.advance(DAY_MS + 2 * SWEEP_MS)
    assert group_ids(broker) == []
    offset_keys = [b"\x00\x01\x00\x01g\x00\x01t" + number.to_bytes(4, "big") for number in (0, 1)]
    tombstones = stored(broker)[before:]
    assert sorted(tombstones) == [(key, None) for key in (*offset_keys, b"\x00\x02\x00\x01g")]


@pytest.mark.req("GC-29")
def test_the_offsets_of_a_group_that_stays_have_tombstones_and_the_group_has_none(broker: MemoryBroker) -> None:
    member = lone_member(broker, "t", session_ms=HALF_HOUR_MS)
    commit(broker, {("t", 0): (1, "")}, generation=1, member=member)
    broker.create_topic("u")
    commit(broker, {("u", 0): (1, "")}, generation=1, member=member)
    broker.delete_topic("u")
    tombstones = [key for key, value in stored(broker) if value is None]
    assert tombstones == [b"\x00\x01\x00\x01g\x00\x01u\x00\x00\x00\x00"]
    assert group_ids(broker) == ["g"]


def test_a_stable_group_keeps_only_offsets_of_topics_it_reads(broker: MemoryBroker) -> None:
    broker.create_topic("u")
    member = lone_member(broker, "t", session_ms=HALF_HOUR_MS)
    commit(broker, {("t", 0): (1, ""), ("u", 0): (1, "")}, generation=1, member=member)
    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member)
    for _ in range(2 * DAY_MS // HALF_HOUR_MS):
        broker.advance(HALF_HOUR_MS - 1)
        broker.call(heartbeat)
    assert list(fetch(broker)) == [("t", 0)]


def test_an_old_client_chooses_its_own_retention(broker: MemoryBroker) -> None:
    commit(broker, {("t", 0): (1, "")}, version=2, retention_ms=1000)
    commit(broker, {("t", 1): (1, "")}, version=2)
    broker.advance(SWEEP_MS)
    assert list(fetch(broker)) == [("t", 1)]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_an_old_clients_retention_may_be_as_long_as_its_number(broker: MemoryBroker, version: int) -> None:
    codes_of = commit(broker, {("t", 0): (1, "")}, version=version, retention_ms=2**63 - 1)
    assert codes_of == {("t", 0): codes.NONE}
    broker.restart()
    broker.advance(2 * DAY_MS)
    assert list(fetch(broker)) == [("t", 0)]


@pytest.mark.req("GC-25")
def test_commits_stored_in_version_0_expire_by_the_brokers_retention(broker: MemoryBroker) -> None:
    value = OffsetCommitValue(offset=7, metadata="", commit_timestamp=broker.clock.now_ms())
    write(broker, (OFFSET_KEY, encode_versioned(value, 0)))
    broker.restart()
    broker.advance(DAY_MS - 1)
    assert list(fetch(broker)) == [("t", 0)]
    broker.advance(SWEEP_MS)
    assert fetch(broker) == {}


@pytest.mark.req("GC-30")
def test_expiry_that_cannot_be_stored_is_tried_again(broker: MemoryBroker) -> None:
    commit(broker, {("t", 0): (1, "")}, version=2, retention_ms=1000)
    broker.fail_appends(OSError("disk full"))
    broker.advance(SWEEP_MS)
    assert list(fetch(broker)) == [("t", 0)]
    broker.fail_appends(None)
    broker.advance(SWEEP_MS)
    assert group_ids(broker) == []


@pytest.mark.req("GC-31")
def test_a_partition_that_is_not_here_any_more_holds_no_other_one_up(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = MemoryBroker({"offsets.topic.num.partitions": "8"})
    broker.create_topic("t")
    groups = [f"g{number}" for number in range(8)]
    for group in groups:
        commit(broker, {("t", 0): (1, "")}, group=group, version=2, retention_ms=1000)
    append = CoordinatorLog.append_batch
    away = partition_for("g3", 8)

    def without_one(self: CoordinatorLog, partition: int, batch: bytes, **named: Any) -> None:
        append(self, 8 if partition == away else partition, batch, **named)

    monkeypatch.setattr(CoordinatorLog, "append_batch", without_one)
    broker.advance(SWEEP_MS)
    left = group_ids(broker)
    assert left == [group for group in groups if partition_for(group, 8) == away] and 0 < len(left) < 8


# the log


def stored(broker: MemoryBroker) -> list[tuple[bytes, bytes | None]]:
    return [
        (bytes(record.key), None if record.value is None else bytes(record.value))
        for topic, partition in sorted(broker.batches)
        for batch in broker.core.partitions.get(topic, partition).log.walk()
        for record in batch.records()
    ]


@pytest.mark.req("GC-32", "GC-33", "GC-34")
def test_commits_are_stored_as_kafka_stores_them(broker: MemoryBroker) -> None:
    commit(broker, {("t", 1): (42, "note")}, epoch=3)
    commit(broker, {("t", 1): (43, "")}, version=3, retention_ms=5)
    (key, value), (same_key, old_value) = stored(broker)
    assert key == same_key == b"\x00\x01" + b"\x00\x01g" + b"\x00\x01t" + b"\x00\x00\x00\x01"
    assert value is not None and old_value is not None
    now_ms = broker.clock.now_ms()
    assert value[:2] == b"\x00\x04"
    assert decode(OffsetCommitValue, 4, value[2:]) == OffsetCommitValue(
        offset=42,
        leader_epoch=3,
        metadata="note",
        commit_timestamp=now_ms,
        topic_id=broker.core.cluster.topic("t").id,
    )
    assert old_value[:2] == b"\x00\x01"
    assert decode(OffsetCommitValue, 1, old_value[2:]).expire_timestamp == now_ms + 5


@pytest.mark.req("GC-39", "GC-40")
def test_groups_are_stored_as_kafka_stores_them(broker: MemoryBroker) -> None:
    member = lone_member(broker, "t")
    leave(broker, member)
    delete_groups(broker, "g")
    records = stored(broker)
    assert {key for key, _ in records} == {b"\x00\x02\x00\x01g"}
    values = [None if value is None else decode(GroupMetadataValue, 3, value[2:]) for _, value in records]
    created, joined, left, gone = values
    assert created is not None and joined is not None and left is not None
    assert gone is None
    assert (created.protocol_type, created.generation, created.members) == ("", 0, [])
    assert (joined.protocol_type, joined.generation, joined.protocol) == ("consumer", 1, "range")
    (stored_member,) = joined.members
    assert (joined.leader, stored_member.member_id, stored_member.client_host) == (member, member, "/127.0.0.1")
    assert stored_member.subscription == encode_versioned(ConsumerProtocolSubscription(topics=["t"]), 0)
    assert stored_member.assignment == b"assigned"
    assert (left.generation, left.protocol, left.leader, left.members) == (2, None, None, [])


def write(broker: MemoryBroker, *records: tuple[bytes, bytes | None]) -> None:
    from kafka_tools.records.build import build_batch

    whole(broker.core.groups.log.ensured())
    log = broker.batches.setdefault(TopicPartition("__consumer_offsets", 0), [])
    log.append(build_batch([(0, key, value, ()) for key, value in records]))


OFFSET_KEY = b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00"
OLD_OFFSET_KEY = b"\x00\x00" + OFFSET_KEY[2:]


@pytest.mark.req("GC-20", "GC-22", "GC-42")
@pytest.mark.parametrize("key", [OFFSET_KEY, OLD_OFFSET_KEY])
@pytest.mark.parametrize("version", range(5))
def test_commits_of_every_version_are_read(broker: MemoryBroker, key: bytes, version: int) -> None:
    value = OffsetCommitValue(offset=7, metadata="m", commit_timestamp=broker.clock.now_ms())
    write(broker, (key, encode_versioned(value, version)))
    broker.restart()
    assert fetch(broker) == {("t", 0): (7, -1, "m", 0)}
    assert group_ids(broker) == ["g"]
    write(broker, (key, None))
    broker.restart()
    assert fetch(broker) == {}
    write(broker, (key, encode_versioned(value, version)))
    broker.restart()
    assert fetch(broker) == {("t", 0): (7, -1, "m", 0)}


@pytest.mark.req("GC-35", "GC-36", "GC-37")
@pytest.mark.parametrize("version", range(5))
def test_groups_of_every_version_are_read(broker: MemoryBroker, version: int) -> None:
    value = GroupMetadataValue(protocol_type="consumer", generation=5, protocol="range", leader="m")
    member = value.members
    from kafka_tools.protocol.stored.group_metadata import MemberMetadata

    member.append(
        MemberMetadata(
            member_id="m",
            client_id="c",
            client_host="/h",
            session_timeout=10_000,
            rebalance_timeout=60_000 if version else -1,
            subscription=encode_versioned(ConsumerProtocolSubscription(topics=["t"]), 0),
            assignment=b"a",
        )
    )
    write(broker, (b"\x00\x02\x00\x01g", encode_versioned(value, version)))
    broker.restart()
    group = broker.core.groups.store.find_as(ClassicGroup, "g")
    assert (group.state, group.generation, group.leader) == ("Stable", 5, "m")
    assert group.members["m"].rebalance_timeout_ms == (60_000 if version else 10_000)
    assert group.is_subscribed("t") and not group.is_subscribed("u")


def test_records_that_this_broker_cannot_read_are_left_out_and_named(
    broker: MemoryBroker, caplog: pytest.LogCaptureFixture
) -> None:
    good = encode_versioned(OffsetCommitValue(offset=7, metadata=""), 3)
    write(
        broker,
        (b"\x00\x63newer", b"whatever"),
        (b"\x00", b""),
        (b"\x00\x01\x00\xffshort", b""),
        (OFFSET_KEY[:-1] + b"\x01", b"\x00\x63" + good[2:]),
        (OFFSET_KEY, good),
    )
    broker.restart()
    assert list(fetch(broker)) == [("t", 0)]
    assert len([r for r in caplog.records if " was skipped: " in r.getMessage()]) == 3


TRANSACTIONS = [
    ("committed", [("tx", 1), ("commit", None)], 1),
    ("aborted", [("plain", 9), ("tx", 1), ("abort", None)], 9),
    ("open", [("tx", 1)], -1),
    ("a later plain commit wins", [("tx", 1), ("plain", 9), ("commit", None)], 9),
    ("an earlier plain commit loses", [("plain", 9), ("tx", 1), ("commit", None)], 1),
]


@pytest.mark.req("TX-24", "DESIGN-32")
@pytest.mark.parametrize(("steps", "expected"), [case[1:] for case in TRANSACTIONS], ids=[c[0] for c in TRANSACTIONS])
def test_commits_of_a_transaction_hold_once_it_is_committed(
    broker: MemoryBroker, steps: list[tuple[str, int | None]], expected: int
) -> None:
    """A log that Kafka wrote may hold transactional commits (KIP-98)."""
    from kafka_tools.records.build import build_batch

    whole(broker.core.groups.log.ensured())
    log = broker.batches.setdefault(TopicPartition("__consumer_offsets", 0), [])
    for kind, offset in steps:
        if offset is None:
            marker = b"\x00\x00\x00\x01" if kind == "commit" else b"\x00\x00\x00\x00"
            rows = [(0, marker, b"\x00\x00\x00\x00\x00\x00", ())]
            log.append(build_batch(rows, producer_id=5, producer_epoch=0, transactional=True, control=True))
        else:
            value = encode_versioned(OffsetCommitValue(offset=offset, metadata=""), 3)
            own = {"producer_id": 5, "producer_epoch": 0, "transactional": True} if kind == "tx" else {}
            log.append(build_batch([(0, OFFSET_KEY, value, ())], **own))
    broker.restart()
    assert fetch(broker, {"t": [0]})["t", 0][0] == expected


def load_golden(case_id: str) -> MemoryBroker:
    broker = MemoryBroker()
    whole(broker.core.groups.log.ensured())
    for path in sorted((golden_root() / case_id).glob("data/__consumer_offsets-*/*.log")):
        partition = int(path.parent.name.rpartition("-")[2])
        broker.batches.setdefault(TopicPartition("__consumer_offsets", partition), []).append(path.read_bytes())
    broker.restart()
    return broker


def printed_state(case_id: str) -> tuple[dict[tuple[str, str, int], tuple[int, str]], set[str]]:
    """Offsets and groups as Kafka's own dump of a case tells them: what ``--offsets-decoder`` printed, line by line."""
    offsets: dict[tuple[str, str, int], tuple[int, str]] = {}
    groups: set[str] = set()
    pending: dict[str, dict[tuple[str, str, int], tuple[int, str] | None]] = {}
    runs = [run for run in case(case_id).runs if run.tool_version == "4.3.1" and run.args[0] == "--offsets-decoder"]
    text = "\n".join(run.stdout.decode() for run in runs)
    producer, transactional = "", False
    for line in text.splitlines():
        if line.startswith("baseOffset"):
            producer = line.split("producerId: ")[1].split()[0]
            transactional = "isTransactional: true" in line
        elif "endTxnMarker" in line:
            held = pending.pop(producer, {})
            if "COMMIT" in line:
                offsets.update({key: value for key, value in held.items() if value})
        elif " key: {" in line:
            key_text, payload = line.split(" key: ")[1].split(" payload: ")
            key = json.loads(key_text)
            value = None if payload == "<DELETE>" else json.loads(payload)["data"]
            if key["type"] in ("0", "1"):
                at = (key["data"]["group"], key["data"]["topic"], key["data"]["partition"])
                committed = None if value is None else (value["offset"], value["metadata"])
                if transactional:
                    pending.setdefault(producer, {})[at] = committed
                    continue
                for held in pending.values():
                    held.pop(at, None)
                if committed is None:
                    offsets.pop(at, None)
                else:
                    offsets[at] = committed
            elif key["type"] == "2":
                (groups.discard if value is None else groups.add)(key["data"]["group"])
    return offsets, groups | {group for group, _, _ in offsets}


@pytest.mark.req("GC-18", "GC-24")
@pytest.mark.parametrize("case_id", [entry.id for entry in cases() if entry.id.startswith("offsets-")])
def test_what_a_kafka_broker_stored_is_loaded_as_kafkas_own_dump_tells_it(
    case_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    broker = load_golden(case_id)
    expected, groups = printed_state(case_id)
    assert len(expected) > 2
    held = broker.core.groups.offsets
    loaded = {
        (group, at.topic, at.partition): (committed.offset, committed.metadata)
        for group in held.table.groups()
        for at, committed in held.of(group).items()
    }
    assert loaded == expected
    assert set(group_ids(broker)) == groups
    assert not [record for record in caplog.records if "was skipped" in record.getMessage()]


@pytest.mark.req("GC-24")
def test_a_loaded_group_is_served_after_its_offsets_and_one_that_is_served_already_wins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is found in a partition that is not the group's own (the topic has grown since) holds where nothing does."""
    broker = MemoryBroker({"offsets.topic.num.partitions": "8"})
    whole(broker.core.groups.log.ensured())
    groups = broker.core.groups
    store, offsets = groups.store, groups.offsets
    at = TopicPartition("t", 0)

    def load(partition: int, generation: int, offset: int) -> list[tuple[str, int | None]]:
        seen: list[tuple[str, int | None]] = []

        def begun(group: Any) -> None:
            found = offsets.of(group.id).get(at)
            seen.append((group.id, None if found is None else found.offset))

        monkeypatch.setattr(store.members[ClassicGroup.type], "loaded", begun)
        loaded = LoadedGroups(partition, store, offsets.table, lambda ids: None)
        value = GroupMetadataValue(protocol_type="consumer", generation=generation, protocol="range", leader=None)
        loaded.replay(GroupMetadataKey(group="g"), value)
        loaded.replay(OffsetCommitKey(group="g", topic="t", partition=0), OffsetCommitValue(offset=offset))
        whole(loaded.adopt())
        return seen

    own = store.partition("g")
    other = (own + 1) % 8
    assert load(own, 5, 50) == [("g", 50)], "its offsets are there when the group is"
    served = store.groups["g"]
    assert load(other, 6, 60) == [], "the group that is served wins"
    assert store.groups["g"] is served
    assert offsets.of("g")[at].offset == 50
