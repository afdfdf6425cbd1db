"""Vote (52): ask for a vote in an election of the metadata quorum's leader.

Sent by candidates to the other voters (KIP-595).

Versions
    v1: directory ids of voters; endpoints (KIP-853).
    v2: pre-votes, which disturb no leader (KIP-996).
"""

from __future__ import annotations

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


class VoteRequest(Request, key=52, versions="0-2", flexible="0+"):
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
