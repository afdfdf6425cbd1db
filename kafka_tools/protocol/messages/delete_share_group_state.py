"""DeleteShareGroupState (86): delete the state of share partitions.

Sent by group coordinators to the share coordinator (KIP-932).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, uuid


class DeleteShareGroupStateRequest(Request, key=86, versions="0", flexible="0+"):
    group_id = string()

    class DeleteStateData(Struct):
        topic_id = uuid()

        class PartitionData(Struct):
            partition = int32()

        partitions = array(PartitionData)

    topics = array(DeleteStateData)


class DeleteShareGroupStateResponse(Response, key=86, versions="0", flexible="0+"):
    class DeleteStateResult(Struct):
        topic_id = uuid()

        class PartitionResult(Struct):
            partition = int32()
            error_code = int16()
            error_message = string(nullable="0+", default=None)

        partitions = array(PartitionResult)

    results = array(DeleteStateResult)
