"""CreateAcls (30): add access control entries.

Sent by tools to any broker, which forwards it to the controller. An entry that already exists is no error.

Versions
    v1: pattern types; brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: entries for users (KIP-373).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER on the cluster.
    SECURITY_DISABLED: the broker has no authorizer.
    INVALID_REQUEST: the name is empty, the principal has no type, or the resource type does not have the operation.
    UNSUPPORTED_VERSION: prefixed patterns in v0.
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not store the entries in time.
    UNKNOWN_SERVER_ERROR: the authorizer failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class CreateAclsRequest(
    Request, key=30, effect="changes", versions="0-3", dropped="0", flexible="2+", rights={"cluster": "Alter"}
):
    class AclCreation(Struct):
        # 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user.
        resource_type = int8()
        # The name or prefix. * with a literal pattern: all resources of the type. The cluster is kafka-cluster.
        resource_name = string()
        # 3 literal, 4 prefixed. Version 0 knows only literal patterns.
        resource_pattern_type = int8(versions="1+", default=3)
        # Type and name, such as User:alice. User:*: everybody.
        principal = string()
        # Address of the client. *: all addresses.
        host = string()
        # 2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, and further values of AclOperation.
        operation = int8()
        # 2 deny, 3 allow. A denial overrides every permission.
        permission_type = int8()

    creations = array(AclCreation)


class CreateAclsResponse(Response, key=30, versions="0-3", flexible="2+", throttles="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class AclCreationResult(Struct):
        # Error of this entry. 0: it has been added, or existed already.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(nullable="0+")

    # One result for each entry of the request, in the same order.
    results = array(AclCreationResult)
