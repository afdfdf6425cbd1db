"""The consumer against a scripted cluster: positions, commits, time limits; and against the bundled broker."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_tools.broker_embedded.broker import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer, ConsumerWokenUp
from kafka_tools.clients.group import OffsetAndMetadata
from kafka_tools.clients.producer import Producer
from kafka_tools.clock import ManualClock
from kafka_tools.errors import BrokerError, DeadlineExceeded, InputError, KafkaToolsError
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_tools.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafka_tools.records.build import build_batch
from kafka_tools.values import Node, TopicPartition
from tests.clients.fake_cluster import NEVER, FakeCluster

T0 = TopicPartition("t", 0)
Make = Callable[..., Consumer]


class Broker:
    """Logs, a coordinator that accepts everything, committed offsets. ``codes`` answers by request class first."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.logs: dict[TopicPartition, list[bytes]] = {}
        self.start: dict[TopicPartition, int] = {}
        self.committed: dict[TopicPartition, int] = {}
        self.codes: dict[type[Any], list[int]] = {}
        self.waiting: dict[int, float] = {}
        self.generation = 0
        cluster.answers |= {
            FetchRequest: self.fetch,
            ListOffsetsRequest: self.list_offsets,
            JoinGroupRequest: self.join,
            SyncGroupRequest: self.sync,
            HeartbeatRequest: lambda _, request, __: HeartbeatResponse(error_code=self.code(HeartbeatRequest)),
            LeaveGroupRequest: lambda *_: LeaveGroupResponse(),
            OffsetCommitRequest: self.commit,
            OffsetFetchRequest: self.offset_fetch,
        }

    def code(self, kind: type[Any]) -> int:
        codes = self.codes.get(kind)
        return codes.pop(0) if codes else 0

    def write(self, topic_partition: TopicPartition, *values: bytes) -> None:
        self.logs.setdefault(topic_partition, []).extend(values)

    def fetch(self, node: Node, request: FetchRequest, version: int) -> Any:
        names = {topic_id: name for name, topic_id in self.cluster.ids.items()}
        response = FetchResponse()
        found = False
        for topic in request.topics:
            rows = []
            for asked in topic.partitions:
                topic_partition = TopicPartition(topic.topic or names[topic.topic_id], asked.partition)
                row = FetchResponse.FetchableTopicResponse.PartitionData(partition_index=asked.partition)
                row.error_code = self.code(FetchRequest)
                log, start = self.logs.get(topic_partition, []), self.start.get(topic_partition, 0)
                if not row.error_code and not start <= asked.fetch_offset <= start + len(log):
                    row.error_code = error_codes.OFFSET_OUT_OF_RANGE
                values = log[asked.fetch_offset - start :]
                found = found or bool(values) or bool(row.error_code)
                if values and not row.error_code:
                    row.records = build_batch(
                        [(0, None, value, ()) for value in values], base_offset=asked.fetch_offset, leader_epoch=4
                    )
                rows.append(row)
            response.responses.append(
                FetchResponse.FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=rows)
            )
        since_s = self.waiting.setdefault(id(request), self.cluster.clock.monotonic_s())
        waited_ms = (self.cluster.clock.monotonic_s() - since_s) * 1000
        return response if found or waited_ms >= request.max_wait_ms else NEVER

    def list_offsets(self, node: Node, request: ListOffsetsRequest, version: int) -> ListOffsetsResponse:
        response = ListOffsetsResponse()
        for topic in request.topics:
            rows = []
            for asked in topic.partitions:
                topic_partition = TopicPartition(topic.name, asked.partition_index)
                start = self.start.get(topic_partition, 0)
                end = start + len(self.logs.get(topic_partition, []))
                offset = {-2: start, -1: end}.get(asked.timestamp, asked.timestamp if asked.timestamp < end else -1)
                rows.append(
                    ListOffsetsResponse.TopicResponse.PartitionResponse(
                        partition_index=asked.partition_index, offset=offset, error_code=self.code(ListOffsetsRequest)
                    )
                )
            response.topics.append(ListOffsetsResponse.TopicResponse(name=topic.name, partitions=rows))
        return response

    def join(self, node: Node, request: JoinGroupRequest, version: int) -> JoinGroupResponse:
        code = self.code(JoinGroupRequest)
        if code:
            return JoinGroupResponse(error_code=code, protocol_name="")
        self.generation += 1
        me = JoinGroupResponse.ResponseMember(member_id="me", metadata=bytes(request.protocols[0].metadata))
        return JoinGroupResponse(
            generation_id=self.generation, protocol_name="range", leader="me", member_id="me", members=[me]
        )

    def sync(self, node: Node, request: SyncGroupRequest, version: int) -> SyncGroupResponse:
        return SyncGroupResponse(assignment=bytes(request.assignments[0].assignment))

    def commit(self, node: Node, request: OffsetCommitRequest, version: int) -> OffsetCommitResponse:
        code = self.code(OffsetCommitRequest)
        response = OffsetCommitResponse()
        for topic in request.topics:
            rows = []
            for asked in topic.partitions:
                if not code:
                    self.committed[TopicPartition(topic.name, asked.partition_index)] = asked.committed_offset
                rows.append(
                    OffsetCommitResponse.ResponseTopic.ResponsePartition(
                        partition_index=asked.partition_index, error_code=code
                    )
                )
            response.topics.append(OffsetCommitResponse.ResponseTopic(name=topic.name, partitions=rows))
        return response

    def offset_fetch(self, node: Node, request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
        code = self.code(OffsetFetchRequest)
        group = OffsetFetchResponse.ResponseGroup(group_id="g", error_code=code)
        for topic in request.groups[0].topics:
            rows = [
                OffsetFetchResponse.ResponseGroup.ResponseTopics.ResponsePartitions(
                    partition_index=number,
                    committed_offset=self.committed.get(TopicPartition(topic.name, number), -1),
                    metadata="",
                )
                for number in topic.partition_indexes
            ]
            group.topics.append(OffsetFetchResponse.ResponseGroup.ResponseTopics(name=topic.name, partitions=rows))
        return OffsetFetchResponse(groups=[group])


@pytest.fixture
def broker(cluster: FakeCluster) -> Broker:
    cluster.topic("t")
    found = Broker(cluster)
    found.write(T0, b"a", b"b", b"c")
    return found


@pytest.fixture
def make(cluster: FakeCluster, clock: ManualClock) -> Make:
    def make(**values: str) -> Consumer:
        settings = {"bootstrap.servers": "one:9092", **{key.replace("_", "."): value for key, value in values.items()}}
        cluster.config = ClientConfig(settings)
        return Consumer(cluster.config, exchange=cluster, clock=clock)  # type: ignore[arg-type]

    return make


def values(consumer: Consumer, timeout_s: float = 5.0) -> list[bytes | None]:
    return [record.value for record in consumer.poll(timeout_s)]


# Reading and positions


@pytest.mark.req("DESIGN-9")
def test_assigned_partition_is_read_from_where_it_was_sought(make: Make, broker: Broker) -> None:
    consumer = make()
    consumer.assign([T0])
    consumer.seek(T0, 1)
    assert values(consumer) == [b"b", b"c"]
    assert consumer.position(T0) == 3
    consumer.seek(T0, 0)
    assert values(consumer) == [b"a", b"b", b"c"]


@pytest.mark.req("FS-8")
def test_fetches_of_a_consumer_are_those_of_no_replica_and_tell_no_log_start(
    make: Make, broker: Broker, cluster: FakeCluster
) -> None:
    consumer = make()
    consumer.assign([T0])
    consumer.seek(T0, 0)
    values(consumer)
    fetches = cluster.requests(FetchRequest)
    assert fetches and all(fetch.replica_id == -1 for fetch in fetches)
    asked = [partition for fetch in fetches for topic in fetch.topics for partition in topic.partitions]
    assert asked and all(partition.log_start_offset == -1 for partition in asked)


@pytest.mark.parametrize(("policy", "found"), [("earliest", [b"a", b"b", b"c"]), ("latest", [])])
def test_reset_policy_says_where_to_begin(make: Make, broker: Broker, policy: str, found: list[bytes]) -> None:
    consumer = make(auto_offset_reset=policy)
    consumer.assign([T0])
    assert values(consumer, 1.0) == found
    assert consumer.position(T0) == 3


@pytest.mark.req("CONS-51")
def test_without_policy_a_missing_position_is_an_error(make: Make, broker: Broker) -> None:
    consumer = make(auto_offset_reset="none")
    consumer.assign([T0])
    for call in (lambda: consumer.poll(1.0), lambda: consumer.position(T0)):
        with pytest.raises(KafkaToolsError, match="Undefined offset with no reset policy for partition t-0"):
            call()


def test_out_of_range_follows_the_policy(make: Make, broker: Broker) -> None:
    broker.start[T0] = 10
    consumer = make(auto_offset_reset="earliest")
    consumer.assign([T0])
    consumer.seek(T0, 3)
    assert values(consumer) == [b"a", b"b", b"c"]
    strict = make(auto_offset_reset="none")
    strict.assign([T0])
    strict.seek(T0, 3)
    with pytest.raises(KafkaToolsError, match="Offset 3 of partition t-0 is out of range, with no reset policy"):
        strict.poll(1.0)


@pytest.mark.req("CONS-29")
def test_seek_to_the_ends_is_looked_up_when_needed(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    consumer = make()
    consumer.assign([T0])
    consumer.seek_to_beginning()
    assert not cluster.requests(ListOffsetsRequest)
    assert consumer.position(T0) == 0
    consumer.seek_to_end([T0])
    assert consumer.position(T0) == 3


@pytest.mark.req("CONS-6", "CONS-13", "CONS-25", "CONS-28")
def test_misuse_is_refused_in_kafkas_words(make: Make, broker: Broker) -> None:
    consumer = make(group_id="g")
    with pytest.raises(InputError, match="Timeout must not be negative"):
        consumer.poll(-1.0)
    with pytest.raises(InputError, match="Consumer is not subscribed to any topics or assigned any partitions"):
        consumer.poll(1.0)
    with pytest.raises(InputError, match="You can only check the position for partitions assigned to this consumer"):
        consumer.position(T0)
    consumer.assign([T0])
    with pytest.raises(InputError, match="seek offset must not be a negative number"):
        consumer.seek(T0, -1)
    with pytest.raises(
        InputError, match=r"The target time for partition t-0 is -5\. The target time cannot be negative\."
    ):
        consumer.offsets_for_times({T0: -5})
    with pytest.raises(InputError, match=r"^Topic pattern to subscribe to cannot be null$"):
        make(group_id="g").subscribe(None)  # type: ignore[arg-type]
    for seek in (consumer.seek_to_beginning, consumer.seek_to_end):
        with pytest.raises(InputError, match=r"^Partitions collection cannot be null$"):
            seek(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^The timeout cannot be negative\.$"):
        consumer.close(-1.0)
    assert values(consumer, 1.0) == []  # it is as open as before


@pytest.mark.req("CONS-24")
def test_while_a_position_is_unknown_a_poll_waits_no_longer_at_once_than_for_a_retry(
    make: Make, broker: Broker, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = make(retry_backoff_ms="40")
    consumer.assign([T0])
    waits: list[float] = []
    poll = cluster.poll

    def waiting(pending: Any, deadline: Any) -> Any:
        waits.append(deadline.left_s())
        return poll(pending, deadline)

    monkeypatch.setattr(cluster, "poll", waiting)
    cluster.answers[ListOffsetsRequest] = lambda *_: NEVER
    assert consumer.poll(1.0) == []
    assert max(waits[1:]) == pytest.approx(0.04)
    consumer.seek(T0, 3)
    waits.clear()
    assert consumer.poll(1.0) == []
    assert max(waits) > 0.04


@pytest.mark.req("CONS-6")
def test_a_poll_without_data_takes_its_time_limit_and_no_more(make: Make, broker: Broker, clock: ManualClock) -> None:
    consumer = make()
    consumer.assign([T0])
    consumer.seek(T0, 3)
    for limit_s in (0.5, 3.0, 0.0):
        before_s = clock.monotonic_s()
        assert consumer.poll(limit_s) == []
        assert clock.monotonic_s() - before_s == pytest.approx(limit_s, abs=0.06)


@pytest.mark.req("CONS-3")
def test_subscription_and_assignment_by_hand_exclude_each_other(make: Make, broker: Broker) -> None:
    consumer = make(group_id="g")
    consumer.subscribe(["t"])
    with pytest.raises(InputError, match="cannot be combined"):
        consumer.assign([T0])
    other = make(group_id="g")
    other.assign([T0])
    with pytest.raises(InputError, match="cannot be combined"):
        other.subscribe(["t"])


@pytest.mark.req("CONS-33")
def test_pause_holds_records_back_without_a_rebalance(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    consumer = make(group_id="g", auto_offset_reset="earliest")
    consumer.subscribe(["t"])
    assert values(consumer) == [b"a", b"b", b"c"]
    consumer.pause([T0])
    broker.write(T0, b"d")
    assert values(consumer, 1.0) == []
    assert consumer.paused() == [T0]
    consumer.resume([T0])
    consumer.resume([T0])
    assert values(consumer) == [b"d"]
    assert len(cluster.requests(JoinGroupRequest)) == 1


@pytest.mark.req("CONS-22")
def test_next_fetch_is_under_way_when_records_are_returned(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    consumer = make()
    consumer.assign([T0])
    consumer.seek(T0, 0)
    values(consumer)
    assert cluster.requests(FetchRequest)[-1].topics[0].partitions[0].fetch_offset == 3


def test_max_poll_records(make: Make, broker: Broker) -> None:
    consumer = make(max_poll_records="2", auto_offset_reset="earliest")
    consumer.assign([T0])
    assert values(consumer) == [b"a", b"b"]
    assert consumer.position(T0) == 2
    assert values(consumer) == [b"c"]


@pytest.mark.req("CONS-32")
def test_offsets_for_times_begin_and_end_need_no_assignment(make: Make, broker: Broker) -> None:
    consumer = make()
    assert consumer.beginning_offsets([T0]) == {T0: 0}
    assert consumer.end_offsets([T0]) == {T0: 3}
    found = consumer.offsets_for_times({T0: 1})
    assert found[T0] is not None and found[T0].offset == 1
    assert consumer.offsets_for_times({T0: 99}) == {T0: None}


# Groups and commits


def test_group_member_reads_from_the_committed_offset(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    broker.committed[T0] = 2
    consumer = make(group_id="g", auto_offset_reset="earliest")
    assigned: list[list[TopicPartition]] = []
    consumer.subscribe(["t"], on_assigned=assigned.append)
    assert values(consumer) == [b"c"]
    assert assigned == [[T0]]
    assert consumer.assignment() == [T0]


def test_commit_says_position_and_epoch(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    consumer = make(group_id="g", auto_offset_reset="earliest", enable_auto_commit="false")
    consumer.subscribe(["t"])
    values(consumer)
    consumer.commit()
    (request,) = cluster.requests(OffsetCommitRequest)
    row = request.topics[0].partitions[0]
    assert (row.committed_offset, row.committed_leader_epoch, request.member_id) == (3, 4, "me")
    assert consumer.committed([T0]) == {T0: OffsetAndMetadata(3)}


@pytest.mark.req("CONS-31")
def test_committed_is_none_where_nothing_was(make: Make, broker: Broker) -> None:
    assert make(group_id="g").committed([T0]) == {T0: None}


@pytest.mark.req("CONS-42")
@pytest.mark.parametrize(
    "code",
    [
        error_codes.UNKNOWN_TOPIC_OR_PARTITION,
        error_codes.COORDINATOR_LOAD_IN_PROGRESS,
        error_codes.NOT_COORDINATOR,
    ],
)
def test_commit_is_retried_after_errors_of_the_moment(
    make: Make, broker: Broker, cluster: FakeCluster, code: int
) -> None:
    broker.codes[OffsetCommitRequest] = [code, code]
    make(group_id="g").commit({T0: OffsetAndMetadata(1)})
    assert broker.committed == {T0: 1}
    lookups = len(cluster.requests(FindCoordinatorRequest))
    assert lookups == (3 if code == error_codes.NOT_COORDINATOR else 1)


@pytest.mark.req("CONS-50")
@pytest.mark.parametrize("code", [error_codes.ILLEGAL_GENERATION, error_codes.GROUP_AUTHORIZATION_FAILED])
def test_commit_stops_at_errors_that_no_retry_mends(
    make: Make, broker: Broker, cluster: FakeCluster, code: int
) -> None:
    broker.codes[OffsetCommitRequest] = [code]
    with pytest.raises(BrokerError, match=error_codes.error(code).name):
        make(group_id="g").commit({T0: OffsetAndMetadata(1)})
    assert len(cluster.requests(OffsetCommitRequest)) == 1


@pytest.mark.req("CONS-9")
def test_a_synchronous_commit_waits_between_its_tries_and_no_offsets_send_nothing(
    make: Make, broker: Broker, cluster: FakeCluster, clock: ManualClock
) -> None:
    broker.codes[OffsetCommitRequest] = [error_codes.COORDINATOR_LOAD_IN_PROGRESS] * 3
    consumer = make(group_id="g", retry_backoff_ms="700")
    begun_s = clock.monotonic_s()
    consumer.commit({T0: OffsetAndMetadata(1)})
    assert broker.committed == {T0: 1}
    assert clock.monotonic_s() - begun_s >= 3 * 0.7
    assert len(cluster.requests(OffsetCommitRequest)) == 4
    consumer.commit({})
    consumer.commit_async({})
    assert len(cluster.requests(OffsetCommitRequest)) == 4


@pytest.mark.req("CONS-9")
def test_asynchronous_commit_reports_and_never_raises(make: Make, broker: Broker) -> None:
    consumer = make(group_id="g", auto_offset_reset="earliest", enable_auto_commit="false")
    consumer.subscribe(["t"])
    values(consumer)
    broker.codes[OffsetCommitRequest] = [error_codes.ILLEGAL_GENERATION]
    answers: list[KafkaToolsError | None] = []
    consumer.commit_async(done=answers.append)
    consumer.poll(0.2)
    assert [type(answer) for answer in answers] == [BrokerError]


@pytest.mark.req("CONS-27")
def test_time_limits_say_what_was_not_done(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    cluster.answers[OffsetCommitRequest] = lambda *_: NEVER
    cluster.answers[OffsetFetchRequest] = lambda *_: NEVER
    consumer = make(group_id="g")
    with pytest.raises(DeadlineExceeded, match="Timeout of 500ms expired before committing offsets t-0=1"):
        consumer.commit({T0: OffsetAndMetadata(1)}, timeout_s=0.5)
    fetching = "Timeout of 500ms expired before the last committed offset for"
    with pytest.raises(DeadlineExceeded, match=f"{fetching} partition t-0 could be determined"):
        consumer.committed([T0], timeout_s=0.5)
    with pytest.raises(DeadlineExceeded, match=f"{fetching} partitions t-0, t-1 could be determined"):
        consumer.committed([T0, TopicPartition("t", 1)], timeout_s=0.5)
    reader = make(group_id="i", enable_auto_commit="false", auto_offset_reset="earliest")
    reader.assign([T0])
    reader.seek(T0, 0)
    assert values(reader) == [b"a", b"b", b"c"]
    with pytest.raises(
        DeadlineExceeded, match="Timeout of 500ms expired before successfully committing the current consumed offsets"
    ):
        reader.commit(timeout_s=0.5)
    other = make(group_id="h")
    other.assign([T0])
    with pytest.raises(
        DeadlineExceeded, match="Timeout of 500ms expired before the position for partition t-0 could be determined"
    ):
        other.position(T0, timeout_s=0.5)


@pytest.mark.req("CONS-41", "GAP-16")
def test_waiting_for_a_retry_ends_with_the_time_limit(make: Make, broker: Broker, clock: ManualClock) -> None:
    broker.codes[OffsetFetchRequest] = [error_codes.COORDINATOR_LOAD_IN_PROGRESS] * 100
    consumer = make(group_id="g", retry_backoff_ms="100")
    before_s = clock.monotonic_s()
    with pytest.raises(DeadlineExceeded, match="Timeout of 250ms expired before the last committed offset"):
        consumer.committed([T0], timeout_s=0.25)
    assert clock.monotonic_s() - before_s == pytest.approx(0.25)


@pytest.mark.req("CONS-30")
@pytest.mark.parametrize(("level", "asked"), [("read_committed", 1), ("read_uncommitted", 0)])
def test_the_end_is_the_last_stable_offset_for_readers_of_committed_records(
    make: Make, broker: Broker, cluster: FakeCluster, level: str, asked: int
) -> None:
    broker.logs[T0].clear()
    consumer = make(isolation_level=level)
    # Nothing was ever written.
    assert consumer.end_offsets([T0]) == {T0: 0}
    consumer.assign([T0])
    consumer.seek_to_end()
    assert consumer.position(T0) == 0
    requests = cluster.requests(ListOffsetsRequest)
    assert len(requests) == 2
    assert {request.isolation_level for request in requests} == {asked}


@pytest.mark.req("CONS-11")
def test_positions_are_committed_at_the_interval(make: Make, broker: Broker, clock: ManualClock) -> None:
    consumer = make(group_id="g", auto_offset_reset="earliest", auto_commit_interval_ms="1000")
    consumer.subscribe(["t"])
    values(consumer)
    consumer.poll(0.5)
    assert broker.committed == {}
    consumer.poll(1.0)
    assert broker.committed == {T0: 3}


@pytest.mark.req("CONS-43")
def test_failed_auto_commit_is_tried_again_soon(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    consumer = make(group_id="g", auto_offset_reset="earliest", auto_commit_interval_ms="1000")
    consumer.subscribe(["t"])
    values(consumer)
    broker.codes[OffsetCommitRequest] = [
        error_codes.COORDINATOR_LOAD_IN_PROGRESS,
        error_codes.GROUP_AUTHORIZATION_FAILED,
    ]
    consumer.poll(1.3)
    assert len(cluster.requests(OffsetCommitRequest)) == 2, "once more after the back-off, not before"
    consumer.poll(0.5)
    assert len(cluster.requests(OffsetCommitRequest)) == 2, "other failures wait for the interval"


@pytest.mark.req("CONS-34")
def test_close_commits_leaves_and_may_be_repeated(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    consumer = make(group_id="g", auto_offset_reset="earliest")
    revoked: list[list[TopicPartition]] = []
    consumer.subscribe(["t"], on_revoked=revoked.append)
    values(consumer)
    consumer.close()
    consumer.close()
    assert broker.committed == {T0: 3}
    assert revoked == [[T0]]
    assert len(cluster.requests(LeaveGroupRequest)) == 1
    assert cluster.closed


@pytest.mark.req("CONS-49")
def test_closed_consumer_refuses_everything(make: Make, broker: Broker) -> None:
    consumer = make(group_id="g")
    consumer.assign([T0])
    consumer.close()
    for call in (
        lambda: consumer.subscribe(["t"]),
        consumer.unsubscribe,
        lambda: consumer.poll(1.0),
        consumer.commit,
        lambda: consumer.seek(T0, 1),
        consumer.seek_to_beginning,
        consumer.seek_to_end,
        lambda: consumer.position(T0),
        lambda: consumer.committed([T0]),
    ):
        with pytest.raises(KafkaToolsError, match=r"This consumer has already been closed\."):
            call()


@pytest.mark.req("CONS-26")
def test_what_is_never_right_is_said_before_that_the_consumer_is_closed(make: Make, broker: Broker) -> None:
    consumer = make(group_id="g")
    consumer.close()
    with pytest.raises(InputError, match="seek offset must not be a negative number"):
        consumer.seek(T0, -1)
    with pytest.raises(InputError, match="The target time cannot be negative"):
        consumer.offsets_for_times({T0: -5})


@pytest.mark.req("CONS-21")
def test_wakeup_ends_the_wait_of_a_poll(make: Make, broker: Broker) -> None:
    consumer = make()
    consumer.assign([T0])
    consumer.seek_to_end()
    consumer.wakeup()
    with pytest.raises(ConsumerWokenUp):
        consumer.poll(1.0)
    assert values(consumer, 0.1) == []


@pytest.mark.req("CONS-21")
def test_no_wakeup_is_raised_once_there_are_records_to_return(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    consumer = make()
    consumer.assign([T0])
    consumer.seek(T0, 0)

    def woken_by_the_next_fetch(node: Node, request: FetchRequest, version: int) -> Any:
        if request.topics[0].partitions[0].fetch_offset == 3:
            consumer.wakeup()
        return broker.fetch(node, request, version)

    cluster.answers[FetchRequest] = woken_by_the_next_fetch
    assert values(consumer) == [b"a", b"b", b"c"]
    with pytest.raises(ConsumerWokenUp):
        consumer.poll(1.0)


def test_an_error_of_the_next_fetch_does_not_cost_the_records_that_are_there(
    make: Make, broker: Broker, cluster: FakeCluster
) -> None:
    consumer = make()
    consumer.assign([T0])
    consumer.seek(T0, 0)

    def refused_behind_the_records(node: Node, request: FetchRequest, version: int) -> Any:
        if request.topics[0].partitions[0].fetch_offset == 3:
            return FetchResponse(error_code=error_codes.CLUSTER_AUTHORIZATION_FAILED)
        return broker.fetch(node, request, version)

    cluster.answers[FetchRequest] = refused_behind_the_records
    assert values(consumer) == [b"a", b"b", b"c"]
    with pytest.raises(BrokerError, match="CLUSTER_AUTHORIZATION_FAILED"):
        consumer.poll(1.0)


@pytest.mark.req("CONS-19")
def test_poll_ends_in_time_though_nobody_answers(
    make: Make, broker: Broker, cluster: FakeCluster, clock: ManualClock
) -> None:
    cluster.answers[JoinGroupRequest] = lambda *_: NEVER
    consumer = make(group_id="g")
    consumer.subscribe(["t"])
    before_s = clock.monotonic_s()
    assert consumer.poll(2.0) == []
    assert clock.monotonic_s() - before_s == pytest.approx(2.0, abs=0.3)


@pytest.mark.req("CONS-10")
def test_coordinator_is_looked_up_again_when_it_moves(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    consumer = make(group_id="g", auto_offset_reset="earliest")
    consumer.subscribe(["t"])
    values(consumer)
    broker.codes[HeartbeatRequest] = [error_codes.NOT_COORDINATOR]
    consumer.poll(4.0)
    assert len(cluster.requests(FindCoordinatorRequest)) == 2
    assert len(cluster.requests(JoinGroupRequest)) == 1


def test_rebalance_commits_first_and_tells_the_listeners(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    consumer = make(group_id="g", auto_offset_reset="earliest")
    events: list[str] = []
    consumer.subscribe(
        ["t"], on_assigned=lambda _: events.append("assigned"), on_revoked=lambda _: events.append("revoked")
    )
    values(consumer)
    broker.codes[HeartbeatRequest] = [error_codes.REBALANCE_IN_PROGRESS]
    consumer.poll(4.0)
    assert broker.committed == {T0: 3}
    assert events == ["assigned", "revoked", "assigned"]
    kinds = [type(request).__name__ for _, request, _ in cluster.sent]
    assert kinds.index("OffsetCommitRequest") < len(kinds) - 1 - kinds[::-1].index("JoinGroupRequest")


@pytest.mark.req("CONS-23")
def test_records_that_come_while_the_group_rebalances_are_withheld_until_it_has_a_member_again(
    make: Make, broker: Broker, cluster: FakeCluster
) -> None:
    consumer = make(group_id="g", auto_offset_reset="earliest", max_poll_records="1")
    consumer.subscribe(["t"])
    assert values(consumer) == [b"a"]  # b and c are here, too
    broker.codes[OffsetCommitRequest] = [error_codes.REBALANCE_IN_PROGRESS]
    with pytest.raises(BrokerError, match="REBALANCE_IN_PROGRESS"):
        consumer.commit()
    cluster.answers[JoinGroupRequest] = lambda *_: NEVER
    assert values(consumer, 1.0) == []
    cluster.answers[JoinGroupRequest] = broker.join
    broker.committed[T0] = 1
    assert values(consumer) == [b"b"]


def test_other_calls_than_poll_start_no_rebalance(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    consumer = make(group_id="g", auto_offset_reset="earliest", enable_auto_commit="false")
    revoked: list[list[TopicPartition]] = []
    consumer.subscribe(["t"], on_revoked=revoked.append)
    values(consumer)
    broker.codes[OffsetCommitRequest] = [error_codes.REBALANCE_IN_PROGRESS]
    with pytest.raises(BrokerError, match="REBALANCE_IN_PROGRESS") as caught:
        consumer.commit()
    assert caught.value.hint is not None and "assigned to another member" in caught.value.hint
    consumer.committed([T0])
    assert (len(cluster.requests(JoinGroupRequest)), revoked, consumer.assignment()) == (1, [], [T0])
    consumer.poll(0.5)
    assert (len(cluster.requests(JoinGroupRequest)), revoked) == (2, [[T0]])


def test_leader_starts_a_rebalance_when_a_topic_grows(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    consumer = make(group_id="g", auto_offset_reset="earliest", metadata_max_age_ms="1000")
    consumer.subscribe(["t"])
    values(consumer)
    cluster.leaders[TopicPartition("t", 1)] = 2
    broker.write(TopicPartition("t", 1), b"new")
    assert values(consumer, 10.0) == [b"new"]
    assert consumer.assignment() == [T0, TopicPartition("t", 1)]


def test_pattern_follows_topics_and_leaves_internal_ones_out(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    cluster.topic("other")
    consumer = make(group_id="g", auto_offset_reset="earliest", metadata_max_age_ms="1000")
    consumer.subscribe(re.compile("t.*"))
    assert values(consumer) == [b"a", b"b", b"c"]
    cluster.topic("tt")
    broker.write(TopicPartition("tt", 0), b"late")
    assert values(consumer, 10.0) == [b"late"]
    assert consumer.subscription() == ("t", "tt")


def test_without_a_group_every_partition_is_read_and_new_ones_from_their_start(
    make: Make, broker: Broker, cluster: FakeCluster
) -> None:
    consumer = make(metadata_max_age_ms="1000")
    consumer.subscribe(["t"])
    assert values(consumer, 0.5) == []
    broker.write(T0, b"d")
    cluster.leaders[TopicPartition("t", 1)] = 2
    broker.write(TopicPartition("t", 1), b"new")
    found = []
    while len(found) < 2:
        found += values(consumer)
    assert sorted(found) == [b"d", b"new"]
    assert not cluster.requests(FindCoordinatorRequest)


def test_topic_that_is_not_described_for_a_moment_keeps_its_place(
    make: Make, broker: Broker, cluster: FakeCluster
) -> None:
    for settings in ({}, {"group_id": "g"}):
        consumer = make(metadata_max_age_ms="500", auto_offset_reset="earliest", **settings)
        consumer.subscribe(["t"])
        assert values(consumer) == [b"a", b"b", b"c"]
        leaders, cluster.leaders = cluster.leaders, {}
        cluster.topic_errors["t"] = error_codes.LEADER_NOT_AVAILABLE
        assert values(consumer, 2.0) == []
        cluster.leaders = leaders
        del cluster.topic_errors["t"]
        assert values(consumer, 2.0) == []
        assert consumer.position(T0) == 3
    assert len(cluster.requests(JoinGroupRequest)) == 1


def test_forbidden_topic_is_reported(make: Make, cluster: FakeCluster) -> None:
    cluster.topic_errors["t"] = error_codes.TOPIC_AUTHORIZATION_FAILED
    consumer = make()
    consumer.subscribe(["t"])
    with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED: topic 't'"):
        consumer.poll(1.0)


# On the bundled broker


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with EmbeddedBroker(config={"group.initial.rebalance.delay.ms": "0", "num.partitions": "4"}) as running:
        yield running.bootstrap_servers


def config(servers: str, **values: str) -> ClientConfig:
    return ClientConfig(
        {"bootstrap.servers": servers, **{key.replace("_", "."): value for key, value in values.items()}}
    )


@pytest.mark.req("CONS-37", "DESIGN-31")
def test_two_members_share_the_partitions_and_the_second_takes_over(servers: str) -> None:
    with Producer(config(servers)) as producer:
        for number in range(100):
            producer.send("shared", b"%d" % number, b"%d" % number)
        producer.flush(60)
    settings = {
        "group_id": "sharing",
        "auto_offset_reset": "earliest",
        "session_timeout_ms": "10000",
        "heartbeat_interval_ms": "100",
    }
    first, second = Consumer(config(servers, **settings)), Consumer(config(servers, **settings))
    seen: list[bytes | None] = []
    events: list[str] = []

    def poll_until(condition: Callable[[], bool], *consumers: Consumer) -> None:
        for _ in range(3000):
            for consumer in consumers:
                seen.extend(record.value for record in consumer.poll(0.02))
            if condition():
                return
        raise AssertionError("the group did not settle")

    def subscribe(consumer: Consumer, name: str) -> None:
        consumer.subscribe(
            ["shared"],
            on_assigned=lambda _: events.append(f"{name} assigned"),
            on_revoked=lambda _: events.append(f"{name} revoked"),
        )

    with second:
        with first:
            subscribe(first, "first")
            poll_until(lambda: len(first.assignment()) == 4, first)
            subscribe(second, "second")
            poll_until(lambda: len(first.assignment()) == len(second.assignment()) == 2, first, second)
            owned = sorted(first.assignment() + second.assignment())
            assert owned == [TopicPartition("shared", number) for number in range(4)]
            # Nobody gets a partition before its owner has given it up.
            assert events[:2] == ["first assigned", "first revoked"]
            poll_until(lambda: len(seen) >= 100, first, second)
        poll_until(lambda: len(second.assignment()) == 4, second)
    assert sorted(seen, key=str) == sorted((b"%d" % number for number in range(100)), key=str), (
        "each record once: rebalances committed"
    )
