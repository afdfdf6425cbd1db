"""DescribeAcls (29): list ACL bindings that match a filter."""

from __future__ import annotations

from kafka_tools.protocol.routes import ANY_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class DescribeAclsRequest(Request, key=29, route=ANY_NODE, versions="0-3", flexible="2+"):
    """Request of DescribeAcls.

    v1: adds pattern_type_filter.
    v2: flexible.
    """

    resource_type_filter = int8()
    resource_name_filter = string(nullable="0+")
    pattern_type_filter = int8(versions="1+", default=3)
    principal_filter = string(nullable="0+")
    host_filter = string(nullable="0+")
    operation = int8()
    permission_type = int8()


class DescribeAclsResponse(Response, key=29, versions="0-3", flexible="2+"):
    """Response of DescribeAcls.

    v1: adds resources[].pattern_type.
    v2: flexible.
    """

    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+")

    class Resource(Struct):
        resource_type = int8()
        resource_name = string()
        pattern_type = int8(versions="1+", default=3)

        class AclDescription(Struct):
            principal = string()
            host = string()
            operation = int8()
            permission_type = int8()

        acls = array(AclDescription)

    resources = array(Resource)
