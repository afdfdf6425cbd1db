"""DeleteAcls (31): delete ACL bindings that match filters."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class DeleteAclsRequest(Request, key=31, route=CONTROLLER, versions="0-3", flexible="2+"):
    """Request of DeleteAcls.

    v1: adds filters[].pattern_type_filter.
    v2: flexible.
    """

    class Filter(Struct):
        resource_type_filter = int8()
        resource_name_filter = string(nullable="0+")
        pattern_type_filter = int8(versions="1+", default=3)
        principal_filter = string(nullable="0+")
        host_filter = string(nullable="0+")
        operation = int8()
        permission_type = int8()

    filters = array(Filter)


class DeleteAclsResponse(Response, key=31, versions="0-3", flexible="2+"):
    """Response of DeleteAcls.

    v1: adds filter_results[].matching_acls[].pattern_type.
    v2: flexible.
    """

    throttle_time_ms = int32()

    class FilterResult(Struct):
        error_code = int16()
        error_message = string(nullable="0+")

        class MatchingAcl(Struct):
            error_code = int16()
            error_message = string(nullable="0+")
            resource_type = int8()
            resource_name = string()
            pattern_type = int8(versions="1+", default=3)
            principal = string()
            host = string()
            operation = int8()
            permission_type = int8()

        matching_acls = array(MatchingAcl)

    filter_results = array(FilterResult)
