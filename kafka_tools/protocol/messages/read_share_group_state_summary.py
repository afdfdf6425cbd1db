"""ReadShareGroupStateSummary (87): read the start offset and the epochs of share partitions.

Sent by group coordinators to the share coordinator, to describe the offsets of a share group (KIP-932).

Versions
    v1: the number of complete deliveries, for the lag of a group (KIP-1226).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    NOT_COORDINATOR: another broker coordinates the share partition.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __share_group_state.
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
    INVALID_REQUEST: the partition is negative.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uuid


class ReadShareGroupStateSummaryRequest(
    Request, key=87, effect="reads", versions="0-1", flexible="0+", rights={"cluster": "ClusterAction"}
):
    group_id = string()

    class ReadStateSummaryData(Struct):
        topic_id = uuid()

        class PartitionData(Struct):
            # A partition that does not exist leads to UNKNOWN_TOPIC_OR_PARTITION.
            partition = int32()
            # Kafka does not check it.
            leader_epoch = int32()

        partitions = array(PartitionData)

    # An empty list leads to an empty response without an error.
    topics = array(ReadStateSummaryData)


class ReadShareGroupStateSummaryResponse(Response, key=87, versions="0-1", flexible="0+"):
    class ReadStateSummaryResult(Struct):
        topic_id = uuid()

        class PartitionResult(Struct):
            partition = int32()
            # Error of this partition. 0: no error.
            error_code = int16()
            # Explains the error in words. Null: no explanation.
            error_message = string(nullable="0+", default=None)
            # Counts the initializations of the share partition. 0: no state.
            state_epoch = int32()
            # Leader epoch of the last broker that read or wrote the state.
            leader_epoch = int32(on_error=0)
            # First offset whose delivery is not complete. -1: no state, or not decided yet.
            start_offset = int64()
            # Number of offsets from start_offset on whose delivery is complete. The lag of the group does not count
            # them. -1: unknown.
            delivery_complete_count = int32(versions="1+", default=-1, ignorable=True)

        partitions = array(PartitionResult)

    # One result for each requested partition.
    results = array(ReadStateSummaryResult)
