"""WriteShareGroupState (85): write the state of share partitions.

Sent by the leader of a partition to the share coordinator, after members have acknowledged records (KIP-932).

Versions
    v1: the number of complete deliveries, for the lag of a group (KIP-1226).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    NOT_COORDINATOR: another broker coordinates the share partition.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __share_group_state.
    FENCED_LEADER_EPOCH: the leader epoch is older than the one that the coordinator knows.
    FENCED_STATE_EPOCH: the state epoch is older than the one that the coordinator knows.
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
    INVALID_REQUEST: the share partition has no state, or the partition or an epoch is negative.
    UNKNOWN_SERVER_ERROR: the record of the state is larger than __share_group_state allows.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, int64, string, uuid


class WriteShareGroupStateRequest(
    Request, key=85, effect="changes", versions="0-1", flexible="0+", rights={"cluster": "ClusterAction"}
):
    group_id = string()

    class WriteStateData(Struct):
        topic_id = uuid()

        class PartitionData(Struct):
            # A partition that does not exist leads to UNKNOWN_TOPIC_OR_PARTITION, one without state to INVALID_REQUEST.
            partition = int32()
            # The epoch that the leader read with the state. An older one than the coordinator knows leads to
            # FENCED_STATE_EPOCH.
            state_epoch = int32()
            # Leader epoch of the broker that writes. An older one than the coordinator knows leads to
            # FENCED_LEADER_EPOCH.
            leader_epoch = int32()
            # First offset whose delivery is not complete. -1: no change.
            start_offset = int64()
            # Number of offsets from start_offset on whose delivery is complete. The lag of the group does not count
            # them. -1: unknown.
            delivery_complete_count = int32(versions="1+", default=-1, ignorable=True)

            class StateBatch(Struct):
                # First offset of the range.
                first_offset = int64()
                # Last offset of the range, inclusive.
                last_offset = int64()
                # 0 available, 2 acknowledged, 4 archived.
                delivery_state = int8()
                # How often the records were delivered. 0: not yet.
                delivery_count = int16()

            # Ranges whose state has changed. The coordinator merges them with the ones that it has.
            state_batches = array(StateBatch)

        partitions = array(PartitionData)

    # An empty list leads to an empty response without an error.
    topics = array(WriteStateData)


class WriteShareGroupStateResponse(Response, key=85, versions="0-1", flexible="0+"):
    class WriteStateResult(Struct):
        topic_id = uuid()

        class PartitionResult(Struct):
            partition = int32()
            # Error of this partition. 0: no error.
            error_code = int16()
            # Explains the error in words. Null: no explanation.
            error_message = string(nullable="0+", default=None)

        partitions = array(PartitionResult)

    # One result for each partition of the request.
    results = array(WriteStateResult)
