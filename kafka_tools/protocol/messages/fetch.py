"""Fetch (1): read record batches from partitions.

Batches are returned whole, so the first may begin before the offset asked for. v7 brings fetch sessions
(KIP-227), v11 reading from followers (KIP-392), v12 divergence by epoch (KIP-595), v13 topic ids (KIP-516).
isolation_level 1 ends the answer at the last stable offset and lists aborted transactions.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import PARTITION_LEADER
from kafka_tools.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    uuid,
)


class FetchRequest(Request, key=1, route=PARTITION_LEADER, versions="0-18", flexible="12+"):
    """Request of Fetch.

    v3: adds max_bytes.
    v4: adds isolation_level.
    v5: adds topics[].partitions[].log_start_offset.
    v7: adds session_id, session_epoch, forgotten_topics_data.
    v9: adds topics[].partitions[].current_leader_epoch.
    v11: adds rack_id.
    v12: adds cluster_id, topics[].partitions[].last_fetched_epoch; flexible.
    v13: adds topics[].topic_id, forgotten_topics_data[].topic_id; drops topics[].topic,
        forgotten_topics_data[].topic.
    v15: adds replica_state; drops replica_id.
    v17: adds topics[].partitions[].replica_directory_id.
    v18: adds topics[].partitions[].high_watermark.
    """

    cluster_id = string(versions="12+", nullable="12+", default=None, tag=0, ignorable=True)
    replica_id = int32(versions="0-14", default=-1)

    class ReplicaState(Struct):
        replica_id = int32(versions="15+", default=-1)
        replica_epoch = int64(versions="15+", default=-1)

    replica_state = struct(ReplicaState, versions="15+", tag=1)
    max_wait_ms = int32()
    min_bytes = int32()
    max_bytes = int32(versions="3+", default=2147483647, ignorable=True)
    isolation_level = int8(versions="4+", ignorable=True)
    session_id = int32(versions="7+", ignorable=True)
    session_epoch = int32(versions="7+", default=-1, ignorable=True)

    class Topic(Struct):
        topic = string(versions="0-12", ignorable=True)
        topic_id = uuid(versions="13+", ignorable=True)

        class Partition(Struct):
            partition = int32()
            current_leader_epoch = int32(versions="9+", default=-1, ignorable=True)
            fetch_offset = int64()
            last_fetched_epoch = int32(versions="12+", default=-1)
            log_start_offset = int64(versions="5+", default=-1, ignorable=True)
            partition_max_bytes = int32()
            replica_directory_id = uuid(versions="17+", tag=0, ignorable=True)
            high_watermark = int64(versions="18+", default=9223372036854775807, tag=1, ignorable=True)

        partitions = array(Partition)

    topics = array(Topic)

    class ForgottenTopic(Struct):
        topic = string(versions="7-12", ignorable=True)
        topic_id = uuid(versions="13+", ignorable=True)
        partitions = array(int32(), versions="7+")

    forgotten_topics_data = array(ForgottenTopic, versions="7+")
    rack_id = string(versions="11+", ignorable=True)


class FetchResponse(Response, key=1, versions="0-18", flexible="12+"):
    """Response of Fetch.

    v1: adds throttle_time_ms.
    v4: adds responses[].partitions[].last_stable_offset, responses[].partitions[].aborted_transactions.
    v5: adds responses[].partitions[].log_start_offset.
    v7: adds error_code, session_id.
    v11: adds responses[].partitions[].preferred_read_replica.
    v12: adds responses[].partitions[].diverging_epoch, responses[].partitions[].current_leader,
        responses[].partitions[].snapshot_id; flexible.
    v13: adds responses[].topic_id; drops responses[].topic.
    v16: adds node_endpoints.
    """

    throttle_time_ms = int32(versions="1+", ignorable=True)
    error_code = int16(versions="7+", ignorable=True)
    session_id = int32(versions="7+")

    class FetchableTopicResponse(Struct):
        topic = string(versions="0-12", ignorable=True)
        topic_id = uuid(versions="13+", ignorable=True)

        class PartitionData(Struct):
            partition_index = int32()
            error_code = int16()
            high_watermark = int64()
            last_stable_offset = int64(versions="4+", default=-1, ignorable=True)
            log_start_offset = int64(versions="5+", default=-1, ignorable=True)

            class EpochEndOffset(Struct):
                epoch = int32(versions="12+", default=-1)
                end_offset = int64(versions="12+", default=-1)

            diverging_epoch = struct(EpochEndOffset, versions="12+", tag=0)

            class LeaderIdAndEpoch(Struct):
                leader_id = int32(versions="12+", default=-1)
                leader_epoch = int32(versions="12+", default=-1)

            current_leader = struct(LeaderIdAndEpoch, versions="12+", tag=1)

            class SnapshotId(Struct):
                end_offset = int64(default=-1)
                epoch = int32(default=-1)

            snapshot_id = struct(SnapshotId, versions="12+", tag=2)

            class AbortedTransaction(Struct):
                producer_id = int64(versions="4+")
                first_offset = int64(versions="4+")

            aborted_transactions = array(AbortedTransaction, versions="4+", nullable="4+", ignorable=True)
            preferred_read_replica = int32(versions="11+", default=-1)
            records = records(nullable="0+")

        partitions = array(PartitionData)

    responses = array(FetchableTopicResponse)

    class NodeEndpoint(Struct):
        node_id = int32(versions="16+", map_key=True)
        host = string(versions="16+")
        port = int32(versions="16+")
        rack = string(versions="16+", nullable="16+", default=None)

    node_endpoints = array(NodeEndpoint, versions="16+", tag=0)
