"""ShareGroupHeartbeat (76): the membership request of a share group.

Sent to the group's coordinator: member_epoch 0 joins, -1 leaves. Partitions are shared by members, so nothing has to be
given up before it is assigned again (KIP-932).

Versions
    v1: the form of the first release; v0 was early access.

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: no READ on the group.
    TOPIC_AUTHORIZATION_FAILED: no DESCRIBE on a topic that the member subscribes to.
    INVALID_REQUEST: a first heartbeat that lacks a field, or a field that its state does not allow.
    INVALID_GROUP_ID: the group id is empty.
    GROUP_ID_NOT_FOUND: the group is of another type.
    UNKNOWN_MEMBER_ID: the group has no such member.
    FENCED_MEMBER_EPOCH: the epoch is not the member's: join again.
    GROUP_MAX_SIZE_REACHED: the group has group.share.max.size members.
    UNSUPPORTED_VERSION: share groups are not enabled.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, struct, uuid


class ShareGroupHeartbeatRequest(
    Request, key=76, versions="0-1", dropped="0", flexible="0+", rights={"group": "Read", "topic": "Describe"}
):
    group_id = string()
    member_id = string()
    member_epoch = int32()
    rack_id = string(nullable="0+", default=None)
    subscribed_topic_names = array(string(), nullable="0+", default=None)


class TopicPartitions(Struct):
    topic_id = uuid()
    partitions = array(int32())


class ShareGroupHeartbeatResponse(Response, key=76, versions="0-1", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", default=None)
    member_id = string(nullable="0+", default=None)
    member_epoch = int32()
    heartbeat_interval_ms = int32()

    class Assignment(Struct):
        topic_partitions = array(TopicPartitions)

    assignment = struct(Assignment, nullable="0+", default=None)
