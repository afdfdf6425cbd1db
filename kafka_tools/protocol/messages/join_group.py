"""JoinGroup (11): join a group, or answer a rebalance.

From v4 a first join without member id is answered MEMBER_ID_REQUIRED with an id to repeat it with (KIP-394).
v5 adds static members (KIP-345).
"""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, bytes_, int16, int32, string


class JoinGroupRequest(Request, key=11, route=GROUP_COORDINATOR, versions="0-9", flexible="6+"):
    """Request of JoinGroup.

    v1: adds rebalance_timeout_ms.
    v5: adds group_instance_id.
    v6: flexible.
    v8: adds reason.
    """

    group_id = string()
    session_timeout_ms = int32()
    rebalance_timeout_ms = int32(versions="1+", default=-1, ignorable=True)
    member_id = string()
    group_instance_id = string(versions="5+", nullable="5+", default=None)
    protocol_type = string()

    class RequestProtocol(Struct):
        name = string(map_key=True)
        metadata = bytes_()

    protocols = array(RequestProtocol)
    reason = string(versions="8+", nullable="8+", default=None, ignorable=True)


class JoinGroupResponse(Response, key=11, versions="0-9", flexible="6+"):
    """Response of JoinGroup.

    v2: adds throttle_time_ms.
    v5: adds members[].group_instance_id.
    v6: flexible.
    v7: adds protocol_type.
    v9: adds skip_assignment.
    """

    throttle_time_ms = int32(versions="2+", ignorable=True)
    error_code = int16()
    generation_id = int32(default=-1)
    protocol_type = string(versions="7+", nullable="7+", default=None, ignorable=True)
    protocol_name = string(nullable="7+")
    leader = string()
    skip_assignment = boolean(versions="9+")
    member_id = string()

    class ResponseMember(Struct):
        member_id = string()
        group_instance_id = string(versions="5+", nullable="5+", default=None, ignorable=True)
        metadata = bytes_()

    members = array(ResponseMember)
