"""Fetch (1): read record batches from partitions.

Sent by consumers and followers to the leader of each partition, or to a replica near them. Batches come as they are
stored. The first one can begin before the requested offset. However small the limits are, the response contains at
least one batch. In a fetch session, requests and responses contain only what has changed (KIP-227).

Versions
    v1: throttle times in the response.
    v2: message format 1, with timestamps.
    v3: max_bytes for the whole response; the broker reads partitions in the order of the request (KIP-74).
    v4: message format 2, isolation levels and aborted transactions (KIP-98).
    v5: the log start offset, in request and response (KIP-107).
    v6: KAFKA_STORAGE_ERROR in place of NOT_LEADER_OR_FOLLOWER when a log directory fails (KIP-112).
    v7: fetch sessions (KIP-227).
    v8: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v9: the leader epoch that the client knows (KIP-320).
    v10: zstd (KIP-110).
    v11: reading from a follower in the client's rack (KIP-392).
    v12: flexible; divergence by epoch instead of a separate request (KIP-595).
    v13: topics by id (KIP-516).
    v14: OFFSET_MOVED_TO_TIERED_STORAGE for followers (KIP-405).
    v15: epochs of fetching replicas (KIP-903).
    v16: the endpoints of new leaders (KIP-951).
    v17: directory ids of fetching voters (KIP-853).
    v18: the high watermark that a follower knows (KIP-1166).

Errors
    OFFSET_OUT_OF_RANGE: the offset lies before the log start offset, or beyond the end of what the client may read.
    CORRUPT_MESSAGE: a batch in the log of the broker is damaged.
    UNKNOWN_TOPIC_OR_PARTITION: the broker has no replica of the partition.
    UNKNOWN_TOPIC_ID: no topic has this id (v13).
    INCONSISTENT_TOPIC_ID: the partition has another topic id than the session says (v13).
    FETCH_SESSION_TOPIC_ID_ERROR: a session with topic names continues with topic ids, or the reverse (v13).
    NOT_LEADER_OR_FOLLOWER: the broker does not lead the partition, and has no replica of it that clients may read.
    REPLICA_NOT_AVAILABLE: the replica is being moved to this broker or away from it.
    FENCED_LEADER_EPOCH: the leader epoch of the request is older than the broker's.
    UNKNOWN_LEADER_EPOCH: the leader epoch of the request is newer than the broker's. The broker does not know of the
        election yet.
    OFFSET_NOT_AVAILABLE: the new leader does not know the high watermark yet.
    OFFSET_MOVED_TO_TIERED_STORAGE: a follower asks for records that are only in tiered storage (v14).
    TOPIC_AUTHORIZATION_FAILED: the client lacks READ on the topic.
    UNSUPPORTED_COMPRESSION_TYPE: the batches are compressed with zstd (before v10).
    UNSUPPORTED_VERSION: the broker cannot convert a batch to the message format of this version.
    KAFKA_STORAGE_ERROR: the log directory of the partition has failed.
    INCONSISTENT_CLUSTER_ID: the request names another cluster (controllers only).
    FETCH_SESSION_ID_NOT_FOUND: the session was evicted, or belongs to another connection.
    INVALID_FETCH_SESSION_EPOCH: a request of the session was lost or repeated.
    INVALID_REQUEST: a request of a follower does not come from a broker, or the combination of fields is impossible.
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


class FetchRequest(
    Request, key=1, effect="reads", versions="0-18", dropped="0-3", flexible="12+", rights={"topic": "Read"}
):
    # Sent by KRaft nodes to controllers. Null: not known, and not checked. Any other id leads to
    # INCONSISTENT_CLUSTER_ID.
    cluster_id = string(versions="12+", nullable="12+", default=None, tag=0, ignorable=True)
    # Node id of the follower. -1: a consumer.
    replica_id = int32(versions="0-14", default=-1)

    class ReplicaState(Struct):
        # Node id of the follower. -1: a consumer.
        replica_id = int32(versions="15+", default=-1)
        # Epoch of the follower's registration. The leader lets it into the in-sync set only with the current one.
        # -1: not known.
        replica_epoch = int64(versions="15+", default=-1)

    # Sent by followers. Consumers omit it. Replaces replica_id.
    replica_state = struct(ReplicaState, versions="15+", tag=1)
    # How long the broker may wait until it has min_bytes, in milliseconds. Then it answers with less.
    max_wait_ms = int32()
    # How many bytes make an answer worthwhile. 0: answer immediately. 1: as soon as there is a record.
    min_bytes = int32()
    # Maximum size of all records in the answer, in bytes. The first batch comes even if it is larger.
    max_bytes = int32(versions="3+", default=2147483647, ignorable=True)
    # 0 read uncommitted. 1 read committed: the answer ends at the last stable offset and lists aborted transactions.
    isolation_level = int8(versions="4+", ignorable=True)
    # The session to continue, from the last response. 0: no session yet.
    session_id = int32(versions="7+", ignorable=True)
    # Number of the request in its session. 0: begin a new session. -1: no session, or end this one.
    session_epoch = int32(versions="7+", default=-1, ignorable=True)

    class Topic(Struct):
        # Later versions send the topic id instead.
        topic = string(versions="0-12", ignorable=True)
        # Earlier versions send the topic name instead.
        topic_id = uuid(versions="13+", ignorable=True)

        class Partition(Struct):
            partition = int32()
            # The partition's leader epoch from Metadata. Another one leads to FENCED_LEADER_EPOCH or
            # UNKNOWN_LEADER_EPOCH. -1: not checked.
            current_leader_epoch = int32(versions="9+", default=-1, ignorable=True)
            # Offset of the first record to read. The first batch may begin before it: skip those records.
            fetch_offset = int64()
            # Leader epoch of the last record before fetch_offset. The leader answers with diverging_epoch if its log
            # differs. -1: not checked.
            last_fetched_epoch = int32(versions="12+", default=-1)
            # Log start offset of the follower's replica. -1: a consumer.
            log_start_offset = int64(versions="5+", default=-1, ignorable=True)
            # Maximum size of the records of this partition, in bytes. The first batch of the answer comes even if it is
            # larger.
            partition_max_bytes = int32()
            # Id of the metadata log directory of the voter. Zero: not a voter, or not known.
            replica_directory_id = uuid(versions="17+", tag=0, ignorable=True)
            # High watermark that the follower knows. The leader answers immediately if its own is higher. -1: not
            # known. Largest int64: not sent.
            high_watermark = int64(versions="18+", default=9223372036854775807, tag=1, ignorable=True)

        partitions = array(Partition)

    # In a session: only partitions that are new or have changed. Otherwise all partitions to read.
    topics = array(Topic)

    class ForgottenTopic(Struct):
        # Later versions send the topic id instead.
        topic = string(versions="7-12", ignorable=True)
        # Earlier versions send the topic name instead.
        topic_id = uuid(versions="13+", ignorable=True)
        partitions = array(int32(), versions="7+")

    # Partitions to remove from the session.
    forgotten_topics_data = array(ForgottenTopic, versions="7+")
    # The client.rack of the consumer. The leader may name a replica there in preferred_read_replica. Empty: not
    # configured.
    rack_id = string(versions="11+", ignorable=True)


class FetchResponse(Response, key=1, versions="0-18", flexible="12+", throttles="8+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="1+", ignorable=True)
    # Error of the whole request, such as FETCH_SESSION_ID_NOT_FOUND. 0: no error.
    error_code = int16(versions="7+", ignorable=True)
    # The session, to be sent in the next request. 0: the broker keeps none.
    session_id = int32(versions="7+", echoed="7+")

    class FetchableTopicResponse(Struct):
        # Later versions send the topic id instead.
        topic = string(versions="0-12", ignorable=True)
        # Earlier versions send the topic name instead.
        topic_id = uuid(versions="13+", ignorable=True)

        class PartitionData(Struct):
            partition_index = int32()
            # Error of this partition. 0: no error.
            error_code = int16()
            # Offset up to which all in-sync replicas have the records. Consumers see no further. -1: with an error.
            high_watermark = int64(on_error=-1)
            # Offset up to which every transaction has ended. The limit of isolation_level 1. -1: not known.
            last_stable_offset = int64(versions="4+", default=-1, ignorable=True)
            # Offset of the first record that the log still contains. -1: not known.
            log_start_offset = int64(versions="5+", default=-1, ignorable=True, on_error=-1)

            class EpochEndOffset(Struct):
                # Largest epoch of the leader's log that is not above last_fetched_epoch. -1: no divergence.
                epoch = int32(versions="12+", default=-1)
                # Where this epoch ends in the leader's log. -1: no divergence.
                end_offset = int64(versions="12+", default=-1)

            # Set if the follower's log differs from the leader's. The follower truncates its log to this point.
            diverging_epoch = struct(EpochEndOffset, versions="12+", tag=0)

            class LeaderIdAndEpoch(Struct):
                # -1: not known.
                leader_id = int32(versions="12+", default=-1)
                # -1: not known.
                leader_epoch = int32(versions="12+", default=-1)

            # Set with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH: the leader to ask instead.
            current_leader = struct(LeaderIdAndEpoch, versions="12+", tag=1)

            class SnapshotId(Struct):
                # Offset of the first record after the snapshot. -1: no snapshot.
                end_offset = int64(default=-1)
                # Epoch of the last record in the snapshot. -1: no snapshot.
                epoch = int32(default=-1)

            # Set by a quorum's leader if its log no longer has the offset. Read this snapshot with FetchSnapshot first.
            snapshot_id = struct(SnapshotId, versions="12+", tag=2)

            class AbortedTransaction(Struct):
                producer_id = int64(versions="4+")
                # Offset where the transaction begins in this partition. Skip the producer's records from there to its
                # abort marker.
                first_offset = int64(versions="4+")

            # Transactions to skip, those with records in this answer. Empty: none. Null: isolation_level is 0, or an
            # error.
            aborted_transactions = array(AbortedTransaction, versions="4+", nullable="4+", ignorable=True)
            # Broker to read from instead, in the rack of the consumer. No records come with it. -1: stay here.
            preferred_read_replica = int32(versions="11+", default=-1)
            # Record batches. The limits may cut the last one: ignore a batch without its end. Empty: nothing new.
            records = records(nullable="0+", on_error=b"")

        partitions = array(PartitionData)

    # In a session: only partitions with records, an error or changed offsets. Otherwise all partitions of the request.
    responses = array(FetchableTopicResponse, answers="topics", echoed="0-12")

    class NodeEndpoint(Struct):
        # A leader that current_leader names.
        node_id = int32(versions="16+", map_key=True)
        host = string(versions="16+")
        port = int32(versions="16+")
        # Its broker.rack. Null: not configured.
        rack = string(versions="16+", nullable="16+", default=None)

    # Where to reach the leaders that current_leader names, so that no Metadata request is necessary.
    node_endpoints = array(NodeEndpoint, versions="16+", tag=0)
