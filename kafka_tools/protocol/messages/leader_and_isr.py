"""LeaderAndIsr (4): tell a broker which partitions it leads or follows (ZooKeeper mode; dropped in 4.0)."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER_TO_BROKER
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


class LeaderAndIsrRequest(Request, key=4, route=CONTROLLER_TO_BROKER, versions="0-7", flexible="4+"):
    """Request of LeaderAndIsr.

    v1: adds ungrouped_partition_states[].is_new.
    v2: adds broker_epoch, topic_states; drops ungrouped_partition_states,
        ungrouped_partition_states[].topic_name, topic_states[].partition_states[].topic_name.
    v3: adds ungrouped_partition_states[].adding_replicas, ungrouped_partition_states[].removing_replicas,
        topic_states[].partition_states[].adding_replicas,
        topic_states[].partition_states[].removing_replicas.
    v4: flexible.
    v5: adds type, topic_states[].topic_id.
    v6: adds ungrouped_partition_states[].leader_recovery_state,
        topic_states[].partition_states[].leader_recovery_state.
    v7: adds is_kraft_controller.
    """

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
    """Response of LeaderAndIsr.

    v4: flexible.
    v5: adds topics; drops partition_errors, partition_errors[].topic_name,
        topics[].partition_errors[].topic_name.
    """

    error_code = int16()
    partition_errors = array(PartitionError, versions="0-4")

    class TopicError(Struct):
        topic_id = uuid(versions="5+", map_key=True)
        partition_errors = array(PartitionError, versions="5+")

    topics = array(TopicError, versions="5+")
