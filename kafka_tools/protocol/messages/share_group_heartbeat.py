"""ShareGroupHeartbeat (76): join a share group, stay in it or leave it.

Sent by members to the coordinator of the group at every heartbeat interval. Several members can have the same
partition, so nobody has to revoke it before another member gets it (KIP-932).

Versions
    v1: the first stable version. v0 was early access.

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks READ on the group.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DESCRIBE on a topic that the member subscribes to.
    INVALID_REQUEST: a field is empty, missing from the first heartbeat, or invalid.
    GROUP_ID_NOT_FOUND: the group has another type.
    UNKNOWN_MEMBER_ID: the group does not have this member.
    FENCED_MEMBER_EPOCH: the epoch is not the current one of the member. Join again.
    GROUP_MAX_SIZE_REACHED: the group already has group.share.max.size members.
    UNSUPPORTED_VERSION: share groups are not enabled.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, struct, uuid


class ShareGroupHeartbeatRequest(
    Request,
    key=76,
    effect="changes",
    versions="0-1",
    dropped="0",
    flexible="0+",
    rights={"group": "Read", "topic": "Describe"},
):
    # Empty leads to INVALID_REQUEST.
    group_id = string()
    # The member creates a random UUID and keeps it.
    member_id = string()
    # 0: join. -1: leave. Otherwise the epoch of the last response.
    member_epoch = int32()
    # The member's client.rack, sent when it joins. Null: not configured, or no change.
    rack_id = string(nullable="0+", default=None)
    # Topics to subscribe to. Null: no change.
    subscribed_topic_names = array(string(), nullable="0+", default=None)


class TopicPartitions(Struct):
    topic_id = uuid()
    partitions = array(int32())


class ShareGroupHeartbeatResponse(Response, key=76, versions="0-1", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+", default=None)
    # The value from the request. Null: with an error.
    member_id = string(nullable="0+", default=None)
    # The new epoch, for the next heartbeat. -1: the member has left.
    member_epoch = int32()
    # When the next heartbeat is due, in milliseconds. Set by group.share.heartbeat.interval.ms of the group.
    heartbeat_interval_ms = int32()

    class Assignment(Struct):
        # All partitions from which the member may fetch now.
        topic_partitions = array(TopicPartitions)

    # Null: no change.
    assignment = struct(Assignment, nullable="0+", default=None)
