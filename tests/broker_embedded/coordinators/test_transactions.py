"""Transactions on a whole broker: what is asked, in every version, what is in the logs, what a start goes on with."""

from __future__ import annotations

import errno
import itertools
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.configs.limits import BrokerLimits
from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorLog
from kafka_tools.broker_embedded.handlers import _offset_topics
from kafka_tools.broker_embedded.handlers._offset_topics import known_topic
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.codec import decode_versioned
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, TRANSACTION_STATE, TransactionState
from kafka_tools.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_tools.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, Topic
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.delete_records import DeleteRecordsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_tools.protocol.messages.end_txn import EndTxnRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafka_tools.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from kafka_tools.protocol.stored.transaction_log import TransactionLogValue
from kafka_tools.records.batches import batches
from kafka_tools.storage.log.partition_log import PartitionLog
from kafka_tools.values import TopicPartition
from tests.broker_embedded.disk_broker import DiskBroker, fetch_request
from tests.broker_embedded.transactional_client import Client, read, read_from

FEW = {"transaction.state.log.num.partitions": "2", "offsets.topic.num.partitions": "2"}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[DiskBroker]:
    made = DiskBroker(tmp_path / "data", FEW)
    made.create("t", 3)
    yield made
    made.core.close()


def fetched(broker: DiskBroker, *, stable: bool = False, version: int = 7, group: str = "g") -> tuple[int, int]:
    """(offset, error code) of what the group has committed for t-0."""
    Asked = OffsetFetchRequest.RequestTopic
    request = OffsetFetchRequest(group_id=group, topics=[Asked(name="t", partition_indexes=[0])], require_stable=stable)
    found = broker.call(request, version).topics[0].partitions[0]
    return found.committed_offset, found.error_code


@pytest.mark.req("TX-13", "TX-14", "TX-24", "GAP-18")
@pytest.mark.parametrize("bumps", [False, True])
def test_what_is_committed_is_read_and_what_is_aborted_is_not(broker: DiskBroker, bumps: bool) -> None:
    client = Client(broker, bumps=bumps)
    assert client.init() == 0
    for commit in (True, False, True):
        if not bumps:
            assert client.add(0, 1) == [0, 0]
        assert client.produce(b"%d-a" % commit).error_code == 0
        assert client.produce(b"%d-b" % commit, b"%d-c" % commit, partition=1).error_code == 0
        assert client.state().transaction_state == "Ongoing"
        before = read(broker)
        assert (b"%d-a" % commit) not in before[-1:] or before.count(b"1-a") == 1, "the last stable offset hides it"
        assert client.end(commit) == 0
        assert client.state().transaction_state == ("CompleteCommit" if commit else "CompleteAbort")
        assert client.state().topics == []
    assert read(broker) == [b"1-a", b"1-a"]
    assert read(broker, 1) == [b"1-b", b"1-c"] * 2
    assert read(broker, committed=False) == [b"1-a", b"0-a", b"1-a"]


@pytest.mark.req("TX-13")
@pytest.mark.parametrize(("commit", "kind"), [(True, "Commit"), (False, "Abort")])
def test_the_decision_is_in_the_log_before_the_first_marker(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch, commit: bool, kind: str
) -> None:
    client = Client(broker)
    client.init()
    client.add(0)
    client.produce(b"a")
    (log_of_t,) = [held.log for held in broker.core.partitions if held.id == TopicPartition("t", 0)]
    append = CoordinatorLog.append_batch
    seen: list[tuple[str, int]] = []
    values = dict.fromkeys((0, 1), TransactionLogValue)

    def noted(self: CoordinatorLog, partition: int, batch: bytes, **rest: Any) -> None:
        if self.topic == TRANSACTION_STATE:
            for record in next(batches(batch)).records():
                _, value = decode_versioned(values, bytes(record.value or b""))
                seen.append((TransactionState.all[value.transaction_status], log_of_t.log_end_offset))
        append(self, partition, batch, **rest)

    monkeypatch.setattr(CoordinatorLog, "append_batch", noted)
    assert client.end(commit) == 0
    assert seen == [(f"Prepare{kind}", 1), (f"Complete{kind}", 2)], "the marker is the second record of t-0"


def test_nothing_of_an_open_transaction_or_behind_it_is_read(broker: DiskBroker) -> None:
    client = Client(broker)
    client.init()
    client.add(0)
    client.produce(b"open")
    broker.produce("t", broker.batch(b"plain"))
    assert read(broker) == []
    assert read(broker, committed=False) == [b"open", b"plain"]
    parked = broker.send(fetch_request("t", 0, isolation_level=1, max_wait_ms=60_000), 11)
    assert parked.response is None
    client.end(True)
    assert parked.response is not None, "the marker wakes those who wait"
    assert read(broker) == [b"open", b"plain"]


def test_where_an_open_transaction_is_deleted_the_stable_end_is_the_start_of_the_log(broker: DiskBroker) -> None:
    """A consumer that asks for the end and goes there must not be told that the log does not reach so far back."""
    client = Client(broker)
    client.init()
    client.add(0)
    client.produce(b"a", b"b", b"c")
    broker.produce("t", broker.batch(b"d"))
    Deleted, Listed = DeleteRecordsRequest.Topic, ListOffsetsRequest.Topic
    asked = Deleted(name="t", partitions=[Deleted.Partition(partition_index=0, offset=2)])
    broker.call(DeleteRecordsRequest(topics=[asked], timeout_ms=1000), 2)
    latest = Listed(name="t", partitions=[Listed.Partition(partition_index=0, timestamp=-1)])
    listed = broker.call(ListOffsetsRequest(isolation_level=1, topics=[latest]), 5).topics[0].partitions[0]
    assert (listed.error_code, listed.offset) == (0, 2)
    read_committed = fetch_request("t", 2, isolation_level=1, max_wait_ms=0)
    fetched = broker.call(read_committed, 11).responses[0].partitions[0]
    assert (fetched.error_code, fetched.log_start_offset, fetched.last_stable_offset) == (0, 2, 2)
    assert client.end(True) == 0
    assert read_from(broker, "t", 0, 2)[0][-2:] == [b"c", b"d"]


@pytest.mark.req("TX-4")
def test_ids_and_timeouts_that_are_refused(broker: DiskBroker) -> None:
    assert Client(broker, "").init() == codes.INVALID_REQUEST
    for timeout_ms in (0, -1, 900_001):
        assert Client(broker, timeout_ms=timeout_ms).init() == codes.INVALID_TRANSACTION_TIMEOUT
    assert Client(broker, timeout_ms=900_000).init() == 0
    client = Client(broker)
    assert client.init(producer_id=3) == client.init(producer_epoch=3) == codes.INVALID_REQUEST
    plain = broker.call(InitProducerIdRequest(transactional_id=None), 4)
    assert (plain.error_code, plain.producer_epoch) == (0, 0)


@pytest.mark.req("TX-9", "TX-26")
def test_without_its_log_nobody_coordinates(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data", FEW)
    broker.create("t")
    request = InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=1000)
    assert broker.call(request, 4).error_code == codes.NOT_COORDINATOR
    late = InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=900_001)
    assert broker.call(late, 4).error_code == codes.INVALID_TRANSACTION_TIMEOUT, "which is looked at first"
    for id, expected in (("", codes.INVALID_REQUEST), ("tx", codes.NOT_COORDINATOR)):
        assert broker.call(EndTxnRequest(transactional_id=id), 3).error_code == expected
        assert broker.call(AddOffsetsToTxnRequest(transactional_id=id, group_id="g"), 3).error_code == expected
        adding = AddPartitionsToTxnRequest(v3_and_below_transactional_id=id)
        adding.v3_and_below_topics = [Topic(name="t", partitions=[0])]
        (answer,) = broker.call(adding, 3).results_by_topic_v3_and_below
        assert [each.partition_error_code for each in answer.results_by_partition] == [expected]
    plain = broker.call(InitProducerIdRequest(transactional_id=None), 4)
    assert (plain.error_code, plain.producer_id, plain.producer_epoch) == (0, 0, 0), "any broker gives out ids"
    client = Client(broker)
    assert client.init() == 0
    broker.core.close()


@pytest.mark.req("PROD-3")
def test_a_producer_may_not_ask_for_more_time_than_the_broker_gives(tmp_path: Path) -> None:
    with EmbeddedBroker(config={"transaction.max.timeout.ms": 5000}) as running:
        settings = {"bootstrap.servers": running.bootstrap_servers, "transactional.id": "tx"}
        patient = Producer({**settings, "transaction.timeout.ms": 5001})
        with pytest.raises(KafkaException) as refused:
            patient.init_transactions(60)
        assert refused.value.args[0].code() == codes.INVALID_TRANSACTION_TIMEOUT
        Producer({**settings, "transaction.timeout.ms": 5000}).init_transactions(60)


@pytest.mark.req("TX-18")
def test_a_decision_that_cannot_be_written_is_answered_and_does_not_hold(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(broker)
    append = PartitionLog.append

    def refusing(self: PartitionLog, *given: Any, **named: Any) -> Any:
        if TRANSACTION_STATE in self.directory:
            raise OSError(errno.EIO, "Input/output error")
        return append(self, *given, **named)

    def refused(call: Callable[[], Any]) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(PartitionLog, "append", refusing)
            return call()

    assert refused(client.init) == codes.NOT_COORDINATOR, "with producer id and epoch -1"
    assert client.init() == 0 and client.epoch == 0
    first = client.producer_id
    assert refused(client.init) == codes.NOT_COORDINATOR
    assert client.init() == 0 and (client.producer_id, client.epoch) == (first, 1), "raised once"
    assert refused(lambda: client.add(0)) == [codes.NOT_COORDINATOR]
    assert refused(client.add_offsets) == codes.NOT_COORDINATOR
    assert client.state().transaction_state == "Empty"
    assert client.add(0) == [0]
    client.produce(b"a")
    assert refused(lambda: client.end(True)) == codes.NOT_COORDINATOR
    assert client.state().transaction_state == "Ongoing" and read(broker) == []
    assert client.end(True) == 0 and read(broker) == [b"a"]


@pytest.mark.req("TX-16")
def test_markers_have_all_the_time_that_they_need(broker: DiskBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the transaction's timeout nor the expiry of ids gives a decision up whose markers are not written."""
    broker.create("kept", retention_ms="-1")
    client = Client(broker)
    client.init()
    client.add(0, topic="kept")
    client.produce(b"a", topic="kept")

    def refusing(self: Any, marker: Any, at: TopicPartition) -> int:
        return int(codes.KAFKA_STORAGE_ERROR)

    monkeypatch.setattr(type(broker.core.markers), "write", refusing)
    assert client.end(True) == 0
    for _ in range(20):
        broker.advance(86_400)
        assert client.state().transaction_state == "PrepareCommit" and read(broker, topic="kept") == []
    monkeypatch.undo()
    broker.advance(10)
    assert client.state().transaction_state == "CompleteCommit" and read(broker, topic="kept") == [b"a"]


@pytest.mark.req("TX-5")
def test_each_start_gets_the_next_epoch_and_fences_the_one_before(broker: DiskBroker) -> None:
    old, new = Client(broker), Client(broker)
    assert old.init() == new.init() == 0
    assert (new.producer_id, new.epoch) == (old.producer_id, old.epoch + 1) == (old.producer_id, 1)
    assert old.add(0) == [codes.PRODUCER_FENCED]
    assert old.add(0, version=1) == [codes.INVALID_PRODUCER_EPOCH], "as older clients know it"
    assert old.end(True, 1) == codes.INVALID_PRODUCER_EPOCH
    assert old.end(True, 2) == codes.PRODUCER_FENCED
    assert old.add_offsets(version=1) == codes.INVALID_PRODUCER_EPOCH
    assert old.add_offsets() == codes.PRODUCER_FENCED
    assert old.init(producer_id=old.producer_id, producer_epoch=old.epoch) == codes.PRODUCER_FENCED
    assert old.init(3, producer_id=old.producer_id, producer_epoch=old.epoch) == codes.INVALID_PRODUCER_EPOCH
    new.add(0)
    new.produce(b"new")
    assert old.produce(b"late").error_code == codes.INVALID_PRODUCER_EPOCH
    assert new.end(True) == 0
    assert read(broker) == [b"new"]


@pytest.mark.req("TX-6")
def test_a_start_aborts_what_its_predecessor_left_open(broker: DiskBroker) -> None:
    old, new = Client(broker), Client(broker)
    old.init()
    old.add(0)
    old.produce(b"left")
    assert new.init() == codes.CONCURRENT_TRANSACTIONS
    assert new.state().transaction_state == "CompleteAbort"
    assert old.produce(b"late").error_code == codes.INVALID_PRODUCER_EPOCH
    assert new.init() == 0
    assert new.epoch == old.epoch + 2
    assert read(broker) == []


def test_partitions_are_added_all_or_none(broker: DiskBroker) -> None:
    client = Client(broker)
    client.init()
    unknown, left = codes.UNKNOWN_TOPIC_OR_PARTITION, codes.OPERATION_NOT_ATTEMPTED
    assert client.add(0, 7) == [left, unknown]
    assert client.add(0, topic="nosuch") == [unknown]
    assert client.add(0, topic=CONSUMER_OFFSETS) == [codes.TOPIC_AUTHORIZATION_FAILED]
    assert client.state().transaction_state == "Empty"
    for version in range(4):
        assert client.add(version % 3, version=version) == [0]
    (topic,) = client.state().topics
    assert (topic.topic, topic.partitions) == ("t", [0, 1, 2])


def test_the_outcome_is_told_for_all_that_was_named_topics_without_partitions_too(broker: DiskBroker) -> None:
    client = Client(broker)
    client.init()
    for producer_id, code in ((client.producer_id, codes.NONE), (9_999, codes.INVALID_PRODUCER_ID_MAPPING)):
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="tx", v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=client.epoch,
            v3_and_below_topics=[Topic(name="none"), Topic(name="t", partitions=[1, 1])],
        )  # fmt: skip
        answer = broker.call(request, 3)
        found = [
            (topic.name, [(each.partition_index, each.partition_error_code) for each in topic.results_by_partition])
            for topic in answer.results_by_topic_v3_and_below
        ]
        assert found == [("none", []), ("t", [(1, code)] * 2)]


def test_brokers_add_and_verify_partitions_of_several_transactions(broker: DiskBroker) -> None:
    one, two = Client(broker, "one"), Client(broker, "two")
    one.init()
    two.init()
    one.add(0)
    Asked = AddPartitionsToTxnRequest.Transaction

    def ask(client: Client, partition: int, *, verify: bool, epoch: int = 0) -> Any:
        return Asked(transactional_id=client.id, producer_id=client.producer_id, producer_epoch=epoch,
                     verify_only=verify, topics=[Topic(name="t", partitions=[partition])])  # fmt: skip

    def answer(*asked: Any, version: int = 5) -> list[int]:
        response = broker.call(AddPartitionsToTxnRequest(transactions=list(asked)), version)
        return [each.topic_results[0].results_by_partition[0].partition_error_code
                for each in response.results_by_transaction]  # fmt: skip

    assert answer(ask(one, 0, verify=True), ask(two, 0, verify=True)) == [0, codes.TRANSACTION_ABORTABLE]
    assert answer(ask(one, 1, verify=True, epoch=1)) == [codes.PRODUCER_FENCED]
    assert two.state().transaction_state == "Empty"
    assert answer(ask(two, 2, verify=False), version=4) == [0]
    assert two.state().transaction_state == "Ongoing"


@pytest.mark.parametrize("verify", [True, False])
def test_a_topic_without_partitions_is_in_the_answer_to_adding_only(broker: DiskBroker, verify: bool) -> None:
    asked = AddPartitionsToTxnRequest.Transaction(
        transactional_id="", producer_id=-1, producer_epoch=-1, verify_only=verify, topics=[Topic(name="t")]
    )
    (answer,) = broker.call(AddPartitionsToTxnRequest(transactions=[asked]), 4).results_by_transaction
    assert [topic.name for topic in answer.topic_results] == ([] if verify else ["t"])


@pytest.mark.parametrize(
    ("version", "expected"),
    [(3, codes.INVALID_TXN_STATE), (10, codes.INVALID_TXN_STATE), (11, codes.TRANSACTION_ABORTABLE), (12, 0)],
)
def test_nothing_is_written_outside_a_transaction(broker: DiskBroker, version: int, expected: int) -> None:
    client = Client(broker)
    client.init()
    assert client.produce(b"a", version=version).error_code == expected
    assert read(broker, committed=False) == ([b"a"] if not expected else [])
    assert client.state().transaction_state == ("Ongoing" if not expected else "Empty"), "v12 adds the partition"


def test_what_is_no_part_of_the_transaction_is_refused(broker: DiskBroker) -> None:
    client = Client(broker)
    client.init()
    client.add(0)
    client.produce(b"a")
    plain = client.produce(b"plain", transactional=False)
    assert plain.error_code == codes.INVALID_TXN_STATE
    client.sequences.clear()
    assert client.produce(b"b", partition=1).error_code == codes.INVALID_TXN_STATE, "never added"
    other = Client(broker, "other")
    other.init()
    other.producer_id, other.epoch = client.producer_id, 0
    assert other.produce(b"forged", partition=2).error_code == codes.INVALID_PRODUCER_ID_MAPPING
    unknown = Client(broker, "unknown")
    assert unknown.produce(b"x", producer_id=99, producer_epoch=0).error_code == codes.INVALID_PRODUCER_ID_MAPPING
    first = Client(broker, "first", bumps=True)
    first.init()
    first.sequences[TopicPartition("t", 2)] = 4
    assert first.produce(b"gap", partition=2).error_code == codes.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_end_is_answered_again_after_a_lost_answer(broker: DiskBroker) -> None:
    client = Client(broker, bumps=True)
    client.init()
    client.produce(b"a")
    before = client.epoch
    assert client.end(True) == 0
    assert client.epoch == before + 1
    after, client.epoch = client.epoch, before
    assert client.end(True) == 0
    assert client.epoch == after
    assert client.end(True) == codes.INVALID_TXN_STATE, "there is nothing to commit"
    assert client.end(False) == 0, "of nothing: the epoch rises all the same"
    assert client.epoch == after + 1
    assert read(broker) == [b"a"]


@pytest.mark.parametrize("bumps", [False, True])
def test_a_transaction_that_is_open_for_too_long_is_aborted(broker: DiskBroker, bumps: bool) -> None:
    client = Client(broker, bumps=bumps, timeout_ms=30_000)
    client.init()
    if not bumps:
        client.add(0)
    client.produce(b"slow")
    broker.advance(29)
    assert client.state().transaction_state == "Ongoing"
    broker.advance(12)
    assert client.state().transaction_state == "CompleteAbort"
    assert read(broker) == []
    assert client.end(True) in (codes.PRODUCER_FENCED, codes.INVALID_TXN_STATE)
    assert client.produce(b"late").error_code == codes.INVALID_PRODUCER_EPOCH
    assert client.init() == 0


def test_ids_that_nobody_uses_are_forgotten(broker: DiskBroker) -> None:
    idle, busy = Client(broker, "idle"), Client(broker, "busy", timeout_ms=900_000)
    idle.init()
    busy.init()
    for _ in range(7 * 24):
        broker.advance(3601)
    assert idle.state().error_code == codes.TRANSACTIONAL_ID_NOT_FOUND
    assert idle.add(0) == [codes.INVALID_PRODUCER_ID_MAPPING]
    broker.restart()
    assert idle.state().error_code == codes.TRANSACTIONAL_ID_NOT_FOUND
    assert idle.init() == 0


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("bumps", [False, True])
def test_an_open_transaction_goes_on_after_a_restart(broker: DiskBroker, kill: bool, bumps: bool) -> None:
    client = Client(broker, bumps=bumps)
    client.init()
    if not bumps:
        client.add(0)
    client.produce(b"before")
    broker.restart(kill=kill)
    assert read(broker) == []
    assert client.produce(b"after").error_code == 0
    assert client.end(True) == 0
    assert read(broker) == [b"before", b"after"]
    broker.restart(kill=kill)
    assert read(broker) == [b"before", b"after"]
    assert client.init() == 0


@pytest.mark.req("TX-15")
@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("restart", [True, False])
def test_markers_are_written_in_the_end(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch, commit: bool, restart: bool
) -> None:
    """The answer has been given: what a disk refused is tried until it is done, by the next start if need be."""
    client = Client(broker)
    client.init()
    client.add(0, 1)
    client.produce(b"a")
    client.produce(b"b", partition=1)
    client.add_offsets()
    client.commit_offset(7)
    markers = type(broker.core.markers)
    write = markers.write
    refused: list[TopicPartition] = []

    def refusing(self: Any, marker: Any, at: TopicPartition) -> int:
        if at.partition == 1 or at.topic == CONSUMER_OFFSETS:
            refused.append(at)
            return int(codes.KAFKA_STORAGE_ERROR)
        return write(self, marker, at)

    monkeypatch.setattr(markers, "write", refusing)
    assert client.end(commit) == 0
    state = client.state()
    assert state.transaction_state == ("PrepareCommit" if commit else "PrepareAbort")
    assert client.end(commit) == codes.CONCURRENT_TRANSACTIONS
    assert client.end(not commit) == codes.INVALID_TXN_STATE
    assert client.add(2) == [codes.CONCURRENT_TRANSACTIONS]
    assert client.init() == codes.CONCURRENT_TRANSACTIONS
    tried = len(refused)
    broker.advance(1)
    assert len(refused) > tried
    monkeypatch.undo()
    if restart:
        broker.restart(kill=True)
    else:
        broker.advance(1)
    assert client.state().transaction_state == ("CompleteCommit" if commit else "CompleteAbort")
    assert read(broker) == ([b"a"] if commit else [])
    assert read(broker, 1) == ([b"b"] if commit else [])
    assert fetched(broker, stable=True) == ((7, 0) if commit else (-1, 0))


def test_a_partition_that_takes_no_marker_holds_up_no_other_one(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log directory that is gone for good once kept readers of every other partition waiting, or filled it."""
    client = Client(broker)
    client.init()
    client.add(0, 1, 2)
    for number in range(3):
        client.produce(b"a", partition=number)
    markers = type(broker.core.markers)
    write = markers.write

    def refusing(self: Any, marker: Any, at: TopicPartition) -> int:
        return int(codes.KAFKA_STORAGE_ERROR) if at.partition == 1 else write(self, marker, at)

    monkeypatch.setattr(markers, "write", refusing)
    assert client.end(True) == 0
    broker.advance(0)
    assert [read(broker, number) for number in range(3)] == [[b"a"], [], [b"a"]]
    for _ in range(20):
        broker.advance(10)
    partitions = broker.core.partitions
    ends = [partitions.led("t", number).log.log_end_offset for number in range(3)]
    assert ends == [2, 1, 2], "one marker in each"
    assert client.state().transaction_state == "PrepareCommit"
    monkeypatch.undo()
    broker.advance(10)
    assert read(broker, 1) == [b"a"]
    assert client.state().transaction_state == "CompleteCommit"


def test_a_disk_that_stays_full_is_asked_less_and_less_often(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(broker)
    client.init()
    client.add(0)
    client.produce(b"a")
    tried: list[int] = []

    def refusing(self: Any, marker: Any, at: TopicPartition) -> int:
        tried.append(broker.clock.now_ms())
        return int(codes.KAFKA_STORAGE_ERROR)

    monkeypatch.setattr(type(broker.core.markers), "write", refusing)
    assert client.end(True) == 0
    for _ in range(600):
        broker.advance(0.1)
    waits = [after - before for before, after in itertools.pairwise(tried)]
    assert waits[0] < 250 and waits[-1] < 10_250, "it is mended soon after there is room"
    assert all(after > 1.5 * before for before, after in itertools.pairwise(waits[:6])), waits
    assert len(tried) < 20
    monkeypatch.undo()
    broker.advance(10)
    assert read(broker) == [b"a"]
    client.add(0)
    client.produce(b"b")
    monkeypatch.setattr(type(broker.core.markers), "write", refusing)
    assert client.end(True) == 0
    tried.clear()
    broker.advance(0.1)
    assert tried, "the next transaction is tried again as soon as the first was"


def test_many_late_transactions_and_expired_ids_are_swept_with_pauses_for_requests(broker: DiskBroker) -> None:
    """Ten thousand late transactions once stopped the broker for seconds."""
    coordinating, count = broker.core.transactions, 60
    for number in range(count):
        client = Client(broker, f"tx-{number}", timeout_ms=1000)
        client.init()
        client.add(0)
    broker.clock.advance(2)
    assert sum(1 for _ in coordinating._abort_timed_out()) > count
    assert {each.state for each in whole(coordinating.matching((), (), -1))} == {"CompleteAbort"}
    broker.clock.advance(8 * 24 * 3600)
    assert sum(1 for _ in coordinating._forget_expired()) >= count, "there may be a hundred thousand to look at"
    assert not list(whole(coordinating.matching((), (), -1)))


def test_a_partition_whose_topic_is_deleted_holds_nobody_up(broker: DiskBroker) -> None:
    broker.create("gone")
    client = Client(broker)
    client.init()
    client.add(0)
    client.add(0, topic="gone")
    client.produce(b"a")
    client.produce(b"b", topic="gone")
    assert broker.call(DeleteTopicsRequest(topic_names=["gone"], timeout_ms=1000), 4).responses[0].error_code == 0
    assert client.end(True) == 0
    assert client.state().transaction_state == "CompleteCommit"


@pytest.mark.req("TX-24")
@pytest.mark.parametrize("version", [0, 2, 3, 4, 5])
def test_offsets_hold_once_their_transaction_is_committed(broker: DiskBroker, version: int) -> None:
    client = Client(broker, bumps=version == 5)
    client.init()
    commit = OffsetCommitRequest.RequestTopic
    partition = commit.RequestPartition(partition_index=0, committed_offset=1)
    broker.call(FindCoordinatorRequest(key="g"), 0)
    broker.call(OffsetCommitRequest(group_id="g", topics=[commit(name="t", partitions=[partition])]), 2)
    for decided, offset, held in ((False, 5, 1), (True, 9, 9)):
        if version < 5:
            missing = codes.INVALID_TXN_STATE if version < 4 else codes.TRANSACTION_ABORTABLE
            assert client.commit_offset(offset, version=version) == missing
            assert client.add_offsets() == 0
        assert client.commit_offset(offset, version=version) == 0
        assert fetched(broker) == (1, 0)
        assert fetched(broker, stable=True) == (-1, codes.UNSTABLE_OFFSET_COMMIT)
        broker.restart(kill=True)
        assert fetched(broker, stable=True) == (-1, codes.UNSTABLE_OFFSET_COMMIT), "a start knows what is open"
        assert client.end(decided) == 0
        assert fetched(broker, stable=True) == (held, 0)
    broker.restart(kill=True)
    assert fetched(broker, stable=True) == (9, 0)


def test_offsets_are_committed_by_the_topics_id(broker: DiskBroker) -> None:
    """TxnOffsetCommit v6 (KIP-1319); an id that no topic has is told by itself."""
    known, unknown = broker.core.cluster.topics["t"].id, uuid.uuid4()
    client = Client(broker, "tx", bumps=True)
    client.init()
    Asked = TxnOffsetCommitRequest.RequestTopic
    partitions = [Asked.RequestPartition(partition_index=index, committed_offset=5) for index in (0, 99)]
    request = TxnOffsetCommitRequest(
        transactional_id=client.id, group_id="g", producer_id=client.producer_id, producer_epoch=client.epoch,
        topics=[Asked(topic_id=known, partitions=partitions), Asked(topic_id=unknown, partitions=partitions[:1])],
    )  # fmt: skip
    answer = broker.call(request, 6)
    found = {
        (topic.topic_id, each.partition_index): each.error_code for topic in answer.topics for each in topic.partitions
    }
    assert found == {
        (known, 0): codes.NONE,
        (known, 99): codes.UNKNOWN_TOPIC_OR_PARTITION,
        (unknown, 0): codes.UNKNOWN_TOPIC_ID,
    }
    assert client.end(True) == 0
    assert fetched(broker) == (5, 0)


def test_offsets_of_a_topic_that_is_recreated_meanwhile_are_not_those_of_the_new_one(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def known_then_recreated(*asked: Any) -> tuple[str, int]:
        found = known_topic(*asked)
        broker.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 5)
        broker.create("t")
        return found

    client = Client(broker, "tx", bumps=True)
    client.init()
    Asked = TxnOffsetCommitRequest.RequestTopic
    partitions = [Asked.RequestPartition(partition_index=0, committed_offset=5)]
    request = TxnOffsetCommitRequest(
        transactional_id=client.id, group_id="g", producer_id=client.producer_id, producer_epoch=client.epoch,
        topics=[Asked(topic_id=broker.core.cluster.topics["t"].id, partitions=partitions)],
    )  # fmt: skip
    monkeypatch.setattr(_offset_topics, "known_topic", known_then_recreated)
    (topic,) = broker.call(request, 6).topics
    assert [each.error_code for each in topic.partitions] == [codes.COORDINATOR_LOAD_IN_PROGRESS]  # to be asked again


def offsets_request(client: Client, partitions: int = 1) -> TxnOffsetCommitRequest:
    Asked = TxnOffsetCommitRequest.RequestTopic
    asked = [Asked.RequestPartition(partition_index=number, committed_offset=5) for number in range(partitions)]
    return TxnOffsetCommitRequest(
        transactional_id=client.id, group_id="g", producer_id=client.producer_id, producer_epoch=client.epoch,
        topics=[Asked(name="t", partitions=asked)],
    )  # fmt: skip


def test_an_offset_that_is_committed_while_its_transaction_ends_does_not_hang_behind_the_marker(
    broker: DiskBroker,
) -> None:
    """Whichever of its pauses the transaction ends in."""
    broker.call(FindCoordinatorRequest(key="g"), 0)
    log = broker.core.partitions.led(CONSUMER_OFFSETS, broker.core.groups.store.partition("g")).log
    told = set()
    for pauses in range(15):
        client = Client(broker, f"tx-{pauses}")
        client.init()
        assert client.add_offsets() == 0
        broker.core.slices.slice_s = 0.0
        pending = broker.send(offsets_request(client), 3)
        for _ in range(pauses):
            broker.core.step()
        broker.core.slices.slice_s = BrokerLimits.slice_s
        assert client.end(True) == 0
        broker.step()
        told.add(pending.response.topics[0].partitions[0].error_code)
        assert log.last_stable_offset == log.log_end_offset, f"after {pauses} pauses"
    assert told == {codes.NONE, codes.INVALID_TXN_STATE}


def test_no_offset_in_a_transaction_is_for_a_new_topic_that_took_the_name_of_its_own(broker: DiskBroker) -> None:
    broker.create("many", 250)
    broker.call(FindCoordinatorRequest(key="g"), 0)
    client = Client(broker)
    client.init()
    assert client.add_offsets() == 0
    request = offsets_request(client, 250)
    request.topics[0].name = "many"
    held: list[Callable[[], None]] = []
    broker.core.slices.offload = lambda run, done: held.append(lambda: done(run(), None))
    pending = broker.send(request, 3)
    broker.step()
    broker.call(DeleteTopicsRequest(topic_names=["many"], timeout_ms=1000), 4)
    broker.create("many", 250)
    while held:
        held.pop()()
        broker.step()
    told = {each.error_code for each in pending.response.topics[0].partitions}
    assert told == {codes.COORDINATOR_LOAD_IN_PROGRESS}, "which every client asks again after"
    assert client.end(True) == 0
    assert broker.core.groups.offsets.of("g") == {}


def test_a_plain_commit_after_a_pending_one_stays(broker: DiskBroker) -> None:
    client = Client(broker)
    client.init()
    client.add_offsets()
    client.commit_offset(5)
    topic = OffsetCommitRequest.RequestTopic
    partition = topic.RequestPartition(partition_index=0, committed_offset=8)
    broker.call(OffsetCommitRequest(group_id="g", topics=[topic(name="t", partitions=[partition])]), 2)
    assert fetched(broker, stable=True)[1] == codes.UNSTABLE_OFFSET_COMMIT
    client.end(True)
    assert fetched(broker, stable=True) == (8, 0)
    broker.restart()
    assert fetched(broker, stable=True) == (8, 0)


def test_a_group_with_pending_offsets_is_deleted_with_them(broker: DiskBroker) -> None:
    client = Client(broker)
    client.init()
    client.add_offsets()
    client.commit_offset(5)
    (answer,) = broker.call(DeleteGroupsRequest(groups_names=["g"]), 2).results
    assert answer.error_code == 0
    client.end(True)
    assert fetched(broker) == (-1, 0)


def test_members_that_were_left_behind_cannot_commit(broker: DiskBroker) -> None:
    client = Client(broker)
    client.init()
    client.add_offsets()
    assert client.commit_offset(5, generation_id_or_member_epoch=1, member_id="m") == codes.ILLEGAL_GENERATION
    assert client.commit_offset(5) == 0
    assert client.commit_offset(6, generation_id_or_member_epoch=1, member_id="m") == codes.UNKNOWN_MEMBER_ID
    assert client.commit_offset(5, group="") == codes.INVALID_GROUP_ID


def markers_request(client: Client, *, epoch: int, coordinator_epoch: int = 0, version: int = 0, topic: str = "t",
                    commit: bool = False) -> WriteTxnMarkersRequest:  # fmt: skip
    Marker = WriteTxnMarkersRequest.WritableTxnMarker
    at = Marker.WritableTxnMarkerTopic(name=topic, partition_indexes=[0])
    marker = Marker(producer_id=client.producer_id, producer_epoch=epoch, transaction_result=commit, topics=[at],
                    coordinator_epoch=coordinator_epoch, transaction_version=version)  # fmt: skip
    return WriteTxnMarkersRequest(markers=[marker])


@pytest.mark.req("TX-22")
@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_hanging_transaction_is_ended_by_hand(broker: DiskBroker, version: int) -> None:
    client = Client(broker)
    client.init()
    client.init()
    client.add(0)
    client.produce(b"a")

    def write(**fields: Any) -> int:
        answer = broker.call(markers_request(client, **fields), version)
        return int(answer.markers[0].topics[0].partitions[0].error_code)

    assert write(epoch=0) == codes.INVALID_PRODUCER_EPOCH
    assert write(epoch=1, topic="nosuch") == codes.UNKNOWN_TOPIC_OR_PARTITION
    if version == 2:
        assert write(epoch=1, version=2) == codes.INVALID_PRODUCER_EPOCH, "markers of version 2 have a newer epoch"
    assert write(epoch=1, coordinator_epoch=4) == 0
    assert write(epoch=1, coordinator_epoch=3) == codes.TRANSACTION_COORDINATOR_FENCED
    if version == 2:
        assert write(epoch=1, coordinator_epoch=4, version=2) == 0, "it may come again"
    assert read(broker) == []


@pytest.mark.parametrize(
    "wrong",
    [{"producer_id": -1}, {"producer_epoch": -1}, {"transaction_version": -1}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_marker_of_nobody_is_not_written(broker: DiskBroker, wrong: dict[str, int]) -> None:
    Marker = WriteTxnMarkersRequest.WritableTxnMarker
    topic = Marker.WritableTxnMarkerTopic(name="t", partition_indexes=[0])
    marker = Marker(**{"producer_id": 7, "producer_epoch": 0, "topics": [topic], **wrong})  # type: ignore[arg-type]
    answer = broker.call(WriteTxnMarkersRequest(markers=[marker]), 2).markers[0].topics[0].partitions[0]
    assert answer.error_code == codes.UNKNOWN_SERVER_ERROR
    assert broker.core.partitions.led("t", 0).log.log_end_offset == 0


@pytest.mark.parametrize("wrong", [{"producer_id": -1}, {"producer_epoch": -1}], ids=lambda wrong: next(iter(wrong)))
def test_a_marker_of_nobody_for_what_is_not_there_says_that(broker: DiskBroker, wrong: dict[str, int]) -> None:
    Marker = WriteTxnMarkersRequest.WritableTxnMarker
    topic = Marker.WritableTxnMarkerTopic(name="gone", partition_indexes=[0])
    marker = Marker(**{"producer_id": 7, "producer_epoch": 0, "topics": [topic], **wrong})  # type: ignore[arg-type]
    answer = broker.call(WriteTxnMarkersRequest(markers=[marker]), 2).markers[0].topics[0].partitions[0]
    assert answer.error_code == codes.UNKNOWN_TOPIC_OR_PARTITION


def test_a_marker_for_no_partition_is_not_answered(broker: DiskBroker) -> None:
    request = WriteTxnMarkersRequest(markers=[WriteTxnMarkersRequest.WritableTxnMarker(producer_id=3)])
    assert broker.call(request, 1).markers == []


def test_transactions_are_listed_by_state_producer_and_age(broker: DiskBroker) -> None:
    one, two = Client(broker, "one"), Client(broker, "two")
    one.init()
    two.init()
    one.add(0)
    broker.advance(5)

    def ids(version: int = 1, **fields: Any) -> list[str]:
        found = broker.call(ListTransactionsRequest(**fields), version)
        assert found.error_code == 0
        return [each.transactional_id for each in found.transaction_states]

    assert ids(0) == ids() == ids(2) == ids(2, transactional_id_pattern="") == ["one", "two"]
    assert ids(2, transactional_id_pattern="o.*") == ids(2, transactional_id_pattern="(?i)ONE|x") == ["one"]
    assert ids(2, transactional_id_pattern="o") == [], "all of the id is meant"
    assert ids(2, transactional_id_pattern="t.*", state_filters=["Empty"]) == ["two"]
    refused = broker.call(ListTransactionsRequest(state_filters=["no"], transactional_id_pattern="("), 2)
    assert refused == ListTransactionsResponse(error_code=codes.INVALID_REGULAR_EXPRESSION)
    assert ids(state_filters=["Ongoing"]) == ids(producer_id_filters=[one.producer_id]) == ["one"]
    assert ids(state_filters=["Ongoing"], duration_filter=4_000) == ["one"]
    assert ids(state_filters=["Ongoing"], duration_filter=6_000) == []
    assert ids(state_filters=["Empty"], producer_id_filters=[one.producer_id]) == []
    Client(broker, "n" * 300).init()  # such are matched on another thread
    asked = broker.send(ListTransactionsRequest(transactional_id_pattern="n.*|two"), 2)
    broker.advance(0)
    assert [each.transactional_id for each in asked.response.transaction_states] == ["n" * 300, "two"]
    found = broker.call(ListTransactionsRequest(state_filters=["ongoing", "Empty"]), 1)
    assert found.unknown_state_filters == ["ongoing"]
    state = one.state()
    assert (state.transaction_timeout_ms, state.transaction_start_time_ms) == (60_000, broker.clock.now_ms() - 5_000)
    assert (state.producer_id, state.producer_epoch) == (one.producer_id, 0)
    missing = broker.call(DescribeTransactionsRequest(transactional_ids=["", "nosuch"]), 0).transaction_states
    assert [each.error_code for each in missing] == [codes.INVALID_REQUEST, codes.TRANSACTIONAL_ID_NOT_FOUND]


def test_the_log_of_transactions_may_be_deleted(broker: DiskBroker) -> None:
    client = Client(broker)
    client.init()
    broker.call(DeleteTopicsRequest(topic_names=[TRANSACTION_STATE], timeout_ms=1000), 4)
    assert client.end(True) == codes.NOT_COORDINATOR
    assert Client(broker).end(True) == codes.INVALID_PRODUCER_ID_MAPPING
