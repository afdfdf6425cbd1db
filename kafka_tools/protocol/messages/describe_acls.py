"""DescribeAcls (29): the access control entries that match a filter.

Sent by tools to any broker. Null and ANY match everything; the pattern type MATCH finds every entry that applies to the
name.

Versions
    v1: pattern types; brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: entries on users (KIP-373).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the cluster.
    SECURITY_DISABLED: the broker has no authorizer.
    INVALID_REQUEST: a filter with a type, operation or permission that the broker does not know.
    UNSUPPORTED_VERSION: prefixed patterns in v0.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class DescribeAclsRequest(Request, key=29, versions="0-3", dropped="0", flexible="2+", rights={"cluster": "Describe"}):
    resource_type_filter = int8()
    resource_name_filter = string(nullable="0+")
    pattern_type_filter = int8(versions="1+", default=3)
    principal_filter = string(nullable="0+")
    host_filter = string(nullable="0+")
    operation = int8()
    permission_type = int8()


class DescribeAclsResponse(Response, key=29, versions="0-3", flexible="2+", throttles="1+"):
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
