"""ConsumerGroupHeartbeat (68): the one request of a KIP-848 consumer group member: join, stay, acknowledge, leave.

member_epoch 0 joins, -1 leaves, -2 leaves for a short time as a static member.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, struct, uuid


class ConsumerGroupHeartbeatRequest(Request, key=68, route=GROUP_COORDINATOR, versions="0-1", flexible="0+"):
    """Request of ConsumerGroupHeartbeat.

    v1: adds subscribed_topic_regex.
    """

    group_id = string()
    member_id = string()
    member_epoch = int32()
    instance_id = string(nullable="0+", default=None)
    rack_id = string(nullable="0+", default=None)
    rebalance_timeout_ms = int32(default=-1)
    subscribed_topic_names = array(string(), nullable="0+", default=None)
    subscribed_topic_regex = string(versions="1+", nullable="1+", default=None)
    server_assignor = string(nullable="0+", default=None)

    class TopicPartitions(Struct):
        topic_id = uuid()
        partitions = array(int32())

    topic_partitions = array(TopicPartitions, nullable="0+", default=None)


class TopicPartitions(Struct):
    topic_id = uuid()
    partitions = array(int32())


class ConsumerGroupHeartbeatResponse(Response, key=68, versions="0-1", flexible="0+"):
    """Response of ConsumerGroupHeartbeat."""

    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", default=None)
    member_id = string(nullable="0+", default=None)
    member_epoch = int32()
    heartbeat_interval_ms = int32()

    class Assignment(Struct):
        topic_partitions = array(TopicPartitions)

    assignment = struct(Assignment, nullable="0+", default=None)
