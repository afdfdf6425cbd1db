"""Heartbeat (12): stay a member of a group; REBALANCE_IN_PROGRESS says: rejoin."""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, int16, int32, string


class HeartbeatRequest(Request, key=12, route=GROUP_COORDINATOR, versions="0-4", flexible="4+"):
    """Request of Heartbeat.

    v3: adds group_instance_id.
    v4: flexible.
    """

    group_id = string()
    generation_id = int32()
    member_id = string()
    group_instance_id = string(versions="3+", nullable="3+", default=None)


class HeartbeatResponse(Response, key=12, versions="0-4", flexible="4+"):
    """Response of Heartbeat.

    v1: adds throttle_time_ms.
    v4: flexible.
    """

    throttle_time_ms = int32(versions="1+", ignorable=True)
    error_code = int16()
