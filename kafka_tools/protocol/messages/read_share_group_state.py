"""ReadShareGroupState (84): read the state of share partitions.

Sent by partition leaders to the share coordinator (KIP-932).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, int64, string, uuid


class ReadShareGroupStateRequest(Request, key=84, versions="0", flexible="0+"):
    group_id = string()

    class ReadStateData(Struct):
        topic_id = uuid()

        class PartitionData(Struct):
            partition = int32()
            leader_epoch = int32()

        partitions = array(PartitionData)

    topics = array(ReadStateData)


class ReadShareGroupStateResponse(Response, key=84, versions="0", flexible="0+"):
    class ReadStateResult(Struct):
        topic_id = uuid()

        class PartitionResult(Struct):
            partition = int32()
            error_code = int16()
            error_message = string(nullable="0+", default=None)
            state_epoch = int32()
            start_offset = int64()

            class StateBatch(Struct):
                first_offset = int64()
                last_offset = int64()
                delivery_state = int8()
                delivery_count = int16()

            state_batches = array(StateBatch)

        partitions = array(PartitionResult)

    results = array(ReadStateResult)
