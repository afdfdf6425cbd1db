"""The vocabulary of faults, in the process: where each one stands in the answer, and what is served all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded.faults.selectors import Selector
from kafka_tools.broker_embedded.handlers._table import load_handlers
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from tests.broker_embedded.disk_broker import DiskBroker, fetch_request

NOT_LEADER = error_codes.NOT_LEADER_OR_FOLLOWER


@pytest.fixture
def broker(tmp_path: Path) -> DiskBroker:
    found = DiskBroker(tmp_path / "data", {"group.initial.rebalance.delay.ms": "0"})
    found.create("t", 2)
    found.create("u", 1)
    return found


def produce(broker: DiskBroker, *places: tuple[str, int], acks: int = -1, version: int = 9) -> Any:
    Data = ProduceRequest.TopicProduceData
    data = []
    for topic, partition in places:
        part = Data.PartitionProduceData(index=partition, records=broker.batch(b"v"))
        known = broker.core.cluster.topics[topic]
        data.append(Data(name=topic if version < 13 else "", partition_data=[part]))
        if version >= 13:
            data[-1].topic_id = known.id
    return broker.send(ProduceRequest(acks=acks, timeout_ms=1000, topic_data=data), version)


def codes(response: Any) -> dict[tuple[str, int], int]:
    return {
        (topic.name, part.index): part.error_code for topic in response.responses for part in topic.partition_responses
    }


def ends(broker: DiskBroker) -> dict[tuple[str, int], int]:
    return {
        (topic, partition): broker.core.partitions.get(topic, partition).log.log_end_offset  # type: ignore[union-attr]
        for topic, partition in (("t", 0), ("t", 1), ("u", 0))
    }


def test_an_error_of_one_partition_leaves_the_others_served(broker: DiskBroker) -> None:
    broker.faults.error("produce", "NOT_LEADER_OR_FOLLOWER", topic="t", partition=1)
    answer = produce(broker, ("t", 0), ("t", 1), ("u", 0))
    assert codes(answer.response) == {("t", 0): 0, ("t", 1): NOT_LEADER, ("u", 0): 0}
    assert ends(broker) == {("t", 0): 1, ("t", 1): 0, ("u", 0): 1}
    assert codes(produce(broker, ("t", 1)).response) == {("t", 1): 0}


def test_topics_are_known_by_their_ids_too(broker: DiskBroker) -> None:
    broker.faults.error("Produce", NOT_LEADER, topic="t")
    answer = produce(broker, ("t", 0), ("u", 0), version=13).response
    by_id = {topic.topic_id: topic.partition_responses[0].error_code for topic in answer.responses}
    topics = broker.core.cluster.topics
    assert by_id == {topics["t"].id: NOT_LEADER, topics["u"].id: 0}


def test_an_error_of_all_is_said_as_the_api_says_it_and_nothing_is_served(broker: DiskBroker) -> None:
    broker.faults.error("produce", "REQUEST_TIMED_OUT", message="too late", times=2)
    for _ in range(2):
        answer = produce(broker, ("t", 0), ("u", 0)).response
        assert set(codes(answer).values()) == {error_codes.REQUEST_TIMED_OUT}
        assert answer.responses[0].partition_responses[0].error_message == "too late"
    assert ends(broker) == {("t", 0): 0, ("t", 1): 0, ("u", 0): 0}
    assert broker.faults.active() == []


def test_a_request_may_be_served_and_its_answer_be_an_error(broker: DiskBroker) -> None:
    broker.faults.error("produce", "REQUEST_TIMED_OUT", served=True, topic="t")
    answer = produce(broker, ("t", 0), ("u", 0)).response
    assert codes(answer) == {("t", 0): error_codes.REQUEST_TIMED_OUT, ("u", 0): 0}
    assert ends(broker) == {("t", 0): 1, ("t", 1): 0, ("u", 0): 1}


def test_several_errors_strike_one_request_each_its_own_part(broker: DiskBroker) -> None:
    broker.faults.error("produce", "NOT_LEADER_OR_FOLLOWER", topic="t", partition=0)
    broker.faults.error("produce", "KAFKA_STORAGE_ERROR", topic="t", partition=1)
    broker.faults.error("produce", "MESSAGE_TOO_LARGE", topic="t", partition=0)
    answer = produce(broker, ("t", 0), ("t", 1)).response
    assert codes(answer) == {("t", 0): NOT_LEADER, ("t", 1): error_codes.KAFKA_STORAGE_ERROR}
    answer = produce(broker, ("t", 0), ("t", 1)).response
    assert codes(answer) == {("t", 0): error_codes.MESSAGE_TOO_LARGE, ("t", 1): 0}


def test_who_wants_no_answer_loses_the_connection(broker: DiskBroker) -> None:
    broker.faults.error("produce", "NOT_LEADER_OR_FOLLOWER")
    assert produce(broker, ("t", 0), acks=0).response is None
    assert broker.connection.close_after_reply
    assert ends(broker)["t", 0] == 0


def test_the_first_requests_may_be_let_through(broker: DiskBroker) -> None:
    fault = broker.faults.error("produce", "NOT_LEADER_OR_FOLLOWER", skip=2)
    found = [codes(produce(broker, ("t", 0)).response)["t", 0] for _ in range(4)]
    assert found == [0, 0, NOT_LEADER, 0]
    assert fault.hits == 1


def test_only_the_chosen_client_is_struck(broker: DiskBroker) -> None:
    broker.faults.error("produce", "NOT_LEADER_OR_FOLLOWER", principal="User:alice", times=None)
    broker.faults.error("produce", "INVALID_TIMESTAMP", client_id="other", times=None)
    assert codes(produce(broker, ("t", 0)).response)["t", 0] == 0
    broker.connection.principal = "User:alice"
    assert codes(produce(broker, ("t", 0)).response)["t", 0] == NOT_LEADER


# Fetches, whose sessions name partitions that the request does not


def fetched(response: Any) -> dict[tuple[str, int], tuple[int, int]]:
    return {
        (topic.topic, part.partition_index): (part.error_code, len(part.records or b""))
        for topic in response.responses
        for part in topic.partitions
    }


def session_fetch(session_id: int, epoch: int, *places: tuple[str, int]) -> FetchRequest:
    Topic = FetchRequest.Topic
    topics = [Topic(topic=topic, partitions=[Topic.Partition(partition=n, fetch_offset=0)]) for topic, n in places]
    for topic in topics:
        topic.partitions[0].partition_max_bytes = 1 << 20
    return FetchRequest(
        max_wait_ms=500, min_bytes=1, max_bytes=1 << 20, session_id=session_id, session_epoch=epoch, topics=topics
    )


def test_a_fetch_is_struck_through_its_session_and_does_not_wait(broker: DiskBroker) -> None:
    first = broker.call(session_fetch(0, 0, ("t", 0), ("u", 0)), 12) if produce(broker, ("u", 0)) else None
    assert first is not None and first.session_id
    broker.faults.error("fetch", "NOT_LEADER_OR_FOLLOWER", topic="t", partition=0)
    struck = broker.call(session_fetch(first.session_id, 1), 12)
    assert fetched(struck)["t", 0] == (NOT_LEADER, 0)
    produce(broker, ("t", 0))
    after = broker.call(session_fetch(first.session_id, 2), 12)
    assert fetched(after)["t", 0][0] == 0 and fetched(after)["t", 0][1] > 0


def test_an_error_for_all_of_a_fetch_stands_at_its_top(broker: DiskBroker) -> None:
    broker.faults.error("fetch", "FETCH_SESSION_ID_NOT_FOUND")
    assert broker.call(fetch_request("t", 0), 12).error_code == error_codes.FETCH_SESSION_ID_NOT_FOUND
    broker.faults.error("fetch", "OFFSET_OUT_OF_RANGE", topic="t")
    assert fetched(broker.call(fetch_request("t", 0), 4)) == {("t", 0): (error_codes.OFFSET_OUT_OF_RANGE, 0)}


# Metadata, which may ask for everything


def metadata(broker: DiskBroker, *names: str, version: int = 9) -> MetadataResponse:
    Topic = MetadataRequest.RequestTopic
    topics = [Topic(name=name) for name in names] if names else None
    return broker.call(MetadataRequest(topics=topics), version)  # type: ignore[no-any-return]


@pytest.mark.parametrize("names", [(), ("t", "u")])
@pytest.mark.parametrize("version", [1, 9, 12])
def test_metadata_holds_the_error_of_a_topic(broker: DiskBroker, names: tuple[str, ...], version: int) -> None:
    broker.faults.error("metadata", "LEADER_NOT_AVAILABLE", topic="t")
    found = {topic.name: (topic.error_code, len(topic.partitions)) for topic in metadata(broker, *names).topics}
    assert found == {"t": (error_codes.LEADER_NOT_AVAILABLE, 0), "u": (0, 1)}


def test_metadata_holds_the_error_of_a_partition(broker: DiskBroker) -> None:
    broker.faults.error("metadata", "LEADER_NOT_AVAILABLE", topic="t", partition=1)
    topics = {topic.name: topic for topic in metadata(broker).topics}
    found = [(part.partition_index, part.error_code, part.leader_id) for part in topics["t"].partitions]
    assert sorted(found) == [(0, 0, 1), (1, error_codes.LEADER_NOT_AVAILABLE, -1)]
    assert topics["t"].error_code == topics["u"].error_code == 0


# Groups


def commit(broker: DiskBroker, group: str, *places: tuple[str, int]) -> Any:
    Topic = OffsetCommitRequest.RequestTopic
    topics = [
        Topic(name=topic, partitions=[Topic.RequestPartition(partition_index=number, committed_offset=5)])
        for topic, number in places
    ]
    return broker.call(OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=topics), 8)


def test_offsets_of_one_partition_are_not_committed(broker: DiskBroker) -> None:
    broker.faults.error("offset_commit", "COORDINATOR_LOAD_IN_PROGRESS", group="g", topic="t", partition=1)
    assert {t.name: t.partitions[0].error_code for t in commit(broker, "other", ("t", 1)).topics} == {"t": 0}
    topics = commit(broker, "g", ("t", 0), ("t", 1)).topics
    found = [(t.name, p.partition_index, p.error_code) for t in topics for p in t.partitions]
    assert sorted(found) == [("t", 0, 0), ("t", 1, error_codes.COORDINATOR_LOAD_IN_PROGRESS)]
    Group = OffsetFetchRequest.RequestGroup
    (group,) = broker.call(OffsetFetchRequest(groups=[Group(group_id="g", topics=None)]), 8).groups
    assert [(t.name, p.partition_index) for t in group.topics for p in t.partitions] == [("t", 0)]


def test_one_group_of_several_is_refused(broker: DiskBroker) -> None:
    for group in ("g", "h"):
        commit(broker, group, ("t", 0))
    broker.faults.error("offset_fetch", "NOT_COORDINATOR", group="g")
    Group = OffsetFetchRequest.RequestGroup
    groups = [Group(group_id=name, topics=None) for name in ("g", "h")]
    found = broker.call(OffsetFetchRequest(groups=groups), 8).groups
    told = {g.group_id: (g.error_code, len(g.topics)) for g in found}
    assert told == {"g": (error_codes.NOT_COORDINATOR, 0), "h": (0, 1)}
    broker.faults.error("offset_fetch", "UNKNOWN_TOPIC_OR_PARTITION", topic="t", partition=0)
    (group, _) = broker.call(OffsetFetchRequest(groups=groups), 8).groups
    partition = group.topics[0].partitions[0]
    assert (group.error_code, partition.error_code) == (0, error_codes.UNKNOWN_TOPIC_OR_PARTITION)
    assert partition.committed_offset == -1
    broker.faults.error("describe_groups", "GROUP_AUTHORIZATION_FAILED", group="h")
    described = broker.call(DescribeGroupsRequest(groups=["g", "h"]), 5).groups
    assert {g.group_id: g.error_code for g in described} == {"g": 0, "h": error_codes.GROUP_AUTHORIZATION_FAILED}


def test_a_group_is_chosen_by_its_id(broker: DiskBroker) -> None:
    broker.faults.error("heartbeat", "REBALANCE_IN_PROGRESS", group="g", times=None)
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert broker.call(request, 4).error_code == error_codes.REBALANCE_IN_PROGRESS
    request.group_id = "other"
    assert broker.call(request, 4).error_code == error_codes.UNKNOWN_MEMBER_ID


# Waiting


def test_a_delayed_request_is_served_when_its_time_has_come(broker: DiskBroker) -> None:
    broker.faults.delay("produce", 500)
    pending = produce(broker, ("t", 0))
    broker.advance(0.4)
    assert pending.response is None and ends(broker)["t", 0] == 0
    broker.advance(0.2)
    assert codes(pending.response) == {("t", 0): 0} and ends(broker)["t", 0] == 1


def test_a_late_answer_is_to_a_request_that_was_served(broker: DiskBroker) -> None:
    broker.faults.delay("produce", 500, served=True)
    pending = produce(broker, ("t", 0))
    assert pending.response is None and ends(broker)["t", 0] == 1
    broker.advance(0.6)
    assert codes(pending.response) == {("t", 0): 0}


def test_held_requests_go_on_in_order_when_they_are_released(broker: DiskBroker) -> None:
    with broker.faults.hold("produce", topic="t") as held:
        pending = [produce(broker, ("t", 0)) for _ in range(3)]
        assert codes(produce(broker, ("u", 0)).response) == {("u", 0): 0}
        held.wait(3)
        held.release(1)
        assert [one.response is not None for one in pending] == [True, False, False]
        pending.append(produce(broker, ("t", 0)))
    offsets = [one.response.responses[0].partition_responses[0].base_offset for one in pending]
    assert offsets == [0, 1, 2, 3]


def test_a_held_fetch_waits_for_records_once_it_is_released(broker: DiskBroker) -> None:
    with broker.faults.hold("fetch"):
        pending = broker.send(fetch_request("t", 0), 12)
    assert pending.response is None
    produce(broker, ("t", 0))
    assert fetched(pending.response)["t", 0][1] > 0


@pytest.mark.parametrize("served", [False, True])
def test_a_held_request_that_is_refused_once_it_is_released_gets_the_refusal(broker: DiskBroker, served: bool) -> None:
    held = broker.faults.hold("heartbeat", group="g", served=served)
    pending = broker.send(HeartbeatRequest(group_id="g", generation_id=1, member_id="gone"), 4)
    assert pending.response is None
    held.release()
    assert pending.response.error_code == error_codes.UNKNOWN_MEMBER_ID


def test_a_held_answer_of_a_parked_call_is_given_when_both_are_over(broker: DiskBroker) -> None:
    held = broker.faults.hold("fetch", served=True)
    pending = broker.send(fetch_request("t", 0), 12)
    assert not held.waiting
    produce(broker, ("t", 0))
    assert held.waiting and pending.response is None
    held.release()
    assert fetched(pending.response)["t", 0][1] > 0


def test_a_delayed_request_can_fail_as_well(broker: DiskBroker) -> None:
    broker.faults.delay("join_group", 1000)
    broker.faults.error("join_group", "COORDINATOR_NOT_AVAILABLE", group="g")
    request = JoinGroupRequest(group_id="g", session_timeout_ms=10_000, protocol_type="consumer")
    pending = broker.send(request, 5)
    broker.advance(1.1)
    assert pending.response.error_code == error_codes.COORDINATOR_NOT_AVAILABLE


# Answers of the test's own, and records


def test_a_test_may_answer_itself(broker: DiskBroker) -> None:
    def answer(entry: Any) -> Any:
        return None if entry.version < 9 else MetadataResponse(cluster_id="elsewhere")

    with broker.faults.answer("metadata", answer):
        assert metadata(broker, version=9).cluster_id == "elsewhere"
        assert metadata(broker, version=8).cluster_id == broker.core.cluster.cluster_id
    assert metadata(broker, version=9).cluster_id == broker.core.cluster.cluster_id


def test_requests_are_recorded_with_who_sent_them(broker: DiskBroker) -> None:
    with broker.faults.record(most=2) as everything, broker.faults.record("produce", topic="u") as to_u:
        metadata(broker, "t")
        produce(broker, ("t", 0))
        produce(broker, ("t", 0), ("u", 0))
    metadata(broker)
    assert [(entry.api, entry.version) for entry in everything] == [("produce", 9)] * 2
    assert everything.forgotten == 1
    (entry,) = to_u
    assert (entry.client_id, entry.principal, entry.client_host) == ("test", "User:ANONYMOUS", "127.0.0.1")
    assert entry.at_ms == broker.clock.now_ms()
    assert [topic.name for topic in to_u.requests("produce")[0].topic_data] == ["t", "u"]
    to_u.wait(1)
    with pytest.raises(TimeoutError, match=r"1 of 2 requests of produce topic=u arrived within 0.01 s"):
        to_u.wait(2, timeout_s=0.01)


def test_without_faults_the_handlers_are_the_brokers_own(broker: DiskBroker) -> None:
    own = load_handlers()
    assert all(broker.dispatcher.handlers[key].handle is own[key].handle for key in own)
    fault = broker.faults.error("fetch", "NOT_LEADER_OR_FOLLOWER")
    wrapped = [key for key in own if broker.dispatcher.handlers[key].handle is not own[key].handle]
    assert wrapped == [FetchRequest.API_KEY]
    fault.remove()
    assert all(broker.dispatcher.handlers[key].handle is own[key].handle for key in own)


def test_faults_outlive_a_restart(broker: DiskBroker) -> None:
    broker.faults.error("produce", "NOT_LEADER_OR_FOLLOWER", topic="t")
    broker.restart()
    assert codes(produce(broker, ("t", 0)).response)["t", 0] == NOT_LEADER


# What cannot be said


@pytest.mark.parametrize(
    ("api", "error", "selectors", "told"),
    [
        ("produse", "NOT_COORDINATOR", {}, "unknown API 'produse'; did you mean produce?"),
        ("share_fetch", "NOT_COORDINATOR", {}, "cannot inject a fault into share_fetch: the bundled broker"),
        ("produce", "NOT_LEADER", {}, "unknown error 'NOT_LEADER'; did you mean NOT_LEADER"),
        ("produce", 0, {}, "unknown error '0'"),
        ("produce", "NONE", {}, "unknown error 'NONE'"),
        ("list_groups", "NOT_COORDINATOR", {"topic": "t"}, "requests of list_groups do not contain a topic"),
        ("produce", "NOT_COORDINATOR", {"group": "g"}, "requests of produce do not contain a group"),
        ("create_topics", "NOT_CONTROLLER", {"partition": 1}, "requests of create_topics do not contain a partition"),
        ("fetch", "NOT_COORDINATOR", {"transactional_id": "x"}, "requests of fetch do not contain a transactional id"),
        ("describe_log_dirs", "KAFKA_STORAGE_ERROR", {"topic": "t"}, "have no error per topic: omit topic"),
        ("list_partition_reassignments", "NOT_CONTROLLER", {"topic": "t"}, "have no error per topic"),
        (
            "fetch",
            "NOT_COORDINATOR",
            {"topic": "t", "partition": -1},
            "invalid partition -1: expected a number of at least 0",
        ),
        ("fetch", "NOT_COORDINATOR", {"principal": "alice"}, "invalid principal 'alice': expected User:alice"),
        ("fetch", "NOT_COORDINATOR", {"times": 0}, "invalid times 0: expected a number of at least 1"),
        ("fetch", "NOT_COORDINATOR", {"skip": -1}, "invalid skip -1: expected a number of at least 0"),
    ],
)
def test_what_kafka_does_not_have_is_refused(
    broker: DiskBroker, api: str, error: str | int, selectors: dict[str, Any], told: str
) -> None:
    with pytest.raises(ValueError, match=r".*") as caught:
        broker.faults.error(api, error, **selectors)
    assert told in str(caught.value)
    assert broker.faults.active() == []


LEVELS = {"group": "g", "topic": "t", "partition": 0}


@pytest.mark.parametrize("stem", sorted(handler.api.stem for handler in load_handlers().values()))
def test_an_error_has_its_place_in_every_version_of_every_api(broker: DiskBroker, stem: str) -> None:
    """Whatever may be said of an API is said where a client of each version finds it."""
    from kafka_tools.broker_embedded.faults import entries
    from kafka_tools.protocol import registry

    message = registry.api(stem).request
    handler = broker.dispatcher.handlers[message.API_KEY]
    said = [{}]
    for level, value in LEVELS.items():
        wanted = {**said[-1], level: value} if said[-1] or level == "topic" else {level: value}
        try:
            Selector(stem, **wanted).check_holds_error()
        except ValueError:
            continue
        said.append(wanted)
    for wanted in said:
        for version in range(handler.min_version, handler.max_version + 1):
            broker.faults.clear()
            broker.connection.close_after_reply = False
            fault = broker.faults.error(stem, "UNKNOWN_SERVER_ERROR", **wanted)
            request: Any = entries.sample(message, LEVELS)
            for field in message.FIELDS:  # what this version does not have
                if version not in field.versions:
                    setattr(request, field.name, field.make_default())
            if stem == "produce":
                request.acks = 1
            request = _with_ids(broker, request, version)
            answer = broker.send(request, version).response
            if request == message():  # it names nothing that could be in error
                continue
            if not fault.hits:  # this version names it in no way: DescribeGroups v0 has no such thing
                continue
            assert answer is not None, (version, wanted)
            paths = list(entries.paths_to_errors(answer, version))
            assert paths or getattr(answer, "error_code", 0) == error_codes.UNKNOWN_SERVER_ERROR, (version, wanted)


def _with_ids(broker: DiskBroker, item: Any, version: int) -> Any:
    """The request with topic ids where the version has no names, and without what it does not know."""
    for field in item.FIELDS:
        value = getattr(item, field.name)
        if field.kind == "array" and field.item.kind == "struct":
            for entry in value or ():
                _with_ids(broker, entry, version)
        if version not in field.versions:
            setattr(item, field.name, field.make_default())
        elif field.name == "topic_id" and not any(
            version in other.versions for other in item.FIELDS if other.name in ("name", "topic")
        ):
            item.topic_id = broker.core.cluster.topics["t"].id
    return item


def test_offsets_of_one_partition_are_not_listed(broker: DiskBroker) -> None:
    broker.faults.error("list_offsets", "OFFSET_NOT_AVAILABLE", topic="t", partition=0)
    Topic = ListOffsetsRequest.Topic
    wanted = [Topic.Partition(partition_index=number, timestamp=-1) for number in (0, 1)]
    (topic,) = broker.call(ListOffsetsRequest(replica_id=-1, topics=[Topic(name="t", partitions=wanted)]), 6).topics
    found = sorted((p.partition_index, p.error_code, p.offset) for p in topic.partitions)
    assert found == [(0, error_codes.OFFSET_NOT_AVAILABLE, -1), (1, 0, 0)]
