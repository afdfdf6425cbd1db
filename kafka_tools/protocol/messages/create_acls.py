"""CreateAcls (30): add access control entries.

Sent by tools to any broker, which passes it to the controller. An entry that is there already is created again without
an error.

Versions
    v1: pattern types; brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: entries on users (KIP-373).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER on the cluster.
    SECURITY_DISABLED: the broker has no authorizer.
    INVALID_REQUEST: an impossible entry: an empty name, a principal without a type, an operation that the resource
        lacks.
    UNSUPPORTED_VERSION: prefixed patterns in v0.
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not store the entries in time.
    UNKNOWN_SERVER_ERROR: the authorizer failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class CreateAclsRequest(Request, key=30, versions="0-3", dropped="0", flexible="2+", rights={"cluster": "Alter"}):
    class AclCreation(Struct):
        resource_type = int8()
        resource_name = string()
        resource_pattern_type = int8(versions="1+", default=3)
        principal = string()
        host = string()
        operation = int8()
        permission_type = int8()

    creations = array(AclCreation)


class CreateAclsResponse(Response, key=30, versions="0-3", flexible="2+", throttles="1+"):
    throttle_time_ms = int32()

    class AclCreationResult(Struct):
        error_code = int16()
        error_message = string(nullable="0+")

    results = array(AclCreationResult)
