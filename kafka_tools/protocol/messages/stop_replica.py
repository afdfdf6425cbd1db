"""StopReplica (5): stop fetching for replicas, and delete them if asked.

Sent by the controller to brokers in ZooKeeper mode. Dropped in Kafka 4.0.

Versions
    v1: broker epochs; partitions grouped by topic (KIP-380).
    v2: flexible.
    v3: leader epochs, so that a late request deletes nothing (KIP-570).
    v4: for the migration to KRaft (KIP-866).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, int64, string


class StopReplicaRequest(Request, key=5, versions="0-4", flexible="2+"):
    controller_id = int32()
    is_kraft_controller = boolean(versions="4+", json="isKRaftController")
    controller_epoch = int32()
    broker_epoch = int64(versions="1+", default=-1, ignorable=True)
    delete_partitions = boolean(versions="0-2")

    class PartitionV0(Struct):
        topic_name = string(versions="0")
        partition_index = int32(versions="0")

    ungrouped_partitions = array(PartitionV0, versions="0")

    class TopicV1(Struct):
        name = string(versions="1-2")
        partition_indexes = array(int32(), versions="1-2")

    topics = array(TopicV1, versions="1-2")

    class TopicState(Struct):
        topic_name = string(versions="3+")

        class PartitionState(Struct):
            partition_index = int32(versions="3+")
            leader_epoch = int32(versions="3+", default=-1)
            delete_partition = boolean(versions="3+")

        partition_states = array(PartitionState, versions="3+")

    topic_states = array(TopicState, versions="3+")


class StopReplicaResponse(Response, key=5, versions="0-4", flexible="2+"):
    error_code = int16()

    class PartitionError(Struct):
        topic_name = string()
        partition_index = int32()
        error_code = int16()

    partition_errors = array(PartitionError)
