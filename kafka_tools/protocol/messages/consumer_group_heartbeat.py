"""ConsumerGroupHeartbeat (68): join, stay in or leave a consumer group of the new protocol.

Sent by members to the coordinator of the group, regularly. The member reports which partitions it owns, and the
coordinator answers which it should own (KIP-848). A field that has not changed is null or -1, in both directions.

Versions
    v1: subscriptions by regular expression (KIP-848); the member creates its own id (KIP-1082).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks READ on the group.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DESCRIBE on a topic that the member subscribes to by name.
    INVALID_REQUEST: a first heartbeat lacks a field, or a field is not allowed in the state of the member.
    INVALID_GROUP_ID: the group id is empty.
    GROUP_ID_NOT_FOUND: the group has another type.
    UNKNOWN_MEMBER_ID: the group has no member with this id.
    FENCED_MEMBER_EPOCH: the coordinator has another epoch for the member. The member must drop all partitions and join
        again.
    UNSUPPORTED_ASSIGNOR: the coordinator has no assignor with this name.
    UNRELEASED_INSTANCE_ID: another member still uses this group.instance.id.
    FENCED_INSTANCE_ID: another member took over this group.instance.id.
    GROUP_MAX_SIZE_REACHED: the group already has group.consumer.max.size members.
    INVALID_REGULAR_EXPRESSION: the subscription is not valid for RE2 (v1).
    UNSUPPORTED_VERSION: groups of the new protocol are not enabled.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, struct, uuid


class ConsumerGroupHeartbeatRequest(
    Request, key=68, effect="changes", versions="0-1", flexible="0+", rights={"group": "Read", "topic": "Describe"}
):
    group_id = string()
    # From v1 the member creates a random UUID and keeps it. In v0: empty when joining, then as the coordinator
    # answered.
    member_id = string()
    # 0: join. -1: leave. -2: leave as a static member that will be back soon. Otherwise the epoch of the last response.
    member_epoch = int32()
    # The member's group.instance.id, sent when it joins. Null: a dynamic member, or no change.
    instance_id = string(nullable="0+", default=None)
    # The member's client.rack, sent when it joins. Null: not configured, or no change.
    rack_id = string(nullable="0+", default=None)
    # How long the member may take to revoke partitions, in milliseconds. Later the group removes it. -1: no change.
    rebalance_timeout_ms = int32(default=-1)
    # Topics to subscribe to by name. Null: no change. Empty: none.
    subscribed_topic_names = array(string(), nullable="0+", default=None)
    # Regular expression of RE2 for the topics to subscribe to. Null: no change. Empty: none.
    subscribed_topic_regex = string(versions="1+", nullable="1+", default=None)
    # Name of the server-side assignor that the member prefers. Null: no preference, or no change.
    server_assignor = string(nullable="0+", default=None)

    class TopicPartitions(Struct):
        topic_id = uuid()
        partitions = array(int32())

    # Partitions that the member owns now. Null: no change. Empty when joining.
    topic_partitions = array(TopicPartitions, nullable="0+", default=None)


class TopicPartitions(Struct):
    topic_id = uuid()
    partitions = array(int32())


class ConsumerGroupHeartbeatResponse(Response, key=68, versions="0-1", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+", default=None)
    # The id that the coordinator created or confirms. Null: with an error.
    member_id = string(nullable="0+", default=None)
    # The new epoch, for the next heartbeat. -1 or -2: the member has left.
    member_epoch = int32()
    # When the next heartbeat is due, in milliseconds. Set by group.consumer.heartbeat.interval.ms of the group.
    heartbeat_interval_ms = int32()

    class Assignment(Struct):
        # All partitions that the member may use now. It must revoke the others and report it.
        topic_partitions = array(TopicPartitions)

    # Null: no change.
    assignment = struct(Assignment, nullable="0+", default=None)
