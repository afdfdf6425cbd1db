"""DescribeGroups (15): describe classic groups with their members.

v6 answers GROUP_ID_NOT_FOUND for a group that does not exist; before, such a group is Dead.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, bytes_, int16, int32, string


class DescribeGroupsRequest(Request, key=15, route=GROUP_COORDINATOR, versions="0-6", flexible="5+"):
    """Request of DescribeGroups.

    v3: adds include_authorized_operations.
    v5: flexible.
    """

    groups = array(string())
    include_authorized_operations = boolean(versions="3+")


class DescribeGroupsResponse(Response, key=15, versions="0-6", flexible="5+"):
    """Response of DescribeGroups.

    v1: adds throttle_time_ms.
    v3: adds groups[].authorized_operations.
    v4: adds groups[].members[].group_instance_id.
    v5: flexible.
    v6: adds groups[].error_message.
    """

    throttle_time_ms = int32(versions="1+", ignorable=True)

    class DescribedGroup(Struct):
        error_code = int16()
        error_message = string(versions="6+", nullable="6+", default=None)
        group_id = string()
        group_state = string()
        protocol_type = string()
        protocol_data = string()

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
