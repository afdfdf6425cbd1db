"""ShareGroupHeartbeat (76): membership of a share group (KIP-932)."""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, struct, uuid


class ShareGroupHeartbeatRequest(Request, key=76, route=GROUP_COORDINATOR, versions="0-1", flexible="0+"):
    """Request of ShareGroupHeartbeat."""

    group_id = string()
    member_id = string()
    member_epoch = int32()
    rack_id = string(nullable="0+", default=None)
    subscribed_topic_names = array(string(), nullable="0+", default=None)


class TopicPartitions(Struct):
    topic_id = uuid()
    partitions = array(int32())


class ShareGroupHeartbeatResponse(Response, key=76, versions="0-1", flexible="0+"):
    """Response of ShareGroupHeartbeat."""

    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", default=None)
    member_id = string(nullable="0+", default=None)
    member_epoch = int32()
    heartbeat_interval_ms = int32()

    class Assignment(Struct):
        topic_partitions = array(TopicPartitions)

    assignment = struct(Assignment, nullable="0+", default=None)
