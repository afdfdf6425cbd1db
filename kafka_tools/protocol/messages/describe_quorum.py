"""DescribeQuorum (55): describe the metadata quorum: its leader, voters and observers.

Sent by tools to any broker, which forwards it, or to a controller. Only the leader of the quorum can answer (KIP-595).

Versions
    v1: when each replica last fetched and was last caught up (KIP-836).
    v2: error messages, directory ids, and the endpoints of the voters (KIP-853).

Errors
    NOT_LEADER_OR_FOLLOWER: the node does not lead the quorum.
    UNKNOWN_TOPIC_OR_PARTITION: the request does not name exactly the partition __cluster_metadata-0.
    INVALID_REQUEST: the request is malformed.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the cluster.
    BROKER_NOT_AVAILABLE: the leader of the quorum is not known.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uint16, uuid


class DescribeQuorumRequest(
    Request, key=55, effect="reads", versions="0-2", flexible="0+", rights={"cluster": "Describe"}
):
    class TopicData(Struct):
        # Always __cluster_metadata.
        topic_name = string()

        class PartitionData(Struct):
            # Always 0.
            partition_index = int32()

        partitions = array(PartitionData)

    # Exactly one partition. Anything else leads to UNKNOWN_TOPIC_OR_PARTITION.
    topics = array(TopicData)


class ReplicaState(Struct):
    # Node id of a controller or broker.
    replica_id = int32()
    # Id of the metadata log directory of the node. Zero: not known.
    replica_directory_id = uuid(versions="2+")
    # Offset up to which the node has fetched the log. -1: not known.
    log_end_offset = int64()
    # When the node last fetched, by the clock of the leader, in milliseconds since 1970. -1: not known. The leader:
    # now.
    last_fetch_timestamp = int64(versions="1+", default=-1, ignorable=True)
    # When the node last had all records of the leader, in milliseconds since 1970. -1: not known. The leader: now.
    last_caught_up_timestamp = int64(versions="1+", default=-1, ignorable=True)


class DescribeQuorumResponse(Response, key=55, versions="0-2", flexible="0+"):
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(versions="2+", nullable="2+", ignorable=True)

    class TopicData(Struct):
        topic_name = string()

        class PartitionData(Struct):
            partition_index = int32()
            # Error of this partition. 0: no error.
            error_code = int16()
            # Explains the error in words. Null: no explanation.
            error_message = string(versions="2+", nullable="2+", ignorable=True)
            # The leader, which answers. Without meaning if there is an error.
            leader_id = int32()
            # Epoch of the leader. It rises with each election.
            leader_epoch = int32()
            # Offset up to which all records are committed. -1: not known yet, right after an election.
            high_watermark = int64()
            # Controllers that vote, the leader included.
            current_voters = array(ReplicaState)
            # Brokers and further controllers, which only read. Forgotten five minutes after their last fetch.
            observers = array(ReplicaState)

        partitions = array(PartitionData)

    topics = array(TopicData)

    class Node(Struct):
        # A voter.
        node_id = int32(versions="2+", map_key=True)

        class Listener(Struct):
            name = string(versions="2+", map_key=True)
            host = string(versions="2+")
            port = uint16(versions="2+")

        listeners = array(Listener, versions="2+")

    # Where to reach the voters.
    nodes = array(Node, versions="2+")
