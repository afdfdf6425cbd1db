"""Brokers with one share group in memory, in virtual time: which member holds which record, session by session.

Not the bundled broker with its faults: it has no share groups. Real Kafka judges in ``tests/against_kafka``.
"""

from __future__ import annotations

import uuid
from typing import Any

from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from kafka_tools.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from kafka_tools.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from kafka_tools.records.build import build_batch
from tests.net.peers import all_versions
from tests.net.virtual import Later, VirtualNetwork, VirtualNode

TOPIC_ID = uuid.UUID(int=7)
LOCK_MS = 30_000


class SharedTopic:
    """Topic ``t`` with one partition, led by ``leader``; nodes 1 and 2. ``codes``: errors to answer with, by class."""

    def __init__(self, *values: bytes) -> None:
        self.values = list(values)
        self.leader = 1
        self.acquired: dict[int, float] = {}
        """Offset -> when its lock ends."""
        self.delivered: dict[int, int] = {}
        self.final: dict[int, int] = {}
        """Offset -> 1 accepted or 3 rejected."""
        self.sessions: dict[int, int] = {}
        self.codes: dict[type[Any], list[int]] = {}
        self.row_codes: list[int] = []
        self.sent: list[tuple[int, Any]] = []
        versions = all_versions()
        self.nodes = [VirtualNode(number, self.answer, dict(versions)) for number in (1, 2)]
        self.network = VirtualNetwork(self.nodes)
        self.epochs: dict[str, int] = {}

    def requests(self, kind: type[Any]) -> list[Any]:
        return [request for _, request in self.sent if isinstance(request, kind)]

    def answer(self, request: Any, version: int, node: VirtualNode) -> Any:
        self.sent.append((node.id, request))
        if isinstance(request, MetadataRequest):
            return self.metadata()
        if isinstance(request, FindCoordinatorRequest):
            row = FindCoordinatorResponse.Coordinator(
                key=request.coordinator_keys[0], node_id=2, host="kafka2", port=9092
            )
            return FindCoordinatorResponse(coordinators=[row])
        code = self.code(type(request))
        if isinstance(request, ShareGroupHeartbeatRequest):
            return self.heartbeat(request, code)
        if isinstance(request, ShareAcknowledgeRequest):
            return self.acknowledge(request, node.id, code)
        if isinstance(request, ShareFetchRequest):
            return self.fetch(request, node.id, code)
        return None

    def code(self, kind: type[Any]) -> int:
        codes = self.codes.get(kind)
        return codes.pop(0) if codes else 0

    def metadata(self) -> MetadataResponse:
        partition = MetadataResponse.ResponseTopic.ResponsePartition(partition_index=0, leader_id=self.leader)
        return MetadataResponse(
            brokers=[MetadataResponse.ResponseBroker(node_id=n.id, host=n.host, port=n.port) for n in self.nodes],
            topics=[MetadataResponse.ResponseTopic(name="t", topic_id=TOPIC_ID, partitions=[partition])],
        )

    def heartbeat(self, request: ShareGroupHeartbeatRequest, code: int) -> ShareGroupHeartbeatResponse:
        if code:
            return ShareGroupHeartbeatResponse(error_code=code)
        assignment = None
        if request.member_epoch == 0:
            rows = [TopicPartitions(topic_id=TOPIC_ID, partitions=[0])]
            assignment = ShareGroupHeartbeatResponse.Assignment(topic_partitions=rows)
        epoch = request.member_epoch if request.member_epoch < 0 else max(1, request.member_epoch)
        self.epochs[request.member_id] = epoch
        return ShareGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=epoch, heartbeat_interval_ms=5_000, assignment=assignment
        )

    def session(self, node_id: int, epoch: int) -> int:
        """The error of a request with this session epoch."""
        if epoch == 0:
            self.release()
            self.sessions[node_id] = 1
            return 0
        if node_id not in self.sessions:
            return error_codes.SHARE_SESSION_NOT_FOUND
        if epoch == -1:
            del self.sessions[node_id]
            return 0
        if epoch != self.sessions[node_id]:
            return error_codes.INVALID_SHARE_SESSION_EPOCH
        self.sessions[node_id] += 1
        return 0

    def release(self) -> None:
        self.acquired.clear()

    def take(self, batches: list[Any]) -> int:
        """Apply acknowledgements of the partition, all of them or none."""
        if not batches:
            return 0
        if self.row_codes:
            code = self.row_codes.pop(0)
            if code:
                return code
        offsets = [
            (o, each.acknowledge_types[0]) for each in batches for o in range(each.first_offset, each.last_offset + 1)
        ]
        if any(offset not in self.acquired for offset, _ in offsets):
            return error_codes.INVALID_RECORD_STATE
        for offset, kind in offsets:
            del self.acquired[offset]
            if kind in (0, 1, 3):
                self.final[offset] = kind
            elif kind == 4:
                self.acquired[offset] = self.network.clock.monotonic_s() + LOCK_MS / 1000
        return 0

    def acknowledge(self, request: ShareAcknowledgeRequest, node_id: int, code: int) -> ShareAcknowledgeResponse:
        code = code or self.session(node_id, request.share_session_epoch)
        response = ShareAcknowledgeResponse(error_code=code, acquisition_lock_timeout_ms=LOCK_MS)
        for topic in request.topics if not code else ():
            rows = [
                ShareAcknowledgeResponse.TopicResponse.PartitionData(
                    partition_index=row.partition_index,
                    error_code=self.wrong_leader(node_id) or self.take(row.acknowledgement_batches),
                )
                for row in topic.partitions
            ]
            response.responses.append(ShareAcknowledgeResponse.TopicResponse(topic_id=topic.topic_id, partitions=rows))
        if request.share_session_epoch == -1:
            self.release()
        return response

    def wrong_leader(self, node_id: int) -> int:
        return error_codes.NOT_LEADER_OR_FOLLOWER if node_id != self.leader else 0

    def fetch(self, request: ShareFetchRequest, node_id: int, code: int) -> Any:
        code = code or self.session(node_id, request.share_session_epoch)
        response = ShareFetchResponse(error_code=code, acquisition_lock_timeout_ms=LOCK_MS)
        if code:
            return response
        batches = [each for topic in request.topics for row in topic.partitions for each in row.acknowledgement_batches]
        wrong = self.wrong_leader(node_id)
        row = ShareFetchResponse.ShareFetchableTopicResponse.PartitionData(
            partition_index=0, error_code=wrong, acknowledge_error_code=wrong or self.take(batches)
        )
        now_s = self.network.clock.monotonic_s()
        free = [
            offset
            for offset in range(len(self.values))
            if offset not in self.final and self.acquired.get(offset, 0.0) <= now_s
        ][: request.max_records]
        if wrong:
            free = []
        for offset in free:
            self.acquired[offset] = now_s + LOCK_MS / 1000
            self.delivered[offset] = self.delivered.get(offset, 0) + 1
            row.records = bytes(row.records or b"") + build_batch(
                [(0, None, self.values[offset], ())], base_offset=offset
            )
            row.acquired_records.append(
                ShareFetchResponse.ShareFetchableTopicResponse.PartitionData.AcquiredRecords(
                    first_offset=offset, last_offset=offset, delivery_count=self.delivered[offset]
                )
            )
        if free or batches or wrong:
            response.responses.append(
                ShareFetchResponse.ShareFetchableTopicResponse(topic_id=TOPIC_ID, partitions=[row])
            )
        return response if free else Later(request.max_wait_ms / 1000, response)
