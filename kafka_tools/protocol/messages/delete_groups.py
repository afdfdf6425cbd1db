"""DeleteGroups (42): delete groups without members, with their offsets.

Sent by tools to the coordinator of the groups, which may have any type.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: a message with each error.

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks DELETE on the group.
    INVALID_GROUP_ID: the group id is null.
    GROUP_ID_NOT_FOUND: the group does not exist.
    NON_EMPTY_GROUP: the group has members.
    GROUP_DELETION_FAILED: the coordinator could not delete something that belongs to the group, such as the description
        of a topology (v3).
    REQUEST_TIMED_OUT: __consumer_offsets was not written in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class DeleteGroupsRequest(
    Request, key=42, effect="destroys", versions="0-3", flexible="2+", rights={"group": "Delete"}
):
    # Groups of this coordinator. Their committed offsets are deleted as well.
    groups_names = array(string())


class DeleteGroupsResponse(Response, key=42, versions="0-3", flexible="2+", throttles="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class DeletableGroupResult(Struct):
        group_id = string(map_key=True)
        # Error of this group. 0: it has been deleted.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(versions="3+", nullable="3+", default=None, ignorable=True)

    # One result for each group of the request.
    results = array(DeletableGroupResult)
