"""DescribeGroups (15): classic groups with their state, members and assignments.

Sent by tools to the coordinator of the groups. Until v5 a group that does not exist is described as Dead.

Versions
    v1: throttle times in the response.
    v2: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v3: which operations the client may do, if it asks (KIP-430).
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


class DescribeGroupsRequest(Request, key=15, versions="0-6", flexible="5+", rights={"group": "Describe"}):
    groups = array(string())
    include_authorized_operations = boolean(versions="3+")


class DescribeGroupsResponse(Response, key=15, versions="0-6", flexible="5+", throttles="2+"):
    throttle_time_ms = int32(versions="1+", ignorable=True)

    class DescribedGroup(Struct):
        error_code = int16()
        error_message = string(versions="6+", nullable="6+", default=None)
        group_id = string()
        group_state = string()  # empty with an error
        protocol_type = string()
        protocol_data = string()  # the assignor that was chosen

        class DescribedGroupMember(Struct):
            member_id = string()
            group_instance_id = string(versions="4+", nullable="4+", default=None, ignorable=True)
            client_id = string()
            client_host = string()
            member_metadata = bytes_()
            member_assignment = bytes_()

        members = array(DescribedGroupMember)
        authorized_operations = int32(versions="3+", default=-2147483648)

    groups = array(DescribedGroup)
