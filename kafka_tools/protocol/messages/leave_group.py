"""LeaveGroup (13): leave a classic group immediately.

Sent to the coordinator of the group, by a member or by a tool for several members. Static members do not leave when
they stop. A tool removes them by their group.instance.id.

Versions
    v1: throttle times in the response.
    v2: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v3: several members at once, by id or group.instance.id (KIP-345).
    v4: flexible.
    v5: the reason (KIP-800).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks READ on the group.
    INVALID_GROUP_ID: the group id is empty.
    UNKNOWN_MEMBER_ID: the group does not have this member.
    FENCED_INSTANCE_ID: the group.instance.id belongs to another member id (v3).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class LeaveGroupRequest(Request, key=13, effect="changes", versions="0-5", flexible="4+", rights={"group": "Read"}):
    group_id = string()
    # Later versions send members instead.
    member_id = string(versions="0-2")

    class MemberIdentity(Struct):
        # Empty: remove the static member whatever its member id is.
        member_id = string(versions="3+")
        # The member's group.instance.id. Null: a dynamic member.
        group_instance_id = string(versions="3+", nullable="3+", default=None)
        # Why the member leaves, for the broker's log. Null: no reason given.
        reason = string(versions="5+", nullable="5+", default=None, ignorable=True)

    # A client sends only itself. A tool can send several members.
    members = array(MemberIdentity, versions="3+")


class LeaveGroupResponse(Response, key=13, versions="0-5", flexible="4+", throttles="2+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="1+", ignorable=True)
    # Error of the whole request, and up to v2 of the member. 0: no error.
    error_code = int16()

    class MemberResponse(Struct):
        # The value from the request.
        member_id = string(versions="3+")
        # The value from the request.
        group_instance_id = string(versions="3+", nullable="3+")
        # Error of this member. 0: it has left.
        error_code = int16(versions="3+")

    # One result for each member of the request. Empty: the whole request failed.
    members = array(MemberResponse, versions="3+", on_error=[])
