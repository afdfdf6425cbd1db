"""ListGroups (16): list the groups a broker coordinates; v4 filters by state, v5 by type."""

from __future__ import annotations

from kafka_tools.protocol.routes import EVERY_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class ListGroupsRequest(Request, key=16, route=EVERY_NODE, versions="0-5", flexible="3+"):
    """Request of ListGroups.

    v3: flexible.
    v4: adds states_filter.
    v5: adds types_filter.
    """

    states_filter = array(string(), versions="4+")
    types_filter = array(string(), versions="5+")


class ListGroupsResponse(Response, key=16, versions="0-5", flexible="3+"):
    """Response of ListGroups.

    v1: adds throttle_time_ms.
    v3: flexible.
    v4: adds groups[].group_state.
    v5: adds groups[].group_type.
    """

    throttle_time_ms = int32(versions="1+", ignorable=True)
    error_code = int16()

    class ListedGroup(Struct):
        group_id = string()
        protocol_type = string()
        group_state = string(versions="4+", ignorable=True)
        group_type = string(versions="5+", ignorable=True)

    groups = array(ListedGroup)
