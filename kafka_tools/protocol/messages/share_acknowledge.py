"""ShareAcknowledge (79): acknowledge records that a member of a share group has acquired.

Sent by members to the leaders of partitions, within their share session. A member accepts, releases or rejects a
record, or renews its lock (KIP-932).

Versions
    v1: the first stable version. v0 was early access.
    v2: acknowledgements that renew the lock, and the duration of the lock (KIP-1222).

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the broker does not have the partition.
    UNKNOWN_TOPIC_ID: no topic has this id.
    NOT_LEADER_OR_FOLLOWER: the broker is not, or no longer, the leader of the partition.
    FENCED_LEADER_EPOCH: the leader epoch has changed.
    GROUP_AUTHORIZATION_FAILED: the client lacks READ on the group.
    TOPIC_AUTHORIZATION_FAILED: the client lacks READ on the topic.
    SHARE_SESSION_NOT_FOUND: the broker has evicted the session, or it belongs to another connection.
    INVALID_SHARE_SESSION_EPOCH: the epoch is not the next one: the broker missed a request, or got it twice. 0 is never
        valid here.
    INVALID_RECORD_STATE: the member has not acquired the records, or has already acknowledged them.
    FENCED_STATE_EPOCH: the state of the share partition was initialized again.
    KAFKA_STORAGE_ERROR: the log directory of the partition has failed.
    INVALID_REQUEST: ranges overlap, are out of order or have an unknown type, or the member id is invalid.
    UNSUPPORTED_VERSION: share groups are not enabled.
    UNKNOWN_SERVER_ERROR: the share coordinator could not write the state.
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
    string,
    struct,
    uuid,
)


class ShareAcknowledgeRequest(
    Request,
    key=79,
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
    # Counts the requests of the share session. -1: end the session. 0 leads to INVALID_SHARE_SESSION_EPOCH: only
    # ShareFetch begins a session.
    share_session_epoch = int32()
    # True: acknowledge_types contain 4 (renew).
    is_renew_ack = boolean(versions="2+")

    class AcknowledgeTopic(Struct):
        # An unknown id leads to UNKNOWN_TOPIC_ID.
        topic_id = uuid(map_key=True)

        class AcknowledgePartition(Struct):
            # A partition of another leader leads to NOT_LEADER_OR_FOLLOWER.
            partition_index = int32(map_key=True)

            class AcknowledgementBatch(Struct):
                # First offset of the range.
                first_offset = int64()
                # Last offset of the range, inclusive.
                last_offset = int64()
                # 0 gap (no record), 1 accept, 2 release, 3 reject, 4 renew the lock (v2). One value for the whole
                # range, or one for each offset.
                acknowledge_types = array(int8())

            # Ranges in ascending order. They must not overlap.
            acknowledgement_batches = array(AcknowledgementBatch)

        partitions = array(AcknowledgePartition)

    topics = array(AcknowledgeTopic)


class ShareAcknowledgeResponse(Response, key=79, versions="0-2", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+", default=None)
    # How long acquired and renewed records are locked, in milliseconds.
    acquisition_lock_timeout_ms = int32(versions="2+", ignorable=True)

    class TopicResponse(Struct):
        topic_id = uuid(map_key=True)

        class PartitionData(Struct):
            partition_index = int32()
            # Error of this partition. 0: no error.
            error_code = int16()
            # Explains the error in words. Null: no explanation.
            error_message = string(nullable="0+", default=None)

            class LeaderIdAndEpoch(Struct):
                # Broker id of the new leader. -1: unknown.
                leader_id = int32()
                # Epoch of the new leader. -1: unknown.
                leader_epoch = int32()

            # Set with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH. Otherwise all zero.
            current_leader = struct(LeaderIdAndEpoch)

        partitions = array(PartitionData)

    # One result for each partition of the request.
    responses = array(TopicResponse)

    class NodeEndpoint(Struct):
        node_id = int32(map_key=True)
        # Host of the listener that the request came through.
        host = string()
        port = int32()
        # The broker's broker.rack. Null: not configured.
        rack = string(nullable="0+", default=None)

    # Endpoints of the leaders in current_leader.
    node_endpoints = array(NodeEndpoint)
