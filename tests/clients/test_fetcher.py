"""Fetch: what is asked, what is handed out, what is hidden, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kafka_tools.clients.calls import Calls
from kafka_tools.clients.fetched_data import ConsumedRecord
from kafka_tools.clients.fetcher import Fetcher, Plan
from kafka_tools.clients.fetching.validation import Validation
from kafka_tools.clients.positions import Positions
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.clock import Deadline, ManualClock
from kafka_tools.errors import BrokerError, CorruptBatch
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.codec import encode_versioned
from kafka_tools.protocol.messages.fetch import FetchResponse
from kafka_tools.protocol.stored.control_records import ControlRecordTypeSchema
from kafka_tools.records.build import build_batch
from kafka_tools.values import TopicPartition
from tests.clients.fake_cluster import FakeCluster

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
PartitionData = FetchResponse.FetchableTopicResponse.PartitionData
Aborted = PartitionData.AbortedTransaction


class Bench:
    """A fetcher over two partitions at offset 0, and answers for it."""

    def __init__(self, cluster: FakeCluster, clock: ManualClock, **settings: Any) -> None:
        cluster.topic("t", partitions=2)
        self.metadata = ClusterMetadata(cluster)  # type: ignore[arg-type]
        self.metadata.watch(["t"])
        self.metadata.refresh(Deadline(clock, 1.0))
        self.positions = Positions()
        self.positions.replace([T0, T1], keep=False)
        for _, position in self.positions.items():
            position.seek(0)
        self.out_of_range: list[tuple[TopicPartition, int]] = []
        self.calls = Calls(cluster, clock)  # type: ignore[arg-type]
        chosen = ConsumerSettings()._replace(**settings)
        self.validation = Validation(
            chosen, self.calls, clock, self.metadata, self.positions, lambda partition: self.reset.append(partition)
        )
        self.reset: list[TopicPartition] = []
        self.fetcher = Fetcher(
            chosen,
            self.metadata,
            self.positions,
            lambda *what: self.out_of_range.append(what),
            self.validation,
        )

    def plan(self) -> Plan:
        (plan,) = self.fetcher.plan([], 0.0)
        return plan

    def answer(self, *rows: PartitionData, plan: Plan | None = None) -> None:
        plan = plan or self.plan()
        topic = FetchResponse.FetchableTopicResponse(topic_id=self.metadata.topic_id("t"), partitions=list(rows))
        self.fetcher.take(plan, FetchResponse(responses=[topic]), 0.0)

    def give(self, data: bytes, **fields: Any) -> None:
        self.answer(PartitionData(partition_index=0, records=memoryview(data), **fields))

    def values(self, limit: int = 500) -> list[bytes | None]:
        return [record.value for record in self.fetcher.records(limit)]


@pytest.fixture
def bench(cluster: FakeCluster, clock: ManualClock) -> Bench:
    return Bench(cluster, clock)


def batch(base_offset: int, *values: bytes, **fields: Any) -> bytes:
    return build_batch(
        [(1000 + i, b"k", value, ()) for i, value in enumerate(values)], base_offset=base_offset, **fields
    )


def marker(base_offset: int, producer_id: int, commit: bool) -> bytes:
    key = encode_versioned(ControlRecordTypeSchema(type=1 if commit else 0), 0)
    return build_batch(
        [(0, key, b"\x00\x00\x00\x00\x00\x00", ())], base_offset=base_offset, producer_id=producer_id, producer_epoch=0,
        transactional=True, control=True,
    )  # fmt: skip


def test_request_asks_each_partition_from_its_position(bench: Bench) -> None:
    bench.positions.assigned(T1, "seek").seek(7)
    plan = bench.plan()
    (topic,) = plan.request.topics
    assert [(row.partition, row.fetch_offset) for row in topic.partitions] == [(0, 0), (1, 7)]
    assert (plan.request.isolation_level, plan.request.session_epoch) == (0, 0)
    assert plan.node.id == 1


def test_records_come_with_everything_the_batch_says(bench: Bench) -> None:
    bench.give(build_batch([(5, b"k", None, [("h", b"1")])], base_offset=0, leader_epoch=3))
    assert bench.fetcher.records(10) == [ConsumedRecord("t", 0, 0, 5, 0, b"k", None, (("h", b"1"),), 3)]


def test_limit_is_kept_across_batches_and_positions_follow(bench: Bench) -> None:
    bench.give(batch(0, b"a", b"b", b"c") + batch(3, b"d"))
    position = bench.positions.assigned(T0, "look at")
    assert bench.values(2) == [b"a", b"b"]
    assert position.offset == 2
    assert bench.values(1) == [b"c"]
    assert position.offset == 3
    assert bench.values() == [b"d"]
    assert position.offset == 4
    assert bench.values() == []


def test_records_before_the_position_are_left_out(bench: Bench) -> None:
    bench.positions.assigned(T0, "seek").seek(2)
    bench.give(batch(0, b"a", b"b", b"c"))
    assert bench.values() == [b"c"]


def test_compacted_end_of_a_batch_counts_as_read(bench: Bench) -> None:
    bench.give(build_batch([(0, None, b"a", ())], base_offset=0, last_offset=9))
    assert bench.values() == [b"a"]
    assert bench.positions.assigned(T0, "look at").offset == 10


def test_partition_with_records_in_hand_is_not_asked_again(bench: Bench) -> None:
    bench.give(batch(0, b"a"))
    assert [row.partition for row in bench.plan().request.topics[0].partitions] == [1]


def test_busy_node_is_not_asked(bench: Bench) -> None:
    assert bench.fetcher.plan([1], 0.0) == []


def test_batch_that_is_cut_off_waits_for_the_next_fetch(bench: Bench) -> None:
    bench.give(batch(0, b"a") + batch(1, b"b")[:-3])
    assert bench.values() == [b"a"]
    assert bench.positions.assigned(T0, "look at").offset == 1


def test_batch_that_never_fits_is_reported(bench: Bench) -> None:
    bench.give(batch(0, b"a")[:-3])
    with pytest.raises(
        CorruptBatch, match=r"t-0 at offset 0: the batch at this offset is larger than max\.partition\.fetch"
    ):
        bench.values()


def test_bad_crc_is_refused_after_what_came_before(bench: Bench) -> None:
    bad = bytearray(batch(1, b"b"))
    bad[-1] ^= 1
    bench.give(batch(0, b"a") + bytes(bad))
    assert bench.values() == [b"a"]
    for _ in range(2):
        with pytest.raises(CorruptBatch, match="t-0 at offset 1: batch at offset 1: the CRC does not match") as caught:
            bench.values()
        assert caught.value.hint == "seek past the record to continue consumption"
    bench.positions.assigned(T0, "seek").seek(2)
    assert bench.values() == []


@pytest.mark.parametrize(
    "data", [b"\x00" * 61, b"\xff" * 61, b"\x00" * 8 + b"\x00\x00\x00\x31" + b"\x00" * 4 + b"\x07" + b"\x00" * 60]
)
def test_bytes_that_are_no_batch_are_refused(bench: Bench, data: bytes) -> None:
    bench.give(data)
    with pytest.raises(CorruptBatch, match="t-0 at offset 0"):
        bench.values()


def test_magic_0_and_1_are_read(bench: Bench) -> None:
    rows = [(1000 + i, b"k", value, ()) for i, value in enumerate((b"a", b"b"))]
    bench.give(
        build_batch(rows, magic=0, codec="gzip", base_offset=0)
        + build_batch(rows, magic=1, codec="snappy", base_offset=2)
    )
    found = bench.fetcher.records(10)
    assert [(r.offset, r.value, r.timestamp_type) for r in found] == [
        (0, b"a", -1),
        (1, b"b", -1),
        (2, b"a", 0),
        (3, b"b", 0),
    ]
    assert [r.timestamp_ms for r in found] == [-1, -1, 1000, 1001]


# Transactions


def transactional(base_offset: int, producer_id: int, *values: bytes) -> bytes:
    return batch(base_offset, *values, producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)


LOG = (
    transactional(0, 1, b"aborted 1")
    + transactional(1, 2, b"committed 2")
    + marker(2, 1, commit=False)
    + transactional(3, 1, b"committed 1")
    + marker(4, 2, commit=True)
    + marker(5, 1, commit=True)
    + batch(6, b"plain")
)


@pytest.mark.req("DESIGN-32", "TX-24")
def test_read_committed_hides_aborted_records_and_markers(cluster: FakeCluster, clock: ManualClock) -> None:
    bench = Bench(cluster, clock, read_committed=True)
    assert bench.plan().request.isolation_level == 1
    bench.give(LOG, aborted_transactions=[Aborted(producer_id=1, first_offset=0)])
    assert bench.values() == [b"committed 2", b"committed 1", b"plain"]
    assert bench.positions.assigned(T0, "look at").offset == 7


def test_read_committed_sorts_what_the_broker_lists(cluster: FakeCluster, clock: ManualClock) -> None:
    bench = Bench(cluster, clock, read_committed=True)
    log = (
        transactional(0, 1, b"x") + marker(1, 1, commit=False) + transactional(2, 1, b"y") + marker(3, 1, commit=False)
    )
    bench.give(
        log, aborted_transactions=[Aborted(producer_id=1, first_offset=2), Aborted(producer_id=1, first_offset=0)]
    )
    assert bench.values() == []
    assert bench.values() == []
    assert bench.positions.assigned(T0, "look at").offset == 4


@pytest.mark.req("DESIGN-32")
def test_read_uncommitted_hides_only_markers(bench: Bench) -> None:
    bench.give(LOG)
    assert bench.values() == [b"aborted 1", b"committed 2", b"committed 1", b"plain"]


# Positions that moved meanwhile


@pytest.mark.req("CONS-8")
def test_records_fetched_before_a_seek_are_dropped(bench: Bench) -> None:
    bench.give(batch(0, b"a"))
    bench.positions.assigned(T0, "seek").seek(100)
    assert bench.values() == []
    plan = bench.plan()
    bench.positions.assigned(T0, "seek").seek(200)
    bench.answer(PartitionData(partition_index=0, records=memoryview(batch(100, b"old"))), plan=plan)
    assert bench.values() == []


@pytest.mark.req("CONS-8")
def test_records_of_a_partition_that_was_taken_away_are_dropped(bench: Bench) -> None:
    bench.give(batch(0, b"a"))
    bench.positions.replace([T1], keep=True)
    assert bench.values() == []


@pytest.mark.req("CONS-33")
def test_paused_partition_keeps_its_records_until_resumed(bench: Bench) -> None:
    bench.give(batch(0, b"a"))
    bench.positions.assigned(T0, "pause").paused = True
    assert bench.values() == []
    assert not bench.fetcher.has_data
    bench.positions.assigned(T0, "resume").paused = False
    assert bench.values() == [b"a"]


# Errors


@pytest.mark.req("CONS-47")
def test_out_of_range_counts_only_for_the_position_that_was_asked(bench: Bench) -> None:
    plan = bench.plan()
    bench.positions.assigned(T0, "seek").seek(5)
    rows = [PartitionData(partition_index=number, error_code=error_codes.OFFSET_OUT_OF_RANGE) for number in (0, 1)]
    bench.answer(*rows, plan=plan)
    assert bench.out_of_range == [(T1, 0)]


def test_moved_leader_asks_for_metadata_and_waits(bench: Bench) -> None:
    bench.answer(PartitionData(partition_index=0, error_code=error_codes.NOT_LEADER_OR_FOLLOWER))
    assert bench.metadata.update_wanted
    assert [row.partition for row in bench.plan().request.topics[0].partitions] == [1]
    (later,) = bench.fetcher.plan([], 0.1)
    assert len(later.asked) == 2


@pytest.mark.req("CONS-45")
def test_refused_partition_is_reported_and_the_others_are_kept(bench: Bench) -> None:
    rows: Sequence[PartitionData] = [
        PartitionData(partition_index=0, error_code=error_codes.TOPIC_AUTHORIZATION_FAILED),
        PartitionData(partition_index=1, records=memoryview(batch(0, b"kept"))),
    ]
    with pytest.raises(BrokerError, match=r"TOPIC_AUTHORIZATION_FAILED: .* \(partition t-0\)"):
        bench.answer(*rows)
    assert bench.values() == [b"kept"]


def test_near_replica_is_read_until_it_fails(bench: Bench) -> None:
    # KIP-392
    bench.answer(PartitionData(partition_index=0, preferred_read_replica=2))
    nodes = {plan.node.id: list(plan.asked) for plan in bench.fetcher.plan([], 0.0)}
    assert nodes == {1: [T1], 2: [T0]}
    near = next(plan for plan in bench.fetcher.plan([], 0.0) if plan.node.id == 2)
    bench.answer(PartitionData(partition_index=0, error_code=error_codes.OFFSET_OUT_OF_RANGE), plan=near)
    assert bench.out_of_range == []
    assert [plan.node.id for plan in bench.fetcher.plan([], 0.0)] == [1]
