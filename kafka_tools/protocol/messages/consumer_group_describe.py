"""ConsumerGroupDescribe (69): describe KIP-848 consumer groups."""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    string,
    struct,
    uuid,
)


class ConsumerGroupDescribeRequest(Request, key=69, route=GROUP_COORDINATOR, versions="0-1", flexible="0+"):
    """Request of ConsumerGroupDescribe."""

    group_ids = array(string())
    include_authorized_operations = boolean()


class TopicPartitions(Struct):
    topic_id = uuid()
    topic_name = string()
    partitions = array(int32())


class Assignment(Struct):
    topic_partitions = array(TopicPartitions)


class ConsumerGroupDescribeResponse(Response, key=69, versions="0-1", flexible="0+"):
    """Response of ConsumerGroupDescribe.

    v1: adds groups[].members[].member_type.
    """

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
            instance_id = string(nullable="0+", default=None)
            rack_id = string(nullable="0+", default=None)
            member_epoch = int32()
            client_id = string()
            client_host = string()
            subscribed_topic_names = array(string())
            subscribed_topic_regex = string(nullable="0+", default=None)
            assignment = struct(Assignment)
            target_assignment = struct(Assignment)
            member_type = int8(versions="1+", default=-1, ignorable=True)

        members = array(Member)
        authorized_operations = int32(default=-2147483648)

    groups = array(DescribedGroup)
