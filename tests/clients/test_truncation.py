"""Fetch sessions, and positions beyond the end of a new leader's log (KIP-227, KIP-320), in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.fetching.validation import LogTruncated
from kafka_tools.clock import ManualClock
from kafka_tools.errors import BrokerError
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kafka_tools.records.build import build_batch
from kafka_tools.values import Node, TopicPartition
from tests.clients.fake_cluster import NEVER, FakeCluster

T0 = TopicPartition("t", 0)
PartitionData = FetchResponse.FetchableTopicResponse.PartitionData


class Leader:
    """One partition's log of values with leader epochs, and a session. ``codes``: errors, by request class."""

    def __init__(self, cluster: FakeCluster) -> None:
        cluster.topic("t")
        self.cluster = cluster
        self.epoch = 1
        self.log: list[tuple[bytes, int]] = [(b"a", 1), (b"b", 1), (b"c", 1)]
        self.session: dict[int, int] = {}
        self.diverging: tuple[int, int] | None = None
        self.codes: dict[type[Any], list[int]] = {}
        self.waiting: dict[int, float] = {}
        cluster.answers |= {
            MetadataRequest: self.metadata,
            FetchRequest: self.fetch,
            OffsetForLeaderEpochRequest: self.end_offset,
            ListOffsetsRequest: self.list_offsets,
        }

    def code(self, kind: type[Any]) -> int:
        codes = self.codes.get(kind)
        return codes.pop(0) if codes else 0

    def metadata(self, _: Node, request: MetadataRequest, __: int) -> MetadataResponse:
        response = self.cluster._metadata(request)
        for topic in response.topics:
            for row in topic.partitions:
                row.leader_epoch = self.epoch
        return response

    def fetch(self, _: Node, request: FetchRequest, __: int) -> Any:
        code = self.code(FetchRequest)
        if code:
            self.session.clear()
            return FetchResponse(error_code=code)
        if id(request) not in self.waiting:
            if request.session_epoch == 0:
                self.session.clear()
            for topic in request.forgotten_topics_data:
                for number in topic.partitions:
                    self.session.pop(number, None)
            for asked in (row for topic in request.topics for row in topic.partitions):
                if asked.current_leader_epoch < self.epoch:
                    self.session[asked.partition] = -1
                else:
                    self.session[asked.partition] = asked.fetch_offset
        rows = []
        for number, offset in self.session.items():
            row = PartitionData(partition_index=number)
            if offset < 0:
                row.error_code = error_codes.FENCED_LEADER_EPOCH
            elif self.diverging is not None:
                row.diverging_epoch = PartitionData.EpochEndOffset(
                    epoch=self.diverging[0], end_offset=self.diverging[1]
                )
                self.diverging = None
            elif offset < len(self.log):
                value, epoch = self.log[offset]
                row.records = build_batch([(0, None, value, ())], base_offset=offset, leader_epoch=epoch)
            else:
                continue
            rows.append(row)
        since_s = self.waiting.setdefault(id(request), self.cluster.clock.monotonic_s())
        if not rows and (self.cluster.clock.monotonic_s() - since_s) * 1000 < request.max_wait_ms:
            return NEVER
        response = FetchResponse(session_id=9)
        if rows:
            topic_id = self.cluster.ids["t"]
            response.responses = [FetchResponse.FetchableTopicResponse(topic_id=topic_id, partitions=rows)]
        return response

    def end_offset(self, _: Node, request: OffsetForLeaderEpochRequest, __: int) -> OffsetForLeaderEpochResponse:
        (asked,) = request.topics[0].partitions
        row = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult.EpochEndOffset(
            partition=0, error_code=self.code(OffsetForLeaderEpochRequest)
        )
        known = [epoch for _, epoch in self.log if epoch <= asked.leader_epoch]
        if known and not row.error_code:
            row.leader_epoch = max(known)
            row.end_offset = len(known)
        topic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(topic="t", partitions=[row])
        return OffsetForLeaderEpochResponse(topics=[topic])

    def list_offsets(self, _: Node, request: ListOffsetsRequest, __: int) -> ListOffsetsResponse:
        row = ListOffsetsResponse.TopicResponse.PartitionResponse(partition_index=0, offset=0, leader_epoch=1)
        return ListOffsetsResponse(topics=[ListOffsetsResponse.TopicResponse(name="t", partitions=[row])])

    def fails_over(self, *log: tuple[bytes, int]) -> None:
        """Another leader, with this log."""
        self.epoch += 1
        self.log = list(log)
        self.session = dict.fromkeys(self.session, -1)


Make = Callable[..., Consumer]


@pytest.fixture
def leader(cluster: FakeCluster) -> Leader:
    return Leader(cluster)


@pytest.fixture
def make(cluster: FakeCluster, clock: ManualClock) -> Make:
    def make(reset: str = "earliest") -> Consumer:
        cluster.config = ClientConfig({"bootstrap.servers": "one:9092", "auto.offset.reset": reset})
        found = Consumer(cluster.config, exchange=cluster, clock=clock)  # type: ignore[arg-type]
        found.assign([T0])
        found.seek(T0, 0)
        return found

    return make


def values(consumer: Consumer, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    for _ in range(10):
        found += [record.value for record in consumer.poll(1.0)]
        if len(found) >= count:
            break
    return found


def test_requests_of_a_session_name_only_what_changed(make: Make, leader: Leader, cluster: FakeCluster) -> None:
    consumer = make()
    assert values(consumer, 3) == [b"a", b"b", b"c"]
    assert values(consumer, 1) == []
    fetches = cluster.requests(FetchRequest)
    assert [request.session_id for request in fetches[:2]] == [0, 9]
    assert [request.session_epoch for request in fetches] == list(range(len(fetches)))
    assert all(request.topics == [] for request in fetches[4:]), "nothing changes while no record comes"


@pytest.mark.parametrize("code", [error_codes.FETCH_SESSION_ID_NOT_FOUND, error_codes.INVALID_FETCH_SESSION_EPOCH])
def test_session_that_the_broker_forgot_begins_again(
    make: Make, leader: Leader, cluster: FakeCluster, code: int
) -> None:
    consumer = make()
    assert values(consumer, 3) == [b"a", b"b", b"c"]
    leader.codes[FetchRequest] = [code]
    leader.log.append((b"d", 1))
    assert values(consumer, 1) == [b"d"]
    again = [request for request in cluster.requests(FetchRequest) if request.session_epoch == 0]
    assert [len(request.topics) for request in again] == [1, 1]


def test_position_is_compared_with_a_new_leader_before_the_next_fetch(
    make: Make, leader: Leader, cluster: FakeCluster
) -> None:
    consumer = make()
    assert values(consumer, 3) == [b"a", b"b", b"c"]
    assert cluster.requests(OffsetForLeaderEpochRequest) == [], "the leader itself sent these records"
    leader.fails_over((b"a", 1), (b"b", 1), (b"c", 1), (b"d", 2))
    assert values(consumer, 1) == [b"d"]
    (request,) = cluster.requests(OffsetForLeaderEpochRequest)
    (row,) = request.topics[0].partitions
    assert (row.current_leader_epoch, row.leader_epoch, request.replica_id) == (2, 1, -1)


def test_position_beyond_the_new_leaders_log_goes_back_to_where_they_differ(make: Make, leader: Leader) -> None:
    consumer = make()
    assert values(consumer, 3) == [b"a", b"b", b"c"]
    leader.fails_over((b"a", 1), (b"x", 2), (b"y", 2), (b"z", 2))
    assert values(consumer, 3) == [b"x", b"y", b"z"], "offset 1 and 2 have other records now"
    assert consumer.position(T0) == 4


def test_truncation_is_raised_where_no_reset_is_allowed(make: Make, leader: Leader) -> None:
    consumer = make("none")
    assert values(consumer, 3) == [b"a", b"b", b"c"]
    leader.fails_over((b"a", 1), (b"x", 2))
    with pytest.raises(LogTruncated, match="Truncated partition t-0: the log was cut at offset 1, before") as caught:
        values(consumer, 1)
    assert (caught.value.topic_partition, caught.value.offset, caught.value.divergent_offset) == (T0, 3, 1)
    consumer.seek(T0, 1)
    assert values(consumer, 1) == [b"x"]


def test_leader_without_the_epoch_resets_by_policy(make: Make, leader: Leader) -> None:
    consumer = make()
    assert values(consumer, 3) == [b"a", b"b", b"c"]
    leader.fails_over((b"x", 2))
    assert values(consumer, 1) == [b"x"]
    strict = make("none")
    leader.log = [(b"a", 2)]
    assert values(strict, 1) == [b"a"]
    leader.fails_over((b"x", 3))
    with pytest.raises(LogTruncated, match="cut at an unknown offset"):
        values(strict, 1)


def test_comparison_is_repeated_while_the_leader_is_not_ready(make: Make, leader: Leader, cluster: FakeCluster) -> None:
    consumer = make()
    assert values(consumer, 3) == [b"a", b"b", b"c"]
    leader.codes[OffsetForLeaderEpochRequest] = [error_codes.NOT_LEADER_OR_FOLLOWER, error_codes.UNKNOWN_LEADER_EPOCH]
    leader.fails_over((b"a", 1), (b"x", 2))
    assert values(consumer, 1) == [b"x"]
    assert len(cluster.requests(OffsetForLeaderEpochRequest)) == 3
    leader.codes[OffsetForLeaderEpochRequest] = [error_codes.TOPIC_AUTHORIZATION_FAILED]
    leader.fails_over((b"a", 1), (b"x", 2))
    with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
        values(consumer, 1)


def test_brokers_that_are_too_old_are_not_asked(make: Make, leader: Leader, cluster: FakeCluster) -> None:
    cluster.limits[OffsetForLeaderEpochRequest.API_KEY] = 2
    consumer = make()
    assert values(consumer, 3) == [b"a", b"b", b"c"]
    leader.fails_over((b"a", 1), (b"b", 1), (b"c", 1), (b"d", 2))
    assert values(consumer, 1) == [b"d"]


def test_leader_that_says_with_a_fetch_where_its_log_differs(make: Make, leader: Leader, cluster: FakeCluster) -> None:
    consumer = make()
    assert values(consumer, 3) == [b"a", b"b", b"c"]
    leader.log = [(b"a", 1), (b"x", 1)]
    leader.diverging = (1, 1)
    assert values(consumer, 1) == [b"x"]
    told = [
        row.last_fetched_epoch for each in cluster.requests(FetchRequest) for t in each.topics for row in t.partitions
    ]
    assert told[:2] == [-1, 1]
