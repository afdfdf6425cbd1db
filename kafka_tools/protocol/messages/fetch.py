"""Fetch (1): read record batches from partitions.

Sent by consumers and followers to the leader of each partition, or to a replica near them. Batches come whole, as they
are stored: the first one may begin before the offset asked for, and at least one comes however small the limits are.
The broker waits up to max_wait_ms for min_bytes. With isolation_level 1 the answer ends at the last stable offset and
lists the aborted transactions in it.

Versions
    v1: throttle times in the response.
    v2: message format 1, with timestamps.
    v3: max_bytes for the whole answer; partitions are served in the order of the request (KIP-74).
    v4: message format 2, isolation levels and aborted transactions (KIP-98).
    v5: the log start offset, both ways (KIP-107).
    v6: KAFKA_STORAGE_ERROR in place of NOT_LEADER_OR_FOLLOWER when a disk fails (KIP-112).
    v7: fetch sessions: only what changed is sent (KIP-227).
    v8: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v9: the leader epoch that the client knows, so that a stale one is noticed (KIP-320).
    v10: zstd (KIP-110).
    v11: reading from a follower in the client's rack (KIP-392).
    v12: flexible; divergence by epoch instead of a separate request (KIP-595).
    v13: topics by id (KIP-516).
    v14: OFFSET_MOVED_TO_TIERED_STORAGE for followers (KIP-405).
    v15: epochs of fetching replicas (KIP-903).
    v16: the endpoints of leaders that took over (KIP-951).
    v17: directory ids of fetching voters (KIP-853).
    v18: the high watermark that a follower knows (KIP-1166).

Errors
    OFFSET_OUT_OF_RANGE: the offset lies before the log start or behind what may be read.
    CORRUPT_MESSAGE: a batch on the broker's disk is damaged.
    UNKNOWN_TOPIC_OR_PARTITION: the broker has no such partition.
    UNKNOWN_TOPIC_ID: no topic has this id (v13).
    INCONSISTENT_TOPIC_ID: the partition has another topic id than the session says (v13).
    FETCH_SESSION_TOPIC_ID_ERROR: a session that names topics is continued with ids, or the other way round (v13).
    NOT_LEADER_OR_FOLLOWER: the broker does not lead the partition, and has no replica of it that clients may read.
    REPLICA_NOT_AVAILABLE: the partition's replica is on its way to this broker or from it.
    FENCED_LEADER_EPOCH: the leader epoch of the request is older than the broker's.
    UNKNOWN_LEADER_EPOCH: it is newer: the broker has yet to learn of the election.
    OFFSET_NOT_AVAILABLE: right after an election, the high watermark is not known to be current yet.
    OFFSET_MOVED_TO_TIERED_STORAGE: a follower asks for what only the tier still has (v14).
    TOPIC_AUTHORIZATION_FAILED: the client lacks READ on the topic.
    UNSUPPORTED_COMPRESSION_TYPE: zstd batches that would have to be converted for a client before v10.
    UNSUPPORTED_VERSION: a batch cannot be converted to the message format that the version reads.
    KAFKA_STORAGE_ERROR: the log directory of the partition has failed.
    FETCH_SESSION_ID_NOT_FOUND: the session was evicted, or is another connection's.
    INVALID_FETCH_SESSION_EPOCH: a request of the session was lost or sent twice.
    INVALID_REQUEST: a replica's request that only brokers may send, or an impossible combination of fields.
"""

from __future__ import annotations

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


class FetchRequest(Request, key=1, versions="0-18", dropped="0-3", flexible="12+", rights={"topic": "Read"}):
    cluster_id = string(versions="12+", nullable="12+", default=None, tag=0, ignorable=True)
    replica_id = int32(versions="0-14", default=-1)  # -1 for a consumer, else the follower's broker id

    class ReplicaState(Struct):
        replica_id = int32(versions="15+", default=-1)
        replica_epoch = int64(versions="15+", default=-1)

    replica_state = struct(ReplicaState, versions="15+", tag=1)
    max_wait_ms = int32()  # the longest wait for min_bytes
    min_bytes = int32()
    # of the whole answer; the first batch comes even if it is larger
    max_bytes = int32(versions="3+", default=2147483647, ignorable=True)
    isolation_level = int8(versions="4+", ignorable=True)
    session_id = int32(versions="7+", ignorable=True)  # 0: no session yet
    # counts the requests of a session; 0 begins one, -1 goes without
    session_epoch = int32(versions="7+", default=-1, ignorable=True)

    class Topic(Struct):
        topic = string(versions="0-12", ignorable=True)
        topic_id = uuid(versions="13+", ignorable=True)

        class Partition(Struct):
            partition = int32()
            # the epoch the client knows; -1: none
            current_leader_epoch = int32(versions="9+", default=-1, ignorable=True)
            fetch_offset = int64()
            # of the batch before fetch_offset, to notice that logs have parted
            last_fetched_epoch = int32(versions="12+", default=-1)
            log_start_offset = int64(versions="5+", default=-1, ignorable=True)  # of a follower; -1 from consumers
            partition_max_bytes = int32()
            replica_directory_id = uuid(versions="17+", tag=0, ignorable=True)
            # what the follower knows of it
            high_watermark = int64(versions="18+", default=9223372036854775807, tag=1, ignorable=True)

        partitions = array(Partition)

    topics = array(Topic)

    class ForgottenTopic(Struct):
        topic = string(versions="7-12", ignorable=True)
        topic_id = uuid(versions="13+", ignorable=True)
        partitions = array(int32(), versions="7+")

    forgotten_topics_data = array(ForgottenTopic, versions="7+")  # what the session is no longer to contain
    rack_id = string(versions="11+", ignorable=True)  # of the consumer, for reading from a replica nearby


class FetchResponse(Response, key=1, versions="0-18", flexible="12+", throttles="8+"):
    throttle_time_ms = int32(versions="1+", ignorable=True)
    error_code = int16(versions="7+", ignorable=True)
    session_id = int32(versions="7+", echoed="7+")

    class FetchableTopicResponse(Struct):
        topic = string(versions="0-12", ignorable=True)
        topic_id = uuid(versions="13+", ignorable=True)

        class PartitionData(Struct):
            partition_index = int32()
            error_code = int16()
            high_watermark = int64(on_error=-1)
            last_stable_offset = int64(versions="4+", default=-1, ignorable=True)
            log_start_offset = int64(versions="5+", default=-1, ignorable=True, on_error=-1)

            class EpochEndOffset(Struct):
                epoch = int32(versions="12+", default=-1)
                end_offset = int64(versions="12+", default=-1)

            # where the follower's log leaves the leader's: it cuts there
            diverging_epoch = struct(EpochEndOffset, versions="12+", tag=0)

            class LeaderIdAndEpoch(Struct):
                leader_id = int32(versions="12+", default=-1)
                leader_epoch = int32(versions="12+", default=-1)

            current_leader = struct(LeaderIdAndEpoch, versions="12+", tag=1)  # who leads, where this broker does not

            class SnapshotId(Struct):
                end_offset = int64(default=-1)
                epoch = int32(default=-1)

            snapshot_id = struct(SnapshotId, versions="12+", tag=2)  # the follower has to begin with this snapshot

            class AbortedTransaction(Struct):
                producer_id = int64(versions="4+")
                first_offset = int64(versions="4+")  # of the transaction in this partition

            # those whose records lie in the answer; null with isolation_level 0
            aborted_transactions = array(AbortedTransaction, versions="4+", nullable="4+", ignorable=True)
            preferred_read_replica = int32(versions="11+", default=-1)  # read from this broker instead; -1: from here
            records = records(nullable="0+", on_error=b"")

        partitions = array(PartitionData)

    responses = array(FetchableTopicResponse, answers="topics", echoed="0-12")

    class NodeEndpoint(Struct):
        node_id = int32(versions="16+", map_key=True)
        host = string(versions="16+")
        port = int32(versions="16+")
        rack = string(versions="16+", nullable="16+", default=None)

    node_endpoints = array(NodeEndpoint, versions="16+", tag=0)
