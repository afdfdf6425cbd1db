"""DeleteAcls (31): delete the access control entries that match filters.

Sent by tools to any broker, which forwards it to the controller. The response lists the deleted entries.

Versions
    v1: pattern types; brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: entries for users (KIP-373).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER on the cluster.
    SECURITY_DISABLED: the broker has no authorizer.
    INVALID_REQUEST: the broker does not know the type, operation or permission of a filter.
    UNSUPPORTED_VERSION: prefixed patterns in v0.
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not delete the entries in time.
    UNKNOWN_SERVER_ERROR: the authorizer failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class DeleteAclsRequest(
    Request, key=31, effect="destroys", versions="0-3", dropped="0", flexible="2+", rights={"cluster": "Alter"}
):
    class Filter(Struct):
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
        # 1 any, 2 all, 3 read, 4 write, and further values of AclOperation. 2 matches only entries with the operation
        # ALL.
        operation = int8()
        # 1 any, 2 deny, 3 allow.
        permission_type = int8()

    # Kafka deletes every entry that matches at least one filter.
    filters = array(Filter)


class DeleteAclsResponse(Response, key=31, versions="0-3", flexible="2+", throttles="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class FilterResult(Struct):
        # Error of this filter. 0: no error.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(nullable="0+")

        class MatchingAcl(Struct):
            # Error of this entry. 0: it has been deleted.
            error_code = int16()
            # Explains the error in words. Null: no explanation.
            error_message = string(nullable="0+")
            # 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user.
            resource_type = int8()
            resource_name = string()
            # 3 literal, 4 prefixed.
            pattern_type = int8(versions="1+", default=3)
            principal = string()
            host = string()
            # 2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, and further values of AclOperation.
            operation = int8()
            # 2 deny, 3 allow.
            permission_type = int8()

        # Entries that matched the filter. Empty: none, which is no error.
        matching_acls = array(MatchingAcl)

    # One result for each filter of the request, in the same order.
    filter_results = array(FilterResult)
