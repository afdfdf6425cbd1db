"""AlterPartition (56): a partition leader changes the in-sync replica set (KIP-497)."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, int64, string, uuid


class AlterPartitionRequest(Request, key=56, route=CONTROLLER, versions="0-3", flexible="0+"):
    """Request of AlterPartition.

    v1: adds topics[].partitions[].leader_recovery_state.
    v2: adds topics[].topic_id; drops topics[].topic_name.
    v3: adds topics[].partitions[].new_isr_with_epochs; drops topics[].partitions[].new_isr.
    """

    broker_id = int32()
    broker_epoch = int64(default=-1)

    class TopicData(Struct):
        topic_name = string(versions="0-1", ignorable=True)
        topic_id = uuid(versions="2+", ignorable=True)

        class PartitionData(Struct):
            partition_index = int32()
            leader_epoch = int32()
            new_isr = array(int32(), versions="0-2")

            class BrokerState(Struct):
                broker_id = int32(versions="3+")
                broker_epoch = int64(versions="3+", default=-1)

            new_isr_with_epochs = array(BrokerState, versions="3+")
            leader_recovery_state = int8(versions="1+")
            partition_epoch = int32()

        partitions = array(PartitionData)

    topics = array(TopicData)


class AlterPartitionResponse(Response, key=56, versions="0-3", flexible="0+"):
    """Response of AlterPartition.

    v1: adds topics[].partitions[].leader_recovery_state.
    v2: adds topics[].topic_id; drops topics[].topic_name.
    """

    throttle_time_ms = int32()
    error_code = int16()

    class TopicData(Struct):
        topic_name = string(versions="0-1", ignorable=True)
        topic_id = uuid(versions="2+", ignorable=True)

        class PartitionData(Struct):
            partition_index = int32()
            error_code = int16()
            leader_id = int32()
            leader_epoch = int32()
            isr = array(int32())
            leader_recovery_state = int8(versions="1+", ignorable=True)
            partition_epoch = int32()

        partitions = array(PartitionData)

    topics = array(TopicData)
