"""ShareFetch (78): acquire records for a member of a share group, and acknowledge earlier ones.

Sent by members to the leaders of partitions, within a share session of the connection. What is acquired is locked until
it is acknowledged or the lock runs out (KIP-932).

Versions
    v1: max_records and batch_size; v0 was early access.
    v2: how strictly max_records counts (KIP-1206); acknowledgements that renew the lock (KIP-1222).

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the broker has no such partition.
    UNKNOWN_TOPIC_ID: no topic has this id.
    NOT_LEADER_OR_FOLLOWER: the broker does not lead the partition (any more).
    FENCED_LEADER_EPOCH: the leader epoch has changed.
    GROUP_AUTHORIZATION_FAILED: no READ on the group.
    TOPIC_AUTHORIZATION_FAILED: no READ on the topic.
    SHARE_SESSION_NOT_FOUND: the session was evicted, or is another connection's.
    INVALID_SHARE_SESSION_EPOCH: a request of the session was lost or sent twice.
    SHARE_SESSION_LIMIT_REACHED: the broker keeps no more sessions.
    INVALID_RECORD_STATE: an acknowledgement of records that the member has not acquired.
    CORRUPT_MESSAGE: a batch on the broker's disk is damaged.
    COORDINATOR_NOT_AVAILABLE: the share coordinator cannot be reached.
    COORDINATOR_LOAD_IN_PROGRESS: the state of the share partition is still being read.
    NOT_COORDINATOR: the share coordinator has moved.
    GROUP_ID_NOT_FOUND: the share group has no state for the partition.
    FENCED_STATE_EPOCH: the state of the share partition was made anew.
    KAFKA_STORAGE_ERROR: the disk of the partition has failed.
    INVALID_REQUEST: impossible acknowledgements: overlapping, out of order, of an unknown kind.
    UNSUPPORTED_VERSION: share groups are not enabled.
    UNKNOWN_SERVER_ERROR: reading failed otherwise.
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
    Request, key=78, versions="0-2", dropped="0", flexible="0+", rights={"group": "Read", "topic": "Read"}
):
    group_id = string(nullable="0+", default=None)
    member_id = string(nullable="0+")
    share_session_epoch = int32()  # 0 begins a session, -1 ends it
    max_wait_ms = int32()
    min_bytes = int32()
    max_bytes = int32(default=2147483647)
    max_records = int32(versions="1+")  # at most so many are acquired, rounded up to whole batches
    batch_size = int32(versions="1+")  # wanted size of acquired batches
    share_acquire_mode = int8(versions="2+", ignorable=True)  # 0: whole batches may exceed max_records; 1: never more
    is_renew_ack = boolean(versions="2+")

    class FetchTopic(Struct):
        topic_id = uuid(map_key=True)

        class FetchPartition(Struct):
            partition_index = int32(map_key=True)
            partition_max_bytes = int32(versions="0")

            class AcknowledgementBatch(Struct):
                first_offset = int64()
                last_offset = int64()
                acknowledge_types = array(int8())  # 0 gap, 1 accept, 2 release, 3 reject, 4 renew

            acknowledgement_batches = array(AcknowledgementBatch)

        partitions = array(FetchPartition)

    topics = array(FetchTopic)

    class ForgottenTopic(Struct):
        topic_id = uuid()
        partitions = array(int32())

    forgotten_topics_data = array(ForgottenTopic)


class ShareFetchResponse(Response, key=78, versions="0-2", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", default=None)
    acquisition_lock_timeout_ms = int32(versions="1+")

    class ShareFetchableTopicResponse(Struct):
        topic_id = uuid(map_key=True)

        class PartitionData(Struct):
            partition_index = int32()
            error_code = int16()
            error_message = string(nullable="0+", default=None)
            acknowledge_error_code = int16()
            acknowledge_error_message = string(nullable="0+", default=None)

            class LeaderIdAndEpoch(Struct):
                leader_id = int32()
                leader_epoch = int32()

            current_leader = struct(LeaderIdAndEpoch)
            records = records(nullable="0", default=b"")

            class AcquiredRecords(Struct):
                first_offset = int64()
                last_offset = int64()
                delivery_count = int16()

            acquired_records = array(AcquiredRecords)  # locked for this member until acknowledged

        partitions = array(PartitionData)

    responses = array(ShareFetchableTopicResponse)

    class NodeEndpoint(Struct):
        node_id = int32(map_key=True)
        host = string()
        port = int32()
        rack = string(nullable="0+", default=None)

    node_endpoints = array(NodeEndpoint)
