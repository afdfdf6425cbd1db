"""ShareGroupDescribe (77): describe share groups."""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string, struct, uuid


class ShareGroupDescribeRequest(Request, key=77, route=GROUP_COORDINATOR, versions="0-1", flexible="0+"):
    """Request of ShareGroupDescribe."""

    group_ids = array(string())
    include_authorized_operations = boolean()


class TopicPartitions(Struct):
    topic_id = uuid()
    topic_name = string()
    partitions = array(int32())


class Assignment(Struct):
    topic_partitions = array(TopicPartitions)


class ShareGroupDescribeResponse(Response, key=77, versions="0-1", flexible="0+"):
    """Response of ShareGroupDescribe."""

    throttle_time_ms = int32()

    class DescribedGroup(Struct):
        error_code = int16()
        error_message = string(nullable="0+", default=None)
        group_id = string()
        group_state = string()
        group_epoch = int32()
        assignment_epoch = int32()
        assignor_name = string()

        class Member(Struct):
            member_id = string()
            rack_id = string(nullable="0+", default=None)
            member_epoch = int32()
            client_id = string()
            client_host = string()
            subscribed_topic_names = array(string())
            assignment = struct(Assignment)

        members = array(Member)
        authorized_operations = int32(default=-2147483648)

    groups = array(DescribedGroup)
