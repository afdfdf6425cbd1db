"""LeaveGroup (13): leave a group; v3 removes several members at once."""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class LeaveGroupRequest(Request, key=13, route=GROUP_COORDINATOR, versions="0-5", flexible="4+"):
    """Request of LeaveGroup.

    v3: adds members; drops member_id.
    v4: flexible.
    v5: adds members[].reason.
    """

    group_id = string()
    member_id = string(versions="0-2")

    class MemberIdentity(Struct):
        member_id = string(versions="3+")
        group_instance_id = string(versions="3+", nullable="3+", default=None)
        reason = string(versions="5+", nullable="5+", default=None, ignorable=True)

    members = array(MemberIdentity, versions="3+")


class LeaveGroupResponse(Response, key=13, versions="0-5", flexible="4+"):
    """Response of LeaveGroup.

    v1: adds throttle_time_ms.
    v3: adds members.
    v4: flexible.
    """

    throttle_time_ms = int32(versions="1+", ignorable=True)
    error_code = int16()

    class MemberResponse(Struct):
        member_id = string(versions="3+")
        group_instance_id = string(versions="3+", nullable="3+")
        error_code = int16(versions="3+")

    members = array(MemberResponse, versions="3+")
