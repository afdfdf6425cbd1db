"""Coordinators' partitions are loaded beside the requests of others: who is told to wait, and that nothing is lost."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded.coordinators.offset_records import OffsetCommit, offset_record
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, TRANSACTION_STATE
from kafka_tools.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_tools.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, Topic
from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_tools.protocol.messages.create_partitions import CreatePartitionsRequest
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_tools.protocol.messages.end_txn import EndTxnRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.messages.list_transactions import ListTransactionsRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_delete import OffsetDeleteRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest
from kafka_tools.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafka_tools.records.batches import batches
from kafka_tools.values import TopicPartition
from tests.broker_embedded.coordinators.slow_start import PIECES, SlowStart, names_in, size_of, state
from tests.broker_embedded.disk_broker import DiskBroker
from tests.broker_embedded.transactional_client import Client, read

LOADING = codes.COORDINATOR_LOAD_IN_PROGRESS
FEW = {
    "offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
}  # fmt: skip
(LATE,), (SOON,) = names_in(0, 2), names_in(1, 2)
"""Groups whose partitions are loaded late, and at once."""
COMMITS = 400
EVERYTHING = 1 << 30


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[DiskBroker]:
    made = DiskBroker(tmp_path / "data", FEW)
    made.create("t", 3)
    made.create("u", 1)
    made.call(FindCoordinatorRequest(key="g"), 3)
    yield made
    made.core.close(clean=False)


@pytest.fixture
def start(broker: DiskBroker) -> SlowStart:
    return SlowStart(broker)


def fill(broker: DiskBroker, group: str, commits: int = COMMITS) -> None:
    """Commits in records of their own, the last of them offset ``commits`` - 1."""
    store = broker.core.groups.store
    for offset in range(commits):
        committed = OffsetCommit(offset, -1, "", broker.clock.now_ms())
        store.write(group, [offset_record(group, TopicPartition("t", 0), committed)])


def commit(broker: DiskBroker, group: str, offset: int, topic: str = "t", partition: int = 0) -> int:
    Asked = OffsetCommitRequest.RequestTopic
    at = Asked.RequestPartition(partition_index=partition, committed_offset=offset)
    request = OffsetCommitRequest(
        group_id=group, generation_id_or_member_epoch=-1, topics=[Asked(name=topic, partitions=[at])]
    )
    return int(broker.call(request, 8).topics[0].partitions[0].error_code)


def committed(broker: DiskBroker, group: str, *, stable: bool = False) -> Any:
    """Offset by topic and partition, or the group's error code."""
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequest.RequestGroup(group_id=group, topics=None)], require_stable=stable
    )
    (answer,) = broker.call(request, 8).groups
    if answer.error_code:
        return answer.error_code
    return {
        (topic.name, found.partition_index): found.committed_offset
        for topic in answer.topics
        for found in topic.partitions
    }


def topics_of(request: Any) -> Any:
    return [request.RequestTopic(name="t", partitions=[request.RequestTopic.RequestPartition(partition_index=0)])]


def fetch_before_8(broker: DiskBroker, version: int, stable: bool) -> set[int]:
    Asked = OffsetFetchRequest.RequestTopic
    request = OffsetFetchRequest(
        group_id=LATE, topics=[Asked(name="t", partition_indexes=[0, 1])], require_stable=stable and version >= 7
    )
    answer = broker.call(request, version)
    if version < 2:  # which have no place for it but the partitions
        return {each.error_code for topic in answer.topics for each in topic.partitions}
    return {answer.error_code}


ASKED: Mapping[str, Callable[[DiskBroker], Any]] = {
    "JoinGroup": lambda b: b.call(
        JoinGroupRequest(group_id=LATE, session_timeout_ms=30_000, rebalance_timeout_ms=1, protocol_type="consumer"), 4
    ).error_code,
    "LeaveGroup before 3": lambda b: b.call(LeaveGroupRequest(group_id=LATE, member_id="m"), 2).error_code,
    "LeaveGroup": lambda b: b.call(
        LeaveGroupRequest(group_id=LATE, members=[LeaveGroupRequest.MemberIdentity(member_id="m")]), 5
    ).error_code,
    "OffsetCommit": lambda b: commit(b, LATE, 1),
    "OffsetFetch": lambda b: committed(b, LATE),
    "OffsetFetch, stable": lambda b: committed(b, LATE, stable=True),
    "OffsetFetch 1": lambda b: fetch_before_8(b, 1, False).pop(),
    "OffsetFetch 7": lambda b: fetch_before_8(b, 7, False).pop(),
    "OffsetFetch 7, stable": lambda b: fetch_before_8(b, 7, True).pop(),
    "OffsetDelete": lambda b: b.call(
        OffsetDeleteRequest(
            group_id=LATE,
            topics=[OffsetDeleteRequest.RequestTopic(
                name="t", partitions=[OffsetDeleteRequest.RequestTopic.RequestPartition(partition_index=0)]
            )],
        ), 0
    ).error_code,
    "DescribeGroups": lambda b: b.call(DescribeGroupsRequest(groups=[LATE]), 6).groups[0].error_code,
    "DeleteGroups": lambda b: b.call(DeleteGroupsRequest(groups_names=[LATE]), 2).results[0].error_code,
    "ListGroups": lambda b: b.call(ListGroupsRequest(), 5).error_code,
    "ConsumerGroupHeartbeat": lambda b: b.call(
        ConsumerGroupHeartbeatRequest(
            group_id=LATE, member_id="m", member_epoch=0, rebalance_timeout_ms=1, subscribed_topic_names=["t"],
            topic_partitions=[],
        ), 1
    ).error_code,
    "ConsumerGroupDescribe": lambda b: b.call(
        ConsumerGroupDescribeRequest(group_ids=[LATE]), 1
    ).groups[0].error_code,
    "TxnOffsetCommit": lambda b: b.call(
        TxnOffsetCommitRequest(
            transactional_id="tx", group_id=LATE, producer_id=0, producer_epoch=0,
            topics=topics_of(TxnOffsetCommitRequest),
        ), 3
    ).topics[0].partitions[0].error_code,
}  # fmt: skip
"""What is asked of a group coordinator -> how, and the error code in the answer."""


@pytest.mark.req("GC-4", "GC-49")
def test_whoever_asks_for_a_group_that_is_being_loaded_is_told_so(broker: DiskBroker, start: SlowStart) -> None:
    fill(broker, LATE)
    assert commit(broker, SOON, 5) == 0
    start.restart(size_of(broker, 1))
    assert {name: ask(broker) for name, ask in ASKED.items()} == dict.fromkeys(ASKED, LOADING)
    sync = SyncGroupRequest(group_id=LATE, generation_id=1, member_id="m", protocol_type="c", protocol_name="p")
    assert broker.call(sync, 5).error_code == codes.REBALANCE_IN_PROGRESS
    beat = HeartbeatRequest(group_id=LATE, generation_id=1, member_id="m")
    assert broker.call(beat, 4).error_code == 0, "as in Kafka: no session can end now"
    assert committed(broker, SOON) == {("t", 0): 5} and commit(broker, SOON, 6) == 0, "another partition is served"
    assert broker.call(DescribeGroupsRequest(groups=[SOON]), 6).groups[0].group_state == "Empty"
    assert broker.call(FindCoordinatorRequest(key=LATE), 3).error_code == 0
    start.finish()
    answers = {name: ask(broker) for name, ask in ASKED.items() if name.startswith(("OffsetFetch", "List"))}
    assert LOADING not in answers.values()
    assert committed(broker, LATE) == {("t", 0): COMMITS - 1} and committed(broker, SOON) == {("t", 0): 6}
    assert broker.call(sync, 5).error_code == broker.call(beat, 4).error_code == codes.UNKNOWN_MEMBER_ID
    assert {group.group_id for group in broker.call(ListGroupsRequest(), 4).groups} == {LATE, SOON}
    assert commit(broker, LATE, 9) == 0


@pytest.mark.req("GC-49")
def test_what_is_wrong_with_the_request_itself_is_told_first(broker: DiskBroker, start: SlowStart) -> None:
    fill(broker, LATE)
    start.restart()
    assert broker.call(HeartbeatRequest(group_id=""), 4).error_code == codes.INVALID_GROUP_ID
    sync = SyncGroupRequest(group_id="", protocol_type="c", protocol_name="p")
    assert broker.call(sync, 5).error_code == codes.INVALID_GROUP_ID
    short = JoinGroupRequest(group_id=LATE, session_timeout_ms=1, protocol_type="consumer")
    assert broker.call(short, 4).error_code == codes.INVALID_SESSION_TIMEOUT


@pytest.mark.req("GC-19")
def test_others_are_served_between_a_few_records_and_the_next(broker: DiskBroker, start: SlowStart) -> None:
    fill(broker, LATE)
    start.restart()
    steps = 0
    while start.under_way:
        assert broker.produce("t", broker.batch(b"%d" % steps)).error_code == 0
        start.step()
        steps += 1
    assert steps >= COMMITS // PIECES, "a slice is over after a few records, however many there are"
    assert len(read(broker)) == steps


@pytest.mark.req("GC-19")
def test_the_smallest_partitions_come_first_and_small_ones_before_anybody_is_served(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data", {**FEW, "offsets.topic.num.partitions": "4"})
    broker.create("t")
    broker.call(FindCoordinatorRequest(key="g"), 3)
    groups = [names_in(number, 4)[0] for number in range(4)]
    for group, commits in zip(groups, (300, 10, 200, 20), strict=True):
        fill(broker, group, commits)
    start = SlowStart(broker)
    start.restart(size_of(broker, 1) + size_of(broker, 3))
    loaded = [group for group in groups if committed(broker, group) != LOADING]
    assert loaded == [groups[1], groups[3]]
    while committed(broker, groups[2]) == LOADING:
        assert committed(broker, groups[0]) == LOADING
        start.step()
    assert committed(broker, groups[0]) == LOADING
    start.finish()
    assert [committed(broker, group)["t", 0] for group in groups] == [299, 9, 199, 19]
    broker.core.close()


def test_an_ordinary_start_leaves_nothing_to_be_loaded(broker: DiskBroker) -> None:
    fill(broker, LATE)
    assert Client(broker).init() == 0
    broker.restart(kill=True)
    assert len(broker.core.loading) == 0
    assert committed(broker, LATE) == {("t", 0): COMMITS - 1}


@pytest.mark.req("GC-19")
def test_a_partition_that_turns_out_to_be_damaged_is_told_and_the_others_are_loaded(
    broker: DiskBroker, start: SlowStart, caplog: pytest.LogCaptureFixture
) -> None:
    fill(broker, LATE)
    fill(broker, SOON, COMMITS + 1)
    broker.core.close()
    path = broker.path / f"{CONSUMER_OFFSETS}-0" / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    *_, hurt, _ = batches(bytes(data))  # a sound batch is behind it, so that no end is cut off at the start
    data[hurt.position + hurt.size_bytes - 3] ^= 0x10
    path.write_bytes(data)
    start.open()
    assert committed(broker, LATE) == LOADING
    start.finish()
    assert committed(broker, LATE) == commit(broker, LATE, 1) == codes.NOT_COORDINATOR
    assert committed(broker, SOON) == {("t", 0): COMMITS}
    assert [group.group_id for group in broker.call(ListGroupsRequest(), 4).groups] == [SOON], "as in Kafka"
    assert f"{path} at " in caplog.text and "kafka-tools broker mend" in caplog.text
    assert f"the CRC of the batch at offset {COMMITS - 2} does not match" in caplog.text
    assert path.read_bytes() == data, "nothing is written to what is damaged"


def test_a_kill_in_the_midst_of_it_loses_nothing(broker: DiskBroker, start: SlowStart) -> None:
    fill(broker, LATE)
    for steps in (0, 1, COMMITS // PIECES // 2, 10_000):
        start.restart()
        for _ in range(steps):
            if start.under_way:
                start.step()
    assert committed(broker, LATE) == {("t", 0): COMMITS - 1}


# transactions


def in_transaction(broker: DiskBroker, id: str, group: str, offset: int) -> Client:
    client = Client(broker, id)
    assert client.init() == client.add_offsets(group) == client.commit_offset(offset, group=group) == 0
    return client


def all_but_late(broker: DiskBroker) -> int:
    """How many bytes of logs are there, but for the partition of the group that is loaded late."""
    return size_of(broker, 1) + sum(size_of(broker, number, TRANSACTION_STATE) for number in (0, 1))


@pytest.mark.parametrize("commits", [True, False])
def test_a_transaction_that_ends_meanwhile_is_seen_by_the_group_that_is_loaded(
    broker: DiskBroker, start: SlowStart, commits: bool
) -> None:
    """The marker comes when nothing of the partition is read, when half of it is, and in the last steps of loading."""
    fill(broker, LATE)
    start.restart(EVERYTHING)
    for behind in (0, 20, 50, 51, 52, 53, 54, 1000):
        client = in_transaction(broker, "tx", LATE, 7000 + behind)
        before = committed(broker, LATE)
        start.restart(all_but_late(broker))
        assert committed(broker, LATE) == LOADING
        for _ in range(behind):
            if start.under_way and committed(broker, LATE) == LOADING:
                start.step()
        assert client.end(commits) == 0
        start.finish()
        expected = {("t", 0): 7000 + behind} if commits else before
        assert committed(broker, LATE) == committed(broker, LATE, stable=True) == expected
        start.restart(EVERYTHING)
        assert committed(broker, LATE) == expected, "what memory holds is what the log says"


def test_what_is_open_when_the_broker_dies_stays_open(broker: DiskBroker, start: SlowStart) -> None:
    fill(broker, LATE)
    client = in_transaction(broker, "tx", LATE, 7000)
    start.restart()
    start.finish()
    request = OffsetFetchRequest(
        group_id=LATE, topics=[OffsetFetchRequest.RequestTopic(name="t", partition_indexes=[0])], require_stable=True
    )
    assert broker.call(request, 7).topics[0].partitions[0].error_code == codes.UNSTABLE_OFFSET_COMMIT
    assert client.end(True) == 0
    assert committed(broker, LATE) == {("t", 0): 7000}


@pytest.mark.req("TX-9")
def test_whoever_asks_for_a_transactional_id_that_is_being_loaded_is_told_so(
    broker: DiskBroker, start: SlowStart
) -> None:
    (late,), (soon,) = names_in(0, 2, start="tx"), names_in(1, 2, start="tx")
    client, other = Client(broker, late), Client(broker, soon)
    assert other.init() == 0
    for _ in range(60):
        assert client.init() == client.add(0)[0] == 0 and client.produce(b"a").error_code == 0
        assert client.end(True) == 0
    assert client.init() == 0
    start.restart(size_of(broker, 1, TRANSACTION_STATE))

    def answers(id: str | None) -> dict[str, int]:
        adding = AddPartitionsToTxnRequest(v3_and_below_transactional_id=id or "")
        adding.v3_and_below_topics = [Topic(name="t", partitions=[0])]
        verified = AddPartitionsToTxnRequest.Transaction(
            transactional_id=id or "", verify_only=True, topics=[Topic(name="t", partitions=[0])]
        )
        found = {
            "EndTxn": broker.call(EndTxnRequest(transactional_id=id or ""), 4).error_code,
            "AddOffsetsToTxn": broker.call(
                AddOffsetsToTxnRequest(transactional_id=id or "", group_id=SOON), 3
            ).error_code,
            "AddPartitionsToTxn": broker.call(adding, 3)
            .results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code,
            "verification": broker.call(AddPartitionsToTxnRequest(transactions=[verified]), 5)
            .results_by_transaction[0].topic_results[0].results_by_partition[0].partition_error_code,
            "DescribeTransactions": broker.call(DescribeTransactionsRequest(transactional_ids=[id or ""]), 0)
            .transaction_states[0].error_code,
        }  # fmt: skip
        init = InitProducerIdRequest(transactional_id=id, transaction_timeout_ms=1000)
        return {**found, "InitProducerId": broker.call(init, 4).error_code} if id is not None else found

    assert set(answers(late).values()) == {LOADING}
    assert set(answers("").values()) == {codes.INVALID_REQUEST}, "which is looked at first"
    listed = broker.call(ListTransactionsRequest(), 1)
    assert (listed.error_code, listed.transaction_states) == (LOADING, [])
    assert client.produce(b"b").error_code == codes.NOT_ENOUGH_REPLICAS, "which producers try again"
    assert other.add(0) == [0] and other.end(True) == 0, "an id of another partition is served"
    plain = broker.call(InitProducerIdRequest(transactional_id=None), 4)
    assert plain.error_code == 0 and plain.producer_id > client.producer_id
    start.finish()
    assert client.add(0) == [0] and client.end(True) == 0
    assert len(broker.call(ListTransactionsRequest(), 1).transaction_states) == 2


def test_no_producer_gets_an_id_that_is_yet_to_be_read(broker: DiskBroker, start: SlowStart) -> None:
    client = Client(broker)
    for _ in range(60):
        assert client.init() == 0
    start.restart()
    plain = broker.call(InitProducerIdRequest(transactional_id=None), 4)
    assert plain.error_code == 0 and plain.producer_id > client.producer_id
    start.finish()
    assert client.init() == 0


def test_what_was_decided_goes_on_when_its_partition_is_loaded(
    broker: DiskBroker, start: SlowStart, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(broker, LATE)
    client = in_transaction(broker, "tx", LATE, 7000)
    assert client.add(0) == [0] and client.produce(b"a").error_code == 0
    with monkeypatch.context() as patched:
        patched.setattr(broker.core.markers, "write", lambda marker, at: codes.KAFKA_STORAGE_ERROR)
        assert client.end(True) == 0
    start.restart()
    assert read(broker) == [] and broker.call(ListTransactionsRequest(), 1).error_code == LOADING
    start.finish()
    broker.advance(1)
    assert read(broker) == [b"a"]
    assert client.state().transaction_state == "CompleteCommit"
    assert committed(broker, LATE) == {("t", 0): 7000}


# what goes over all groups


def test_what_expires_waits_until_it_is_loaded(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data", {**FEW, "offsets.retention.minutes": "1"})
    broker.create("t")
    broker.call(FindCoordinatorRequest(key="g"), 3)
    fill(broker, LATE)
    assert commit(broker, SOON, 5) == 0
    start = SlowStart(broker)
    start.restart(size_of(broker, 1))
    start.step()
    length = size_of(broker, 0)
    start.clock.advance(605)
    for _ in range(20):
        start.step()
    assert committed(broker, LATE) == LOADING and size_of(broker, 0) == length
    assert committed(broker, SOON) == {}
    start.finish()
    assert committed(broker, LATE) == {("t", 0): COMMITS - 1}
    broker.advance(601)
    broker.advance(1)
    assert committed(broker, LATE) == {}
    broker.core.close()


def test_a_topic_that_is_deleted_meanwhile_leaves_no_offsets(broker: DiskBroker, start: SlowStart) -> None:
    fill(broker, LATE)
    for group in (LATE, SOON):
        assert commit(broker, group, 5, "u") == 0
    start.restart(size_of(broker, 1))
    start.step()
    deleted = broker.call(DeleteTopicsRequest(topic_names=["u"], timeout_ms=1000), 5)
    assert deleted.responses[0].error_code == 0
    broker.create("u")
    assert committed(broker, SOON) == {}
    assert commit(broker, SOON, 6, "u") == 0, "of the new topic"
    start.finish()
    assert committed(broker, LATE) == {("t", 0): COMMITS - 1}
    assert committed(broker, SOON) == {("u", 0): 6}
    start.restart(EVERYTHING)
    assert committed(broker, LATE) == {("t", 0): COMMITS - 1}
    assert committed(broker, SOON) == {("u", 0): 6}


def test_when_the_log_itself_is_deleted_there_is_nothing_to_be_loaded(
    broker: DiskBroker, start: SlowStart, caplog: pytest.LogCaptureFixture
) -> None:
    fill(broker, LATE)
    assert Client(broker).init() == 0
    start.restart()
    start.step()
    for topic in (CONSUMER_OFFSETS, TRANSACTION_STATE):
        deleted = broker.call(DeleteTopicsRequest(topic_names=[topic], timeout_ms=1000), 5)
        assert deleted.responses[0].error_code == 0
    start.finish()
    assert "cannot load " not in caplog.text and broker.core.groups.store.groups == {}
    broker.call(FindCoordinatorRequest(key="g"), 3)
    assert committed(broker, LATE) == {} and commit(broker, LATE, 3) == 0
    assert Client(broker).init() == 0
    start.restart(EVERYTHING)
    assert committed(broker, LATE) == {("t", 0): 3}


def test_a_log_that_gets_more_partitions_meanwhile_hides_no_offsets(broker: DiskBroker, start: SlowStart) -> None:
    """The group's id belongs to another partition then, of which nothing has to be loaded."""
    moved = next(name for name in names_in(0, 2, 50) if name in names_in(2, 4, 50) + names_in(3, 4, 50))
    fill(broker, moved)
    start.restart()
    wanted = CreatePartitionsRequest.Topic(name=CONSUMER_OFFSETS, count=4, assignments=None)
    grown = broker.call(CreatePartitionsRequest(topics=[wanted], timeout_ms=1000), 3)
    assert grown.results[0].error_code == 0
    assert committed(broker, moved) == LOADING
    start.finish()
    assert committed(broker, moved) == {("t", 0): COMMITS - 1}
    assert commit(broker, moved, 9999) == 0
    for at_once in (0, EVERYTHING):
        start.restart(at_once)
        start.finish()
        assert committed(broker, moved) == {("t", 0): 9999}, "its own partition's word, in whatever order they come"


def test_nothing_is_compacted_away_while_it_is_read(broker: DiskBroker, start: SlowStart) -> None:
    """A tombstone that went before it is read would bring back what it removed."""
    fill(broker, LATE)
    fill(broker, SOON)
    start.restart()
    cleaner = broker.core.partitions.cleaner
    offsets = {TopicPartition(CONSUMER_OFFSETS, 0), TopicPartition(CONSUMER_OFFSETS, 1)}
    assert not offsets & {each.id for each in cleaner._compacted()}
    start.finish()
    assert offsets <= {each.id for each in cleaner._compacted()}


def test_a_log_that_is_rolled_and_cut_while_it_is_read_is_read_to_its_end(broker: DiskBroker, start: SlowStart) -> None:
    fill(broker, LATE)
    client = in_transaction(broker, "tx", LATE, 7000)
    start.restart(all_but_late(broker))
    found = broker.core.partitions.get(CONSUMER_OFFSETS, 0)
    assert found is not None
    start.step()
    found.log.roll()
    start.step()
    assert client.end(True) == 0
    start.step()
    found.log.delete_before(found.log.segments[-1].base_offset)
    assert len(found.log.segments) == 1 and committed(broker, LATE) == LOADING
    start.finish()
    assert committed(broker, LATE)["t", 0] < 100, "the transaction's offset was cut off before it was read"


# beside a start that reads everything first


@pytest.mark.parametrize("seed", range(4))
def test_what_is_loaded_in_slices_is_what_is_loaded_at_once(broker: DiskBroker, start: SlowStart, seed: int) -> None:
    choice = random.Random(seed)
    groups = [f"g{number}" for number in range(12)]
    clients = [Client(broker, f"tx{number}", bumps=bool(number % 2)) for number in range(4)]
    for client in clients:
        assert client.init() == 0
    open_in: dict[str, set[str]] = {client.id: set() for client in clients}

    def busy(count: int) -> None:
        for _ in range(count):
            group, client = choice.choice(groups), choice.choice(clients)
            match choice.randrange(8):
                case 0 | 1 | 2:
                    commit(broker, group, choice.randrange(1000), choice.choice("tu"), 0)
                case 3:
                    broker.call(DeleteGroupsRequest(groups_names=[group]), 2)
                case 4 | 5:
                    if client.bumps or group in open_in[client.id] or client.add_offsets(group) == 0:
                        code = client.commit_offset(
                            choice.randrange(1000), group=group, version=5 if client.bumps else 3
                        )
                        open_in[client.id] |= {group} if code in (0, LOADING) else set()
                case 6:
                    client.end(choice.random() < 0.6)
                    open_in[client.id].clear()
                case 7:
                    member = ConsumerGroupHeartbeatRequest(
                        group_id=group, member_id=f"m{choice.randrange(3)}", member_epoch=choice.choice((0, -1)),
                        rebalance_timeout_ms=60_000, subscribed_topic_names=["t"], topic_partitions=[],
                    )  # fmt: skip
                    broker.send(member, 1)

    busy(400)
    for _ in range(3):
        start.restart()
        while start.under_way:
            start.step()
            if choice.random() < 0.3:
                busy(1)
        broker.advance(1)
        beside = state(broker)
        start.restart(EVERYTHING)
        broker.advance(1)
        at_once = state(broker)
        for each in (beside, at_once):  # what only memory has: when and by whom something was last asked
            each["transactions"] = {id: found._replace(last_epoch=-1) for id, found in each["transactions"].items()}
        assert beside == at_once
        busy(50)


# what is in force


@pytest.mark.req("TX-19")
def test_the_settings_of_transactions_are_in_force(tmp_path: Path) -> None:
    """What one broker makes different is told in docs/decisions.md: one replica, and no buffer to read into."""
    asked = {
        "transactional.id.expiration.ms": "90000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "30000",
        "transaction.max.timeout.ms": "5000",
        "transaction.state.log.num.partitions": "3",
        "transaction.state.log.segment.bytes": "2097152",
        "transaction.state.log.replication.factor": "3",
        "transaction.state.log.min.isr": "2",
        "transaction.state.log.load.buffer.size": "1",
    }
    broker = DiskBroker(tmp_path / "data", asked)
    client = Client(broker, timeout_ms=5001)
    assert client.init() == codes.INVALID_TRANSACTION_TIMEOUT
    client.timeout_ms = 5000
    assert client.init() == 0
    topic = broker.core.cluster.topics[TRANSACTION_STATE]
    assert [len(each.replicas) for each in topic.partitions.values()] == [1, 1, 1]
    assert broker.core.configs.topic(TRANSACTION_STATE).integer("segment.bytes") == 2097152
    broker.restart(kill=True)
    for _ in range(2):
        broker.advance(30)
    assert client.state().transaction_state == "Empty"
    for _ in range(3):
        broker.advance(30)
    assert client.state().error_code == codes.TRANSACTIONAL_ID_NOT_FOUND, "nobody has used it for 90 seconds"
    broker.core.close()


@pytest.mark.parametrize("named", [{}, {"group": LATE}, {"group": LATE, "transactional_id": "tx"}])
def test_a_test_can_hold_the_loading_of_coordinators(broker: DiskBroker, named: dict[str, str]) -> None:
    for group in (LATE, SOON):
        assert commit(broker, group, 3) == codes.NONE
    client = Client(broker)
    client.init()
    held = broker.faults.hold_loading(**named)
    assert committed(broker, LATE) == {("t", 0): 3}, "from the next start on"
    broker.restart(kill=True)
    for _ in range(3):
        broker.advance(1)
        assert committed(broker, LATE) == LOADING
        assert committed(broker, SOON) == ({("t", 0): 3} if named else LOADING)
        assert client.init() == (codes.NONE if list(named) == ["group"] else LOADING)
    other = broker.faults.hold_loading(group=LATE)
    held.release()
    broker.advance(0)
    assert committed(broker, LATE) == LOADING, "as long as anybody holds it"
    assert committed(broker, SOON) == {("t", 0): 3}
    assert client.init() == codes.NONE
    broker.faults.clear()
    broker.advance(0)
    assert not broker.core.loading
    assert committed(broker, LATE) == {("t", 0): 3}
    other.release()
    with broker.faults.hold_loading():
        broker.restart()
        assert broker.call(ListGroupsRequest(), 5).error_code == LOADING
    broker.advance(0)
    assert broker.call(ListGroupsRequest(), 5).error_code == codes.NONE
