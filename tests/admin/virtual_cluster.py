"""A cluster in virtual time that answers everything with success, until a test puts a fault in the way.

Not the bundled broker with its faults: three nodes, every operation of the admin client (those of share groups, of
transactions and of controllers too), and waits of minutes that take no time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from kafka_tools.admin.client import AdminClient
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from kafka_tools.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
)
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse
from kafka_tools.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsResponse
from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from kafka_tools.protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from kafka_tools.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)
from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsResponse
from kafka_tools.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_tools.protocol.messages.leave_group import LeaveGroupResponse
from kafka_tools.protocol.messages.list_groups import ListGroupsResponse
from kafka_tools.protocol.messages.list_offsets import ListOffsetsResponse
from kafka_tools.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsResponse
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchResponse
from kafka_tools.protocol.messages.share_group_describe import ShareGroupDescribeResponse
from kafka_tools.protocol.messages.streams_group_describe import StreamsGroupDescribeResponse
from kafka_tools.protocol.messages.update_features import UpdateFeaturesResponse
from kafka_tools.protocol.releases import max_versions
from kafka_tools.values import ZERO_UUID, TopicPartition
from tests.admin.operations import ABOUT_THE_CLUSTER, LOOKUPS
from tests.net.virtual import VirtualNetwork, VirtualNode, without_chance

T0 = TopicPartition("t", 0)
Fault = Callable[[Any, int, VirtualNode], Any]
"""(request, version, node) -> a reply, or None for the truth."""


_DESCRIBED_GROUPS = (
    DescribeGroupsResponse,
    ConsumerGroupDescribeResponse,
    ShareGroupDescribeResponse,
    StreamsGroupDescribeResponse,
)


class VirtualCluster:
    """Nodes 1 to ``size``; node ``owner`` leads t-0 and is controller and coordinator of all."""

    def __init__(self, size: int = 3, release: str | None = None, without: tuple[int, ...] = ()) -> None:
        self.owner = 1
        self.fault: Fault = lambda request, version, node: None
        self.log: list[tuple[float, int, Any, int]] = []
        """(when, node id, request, version), without the first ApiVersions of a connection."""
        versions = dict(max_versions(release)) if release is not None else None
        self.nodes = [VirtualNode(id, self._answer, versions) for id in range(1, size + 1)]
        for node in self.nodes:
            for key in without:
                node.versions.pop(key, None)
        self.network = VirtualNetwork(self.nodes)

    @contextlib.contextmanager
    def admin(self, timeout_s: float = 30.0, **settings: Any) -> Iterator[AdminClient]:
        """An admin client, in virtual time and without chance: the same in every run."""
        values = {"bootstrap.servers": self.bootstrap}
        values |= {key.replace("_", "."): str(value) for key, value in settings.items()}
        with self.network.in_use(), without_chance(), AdminClient(ClientConfig(values), timeout_s=timeout_s) as client:
            yield client

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{node.host}:{node.port}" for node in self.nodes)

    def sent(self, name: str) -> list[tuple[float, int, Any, int]]:
        """The requests of an operation itself, without those that found out whom to ask."""
        own = name in ABOUT_THE_CLUSTER
        return [item for item in self.log if own or not isinstance(item[2], LOOKUPS)]

    def is_own(self, name: str, request: Any) -> bool:
        return name in ABOUT_THE_CLUSTER or not isinstance(request, LOOKUPS)

    def _answer(self, request: Any, version: int, node: VirtualNode) -> Any:
        self.log.append((self.network.clock.monotonic_s(), node.id, request, version))
        reply = self.fault(request, version, node)
        return self.truth(request, version) if reply is None else reply

    def truth(self, request: Any, version: int) -> Any:
        """What a sound cluster says."""
        if isinstance(request, ApiVersionsRequest):
            return None
        if isinstance(request, MetadataRequest):
            return self._metadata(request)
        if isinstance(request, DescribeClusterRequest):
            Broker = DescribeClusterResponse.Broker
            brokers = [Broker(broker_id=node.id, host=node.host, port=node.port) for node in self.nodes]
            return DescribeClusterResponse(cluster_id="virtual", controller_id=self.owner, brokers=brokers)
        if isinstance(request, FindCoordinatorRequest):
            node = self.nodes[self.owner - 1]
            place = {"node_id": node.id, "host": node.host, "port": node.port}
            if version < 4:
                return FindCoordinatorResponse(**place)
            Coordinator = FindCoordinatorResponse.Coordinator
            return FindCoordinatorResponse(
                coordinators=[Coordinator(key=key, **place) for key in request.coordinator_keys]
            )
        if isinstance(request, DescribeLogDirsRequest):
            return DescribeLogDirsResponse(results=[DescribeLogDirsResponse.Result(log_dir="/d")])
        if isinstance(request, AlterPartitionReassignmentsRequest):
            return _reassigned(request)
        if isinstance(request, DescribeQuorumRequest):
            return _quorum()
        builder = _WITH_ITEMS.get(type(request))
        if builder is not None:
            return builder(request)
        return self._filled(request, error_reply(request, version, 0), version)

    def _filled(self, request: Any, response: Any, version: int) -> Any:
        """Success with something in it, where a command would find nothing to tell."""
        if isinstance(response, ListPartitionReassignmentsResponse):
            response.topics = []  # an error repeats what was asked about
        if isinstance(response, DescribeTopicPartitionsResponse):
            place = {"leader_id": self.owner, "replica_nodes": [self.owner], "isr_nodes": [self.owner]}
            for topic in response.topics:
                topic.partitions = [type(topic).ResponsePartition(partition_index=0, **place)]
        elif isinstance(response, _DESCRIBED_GROUPS):
            for group in response.groups:
                group.group_state = "Empty"
        elif isinstance(response, InitProducerIdResponse):
            response.producer_id, response.producer_epoch = 7, 1  # epoch 0 has an id that was not known
        elif isinstance(response, ListGroupsResponse):
            Group = ListGroupsResponse.ListedGroup
            response.groups = [
                Group(group_id="g", protocol_type="consumer", group_state="Empty", group_type="consumer")
            ]
        elif isinstance(response, OffsetFetchResponse):
            for group in response.groups:
                Topic = OffsetFetchResponse.ResponseGroup.ResponseTopics
                partition = Topic.ResponsePartitions(partition_index=0, committed_offset=3)
                group.topics = [Topic(name="t", partitions=[partition])]
            if not response.groups:  # before 3.0: one group, whose topics stand at the top
                OldTopic = OffsetFetchResponse.ResponseTopic
                old_partition = OldTopic.ResponsePartition(partition_index=0, committed_offset=3)
                response.topics = [OldTopic(name="t", partitions=[old_partition])]
        elif isinstance(response, LeaveGroupResponse):
            Member = LeaveGroupResponse.MemberResponse
            response.members = [
                Member(member_id=member.member_id, group_instance_id=member.group_instance_id)
                for member in request.members
            ]
        elif isinstance(response, UpdateFeaturesResponse) and version < 2:
            Result = UpdateFeaturesResponse.UpdatableFeatureResult
            response.results = [Result(feature=update.feature) for update in request.feature_updates]
        elif isinstance(response, ListOffsetsResponse):
            for topic in response.topics:
                for partition in topic.partitions:
                    partition.offset = 5
        return response

    def _metadata(self, request: Any) -> MetadataResponse:
        Broker, Topic = MetadataResponse.ResponseBroker, MetadataResponse.ResponseTopic
        partition = Topic.ResponsePartition(
            partition_index=0, leader_id=self.owner, replica_nodes=[self.owner], isr_nodes=[self.owner]
        )
        wanted = [("t", ZERO_UUID)] if request.topics is None else [(row.name, row.topic_id) for row in request.topics]
        return MetadataResponse(
            brokers=[Broker(node_id=node.id, host=node.host, port=node.port) for node in self.nodes],
            cluster_id="virtual",
            controller_id=self.owner,
            topics=[Topic(name=name or "t", topic_id=id, partitions=[partition]) for name, id in wanted],
        )


def _reassigned(request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
    Topic = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
    return AlterPartitionReassignmentsResponse(
        responses=[
            Topic(
                name=topic.name,
                partitions=[
                    Topic.ReassignablePartitionResponse(partition_index=item.partition_index)
                    for item in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _quorum() -> DescribeQuorumResponse:
    Topic = DescribeQuorumResponse.TopicData
    Partition = Topic.PartitionData
    voter = Partition.FIELDS[[field.name for field in Partition.FIELDS].index("current_voters")].item.item(replica_id=1)
    partition = Partition(partition_index=0, leader_id=1, current_voters=[voter])
    return DescribeQuorumResponse(topics=[Topic(topic_name="__cluster_metadata", partitions=[partition])])


def _deleted_offsets(request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    Topic = OffsetDeleteResponse.ResponseTopic
    return OffsetDeleteResponse(
        topics=[
            Topic(
                name=topic.name,
                partitions=[Topic.ResponsePartition(partition_index=item.partition_index) for item in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _elected(request: ElectLeadersRequest) -> ElectLeadersResponse:
    Result = ElectLeadersResponse.ReplicaElectionResult
    return ElectLeadersResponse(
        replica_election_results=[
            Result(
                topic=topic.topic,
                partition_result=[Result.PartitionResult(partition_id=number) for number in topic.partitions],
            )
            for topic in request.topic_partitions or ()
        ]
    )


def _altered_share_offsets(request: AlterShareGroupOffsetsRequest) -> AlterShareGroupOffsetsResponse:
    Topic = AlterShareGroupOffsetsResponse.ResponseTopic
    return AlterShareGroupOffsetsResponse(
        responses=[
            Topic(
                topic_name=topic.topic_name,
                partitions=[Topic.ResponsePartition(partition_index=item.partition_index) for item in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _deleted_share_offsets(request: DeleteShareGroupOffsetsRequest) -> DeleteShareGroupOffsetsResponse:
    Topic = DeleteShareGroupOffsetsResponse.ResponseTopic
    return DeleteShareGroupOffsetsResponse(responses=[Topic(topic_name=topic.topic_name) for topic in request.topics])


def _share_offsets(request: DescribeShareGroupOffsetsRequest) -> DescribeShareGroupOffsetsResponse:
    Group = DescribeShareGroupOffsetsResponse.ResponseGroup
    Topic = Group.ResponseTopic
    return DescribeShareGroupOffsetsResponse(
        groups=[
            Group(
                group_id=group.group_id,
                topics=[
                    Topic(
                        topic_name=topic.topic_name,
                        partitions=[Topic.ResponsePartition(partition_index=number) for number in topic.partitions],
                    )
                    for topic in group.topics or ()
                ],
            )
            for group in request.groups
        ]
    )


_WITH_ITEMS: dict[type, Callable[[Any], Any]] = {
    OffsetDeleteRequest: _deleted_offsets,
    ElectLeadersRequest: _elected,
    AlterShareGroupOffsetsRequest: _altered_share_offsets,
    DeleteShareGroupOffsetsRequest: _deleted_share_offsets,
    DescribeShareGroupOffsetsRequest: _share_offsets,
}
"""Answers that hold an item for each item of the request beside their error."""
