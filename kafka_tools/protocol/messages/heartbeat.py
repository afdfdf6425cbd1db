"""Heartbeat (12): stay a member of a classic group.

Sent by members to the group's coordinator every heartbeat.interval.ms; without it the session ends.

Versions
    v1: throttle times in the response.
    v2: throttled clients wait by themselves; the response comes first (KIP-219).
    v3: static members (KIP-345).
    v4: flexible.

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: no READ on the group.
    INVALID_GROUP_ID: the group id is empty.
    UNKNOWN_MEMBER_ID: the group has no such member (any more): join again.
    ILLEGAL_GENERATION: the generation is not the group's: join again.
    REBALANCE_IN_PROGRESS: a rebalance has begun: join again.
    FENCED_INSTANCE_ID: another member took over this group.instance.id (v3).
    UNSUPPORTED_VERSION: static members while the cluster's inter-broker protocol lacks them.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, int16, int32, string


class HeartbeatRequest(Request, key=12, versions="0-4", flexible="4+", rights={"group": "Read"}):
    group_id = string()
    generation_id = int32()
    member_id = string()
    group_instance_id = string(versions="3+", nullable="3+", default=None)


class HeartbeatResponse(Response, key=12, versions="0-4", flexible="4+", throttles="2+"):
    throttle_time_ms = int32(versions="1+", ignorable=True)
    error_code = int16()
