"""BeginQuorumEpoch (53): a new quorum leader announces its epoch."""

from __future__ import annotations

from kafka_tools.protocol.routes import QUORUM_PEER
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, uint16, uuid


class BeginQuorumEpochRequest(Request, key=53, route=QUORUM_PEER, versions="0-1", flexible="1+"):
    """Request of BeginQuorumEpoch.

    v1: adds voter_id, topics[].partitions[].voter_directory_id, leader_endpoints; flexible.
    """

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
    """Response of BeginQuorumEpoch.

    v1: adds node_endpoints; flexible.
    """

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
