"""Consumer groups on a clock that only the test moves (KIP-848); random walks beside Kafka are in against_kafka."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.coordinators.consumer.consumer_records import member_record
from kafka_tools.errors import DecodeError
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.codec import encode_into, encoder
from kafka_tools.protocol.headers import RequestHeader
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_delete import OffsetDeleteRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.broker_embedded.coordinators.consumer_member import ModernMember, describe, settled, state
from tests.broker_embedded.memory_broker import MemoryBroker, topic_records

SESSION_MS = 45_000
TOO_LONG = "[" + "a" * 33_000 + "]"
"""An expression that is longer than any string of the protocol."""
AT_ONCE = {"group.consumer.assignment.interval.ms": "0"}


@pytest.fixture
def broker() -> MemoryBroker:
    made = MemoryBroker(AT_ONCE)
    made.create_topic("t", 4)
    made.create_topic("other", 2)
    return made


def pair(broker: MemoryBroker) -> tuple[ModernMember, ModernMember]:
    """A stable group of two."""
    first, second = ModernMember(broker, "m1"), ModernMember(broker, "m2")
    first.join("t")
    second.join("t")
    settled(first, second)
    return first, second


def commit(broker: MemoryBroker, member_id: str, epoch: int, version: int = 9, partition: int = 0) -> int:
    Topic = OffsetCommitRequest.RequestTopic
    topic = Topic(name="t", partitions=[Topic.RequestPartition(partition_index=partition, committed_offset=5)])
    request = OffsetCommitRequest(
        group_id="g", generation_id_or_member_epoch=epoch, member_id=member_id, topics=[topic]
    )
    return int(broker.call(request, version).topics[0].partitions[0].error_code)


def listed(broker: MemoryBroker, **filters: Any) -> list[tuple[str, str, str, str]]:
    return [
        (each.group_id, each.protocol_type, each.group_state, each.group_type)
        for each in broker.call(ListGroupsRequest(**filters), 5).groups
    ]


# joining and sharing


def test_first_member_gets_everything_at_epoch_two(broker: MemoryBroker) -> None:
    member = ModernMember(broker, "m1")
    answer = member.join("t")
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "m1", 2)
    assert answer.heartbeat_interval_ms == 5000
    assert member.assigned == {"t": [0, 1, 2, 3]}
    assert state(broker) == "Stable"


def test_member_gives_up_partitions_before_the_other_gets_them(broker: MemoryBroker) -> None:
    first, second = ModernMember(broker, "m1"), ModernMember(broker, "m2")
    first.join("t")
    second.join("t")
    assert second.assigned == {}
    answer = first.beat()
    kept = first.assigned["t"]
    assert (len(kept), answer.member_epoch) == (2, 2)
    assert second.beat().assignment is None
    assert state(broker) == "Reconciling"
    assert first.beat({"t": kept}).member_epoch == 3
    second.beat()
    assert sorted(kept + second.assigned["t"]) == [0, 1, 2, 3]
    assert state(broker) == "Stable"


def test_answer_has_the_assignment_only_if_it_changed_or_all_was_said(broker: MemoryBroker) -> None:
    first, _ = pair(broker)
    assert first.beat().assignment is None
    full = first.send(
        member_epoch=first.epoch, rebalance_timeout_ms=60_000, subscribed_topic_names=["t"], owned=first.assigned
    )
    assert full.assignment is not None


def test_version_0_gives_a_member_its_id(broker: MemoryBroker) -> None:
    answer = ModernMember(broker, "").send(
        0, member_epoch=0, rebalance_timeout_ms=1000, subscribed_topic_names=["t"], owned={}
    )
    assert (answer.error_code, len(answer.member_id)) == (0, 22)


JOINING = {"member_epoch": 0, "rebalance_timeout_ms": 5, "subscribed_topic_names": ["t"], "owned": {}}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({**JOINING, "rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        ({**JOINING, "owned": None}, "TopicPartitions must be empty when (re-)joining."),
        (
            {**JOINING, "subscribed_topic_names": None},
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        ({"member_epoch": -2}, "InstanceId can't be null."),
        ({"member_epoch": -3}, "MemberEpoch is invalid."),
        ({"member_epoch": 1, "rack_id": " "}, "RackId can't be empty."),
    ],
)
def test_heartbeat_that_lacks_something_is_refused_in_kafkas_words(
    broker: MemoryBroker, fields: dict[str, Any], text: str
) -> None:
    answer = ModernMember(broker, "m1").send(**fields)
    assert (answer.error_code, answer.error_message) == (codes.INVALID_REQUEST, text)


def test_assignors_by_kafkas_classes_are_those_of_their_names() -> None:
    package = "org.apache.kafka.coordinator.group.assignor"
    broker = MemoryBroker({"group.consumer.assignors": f"{package}.RangeAssignor"})
    assert ModernMember(broker, "m1").join("t", server_assignor="range").error_code == 0
    answer = ModernMember(broker, "m2").join("t", server_assignor="uniform")
    assert answer.error_message == "ServerAssignor uniform is not supported. Supported assignors: range."


def test_unknown_assignor_is_refused(broker: MemoryBroker) -> None:
    answer = ModernMember(broker, "m1").join("t", server_assignor="sticky")
    assert answer.error_code == codes.UNSUPPORTED_ASSIGNOR
    assert answer.error_message == "ServerAssignor sticky is not supported. Supported assignors: uniform, range."


def test_epochs_fence(broker: MemoryBroker) -> None:
    first, second = pair(broker)
    ahead = first.beat(member_epoch=first.epoch + 1)
    assert ahead.error_code == codes.FENCED_MEMBER_EPOCH
    assert "greater member epoch (4) than the one known by the group coordinator (3)" in ahead.error_message
    assert first.beat(first.assigned, member_epoch=2).error_code == 0, "its last answer was lost"
    assert first.beat(second.assigned, member_epoch=2).error_code == codes.FENCED_MEMBER_EPOCH
    assert first.beat(member_epoch=1).error_code == codes.FENCED_MEMBER_EPOCH
    assert ModernMember(broker, "m9").beat(member_epoch=1).error_code == codes.UNKNOWN_MEMBER_ID
    assert ModernMember(broker, "m9", "nothing").beat(member_epoch=1).error_code == codes.GROUP_ID_NOT_FOUND


def test_group_has_a_largest_size() -> None:
    broker = MemoryBroker({**AT_ONCE, "group.consumer.max.size": "1"})
    broker.create_topic("t", 2)
    assert ModernMember(broker, "m1").join("t").error_code == 0
    answer = ModernMember(broker, "m2").join("t")
    assert answer.error_code == codes.GROUP_MAX_SIZE_REACHED
    assert answer.error_message == "The consumer group has reached its maximum capacity of 1 members."


def test_target_is_computed_no_more_often_than_in_each_interval() -> None:
    broker = MemoryBroker()
    broker.create_topic("t", 4)
    first, second = ModernMember(broker, "m1"), ModernMember(broker, "m2")
    first.join("t")
    second.join("t")
    assert state(broker) == "Assigning"
    assert first.beat().assignment is None
    broker.advance(1000)
    assert len(first.beat().assignment.topic_partitions[0].partitions) == 2


def test_member_that_joins_without_topics_takes_nothing_from_others(broker: MemoryBroker) -> None:
    first, second = pair(broker)
    second.leave()
    ModernMember(broker, "a").join()
    settled(first)
    assert first.assigned == {"t": [0, 1, 2, 3]}


# deadlines


def test_session_ends_and_the_others_get_the_partitions(broker: MemoryBroker) -> None:
    first, _ = pair(broker)
    broker.advance(SESSION_MS - 1)
    first.beat()
    broker.advance(1)
    assert [each.member_id for each in describe(broker).members] == ["m1"]
    settled(first)
    assert first.assigned == {"t": [0, 1, 2, 3]}


def test_member_that_does_not_give_up_its_partitions_is_out(broker: MemoryBroker) -> None:
    first, second = ModernMember(broker, "m1"), ModernMember(broker, "m2")
    first.join("t", rebalance_timeout_ms=10_000)
    second.join("t")
    first.beat()
    broker.advance(9_999)
    assert first.beat().error_code == 0
    broker.advance(1)
    assert first.beat().error_code == codes.UNKNOWN_MEMBER_ID
    settled(second)
    assert second.assigned == {"t": [0, 1, 2, 3]}


def test_group_has_its_own_session_within_the_brokers_bounds(broker: MemoryBroker) -> None:
    from kafka_tools.protocol.stored.cluster_metadata import ConfigRecord

    for name, value in (("consumer.session.timeout.ms", "50000"), ("consumer.heartbeat.interval.ms", "1000000")):
        broker.core.journal.commit([ConfigRecord(resource_type=32, resource_name="g", name=name, value=value)])
    member = ModernMember(broker, "m1")
    assert member.join("t").heartbeat_interval_ms == 15_000
    broker.advance(49_999)
    assert state(broker) == "Stable"
    broker.advance(1)
    assert state(broker) == "Empty"


def test_ids_of_groups_are_not_kept_with_the_configs_of_those_that_have_some(broker: MemoryBroker) -> None:
    from kafka_tools.protocol.stored.cluster_metadata import ConfigRecord

    def configure(value: str | None) -> None:
        name = "consumer.session.timeout.ms"
        broker.core.journal.commit([ConfigRecord(resource_type=32, resource_name="g", name=name, value=value)])

    for number in range(20):
        member = ModernMember(broker, "m", group=f"short-lived-{number}")
        member.join("t")
        member.leave()
    settings = broker.core.groups.settings
    for value, session_ms in ((None, SESSION_MS), ("50000", 50_000), (None, SESSION_MS)):
        configure(value)
        assert settings.bounded("g", "session.timeout.ms") == session_ms
        assert settings.bounded("other", "session.timeout.ms") == SESSION_MS
    kept = {name for kind, name in broker.core.configs._views if kind == 32}
    assert kept == {""}, "what all of them share"


# static members


def test_static_member_comes_back_to_its_partitions(broker: MemoryBroker) -> None:
    first, second = ModernMember(broker, "m1", instance="i1"), ModernMember(broker, "m2")
    first.join("t")
    second.join("t")
    settled(first, second)
    had = first.assigned
    again = ModernMember(broker, "m3", instance="i1")
    assert again.join("t").error_code == codes.UNRELEASED_INSTANCE_ID
    assert (first.leave(-2).error_code, first.epoch) == (0, -2)
    assert again.join("t").error_code == 0
    assert again.assigned == had
    assert first.beat(member_epoch=3).error_code == codes.FENCED_INSTANCE_ID
    assert second.beat().assignment is None, "nobody else noticed"


def test_nothing_is_left_of_a_static_member_that_another_one_replaced(broker: MemoryBroker) -> None:
    for number in range(20):
        member = ModernMember(broker, f"m{number}", instance="i1")
        member.join("t", rebalance_timeout_ms=24 * 3600 * 1000)
        member.leave(-2)
    assert list(broker.core.groups.consumer.fencing.deadlines._running["g"]) == [(member.id, "session")]


def test_static_member_that_stays_away_is_out_with_its_session(broker: MemoryBroker) -> None:
    member = ModernMember(broker, "m1", instance="i1")
    member.join("t")
    member.leave(-2)
    assert describe(broker).members[0].member_epoch == -2
    broker.advance(SESSION_MS)
    assert state(broker) == "Empty"


# topics


def test_partitions_that_are_added_are_shared_out(broker: MemoryBroker) -> None:
    from kafka_tools.protocol.stored.cluster_metadata import PartitionRecord

    first, second = pair(broker)
    epoch = describe(broker).group_epoch
    topic_id = broker.core.cluster.topics["t"].id
    record = PartitionRecord(partition_id=4, topic_id=topic_id, replicas=[1], isr=[1], leader=1, leader_epoch=0)
    broker.core.journal.commit([record])
    settled(first, second)
    assert describe(broker).group_epoch == epoch + 1
    assert sorted(first.assigned["t"] + second.assigned["t"]) == [0, 1, 2, 3, 4]


def test_topic_that_is_deleted_or_made_changes_what_members_have(broker: MemoryBroker) -> None:
    member = ModernMember(broker, "m1")
    member.join("t", "later")
    broker.delete_topic("t")
    member.beat({})
    assert member.assigned == {}
    broker.create_topic("later", 1)
    settled(member)
    assert member.assigned == {"later": [0]}


def test_deleted_topics_are_forgotten_and_their_readers_notice_all_the_same(broker: MemoryBroker) -> None:
    member = ModernMember(broker, "m1")
    member.join("t", "other")
    settled(member)
    broker.delete_topic("t")
    for number in range(1_100):
        broker.create_topic(f"short-lived-{number}")
        broker.delete_topic(f"short-lived-{number}")
    assert len(broker.core.groups.consumer.topics._changed_at) < 200
    for _ in range(2):
        member.beat({"other": [0, 1]})
    assert member.assigned == {"other": [0, 1]}
    before = describe(broker).group_epoch
    broker.create_topic("unread")
    member.beat(member.assigned)
    assert describe(broker).group_epoch == before


def test_change_of_a_topic_that_nobody_reads_changes_nothing(broker: MemoryBroker) -> None:
    pair(broker)
    before = describe(broker).group_epoch
    broker.create_topic("unread", 3)
    assert describe(broker).group_epoch == before


# expressions


def test_expression_is_resolved_beside_the_heartbeat(broker: MemoryBroker) -> None:
    member = ModernMember(broker, "m1")
    assert member.join(regex="t|ot.*").assignment.topic_partitions == []
    broker.advance(0)
    member.beat()
    assert member.assigned == {"t": [0, 1, 2, 3], "other": [0, 1]}
    assert describe(broker).members[0].subscribed_topic_regex == "t|ot.*"


def test_expression_finds_topics_that_are_made_later_but_not_at_once(broker: MemoryBroker) -> None:
    member = ModernMember(broker, "m1")
    member.join(regex="new.*")
    broker.advance(0)
    broker.create_topic("new1", 1)
    member.beat()
    broker.advance(0)
    assert member.beat().assignment is None, "ten seconds must lie between"
    broker.advance(10_001)
    member.beat()
    broker.advance(0)
    member.beat()
    assert member.assigned == {"new1": [0]}


def test_expression_that_is_none_is_refused(broker: MemoryBroker) -> None:
    answer = ModernMember(broker, "m1").join(regex="(")
    assert answer.error_code == codes.INVALID_REGULAR_EXPRESSION
    assert answer.error_message.startswith("SubscribedTopicRegex `(` is not a valid regular expression: ")


def test_expression_longer_than_a_string_may_be_is_not_taken(broker: MemoryBroker) -> None:
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m1", subscribed_topic_regex=TOO_LONG)
    frame = bytearray()
    encode_into(RequestHeader(request_api_key=request.API_KEY, request_api_version=1), 2, frame)
    encoder(ConsumerGroupHeartbeatRequest, 1, True, False)(request, frame)
    with pytest.raises(DecodeError, match=r"subscribed_topic_regex .*more than 32767"):
        broker.dispatcher.handle_frame(Connection("c-1", "PLAINTEXT", "127.0.0.1"), bytes(frame), print)


@pytest.mark.parametrize("leaves", [True, False])
def test_member_whose_expression_fits_into_no_record_goes_like_any(broker: MemoryBroker, leaves: bool) -> None:
    """As a broker before this one could write it."""
    member = ModernMember(broker, "m1")
    member.join("t")
    store = broker.core.groups.store
    store.commit("g", [member_record("g", store.groups["g"].members["m1"]._replace(regex=TOO_LONG))])
    broker.restart()
    assert broker.core.groups.store.groups["g"].members["m1"].regex == TOO_LONG
    if leaves:
        assert member.leave().error_code == 0
    broker.advance(SESSION_MS)
    assert state(broker) == "Empty"
    broker.restart()
    assert state(broker) == "Empty"


def test_member_that_could_not_be_put_out_is_put_out_later(
    broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ModernMember(broker, "m1").join("t")
    with monkeypatch.context() as patched:
        patched.setattr(broker.core.groups.consumer.fencing, "_put_out", lambda *_: 1 // 0)
        broker.advance(SESSION_MS)
    assert "cannot remove member m1 yet" in caplog.text
    assert state(broker) != "Empty"
    broker.advance(60_000)
    assert state(broker) == "Empty"


# offsets


def test_member_commits_at_its_epoch_and_late_for_what_it_still_has(broker: MemoryBroker) -> None:
    first, second = pair(broker)
    mine, theirs = first.assigned["t"][0], second.assigned["t"][0]
    assert commit(broker, "m1", 3, partition=mine) == 0
    assert commit(broker, "m1", 2, partition=mine) == 0, "assigned at epoch 2"
    assert commit(broker, "m1", 2, partition=theirs) == codes.STALE_MEMBER_EPOCH
    assert commit(broker, "m1", 1, partition=mine) == codes.STALE_MEMBER_EPOCH
    assert commit(broker, "m1", 4) == codes.STALE_MEMBER_EPOCH
    assert commit(broker, "m9", 3) == codes.UNKNOWN_MEMBER_ID
    assert commit(broker, "", -1) == codes.UNKNOWN_MEMBER_ID, "an administrator, while there are members"
    assert commit(broker, "m1", 3, version=8) == codes.UNSUPPORTED_VERSION


def test_member_fetches_offsets_at_its_epoch(broker: MemoryBroker) -> None:
    pair(broker)
    Group = OffsetFetchRequest.RequestGroup

    def fetch(member_id: str | None, epoch: int) -> int:
        group = Group(group_id="g", member_id=member_id, member_epoch=epoch, topics=None)
        return int(broker.call(OffsetFetchRequest(groups=[group]), 9).groups[0].error_code)

    assert fetch("m1", 3) == 0
    assert fetch(None, -1) == 0
    assert fetch("m1", 2) == codes.STALE_MEMBER_EPOCH
    assert fetch("m9", 3) == codes.UNKNOWN_MEMBER_ID


def test_offsets_of_topics_that_are_read_stay_and_others_expire_from_their_commit() -> None:
    broker = MemoryBroker({"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"})
    broker.create_topic("t", 1)
    member = ModernMember(broker, "m1")
    member.join("t")
    assert commit(broker, "m1", 2) == 0
    Topic = OffsetDeleteRequest.RequestTopic
    topic = Topic(name="t", partitions=[Topic.RequestPartition(partition_index=0)])
    answer = broker.call(OffsetDeleteRequest(group_id="g", topics=[topic]), 0)
    assert answer.topics[0].partitions[0].error_code == codes.GROUP_SUBSCRIBED_TO_TOPIC
    for _ in range(4):
        broker.advance(20_000)
        member.beat()
    assert broker.core.groups.offsets.of("g")
    member.leave()
    broker.advance(1000)
    assert not broker.core.groups.offsets.of("g")
    assert listed(broker) == [], "nothing is left of it"


# both kinds


def test_groups_are_listed_by_type_and_state(broker: MemoryBroker) -> None:
    ModernMember(broker, "m1").join("t")
    assert listed(broker) == [("g", "consumer", "Stable", "consumer")]
    assert listed(broker, types_filter=["Consumer"], states_filter=["stable"]) != []
    assert listed(broker, types_filter=["classic"]) == []


def test_group_with_members_is_not_deleted_and_an_empty_one_is(broker: MemoryBroker) -> None:
    member = ModernMember(broker, "m1")
    member.join("t")
    request = DeleteGroupsRequest(groups_names=["g"])
    assert broker.call(request).results[0].error_code == codes.NON_EMPTY_GROUP
    member.leave()
    assert state(broker) == "Empty"
    assert broker.call(request).results[0].error_code == 0
    assert state(broker) == "GROUP_ID_NOT_FOUND"
    broker.restart()
    assert listed(broker) == []


def test_protocol_can_be_turned_off() -> None:
    broker = MemoryBroker({"group.coordinator.rebalance.protocols": "classic"})
    assert ModernMember(broker, "m1").join("t").error_code == codes.UNSUPPORTED_VERSION
    assert describe(broker).error_code == codes.UNSUPPORTED_VERSION


# the log


def test_group_is_the_same_after_a_restart_in_any_state(broker: MemoryBroker) -> None:
    first, second = ModernMember(broker, "m1"), ModernMember(broker, "m2", instance="i")
    steps = [
        lambda: first.join("t"),
        lambda: second.join("t", regex=None),
        lambda: first.beat(),
        lambda: first.beat(first.assigned),
        lambda: second.beat({}),
        lambda: second.leave(-2),
        lambda: first.join(regex="o.*"),
        lambda: broker.advance(0),
        lambda: first.beat(first.assigned),
        lambda: first.leave(),
    ]
    for step in steps:
        step()
        before = describe(broker)
        broker.restart()
        assert describe(broker) == before
    broker.advance(SESSION_MS)
    assert state(broker) == "Empty", "the static member did not come back"


def test_what_cannot_be_written_does_not_hold(broker: MemoryBroker) -> None:
    from kafka_tools.errors import LogError

    first, second = pair(broker)
    before = describe(broker)
    broker.fail_appends(LogError("disk full"))
    assert ModernMember(broker, "m3").join("t").error_code == codes.NOT_COORDINATOR
    assert first.leave().error_code == codes.NOT_COORDINATOR
    broker.advance(SESSION_MS)
    assert describe(broker) == before
    broker.fail_appends(None)
    broker.advance(500)
    assert state(broker) == "Empty"
    assert second.beat().error_code == codes.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("rack", "known"), [(None, 1165953558839875380), ("rack-1", 2855811428277021925)])
def test_hash_of_what_a_group_reads_is_kafkas(broker: MemoryBroker, rack: str | None, known: int) -> None:
    """Beside what hash4j 0.22.0 gave for the same topic, written as ``Utils.computeTopicHash`` writes it."""
    broker.core.registration.rack = rack
    records = topic_records("topic", 2, 1)
    topic_id = UUID("01234567-89ab-cdef-8899-aabbccddeeff")
    for record in records:
        record.topic_id = topic_id  # type: ignore[attr-defined]
    broker.core.journal.commit(records)
    assert broker.core.groups.consumer.topics.hash_of(["topic", "missing"]) == known
    assert broker.core.groups.consumer.topics.hash_of(["missing"]) == 0


def test_a_member_that_joins_again_with_another_instance_id_has_the_old_one_no_longer(broker: MemoryBroker) -> None:
    """As in Kafka since 4.4; before that the old one stayed the member's, and nobody could join with it."""
    first, other = ModernMember(broker, "s1", instance="i1"), ModernMember(broker, "s2", instance="i1")
    first.join("t")
    first.instance = "i9"
    assert first.join("t").error_code == 0
    assert other.join("t").error_code == 0, "the old one is free"
    late = ModernMember(broker, "s1", instance="i1")
    late.epoch = first.epoch
    assert late.beat().error_code == codes.FENCED_INSTANCE_ID
    assert first.beat().error_code == 0
    assert ModernMember(broker, "s3", instance="i9").join("t").error_code == codes.UNRELEASED_INSTANCE_ID
    assert first.leave(-2).error_code == 0 and first.join("t").error_code == 0
    assert first.leave().error_code == 0
    assert ModernMember(broker, "s4", instance="i1").join("t").error_code == codes.UNRELEASED_INSTANCE_ID
    assert ModernMember(broker, "s3", instance="i9").join("t").error_code == 0
