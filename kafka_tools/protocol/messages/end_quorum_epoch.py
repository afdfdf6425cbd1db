"""EndQuorumEpoch (54): the leader of the metadata quorum resigns, and says who should follow it.

Sent by the leader to the voters (KIP-595).

Versions
    v1: flexible; candidates with directory ids, and endpoints (KIP-853).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    INCONSISTENT_CLUSTER_ID: the request names another cluster.
    INVALID_REQUEST: anything but exactly the partition __cluster_metadata-0, or a negative leader id.
    FENCED_LEADER_EPOCH: the epoch of the request is older than the one that the node knows.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, uint16, uuid


class EndQuorumEpochRequest(Request, key=54, versions="0-1", flexible="1+", rights={"cluster": "ClusterAction"}):
    cluster_id = string(nullable="0+", default=None)

    class TopicData(Struct):
        topic_name = string()

        class PartitionData(Struct):
            partition_index = int32()
            leader_id = int32()
            leader_epoch = int32()
            preferred_successors = array(int32(), versions="0", ignorable=True)

            class ReplicaInfo(Struct):
                candidate_id = int32(versions="1+")
                candidate_directory_id = uuid(versions="1+")

            preferred_candidates = array(ReplicaInfo, versions="1+", ignorable=True)

        partitions = array(PartitionData)

    topics = array(TopicData)

    class LeaderEndpoint(Struct):
        name = string(versions="1+", map_key=True)
        host = string(versions="1+")
        port = uint16(versions="1+")

    leader_endpoints = array(LeaderEndpoint, versions="1+", ignorable=True)


class EndQuorumEpochResponse(Response, key=54, versions="0-1", flexible="1+"):
    error_code = int16()

    class TopicData(Struct):
        topic_name = string()

        class PartitionData(Struct):
            partition_index = int32()
            error_code = int16()
            leader_id = int32()
            leader_epoch = int32()

        partitions = array(PartitionData)

    topics = array(TopicData)

    class NodeEndpoint(Struct):
        node_id = int32(versions="1+", map_key=True)
        host = string(versions="1+")
        port = uint16(versions="1+")

    node_endpoints = array(NodeEndpoint, versions="1+", tag=0)
