"""DeleteAcls (31): remove the access control entries that match filters.

Sent by tools to any broker, which passes it to the controller; the answer lists what was removed.

Versions
    v1: pattern types; brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: entries on users (KIP-373).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER on the cluster.
    SECURITY_DISABLED: the broker has no authorizer.
    INVALID_REQUEST: a filter with a type, operation or permission that the broker does not know.
    UNSUPPORTED_VERSION: prefixed patterns in v0.
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not remove the entries in time.
    UNKNOWN_SERVER_ERROR: the authorizer failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class DeleteAclsRequest(Request, key=31, versions="0-3", dropped="0", flexible="2+", rights={"cluster": "Alter"}):
    class Filter(Struct):
        resource_type_filter = int8()
        resource_name_filter = string(nullable="0+")
        pattern_type_filter = int8(versions="1+", default=3)
        principal_filter = string(nullable="0+")
        host_filter = string(nullable="0+")
        operation = int8()
        permission_type = int8()

    filters = array(Filter)


class DeleteAclsResponse(Response, key=31, versions="0-3", flexible="2+", throttles="1+"):
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
