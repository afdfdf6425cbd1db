"""A consumer of a KIP-848 group against a scripted coordinator, in virtual time: the traps of the protocol."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.group import OffsetAndMetadata
from kafka_tools.clients.subscription import SubscriptionPattern
from kafka_tools.clock import ManualClock
from kafka_tools.errors import BrokerError
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kafka_tools.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_tools.records.build import build_batch
from kafka_tools.values import Node, TopicPartition
from tests.clients.fake_cluster import NEVER, FakeCluster

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class Script:
    """A coordinator that assigns ``target``, with an epoch per change. ``codes`` answers by request class first."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        cluster.topic("t", partitions=2)
        cluster.topic("u")
        self.epoch = 1
        self.target: list[TopicPartition] = [T0]
        self.sent: list[TopicPartition] | None = None
        self.codes: dict[type[Any], list[int]] = {}
        self.gone: set[str] = set()
        self.hidden: set[str] = set()
        """Topics that the metadata does not know yet."""
        self.committed: dict[TopicPartition, int] = {}
        self.events: list[str] = []
        self.waiting: dict[int, float] = {}
        cluster.answers |= {
            ConsumerGroupHeartbeatRequest: self.heartbeat,
            OffsetCommitRequest: self.commit,
            OffsetFetchRequest: self.offset_fetch,
            FetchRequest: self.fetch,
            ListOffsetsRequest: self.list_offsets,
            MetadataRequest: self.metadata,
        }

    @property
    def names(self) -> dict[uuid.UUID, str]:
        return {topic_id: name for name, topic_id in self.cluster.ids.items()}

    def code(self, kind: type[Any]) -> int:
        codes = self.codes.get(kind)
        return codes.pop(0) if codes else 0

    def assign(self, *target: TopicPartition) -> None:
        self.target, self.epoch = list(target), self.epoch + 1

    def heartbeat(self, _: Node, request: ConsumerGroupHeartbeatRequest, __: int) -> ConsumerGroupHeartbeatResponse:
        self.events.append(f"heartbeat {request.member_epoch}")
        code = self.code(ConsumerGroupHeartbeatRequest)
        if code:
            return ConsumerGroupHeartbeatResponse(error_code=code)
        if request.member_epoch == 0:
            assert request.topic_partitions == [], "a join with epoch 0 owns nothing"
            self.sent = None
        assignment = None
        if self.sent != self.target:
            rows: dict[str, list[int]] = {}
            for topic, number in self.target:
                rows.setdefault(topic, []).append(number)
            assignment = ConsumerGroupHeartbeatResponse.Assignment(
                topic_partitions=[TopicPartitions(topic_id=self.cluster.ids[x], partitions=rows[x]) for x in rows]
            )
            self.sent = list(self.target)
        return ConsumerGroupHeartbeatResponse(
            member_id=request.member_id,
            member_epoch=self.epoch if request.member_epoch >= 0 else request.member_epoch,
            heartbeat_interval_ms=1000,
            assignment=assignment,
        )

    def commit(self, _: Node, request: OffsetCommitRequest, version: int) -> OffsetCommitResponse:
        assert version == (10 if request.member_id else 9)
        code = self.code(OffsetCommitRequest)
        if not code and request.generation_id_or_member_epoch != self.epoch:
            code = error_codes.STALE_MEMBER_EPOCH
        self.events.append(f"commit {request.generation_id_or_member_epoch}" + (" refused" if code else ""))
        response = OffsetCommitResponse()
        for topic in request.topics:
            rows = []
            for row in topic.partitions:
                if not code:
                    place = TopicPartition(topic.name or self.names[topic.topic_id], row.partition_index)
                    self.committed[place] = row.committed_offset
                rows.append(
                    OffsetCommitResponse.ResponseTopic.ResponsePartition(
                        partition_index=row.partition_index, error_code=code
                    )
                )
            response.topics.append(
                OffsetCommitResponse.ResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=rows)
            )
        return response

    def offset_fetch(self, _: Node, request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
        (asked,) = request.groups
        code = self.code(OffsetFetchRequest)
        self.events.append(f"offset fetch {asked.member_epoch}" + (" refused" if code else ""))
        group = OffsetFetchResponse.ResponseGroup(group_id="g", error_code=code)
        for topic in asked.topics if not code else ():
            name = self.names[topic.topic_id]
            rows = [
                OffsetFetchResponse.ResponseGroup.ResponseTopics.ResponsePartitions(
                    partition_index=number,
                    committed_offset=self.committed.get(TopicPartition(name, number), -1),
                    metadata="",
                    error_code=error_codes.UNKNOWN_TOPIC_ID if name in self.gone else 0,
                )
                for number in topic.partition_indexes
            ]
            group.topics.append(
                OffsetFetchResponse.ResponseGroup.ResponseTopics(topic_id=topic.topic_id, partitions=rows)
            )
        return OffsetFetchResponse(groups=[group])

    def fetch(self, _: Node, request: FetchRequest, __: int) -> Any:
        response = FetchResponse()
        for topic in request.topics:
            for row in topic.partitions:
                if row.fetch_offset == 0:
                    data = FetchResponse.FetchableTopicResponse.PartitionData(
                        partition_index=row.partition,
                        records=build_batch([(0, None, f"{self.names[topic.topic_id]}{row.partition}".encode(), ())]),
                    )
                    response.responses.append(
                        FetchResponse.FetchableTopicResponse(topic_id=topic.topic_id, partitions=[data])
                    )
        since_s = self.waiting.setdefault(id(request), self.cluster.clock.monotonic_s())
        waited_ms = (self.cluster.clock.monotonic_s() - since_s) * 1000
        return response if response.responses or waited_ms >= request.max_wait_ms else NEVER

    def list_offsets(self, _: Node, request: ListOffsetsRequest, __: int) -> ListOffsetsResponse:
        topics = [
            ListOffsetsResponse.TopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsResponse.TopicResponse.PartitionResponse(partition_index=row.partition_index, offset=0)
                    for row in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return ListOffsetsResponse(topics=topics)

    def metadata(self, node: Node, request: MetadataRequest, version: int) -> MetadataResponse:
        asked = [row.name or self.names[row.topic_id] for row in request.topics or ()]
        rows = [MetadataRequest.RequestTopic(name=name) for name in asked if name not in self.hidden]
        response = self.cluster._metadata(MetadataRequest(topics=rows))
        for name in self.hidden & set(asked):
            topic = MetadataResponse.ResponseTopic(topic_id=self.cluster.ids[name], name=None)
            topic.error_code = error_codes.UNKNOWN_TOPIC_ID
            response.topics.append(topic)
        return response


@pytest.fixture
def script(cluster: FakeCluster) -> Script:
    return Script(cluster)


def consumer(cluster: FakeCluster, clock: ManualClock, **given: str) -> Consumer:
    settings = {"bootstrap.servers": "one:9092", "group.id": "g", "group.protocol": "consumer"}
    settings |= {"auto.offset.reset": "earliest"} | {key.replace("_", "."): value for key, value in given.items()}
    cluster.config = ClientConfig(settings)
    return Consumer(cluster.config, exchange=cluster, clock=clock)  # type: ignore[arg-type]


def values(found: Consumer, timeout_s: float = 5.0) -> list[bytes | None]:
    return [record.value for record in found.poll(timeout_s)]


def test_topic_that_the_metadata_does_not_know_is_looked_up_by_its_id_until_it_does(
    script: Script, cluster: FakeCluster, clock: ManualClock
) -> None:
    script.target, script.hidden = [T0, U0], {"t", "u"}
    found = consumer(cluster, clock)
    found.subscribe(SubscriptionPattern("t|u"))
    assert values(found, 1.0) == []
    assert found.assignment() == []
    by_id = [
        request for request in cluster.requests(MetadataRequest) if request.topics and request.topics[0].name is None
    ]
    assert 3 <= len(by_id) <= 11, "again after each retry.backoff.ms, and not without pause"
    script.hidden = {"u"}
    assert values(found) == [b"t0"]
    script.hidden = set()
    assert values(found) == [b"u0"]
    assert found.assignment() == [T0, U0]


@pytest.mark.parametrize("code", [error_codes.FENCED_MEMBER_EPOCH, error_codes.UNKNOWN_MEMBER_ID])
def test_fenced_consumer_drops_its_partitions_and_joins_with_epoch_0(
    script: Script, cluster: FakeCluster, clock: ManualClock, code: int
) -> None:
    told: list[Any] = []
    found = consumer(cluster, clock)
    found.subscribe(["t"], on_assigned=told.append, on_lost=lambda lost: told.append(("lost", lost)))
    assert values(found) == [b"t0"]
    script.codes[ConsumerGroupHeartbeatRequest] = [code]
    script.events.clear()
    assert values(found) == [b"t0"], "from the committed offset, of which there is none"
    assert told == [[T0], ("lost", [T0]), [T0]]
    assert [event for event in script.events if event.startswith("heartbeat")][:2] == ["heartbeat 1", "heartbeat 0"]


def test_commit_with_a_stale_member_epoch_is_repeated_with_the_new_one(
    script: Script, cluster: FakeCluster, clock: ManualClock
) -> None:
    found = consumer(cluster, clock)
    found.subscribe(["t"])
    assert values(found) == [b"t0"]
    script.events.clear()
    script.epoch = 5
    found.commit()
    assert script.committed == {T0: 1}
    assert script.events == ["commit 1 refused", "heartbeat 1", "commit 5"]


def test_commit_of_a_member_that_is_gone_is_refused_with_advice(
    script: Script, cluster: FakeCluster, clock: ManualClock
) -> None:
    found = consumer(cluster, clock)
    found.subscribe(["t"])
    assert values(found) == [b"t0"]
    script.codes[OffsetCommitRequest] = [error_codes.UNKNOWN_MEMBER_ID]
    with pytest.raises(BrokerError, match="UNKNOWN_MEMBER_ID") as caught:
        found.commit()
    assert "the partitions were assigned to another member" in (caught.value.hint or "")


def test_committed_offsets_of_a_topic_that_is_gone_do_not_stop_the_others(
    script: Script, cluster: FakeCluster, clock: ManualClock
) -> None:
    script.target, script.gone = [T0, U0], {"u"}
    script.codes[OffsetFetchRequest] = [error_codes.STALE_MEMBER_EPOCH]
    found = consumer(cluster, clock)
    found.subscribe(["t", "u"])
    assert values(found) == [b"t0"]
    assert script.events.index("offset fetch 1 refused") < script.events.index("offset fetch 1")
    assert found.committed([T0, U0]) == {T0: None, U0: None}
    script.assign(T0)
    values(found, 3.0)
    assert found.assignment() == [T0], "the coordinator took it away"


def test_revocation_waits_for_the_commit_and_nothing_is_returned_meanwhile(
    script: Script, cluster: FakeCluster, clock: ManualClock
) -> None:
    script.target = [T0, T1]
    found = consumer(cluster, clock)
    found.subscribe(["t"], on_revoked=lambda revoked: script.events.append(f"revoked {revoked[0].partition}"))
    assert sorted(values(found) + values(found, 0.5), key=str) == [b"t0", b"t1"]
    script.assign(T1)
    script.codes[OffsetCommitRequest] = [error_codes.COORDINATOR_LOAD_IN_PROGRESS]
    script.events.clear()
    assert values(found, 3.0) == []
    wanted = ["heartbeat 1", "commit 2 refused", "commit 2", "revoked 0", "heartbeat 2"]
    assert [event for event in script.events if event in wanted][:5] == wanted
    assert script.committed == {T0: 1, T1: 1}
    acknowledged = cluster.requests(ConsumerGroupHeartbeatRequest)
    reported = [row.partitions for request in acknowledged for row in request.topic_partitions or ()]
    assert reported == [[0, 1], [1]]


def test_listener_that_fails_is_called_again(script: Script, cluster: FakeCluster, clock: ManualClock) -> None:
    script.target = [T0, T1]
    calls: list[int] = []

    def fail_once(revoked: list[TopicPartition]) -> None:
        calls.append(len(revoked))
        if len(calls) == 1:
            raise ValueError("the database is away")

    found = consumer(cluster, clock)
    found.subscribe(["t"], on_revoked=fail_once)
    values(found)
    script.assign(T1)
    with pytest.raises(ValueError, match="the database is away"):
        values(found, 3.0)
    values(found, 3.0)
    assert (calls, found.assignment()) == ([1, 1], [T1])


def test_close_commits_and_leaves(script: Script, cluster: FakeCluster, clock: ManualClock) -> None:
    told: list[Any] = []
    found = consumer(cluster, clock)
    found.subscribe(["t"], on_revoked=told.append)
    values(found)
    script.events.clear()
    found.close()
    assert script.events == ["commit 1", "heartbeat -1"]
    assert told == [[T0]]
    assert script.committed == {T0: 1}


def test_assigned_by_hand_commits_without_a_member(script: Script, cluster: FakeCluster, clock: ManualClock) -> None:
    found = consumer(cluster, clock)
    found.assign([T0])
    script.epoch = -1
    found.commit({T0: OffsetAndMetadata(4)})
    assert script.committed == {T0: 4}
