"""Vote (52): ask for a vote in a leader election of the metadata quorum (KIP-595)."""

from __future__ import annotations

from kafka_tools.protocol.routes import QUORUM_PEER
from kafka_tools.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    string,
    uint16,
    uuid,
)


class VoteRequest(Request, key=52, route=QUORUM_PEER, versions="0-2", flexible="0+"):
    """Request of Vote.

    v1: adds voter_id, topics[].partitions[].replica_directory_id, topics[].partitions[].voter_directory_id.
    v2: adds topics[].partitions[].pre_vote.
    """

    cluster_id = string(nullable="0+", default=None)
    voter_id = int32(versions="1+", default=-1, ignorable=True)

    class TopicData(Struct):
        topic_name = string()

        class PartitionData(Struct):
            partition_index = int32()
            replica_epoch = int32()
            replica_id = int32()
            replica_directory_id = uuid(versions="1+", ignorable=True)
            voter_directory_id = uuid(versions="1+", ignorable=True)
            last_offset_epoch = int32()
            last_offset = int64()
            pre_vote = boolean(versions="2+")

        partitions = array(PartitionData)

    topics = array(TopicData)


class VoteResponse(Response, key=52, versions="0-2", flexible="0+"):
    """Response of Vote.

    v1: adds node_endpoints.
    """

    error_code = int16()

    class TopicData(Struct):
        topic_name = string()

        class PartitionData(Struct):
            partition_index = int32()
            error_code = int16()
            leader_id = int32()
            leader_epoch = int32()
            vote_granted = boolean()

        partitions = array(PartitionData)

    topics = array(TopicData)

    class NodeEndpoint(Struct):
        node_id = int32(versions="1+", map_key=True)
        host = string(versions="1+")
        port = uint16(versions="1+")

    node_endpoints = array(NodeEndpoint, versions="1+", tag=0)
