"""Heartbeat (12): stay a member of a classic group.

Sent by members to the coordinator of the group every heartbeat.interval.ms. The coordinator removes a member that sends
none during its session timeout.

Versions
    v1: throttle times in the response.
    v2: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v3: static members (KIP-345).
    v4: flexible.

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks READ on the group.
    INVALID_GROUP_ID: the group id is empty.
    UNKNOWN_MEMBER_ID: the group no longer has this member. Join again.
    ILLEGAL_GENERATION: the generation is not the current one of the group. Join again.
    REBALANCE_IN_PROGRESS: a rebalance has begun. Join again.
    FENCED_INSTANCE_ID: another member has taken over this group.instance.id (v3).
    UNSUPPORTED_VERSION: the inter-broker protocol of the cluster does not support static members.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, int16, int32, string


class HeartbeatRequest(Request, key=12, effect="changes", versions="0-4", flexible="4+", rights={"group": "Read"}):
    group_id = string()
    # The generation from the last JoinGroup response. Another one leads to ILLEGAL_GENERATION.
    generation_id = int32()
    # Id from the JoinGroup response.
    member_id = string()
    # The member's group.instance.id. Null: a dynamic member.
    group_instance_id = string(versions="3+", nullable="3+", default=None)


class HeartbeatResponse(Response, key=12, versions="0-4", flexible="4+", throttles="2+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="1+", ignorable=True)
    # 0: no error. REBALANCE_IN_PROGRESS asks the member to join again.
    error_code = int16()
