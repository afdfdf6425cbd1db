"""The metadata quorum of a KRaft cluster (KIP-595, KIP-836, KIP-853): describe, add and remove voters; unregister
brokers and controllers."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.driver import ALL, AdminCall, Reply
from kafka_tools.admin.lookups import AnyNodeLookup, ControllerLookup
from kafka_tools.clock import Deadline
from kafka_tools.net.broker_errors import broker_error, error_of
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CLUSTER_METADATA
from kafka_tools.protocol.schema import Request

if TYPE_CHECKING:
    from kafka_tools.protocol.messages import describe_quorum
    from kafka_tools.protocol.messages.add_raft_voter import AddRaftVoterResponse
    from kafka_tools.protocol.messages.describe_quorum import DescribeQuorumResponse
    from kafka_tools.protocol.messages.remove_raft_voter import RemoveRaftVoterResponse
    from kafka_tools.protocol.messages.unregister_broker import UnregisterBrokerResponse
    from kafka_tools.protocol.messages.unregister_controller import UnregisterControllerResponse


class QuorumReplica(NamedTuple):
    """A voter or observer. Times in ms since the epoch, None where not told; ``directory_id`` None before 3.9."""

    replica_id: int
    directory_id: uuid.UUID | None
    log_end_offset: int
    last_fetch_ms: int | None
    last_caught_up_ms: int | None


class QuorumEndpoint(NamedTuple):
    """The address of a voter's listener."""

    name: str
    host: str
    port: int


class QuorumDescription(NamedTuple):
    """The quorum as its leader knows it. ``nodes``: voter id -> its endpoints, empty before 3.9."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    nodes: dict[int, tuple[QuorumEndpoint, ...]]


class DescribeQuorum(AdminCall[str, QuorumDescription, "DescribeQuorumResponse"]):
    """KRaft clusters only (3.3)."""

    name = "describe the metadata quorum"
    lookup = AnyNodeLookup()
    any_may_answer = True

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_quorum import DescribeQuorumRequest

        hint = "clusters that use ZooKeeper have no metadata quorum"
        versions.require(DescribeQuorumRequest, 0, "describing the metadata quorum", hint)
        Topic = DescribeQuorumRequest.TopicData
        partition = Topic.PartitionData(partition_index=0)
        return DescribeQuorumRequest(topics=[Topic(topic_name=CLUSTER_METADATA, partitions=[partition])])

    def interpret(self, reply: Reply[str, QuorumDescription, DescribeQuorumResponse]) -> None:
        response = reply.response
        error = error_of(response.error_code, response.error_message)
        if error is not None:
            reply.add_error(ALL, error)
            return
        for topic in response.topics:
            for item in topic.partitions:
                if topic.topic_name == CLUSTER_METADATA and item.partition_index == 0:
                    description = QuorumDescription(
                        item.leader_id,
                        item.leader_epoch,
                        item.high_watermark,
                        tuple(_replica(replica, reply.version) for replica in item.current_voters),
                        tuple(_replica(replica, reply.version) for replica in item.observers),
                        _endpoints(response.nodes),
                    )
                    reply.take(ALL, item.error_code, item.error_message, description)


def _replica(item: describe_quorum.ReplicaState, version: int) -> QuorumReplica:
    return QuorumReplica(
        item.replica_id,
        item.replica_directory_id if version >= 2 else None,
        item.log_end_offset,
        item.last_fetch_timestamp if item.last_fetch_timestamp >= 0 else None,
        item.last_caught_up_timestamp if item.last_caught_up_timestamp >= 0 else None,
    )


def _endpoints(nodes: Sequence[DescribeQuorumResponse.Node]) -> dict[int, tuple[QuorumEndpoint, ...]]:
    return {
        node.node_id: tuple(QuorumEndpoint(item.name, item.host, item.port) for item in node.listeners)
        for node in nodes
    }


class AddVoter(AdminCall[str, None, "AddRaftVoterResponse"]):
    """Make a controller a voter (3.9)."""

    name = "add a voter"
    lookup = AnyNodeLookup()

    voter_id: int
    directory_id: uuid.UUID
    endpoints: Sequence[QuorumEndpoint]
    cluster_id: str | None

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.add_raft_voter import AddRaftVoterRequest

        versions.require(AddRaftVoterRequest, 0, "adding a voter")
        Listener = AddRaftVoterRequest.Listener
        return AddRaftVoterRequest(
            cluster_id=self.cluster_id,
            timeout_ms=deadline.left_ms(),
            voter_id=self.voter_id,
            voter_directory_id=self.directory_id,
            listeners=[Listener(name=item.name, host=item.host, port=item.port) for item in self.endpoints],
        )

    def interpret(self, reply: Reply[str, None, AddRaftVoterResponse | RemoveRaftVoterResponse]) -> None:
        response = reply.response
        if response.error_code == error_codes.NOT_LEADER_OR_FOLLOWER:
            # The quorum's equivalent of NOT_CONTROLLER: another node is the leader now.
            reply.again[ALL] = broker_error(response.error_code, response.error_message or None)
        else:
            reply.settle(ALL, response.error_code, response.error_message, None)


class RemoveVoter(AdminCall[str, None, "RemoveRaftVoterResponse"]):
    """Make a voter an observer (3.9)."""

    name = "remove a voter"
    lookup = AnyNodeLookup()

    voter_id: int
    directory_id: uuid.UUID
    cluster_id: str | None

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest

        versions.require(RemoveRaftVoterRequest, 0, "removing a voter")
        return RemoveRaftVoterRequest(
            cluster_id=self.cluster_id, voter_id=self.voter_id, voter_directory_id=self.directory_id
        )

    interpret = AddVoter.interpret


class UnregisterBroker(AdminCall[int, None, "UnregisterBrokerResponse | UnregisterControllerResponse"]):
    """Unregister brokers that were removed permanently (KRaft)."""

    name = "unregister broker"
    lookup = ControllerLookup()
    per_request = 1

    def build(self, keys: list[int], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.unregister_broker import UnregisterBrokerRequest

        versions.require(UnregisterBrokerRequest, 0, "unregistering a broker")
        return UnregisterBrokerRequest(broker_id=keys[0])

    def interpret(self, reply: Reply[int, None, UnregisterBrokerResponse | UnregisterControllerResponse]) -> None:
        reply.settle(reply.keys[0], reply.response.error_code, reply.response.error_message, None)


class UnregisterController(UnregisterBroker):
    """Unregister controllers that were removed permanently (4.4)."""

    name = "unregister controller"

    def build(self, keys: list[int], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.unregister_controller import UnregisterControllerRequest

        versions.require(UnregisterControllerRequest, 0, "unregistering a controller")
        return UnregisterControllerRequest(controller_id=keys[0])
