"""InitializeShareGroupState (83): create the state of share partitions.

Sent by group coordinators to the share coordinator, when a share group subscribes to new partitions (KIP-932).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    NOT_COORDINATOR: another broker coordinates the share partition.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __share_group_state.
    FENCED_STATE_EPOCH: the state epoch is older than the one that the coordinator has.
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
    INVALID_REQUEST: the partition or the state epoch is negative.
    UNKNOWN_SERVER_ERROR: the record of the state is larger than __share_group_state allows.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uuid


class InitializeShareGroupStateRequest(
    Request, key=83, effect="changes", versions="0", flexible="0+", rights={"cluster": "ClusterAction"}
):
    group_id = string()

    class InitializeStateData(Struct):
        topic_id = uuid()

        class PartitionData(Struct):
            partition = int32()
            # Counts the initializations of the share partition. A smaller one than the coordinator knows leads to
            # FENCED_STATE_EPOCH.
            state_epoch = int32()
            # First offset to deliver. -1: decided later, by the group's share.auto.offset.reset.
            start_offset = int64()

        partitions = array(PartitionData)

    # An empty list leads to an empty response without an error.
    topics = array(InitializeStateData)


class InitializeShareGroupStateResponse(Response, key=83, versions="0", flexible="0+"):
    class InitializeStateResult(Struct):
        topic_id = uuid()

        class PartitionResult(Struct):
            partition = int32()
            # Error of this partition. 0: no error.
            error_code = int16()
            # Explains the error in words. Null: no explanation.
            error_message = string(nullable="0+", default=None)

        partitions = array(PartitionResult)

    results = array(InitializeStateResult)
