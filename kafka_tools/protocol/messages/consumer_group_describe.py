"""ConsumerGroupDescribe (69): groups of the new protocol with epochs, members, and what each has and should have.

Sent by tools to the coordinator of the groups (KIP-848).

Versions
    v1: which members use the classic protocol (KIP-1099).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the group.
    TOPIC_AUTHORIZATION_FAILED: a member subscribes to a topic without DESCRIBE for the caller.
    INVALID_GROUP_ID: the group id is null.
    GROUP_ID_NOT_FOUND: the group does not exist or has another type.
    INVALID_REQUEST: the request is malformed.
    UNSUPPORTED_VERSION: groups of the new protocol are not enabled.
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
    string,
    struct,
    uuid,
)


class ConsumerGroupDescribeRequest(
    Request, key=69, versions="0-1", flexible="0+", rights={"group": "Describe", "topic": "Describe"}
):
    group_ids = array(string())
    include_authorized_operations = boolean()


class TopicPartitions(Struct):
    topic_id = uuid()
    topic_name = string()
    partitions = array(int32())


class Assignment(Struct):
    topic_partitions = array(TopicPartitions)


class ConsumerGroupDescribeResponse(Response, key=69, versions="0-1", flexible="0+"):
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
