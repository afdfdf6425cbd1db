"""DescribeAcls (29): list the access control entries that match a filter.

Sent by tools to any broker. An entry is listed if it matches every field of the filter.

Versions
    v1: pattern types; brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: entries for users (KIP-373).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the cluster.
    SECURITY_DISABLED: the broker has no authorizer.
    INVALID_REQUEST: the broker does not know the type, operation or permission of the filter.
    UNSUPPORTED_VERSION: prefixed patterns in v0.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class DescribeAclsRequest(
    Request, key=29, effect="reads", versions="0-3", dropped="0", flexible="2+", rights={"cluster": "Describe"}
):
    # 1 any, 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user.
    resource_type_filter = int8()
    # Null: any name.
    resource_name_filter = string(nullable="0+")
    # 1 any, 2 match (every pattern that applies to the name), 3 literal, 4 prefixed.
    pattern_type_filter = int8(versions="1+", default=3)
    # Type and name, such as User:alice. Null: any principal.
    principal_filter = string(nullable="0+")
    # Host exactly as in the entry. Null: any host.
    host_filter = string(nullable="0+")
    # 1 any, 2 all, 3 read, 4 write, and further values of AclOperation. 2 matches only entries with the operation ALL.
    operation = int8()
    # 1 any, 2 deny, 3 allow.
    permission_type = int8()


class DescribeAclsResponse(Response, key=29, versions="0-3", flexible="2+", throttles="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+")

    class Resource(Struct):
        # 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user.
        resource_type = int8()
        # The name or prefix. * with a literal pattern: all resources of the type.
        resource_name = string()
        # 3 literal, 4 prefixed.
        pattern_type = int8(versions="1+", default=3)

        class AclDescription(Struct):
            # Type and name, such as User:alice. User:*: everybody.
            principal = string()
            # Address of the client. *: all addresses.
            host = string()
            # 2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, and further values of AclOperation.
            operation = int8()
            # 2 deny, 3 allow. A denial overrides every permission.
            permission_type = int8()

        acls = array(AclDescription)

    # Entries that match, grouped by resource pattern. Empty: none match.
    resources = array(Resource)
