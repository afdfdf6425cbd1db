"""ConsumerGroupDescribe (69): describe consumer groups of the new protocol, their members and assignments.

Sent by tools to the coordinator of the groups (KIP-848). DescribeGroups (15) describes classic groups.

Versions
    v1: which members use the classic protocol (KIP-1099).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the group.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DESCRIBE on a topic that a member subscribes to.
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
    Request, key=69, effect="reads", versions="0-1", flexible="0+", rights={"group": "Describe", "topic": "Describe"}
):
    # Groups of this coordinator. An id of a classic group leads to GROUP_ID_NOT_FOUND.
    group_ids = array(string())
    # True: fill authorized_operations in the response.
    include_authorized_operations = boolean()


class TopicPartitions(Struct):
    topic_id = uuid()
    topic_name = string()
    partitions = array(int32())


class Assignment(Struct):
    # Empty: nothing is assigned.
    topic_partitions = array(TopicPartitions)


class ConsumerGroupDescribeResponse(Response, key=69, versions="0-1", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class DescribedGroup(Struct):
        # Error of this group. 0: no error.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(nullable="0+", default=None)
        group_id = string()
        # Empty, Assigning, Reconciling, Stable or Dead. Empty text with an error.
        group_state = string()
        # Rises with every change of the members, of their subscriptions, or of the topics that they subscribe to.
        group_epoch = int32()
        # Group epoch for which the coordinator has computed the assignment. Lower than group_epoch: it is still
        # computing.
        assignment_epoch = int32()
        # Name of the server-side assignor, such as uniform or range.
        assignor_name = string()

        class Member(Struct):
            member_id = string()
            # The member's group.instance.id. Null: a dynamic member.
            instance_id = string(nullable="0+", default=None)
            # The member's client.rack. Null: not configured.
            rack_id = string(nullable="0+", default=None)
            # Group epoch that the member has reached. It is reconciling while this is lower than assignment_epoch.
            member_epoch = int32()
            # The member's client.id.
            client_id = string()
            # Address of the member, with a slash before it.
            client_host = string()
            # Topics that the member subscribes to by name. Empty: none.
            subscribed_topic_names = array(string())
            # Regular expression that the member subscribes to. Null: none.
            subscribed_topic_regex = string(nullable="0+", default=None)
            # Partitions that the member has now.
            assignment = struct(Assignment)
            # Partitions that the member will have when it has reconciled.
            target_assignment = struct(Assignment)
            # -1 not known, 0 classic protocol, 1 consumer protocol.
            member_type = int8(versions="1+", default=-1, ignorable=True)

        members = array(Member)
        # Operations that the client may perform: bit n is set for AclOperation n. -2147483648: not requested.
        authorized_operations = int32(default=-2147483648)

    # One result for each group of the request.
    groups = array(DescribedGroup)
