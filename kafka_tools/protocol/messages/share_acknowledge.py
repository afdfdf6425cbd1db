"""ShareAcknowledge (79): acknowledge records that a member of a share group has acquired.

Sent by members to the leaders of partitions, within their share session: accept, release, reject, or renew the lock
(KIP-932).

Versions
    v1: the form of the first release; v0 was early access.
    v2: acknowledgements that renew the lock, and how long it lasts (KIP-1222).

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the broker has no such partition.
    UNKNOWN_TOPIC_ID: no topic has this id.
    NOT_LEADER_OR_FOLLOWER: the broker does not lead the partition (any more).
    FENCED_LEADER_EPOCH: the leader epoch has changed.
    GROUP_AUTHORIZATION_FAILED: no READ on the group.
    TOPIC_AUTHORIZATION_FAILED: no READ on the topic.
    SHARE_SESSION_NOT_FOUND: the session was evicted, or is another connection's.
    INVALID_SHARE_SESSION_EPOCH: a request of the session was lost or sent twice.
    INVALID_RECORD_STATE: records that the member has not acquired, or has acknowledged already.
    FENCED_STATE_EPOCH: the state of the share partition was made anew.
    KAFKA_STORAGE_ERROR: the disk of the partition has failed.
    INVALID_REQUEST: impossible acknowledgements: overlapping, out of order, of an unknown kind.
    UNSUPPORTED_VERSION: share groups are not enabled.
    UNKNOWN_SERVER_ERROR: the state could not be written.
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
    Request, key=79, versions="0-2", dropped="0", flexible="0+", rights={"group": "Read", "topic": "Read"}
):
    group_id = string(nullable="0+", default=None)
    member_id = string(nullable="0+")
    share_session_epoch = int32()  # -1 ends the session
    is_renew_ack = boolean(versions="2+")

    class AcknowledgeTopic(Struct):
        topic_id = uuid(map_key=True)

        class AcknowledgePartition(Struct):
            partition_index = int32(map_key=True)

            class AcknowledgementBatch(Struct):
                first_offset = int64()
                last_offset = int64()
                acknowledge_types = array(int8())  # 0 gap, 1 accept, 2 release, 3 reject, 4 renew

            acknowledgement_batches = array(AcknowledgementBatch)

        partitions = array(AcknowledgePartition)

    topics = array(AcknowledgeTopic)


class ShareAcknowledgeResponse(Response, key=79, versions="0-2", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", default=None)
    acquisition_lock_timeout_ms = int32(versions="2+", ignorable=True)

    class TopicResponse(Struct):
        topic_id = uuid(map_key=True)

        class PartitionData(Struct):
            partition_index = int32()
            error_code = int16()
            error_message = string(nullable="0+", default=None)

            class LeaderIdAndEpoch(Struct):
                leader_id = int32()
                leader_epoch = int32()

            current_leader = struct(LeaderIdAndEpoch)

        partitions = array(PartitionData)

    responses = array(TopicResponse)

    class NodeEndpoint(Struct):
        node_id = int32(map_key=True)
        host = string()
        port = int32()
        rack = string(nullable="0+", default=None)

    node_endpoints = array(NodeEndpoint)
