"""SyncGroup (14): hand out (leader) and receive the assignment of a generation."""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, bytes_, int16, int32, string


class SyncGroupRequest(Request, key=14, route=GROUP_COORDINATOR, versions="0-5", flexible="4+"):
    """Request of SyncGroup.

    v3: adds group_instance_id.
    v4: flexible.
    v5: adds protocol_type, protocol_name.
    """

    group_id = string()
    generation_id = int32()
    member_id = string()
    group_instance_id = string(versions="3+", nullable="3+", default=None)
    protocol_type = string(versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name = string(versions="5+", nullable="5+", default=None, ignorable=True)

    class RequestAssignment(Struct):
        member_id = string()
        assignment = bytes_()

    assignments = array(RequestAssignment)


class SyncGroupResponse(Response, key=14, versions="0-5", flexible="4+"):
    """Response of SyncGroup.

    v1: adds throttle_time_ms.
    v4: flexible.
    v5: adds protocol_type, protocol_name.
    """

    throttle_time_ms = int32(versions="1+", ignorable=True)
    error_code = int16()
    protocol_type = string(versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name = string(versions="5+", nullable="5+", default=None, ignorable=True)
    assignment = bytes_()
