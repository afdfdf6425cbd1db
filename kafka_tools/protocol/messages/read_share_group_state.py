"""ReadShareGroupState (84): read the state of share partitions.

Sent by the leader of a partition to the share coordinator, before the leader delivers the first record (KIP-932).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    NOT_COORDINATOR: another broker coordinates the share partition.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __share_group_state.
    FENCED_LEADER_EPOCH: the leader epoch is older than the one that the coordinator knows.
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
    INVALID_REQUEST: the share partition has no state, or the partition or the leader epoch is negative.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, int64, string, uuid


class ReadShareGroupStateRequest(
    Request, key=84, effect="reads", versions="0", flexible="0+", rights={"cluster": "ClusterAction"}
):
    group_id = string()

    class ReadStateData(Struct):
        topic_id = uuid()

        class PartitionData(Struct):
            # A partition that does not exist leads to UNKNOWN_TOPIC_OR_PARTITION, one without state to INVALID_REQUEST.
            partition = int32()
            # Leader epoch of the broker that asks. An older one than the coordinator knows leads to
            # FENCED_LEADER_EPOCH. The coordinator keeps a newer one.
            leader_epoch = int32()

        partitions = array(PartitionData)

    # An empty list leads to an empty response without an error.
    topics = array(ReadStateData)


class ReadShareGroupStateResponse(Response, key=84, versions="0", flexible="0+"):
    class ReadStateResult(Struct):
        topic_id = uuid()

        class PartitionResult(Struct):
            partition = int32()
            # Error of this partition. 0: no error.
            error_code = int16()
            # Explains the error in words. Null: no explanation.
            error_message = string(nullable="0+", default=None)
            # Counts the initializations of the share partition. The leader sends it with every write.
            state_epoch = int32()
            # First offset whose delivery is not complete. -1: not decided yet, see share.auto.offset.reset.
            start_offset = int64()

            class StateBatch(Struct):
                # First offset of the range.
                first_offset = int64()
                # Last offset of the range, inclusive.
                last_offset = int64()
                # 0 available, 2 acknowledged, 4 archived.
                delivery_state = int8()
                # How often the records were delivered. 0: not yet.
                delivery_count = int16()

            # States of ranges of offsets from start_offset on. Offsets after the last range are available.
            state_batches = array(StateBatch)

        partitions = array(PartitionResult)

    # One result for each requested partition.
    results = array(ReadStateResult)
