"""DescribeQuorum (55): state of the metadata quorum: leader, epoch, high watermark, voters and observers (KIP-836)."""

from __future__ import annotations

from kafka_tools.protocol.routes import ANY_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uint16, uuid


class DescribeQuorumRequest(Request, key=55, route=ANY_NODE, versions="0-2", flexible="0+"):
    """Request of DescribeQuorum."""

    class TopicData(Struct):
        topic_name = string()

        class PartitionData(Struct):
            partition_index = int32()

        partitions = array(PartitionData)

    topics = array(TopicData)


class ReplicaState(Struct):
    replica_id = int32()
    replica_directory_id = uuid(versions="2+")
    log_end_offset = int64()
    last_fetch_timestamp = int64(versions="1+", default=-1, ignorable=True)
    last_caught_up_timestamp = int64(versions="1+", default=-1, ignorable=True)


class DescribeQuorumResponse(Response, key=55, versions="0-2", flexible="0+"):
    """Response of DescribeQuorum.

    v1: adds topics[].partitions[].current_voters[].last_fetch_timestamp,
        topics[].partitions[].current_voters[].last_caught_up_timestamp,
        topics[].partitions[].observers[].last_fetch_timestamp,
        topics[].partitions[].observers[].last_caught_up_timestamp.
    v2: adds error_message, topics[].partitions[].error_message,
        topics[].partitions[].current_voters[].replica_directory_id,
        topics[].partitions[].observers[].replica_directory_id, nodes.
    """

    error_code = int16()
    error_message = string(versions="2+", nullable="2+", ignorable=True)

    class TopicData(Struct):
        topic_name = string()

        class PartitionData(Struct):
            partition_index = int32()
            error_code = int16()
            error_message = string(versions="2+", nullable="2+", ignorable=True)
            leader_id = int32()
            leader_epoch = int32()
            high_watermark = int64()
            current_voters = array(ReplicaState)
            observers = array(ReplicaState)

        partitions = array(PartitionData)

    topics = array(TopicData)

    class Node(Struct):
        node_id = int32(versions="2+", map_key=True)

        class Listener(Struct):
            name = string(versions="2+", map_key=True)
            host = string(versions="2+")
            port = uint16(versions="2+")

        listeners = array(Listener, versions="2+")

    nodes = array(Node, versions="2+")
