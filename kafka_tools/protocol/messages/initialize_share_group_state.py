"""InitializeShareGroupState (83): make the state of share partitions.

Sent by group coordinators to the share coordinator (KIP-932).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uuid


class InitializeShareGroupStateRequest(Request, key=83, versions="0", flexible="0+"):
    group_id = string()

    class InitializeStateData(Struct):
        topic_id = uuid()

        class PartitionData(Struct):
            partition = int32()
            state_epoch = int32()
            start_offset = int64()

        partitions = array(PartitionData)

    topics = array(InitializeStateData)


class InitializeShareGroupStateResponse(Response, key=83, versions="0", flexible="0+"):
    class InitializeStateResult(Struct):
        topic_id = uuid()

        class PartitionResult(Struct):
            partition = int32()
            error_code = int16()
            error_message = string(nullable="0+", default=None)

        partitions = array(PartitionResult)

    results = array(InitializeStateResult)
