"""WriteShareGroupState (85): write the state of share partitions.

Sent by partition leaders to the share coordinator (KIP-932).

Versions
    v1: how many deliveries are complete, for the lag of a group (KIP-1226).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, int64, string, uuid


class WriteShareGroupStateRequest(Request, key=85, versions="0-1", flexible="0+"):
    group_id = string()

    class WriteStateData(Struct):
        topic_id = uuid()

        class PartitionData(Struct):
            partition = int32()
            state_epoch = int32()
            leader_epoch = int32()
            start_offset = int64()
            delivery_complete_count = int32(versions="1+", default=-1, ignorable=True)

            class StateBatch(Struct):
                first_offset = int64()
                last_offset = int64()
                delivery_state = int8()
                delivery_count = int16()

            state_batches = array(StateBatch)

        partitions = array(PartitionData)

    topics = array(WriteStateData)


class WriteShareGroupStateResponse(Response, key=85, versions="0-1", flexible="0+"):
    class WriteStateResult(Struct):
        topic_id = uuid()

        class PartitionResult(Struct):
            partition = int32()
            error_code = int16()
            error_message = string(nullable="0+", default=None)

        partitions = array(PartitionResult)

    results = array(WriteStateResult)
