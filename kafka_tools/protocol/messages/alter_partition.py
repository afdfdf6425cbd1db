"""AlterPartition (56): a leader changes the set of replicas in sync.

Sent by partition leaders to the controller (KIP-497).

Versions
    v1: recovery after an unclean election (KIP-704).
    v2: topics by id (KIP-841).
    v3: broker epochs of the replicas in sync (KIP-903).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, int64, string, uuid


class AlterPartitionRequest(Request, key=56, versions="0-3", dropped="0-1", flexible="0+"):
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
