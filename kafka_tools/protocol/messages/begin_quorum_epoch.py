"""BeginQuorumEpoch (53): announce a new leader of the metadata quorum.

Sent by the leader to the voters that do not fetch from it yet (KIP-595).

Versions
    v1: flexible; directory ids and endpoints (KIP-853).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    INCONSISTENT_CLUSTER_ID: the request names another cluster.
    INVALID_REQUEST: the partition is not __cluster_metadata-0, or the leader id is negative.
    FENCED_LEADER_EPOCH: the epoch of the request is older than the one that the node knows.
    INVALID_VOTER_KEY: the node has another id or another log directory id than the request names (v1).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, uint16, uuid


class BeginQuorumEpochRequest(
    Request, key=53, effect="changes", versions="0-1", flexible="1+", rights={"cluster": "ClusterAction"}
):
    # Null: not known, and not checked. Any other id leads to INCONSISTENT_CLUSTER_ID.
    cluster_id = string(nullable="0+", default=None)
    # The voter that should receive the request. A node with another id answers INVALID_VOTER_KEY. -1: not checked.
    voter_id = int32(versions="1+", default=-1, ignorable=True)

    class TopicData(Struct):
        # Always __cluster_metadata.
        topic_name = string()

        class PartitionData(Struct):
            # Always 0.
            partition_index = int32()
            # Log directory id of the voter that should receive the request. Zero: not known, and not checked.
            voter_directory_id = uuid(versions="1+", ignorable=True)
            # The new leader, which sends the request.
            leader_id = int32()
            # Epoch that began with the election. An older one leads to FENCED_LEADER_EPOCH.
            leader_epoch = int32()

        partitions = array(PartitionData)

    # Exactly one partition. Anything else leads to INVALID_REQUEST.
    topics = array(TopicData)

    class LeaderEndpoint(Struct):
        # Name of the listener, such as CONTROLLER.
        name = string(versions="1+", map_key=True)
        host = string(versions="1+")
        port = uint16(versions="1+")

    # Where the voters reach the new leader. Empty: at the endpoints that the voter set contains.
    leader_endpoints = array(LeaderEndpoint, versions="1+", ignorable=True)


class BeginQuorumEpochResponse(Response, key=53, versions="0-1", flexible="1+"):
    # Error of the whole request. 0: no error.
    error_code = int16()

    class TopicData(Struct):
        topic_name = string()

        class PartitionData(Struct):
            partition_index = int32()
            # Error of this partition. 0: no error.
            error_code = int16()
            # The leader that the answering node follows. -1: none.
            leader_id = int32()
            # Newest epoch that the answering node knows. A higher one tells the sender that it no longer leads.
            leader_epoch = int32()

        partitions = array(PartitionData)

    topics = array(TopicData)

    class NodeEndpoint(Struct):
        # The node that leader_id names.
        node_id = int32(versions="1+", map_key=True)
        host = string(versions="1+")
        port = uint16(versions="1+")

    # Where to reach the leader that the partition names. Empty if there is no leader.
    node_endpoints = array(NodeEndpoint, versions="1+", tag=0)
