"""DescribeQuorum (55): leader, epoch, high watermark, voters and observers of the metadata quorum.

Sent by tools to any broker or controller; only the quorum's leader knows, brokers pass it on (KIP-595).

Versions
    v1: when each replica fetched and was caught up last (KIP-836).
    v2: error messages, directory ids, and the endpoints of the voters (KIP-853).

Errors
    NOT_LEADER_OR_FOLLOWER: the node does not lead the quorum.
    UNKNOWN_TOPIC_OR_PARTITION: another partition than __cluster_metadata-0.
    INVALID_REQUEST: not exactly the one partition.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the cluster.
    BROKER_NOT_AVAILABLE: the quorum's leader is not known.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uint16, uuid


class DescribeQuorumRequest(Request, key=55, versions="0-2", flexible="0+", rights={"cluster": "Describe"}):
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
    last_fetch_timestamp = int64(versions="1+", default=-1, ignorable=True)  # by the leader's clock; -1: unknown
    # when the replica had all that the leader had
    last_caught_up_timestamp = int64(versions="1+", default=-1, ignorable=True)


class DescribeQuorumResponse(Response, key=55, versions="0-2", flexible="0+"):
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
