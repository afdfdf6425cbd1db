"""LeaveGroup (13): leave a classic group at once.

Sent by members, or by a tool for several of them, to the group's coordinator. Static members do not leave when they
stop; a tool removes them by their group.instance.id.

Versions
    v1: throttle times in the response.
    v2: throttled clients wait by themselves; the response comes first (KIP-219).
    v3: several members at once, by id or group.instance.id (KIP-345).
    v4: flexible.
    v5: the reason (KIP-800).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: no READ on the group.
    INVALID_GROUP_ID: the group id is empty.
    UNKNOWN_MEMBER_ID: the group has no such member.
    FENCED_INSTANCE_ID: the group.instance.id belongs to another member id (v3).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class LeaveGroupRequest(Request, key=13, versions="0-5", flexible="4+", rights={"group": "Read"}):
    group_id = string()
    member_id = string(versions="0-2")

    class MemberIdentity(Struct):
        member_id = string(versions="3+")
        group_instance_id = string(versions="3+", nullable="3+", default=None)
        reason = string(versions="5+", nullable="5+", default=None, ignorable=True)

    members = array(MemberIdentity, versions="3+")


class LeaveGroupResponse(Response, key=13, versions="0-5", flexible="4+", throttles="2+"):
    throttle_time_ms = int32(versions="1+", ignorable=True)
    error_code = int16()

    class MemberResponse(Struct):
        member_id = string(versions="3+")
        group_instance_id = string(versions="3+", nullable="3+")
        error_code = int16(versions="3+")

    members = array(MemberResponse, versions="3+", on_error=[])
