"""ConsumerGroupHeartbeat (68): the one request of a member of a group of the new protocol.

Sent to the group's coordinator: member_epoch 0 joins, -1 leaves, -2 leaves for a short time as a static member. The
coordinator assigns; the member says what it owns, and gets what it should own (KIP-848).

Versions
    v1: subscriptions by regular expression; the member makes its own id.

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks READ on the group.
    TOPIC_AUTHORIZATION_FAILED: no DESCRIBE on a topic that the member subscribes to by name.
    INVALID_REQUEST: a first heartbeat that lacks a field, or a field that its state does not allow.
    INVALID_GROUP_ID: the group id is empty.
    GROUP_ID_NOT_FOUND: the group is of another type.
    UNKNOWN_MEMBER_ID: the group has no such member.
    FENCED_MEMBER_EPOCH: the epoch is not the member's: give up all partitions and join again.
    UNSUPPORTED_ASSIGNOR: the coordinator has no assignor of this name.
    UNRELEASED_INSTANCE_ID: another member still uses this group.instance.id.
    FENCED_INSTANCE_ID: another member took over this group.instance.id.
    GROUP_MAX_SIZE_REACHED: the group has group.consumer.max.size members.
    INVALID_REGULAR_EXPRESSION: the subscription cannot be read by RE2 (v1).
    UNSUPPORTED_VERSION: groups of the new protocol are not enabled.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, struct, uuid


class ConsumerGroupHeartbeatRequest(
    Request, key=68, versions="0-1", flexible="0+", rights={"group": "Read", "topic": "Describe"}
):
    group_id = string()
    member_id = string()
    member_epoch = int32()  # 0 joins, -1 leaves, -2 leaves for a short time
    instance_id = string(nullable="0+", default=None)
    rack_id = string(nullable="0+", default=None)
    rebalance_timeout_ms = int32(default=-1)  # how long the member may take to give up partitions; -1: as before
    subscribed_topic_names = array(string(), nullable="0+", default=None)
    subscribed_topic_regex = string(versions="1+", nullable="1+", default=None)
    server_assignor = string(nullable="0+", default=None)  # null: as before

    class TopicPartitions(Struct):
        topic_id = uuid()
        partitions = array(int32())

    topic_partitions = array(TopicPartitions, nullable="0+", default=None)  # what the member owns; null: as before


class TopicPartitions(Struct):
    topic_id = uuid()
    partitions = array(int32())


class ConsumerGroupHeartbeatResponse(Response, key=68, versions="0-1", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", default=None)
    member_id = string(nullable="0+", default=None)
    member_epoch = int32()
    heartbeat_interval_ms = int32()

    class Assignment(Struct):
        topic_partitions = array(TopicPartitions)

    assignment = struct(Assignment, nullable="0+", default=None)  # null: as before
