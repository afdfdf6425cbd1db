"""DescribeGroups (15): describe classic groups, their members and assignments.

Sent by tools to the coordinator of the groups. Up to v5 the state of a group that does not exist is Dead.

Versions
    v1: throttle times in the response.
    v2: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v3: operations that the client may perform (KIP-430).
    v4: static members (KIP-345).
    v5: flexible.
    v6: GROUP_ID_NOT_FOUND and error messages (KIP-1043).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the group.
    INVALID_GROUP_ID: the group id is null.
    GROUP_ID_NOT_FOUND: the group does not exist or has another type (v6).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, bytes_, int16, int32, string


class DescribeGroupsRequest(
    Request, key=15, effect="reads", versions="0-6", flexible="5+", rights={"group": "Describe"}
):
    # Groups of this coordinator.
    groups = array(string())
    # True: fill authorized_operations in the response.
    include_authorized_operations = boolean(versions="3+")


class DescribeGroupsResponse(Response, key=15, versions="0-6", flexible="5+", throttles="2+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="1+", ignorable=True)

    class DescribedGroup(Struct):
        # Error of this group. 0: no error.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(versions="6+", nullable="6+", default=None)
        group_id = string()
        # PreparingRebalance, CompletingRebalance, Stable, Dead or Empty. Empty text with an error.
        group_state = string()
        # What the members are: consumer, connect, or a word of another client. Empty if no member has ever joined.
        protocol_type = string()
        # The assignor that the members have agreed on, such as range. Empty unless the group is Stable.
        protocol_data = string()

        class DescribedGroupMember(Struct):
            # Created by the coordinator: client id or instance id, and a random UUID.
            member_id = string()
            # The member's group.instance.id. Null: a dynamic member.
            group_instance_id = string(versions="4+", nullable="4+", default=None, ignorable=True)
            # The member's client.id.
            client_id = string()
            # Address of the member, with a slash before it.
            client_host = string()
            # What the member sent in JoinGroup for the chosen assignor. Consumers: ConsumerProtocolSubscription. Empty
            # unless the group is Stable.
            member_metadata = bytes_()
            # What the leader sent in SyncGroup. Consumers: ConsumerProtocolAssignment.
            member_assignment = bytes_()

        members = array(DescribedGroupMember)
        # Operations that the client may perform: bit n is set for AclOperation n. -2147483648: not requested.
        authorized_operations = int32(versions="3+", default=-2147483648)

    # One result for each group of the request.
    groups = array(DescribedGroup)
