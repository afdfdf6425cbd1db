"""EndQuorumEpoch (54): resign as the leader of the metadata quorum, and name successors.

Sent by the leader to the voters when it shuts down or is no longer a voter (KIP-595).

Versions
    v1: flexible; candidates with directory ids, and endpoints (KIP-853).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    INCONSISTENT_CLUSTER_ID: the request names another cluster.
    INVALID_REQUEST: the partition is not __cluster_metadata-0, or the leader id is negative.
    FENCED_LEADER_EPOCH: the epoch of the request is older than the one that the node knows.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, uint16, uuid


class EndQuorumEpochRequest(
    Request, key=54, effect="changes", versions="0-1", flexible="1+", rights={"cluster": "ClusterAction"}
):
    # Null: not known, and not checked. Any other id leads to INCONSISTENT_CLUSTER_ID.
    cluster_id = string(nullable="0+", default=None)

    class TopicData(Struct):
        # Always __cluster_metadata.
        topic_name = string()

        class PartitionData(Struct):
            # Always 0.
            partition_index = int32()
            # The leader that resigns, which sends the request.
            leader_id = int32()
            # Epoch that ends. An older one leads to FENCED_LEADER_EPOCH.
            leader_epoch = int32()
            # Voters that should stand for election, the one with the longest log first. From v1: preferred_candidates.
            preferred_successors = array(int32(), versions="0", ignorable=True)

            class ReplicaInfo(Struct):
                # Node id of the voter.
                candidate_id = int32(versions="1+")
                # Id of the metadata log directory of the voter. Zero: not known.
                candidate_directory_id = uuid(versions="1+")

            # Voters that should stand for election, the one with the longest log first. The first does so immediately,
            # the others later.
            preferred_candidates = array(ReplicaInfo, versions="1+", ignorable=True)

        partitions = array(PartitionData)

    # Exactly one partition. Anything else leads to INVALID_REQUEST.
    topics = array(TopicData)

    class LeaderEndpoint(Struct):
        # Name of the listener, such as CONTROLLER.
        name = string(versions="1+", map_key=True)
        host = string(versions="1+")
        port = uint16(versions="1+")

    # Where to reach the leader that resigns. Empty: at the endpoints that the voter set contains.
    leader_endpoints = array(LeaderEndpoint, versions="1+", ignorable=True)


class EndQuorumEpochResponse(Response, key=54, versions="0-1", flexible="1+"):
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
            # Newest epoch that the answering node knows.
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
