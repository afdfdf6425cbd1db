"""ShareFetch (78): acquire records for a member of a share group, and acknowledge earlier ones.

Sent by members to the leaders of partitions, within a share session of the connection. Acquired records are locked
until the member acknowledges them or the lock expires (KIP-932).

Versions
    v1: the first stable version, with max_records and batch_size. v0 was early access.
    v2: share_acquire_mode, which makes max_records strict (KIP-1206), and acknowledgements that renew the lock
        (KIP-1222).

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the broker does not have the partition.
    UNKNOWN_TOPIC_ID: no topic has this id.
    NOT_LEADER_OR_FOLLOWER: the broker is not, or no longer, the leader of the partition.
    FENCED_LEADER_EPOCH: the leader epoch has changed.
    GROUP_AUTHORIZATION_FAILED: the client lacks READ on the group.
    TOPIC_AUTHORIZATION_FAILED: the client lacks READ on the topic.
    SHARE_SESSION_NOT_FOUND: the broker has evicted the session, or it belongs to another connection.
    INVALID_SHARE_SESSION_EPOCH: the epoch is not the next one: the broker missed a request, or got it twice.
    SHARE_SESSION_LIMIT_REACHED: the broker has no room for another session.
    INVALID_RECORD_STATE: the member acknowledges records that it has not acquired.
    CORRUPT_MESSAGE: a batch on the broker's disk is damaged.
    COORDINATOR_NOT_AVAILABLE: the leader cannot reach the share coordinator.
    COORDINATOR_LOAD_IN_PROGRESS: the share coordinator is still loading the state of the share partition.
    NOT_COORDINATOR: the share coordinator has moved to another broker.
    GROUP_ID_NOT_FOUND: the share partition has no state.
    FENCED_STATE_EPOCH: the state of the share partition was initialized again.
    KAFKA_STORAGE_ERROR: the log directory of the partition has failed.
    INVALID_REQUEST: ranges of acknowledgements overlap, are out of order or have an unknown type, or fields contradict
        each other.
    UNSUPPORTED_VERSION: share groups are not enabled.
    UNKNOWN_SERVER_ERROR: another error occurred while the broker read the log.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    uuid,
)


class ShareFetchRequest(
    Request,
    key=78,
    effect="changes",
    versions="0-2",
    dropped="0",
    flexible="0+",
    rights={"group": "Read", "topic": "Read"},
):
    # The share group of the member. Null: consumers never send it.
    group_id = string(nullable="0+", default=None)
    # The member's id, a UUID as text. Null or empty leads to INVALID_REQUEST.
    member_id = string(nullable="0+")
    # Counts the requests of the share session. 0: begin a session. -1: end it, and release its records.
    share_session_epoch = int32()
    # How long the broker may wait for min_bytes, in milliseconds.
    max_wait_ms = int32()
    # Bytes for which the broker waits. 0: it answers immediately.
    min_bytes = int32()
    # Maximum size of all records in the response, in bytes. The first batch comes even if it is larger.
    max_bytes = int32(default=2147483647)
    # Maximum number of records to acquire, as strict as share_acquire_mode says.
    max_records = int32(versions="1+")
    # Preferred number of records in a range of acquired_records.
    batch_size = int32(versions="1+")
    # 0: whole batches, even beyond max_records. 1: never more than max_records.
    share_acquire_mode = int8(versions="2+", ignorable=True)
    # True: acknowledge_types contain 4 (renew). max_wait_ms, min_bytes, max_bytes and max_records must then be 0.
    is_renew_ack = boolean(versions="2+")

    class FetchTopic(Struct):
        # An unknown id leads to UNKNOWN_TOPIC_ID.
        topic_id = uuid(map_key=True)

        class FetchPartition(Struct):
            # A partition of another leader leads to NOT_LEADER_OR_FOLLOWER.
            partition_index = int32(map_key=True)
            # Maximum size of the records of this partition, in bytes. 0: acknowledge only.
            partition_max_bytes = int32(versions="0")

            class AcknowledgementBatch(Struct):
                # First offset of the range.
                first_offset = int64()
                # Last offset of the range, inclusive.
                last_offset = int64()
                # 0 gap (no record), 1 accept, 2 release, 3 reject, 4 renew the lock (v2). One value for the whole
                # range, or one for each offset.
                acknowledge_types = array(int8())

            # Ranges of records from earlier fetches, in ascending order. They must not overlap.
            acknowledgement_batches = array(AcknowledgementBatch)

        partitions = array(FetchPartition)

    # Partitions to add to the session, or to acknowledge. Others of the session stay in it.
    topics = array(FetchTopic)

    class ForgottenTopic(Struct):
        topic_id = uuid()
        partitions = array(int32())

    # Partitions to remove from the session.
    forgotten_topics_data = array(ForgottenTopic)


class ShareFetchResponse(Response, key=78, versions="0-2", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+", default=None)
    # How long acquired records are locked, in milliseconds. After that other members can acquire them.
    acquisition_lock_timeout_ms = int32(versions="1+")

    class ShareFetchableTopicResponse(Struct):
        topic_id = uuid(map_key=True)

        class PartitionData(Struct):
            partition_index = int32()
            # Error of the fetch in this partition. 0: no error.
            error_code = int16()
            # Explains the error in words. Null: no explanation.
            error_message = string(nullable="0+", default=None)
            # Error of the acknowledgements in this partition. 0: no error.
            acknowledge_error_code = int16()
            # Explains the error in words. Null: no explanation.
            acknowledge_error_message = string(nullable="0+", default=None)

            class LeaderIdAndEpoch(Struct):
                # Broker id of the new leader. -1: unknown.
                leader_id = int32()
                # Epoch of the new leader. -1: unknown.
                leader_epoch = int32()

            # Set with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH. Otherwise all zero.
            current_leader = struct(LeaderIdAndEpoch)
            # Whole batches. They can contain records that this member has not acquired.
            records = records(nullable="0", default=b"")

            class AcquiredRecords(Struct):
                # First offset of the range.
                first_offset = int64()
                # Last offset of the range, inclusive.
                last_offset = int64()
                # How often the records were delivered, this time included. 1: the first time.
                delivery_count = int16()

            # The records in the batches that are locked for this member. It ignores all others.
            acquired_records = array(AcquiredRecords)

        partitions = array(PartitionData)

    # Partitions with records, acknowledgements or errors. The response omits the others.
    responses = array(ShareFetchableTopicResponse)

    class NodeEndpoint(Struct):
        node_id = int32(map_key=True)
        # Host of the listener that the request came through.
        host = string()
        port = int32()
        # The broker's broker.rack. Null: not configured.
        rack = string(nullable="0+", default=None)

    # Endpoints of the leaders in current_leader.
    node_endpoints = array(NodeEndpoint)
