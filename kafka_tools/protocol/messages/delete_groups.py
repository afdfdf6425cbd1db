"""DeleteGroups (42): delete empty groups."""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class DeleteGroupsRequest(Request, key=42, route=GROUP_COORDINATOR, versions="0-2", flexible="2+"):
    """Request of DeleteGroups.

    v2: flexible.
    """

    groups_names = array(string())


class DeleteGroupsResponse(Response, key=42, versions="0-2", flexible="2+"):
    """Response of DeleteGroups.

    v2: flexible.
    """

    throttle_time_ms = int32()

    class DeletableGroupResult(Struct):
        group_id = string(map_key=True)
        error_code = int16()

    results = array(DeletableGroupResult)
