"""BeginQuorumEpoch (53): a new leader of the metadata quorum announces itself.

Sent by the leader to voters that do not fetch from it yet (KIP-595).

Versions
    v1: flexible; directory ids and endpoints (KIP-853).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, uint16, uuid


class BeginQuorumEpochRequest(Request, key=53, versions="0-1", flexible="1+"):
    cluster_id = string(nullable="0+", default=None)
    voter_id = int32(versions="1+", default=-1, ignorable=True)

    class TopicData(Struct):
        topic_name = string()

        class PartitionData(Struct):
            partition_index = int32()
            voter_directory_id = uuid(versions="1+", ignorable=True)
            leader_id = int32()
            leader_epoch = int32()

        partitions = array(PartitionData)

    topics = array(TopicData)

    class LeaderEndpoint(Struct):
        name = string(versions="1+", map_key=True)
        host = string(versions="1+")
        port = uint16(versions="1+")

    leader_endpoints = array(LeaderEndpoint, versions="1+", ignorable=True)


class BeginQuorumEpochResponse(Response, key=53, versions="0-1", flexible="1+"):
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
