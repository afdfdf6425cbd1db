"""LeaderAndIsr (4): which partitions a broker leads or follows.

Sent by the controller to brokers in ZooKeeper mode; KRaft brokers read the metadata log. Dropped in Kafka 4.0.

Versions
    v1: whether a replica is new (KIP-113).
    v2: broker epochs; partitions grouped by topic (KIP-380).
    v3: replicas being added and removed (KIP-455).
    v4: flexible.
    v5: topic ids (KIP-516).
    v6: recovery after an unclean election (KIP-704).
    v7: for the migration to KRaft (KIP-866).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    string,
    uuid,
)


class PartitionState(Struct):
    topic_name = string(versions="0-1", ignorable=True)
    partition_index = int32()
    controller_epoch = int32()
    leader = int32()
    leader_epoch = int32()
    isr = array(int32())
    partition_epoch = int32()
    replicas = array(int32())
    adding_replicas = array(int32(), versions="3+", ignorable=True)
    removing_replicas = array(int32(), versions="3+", ignorable=True)
    is_new = boolean(versions="1+", ignorable=True)
    leader_recovery_state = int8(versions="6+")


class LeaderAndIsrRequest(Request, key=4, versions="0-7", flexible="4+"):
    controller_id = int32()
    is_kraft_controller = boolean(versions="7+", json="isKRaftController")
    controller_epoch = int32()
    broker_epoch = int64(versions="2+", default=-1, ignorable=True)
    type = int8(versions="5+")
    ungrouped_partition_states = array(PartitionState, versions="0-1")

    class TopicState(Struct):
        topic_name = string(versions="2+")
        topic_id = uuid(versions="5+", ignorable=True)
        partition_states = array(PartitionState, versions="2+")

    topic_states = array(TopicState, versions="2+")

    class LiveLeader(Struct):
        broker_id = int32()
        host_name = string()
        port = int32()

    live_leaders = array(LiveLeader)


class PartitionError(Struct):
    topic_name = string(versions="0-4", ignorable=True)
    partition_index = int32()
    error_code = int16()


class LeaderAndIsrResponse(Response, key=4, versions="0-7", flexible="4+"):
    error_code = int16()
    partition_errors = array(PartitionError, versions="0-4")

    class TopicError(Struct):
        topic_id = uuid(versions="5+", map_key=True)
        partition_errors = array(PartitionError, versions="5+")

    topics = array(TopicError, versions="5+")
