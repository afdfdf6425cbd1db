"""SyncGroup (14): send and receive the assignment of a generation.

Sent by every member of a classic group after JoinGroup. The request of the leader contains the assignments. The
coordinator answers all members when it has them.

Versions
    v1: throttle times in the response.
    v2: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v3: static members (KIP-345).
    v4: flexible.
    v5: protocol type and name, which must be those of the group (KIP-559).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks READ on the group.
    INVALID_GROUP_ID: the group id is empty.
    UNKNOWN_MEMBER_ID: the group does not have this member.
    ILLEGAL_GENERATION: the generation is not the current one of the group.
    REBALANCE_IN_PROGRESS: another rebalance has begun. Join again.
    INCONSISTENT_GROUP_PROTOCOL: the protocol type or name is not that of the group (v5).
    FENCED_INSTANCE_ID: another member has taken over this group.instance.id (v3).
    UNSUPPORTED_VERSION: the inter-broker protocol of the cluster does not support static members.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, bytes_, int16, int32, string


class SyncGroupRequest(Request, key=14, effect="changes", versions="0-5", flexible="4+", rights={"group": "Read"}):
    # Empty leads to INVALID_GROUP_ID.
    group_id = string()
    # The generation from the JoinGroup response. Another one leads to ILLEGAL_GENERATION.
    generation_id = int32()
    # The id from the JoinGroup response.
    member_id = string()
    # The member's group.instance.id. Null: a dynamic member.
    group_instance_id = string(versions="3+", nullable="3+", default=None)
    # The protocol type of the group. Another one leads to INCONSISTENT_GROUP_PROTOCOL. Null: not checked.
    protocol_type = string(versions="5+", nullable="5+", default=None, ignorable=True)
    # The assignor from the JoinGroup response. Another one leads to INCONSISTENT_GROUP_PROTOCOL. Null: not checked.
    protocol_name = string(versions="5+", nullable="5+", default=None, ignorable=True)

    class RequestAssignment(Struct):
        member_id = string()
        # What the assignor computed for this member. Consumers: ConsumerProtocolAssignment.
        assignment = bytes_()

    # One for each member, sent by the leader. Empty: the sender is not the leader.
    assignments = array(RequestAssignment)


class SyncGroupResponse(Response, key=14, versions="0-5", flexible="4+", throttles="2+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="1+", ignorable=True)
    # Error of the whole request. 0: no error.
    error_code = int16()
    # The protocol type of the group. Null: with an error.
    protocol_type = string(versions="5+", nullable="5+", default=None, ignorable=True)
    # Assignor of the assignment. Null: with an error.
    protocol_name = string(versions="5+", nullable="5+", default=None, ignorable=True)
    # What the leader sent for this member. Empty: with an error, or if it sent nothing.
    assignment = bytes_()
