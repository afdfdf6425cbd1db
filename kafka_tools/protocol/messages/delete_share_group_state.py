"""DeleteShareGroupState (86): delete the state of share partitions.

Sent by group coordinators to the share coordinator, when a group or its offsets are deleted (KIP-932).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    NOT_COORDINATOR: another broker coordinates the share partition.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __share_group_state.
    INVALID_REQUEST: the topic id is zero, or the partition is negative.
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, uuid


class DeleteShareGroupStateRequest(
    Request, key=86, effect="destroys", versions="0", flexible="0+", rights={"cluster": "ClusterAction"}
):
    group_id = string()

    class DeleteStateData(Struct):
        # Topic of the share partitions. An unknown id leads to UNKNOWN_TOPIC_OR_PARTITION.
        topic_id = uuid()

        class PartitionData(Struct):
            partition = int32()

        partitions = array(PartitionData)

    # Share partitions whose state to delete. The coordinator of all of them must be the receiver.
    topics = array(DeleteStateData)


class DeleteShareGroupStateResponse(Response, key=86, versions="0", flexible="0+"):
    class DeleteStateResult(Struct):
        topic_id = uuid()

        class PartitionResult(Struct):
            partition = int32()
            # Error of this share partition. 0: no error, also if there was no state to delete.
            error_code = int16()
            # Explains the error in words. Null: no explanation.
            error_message = string(nullable="0+", default=None)

        partitions = array(PartitionResult)

    # One result for each partition of the request.
    results = array(DeleteStateResult)
