"""SyncGroup (14): hand in and receive the assignment of a generation.

Sent by every member of a classic group after JoinGroup; the leader's brings the assignments, and the coordinator
answers all once it has them.

Versions
    v1: throttle times in the response.
    v2: throttled clients wait by themselves; the response comes first (KIP-219).
    v3: static members (KIP-345).
    v4: flexible.
    v5: protocol type and name, which have to be the group's (KIP-559).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: no READ on the group.
    INVALID_GROUP_ID: the group id is empty.
    UNKNOWN_MEMBER_ID: the group has no such member.
    ILLEGAL_GENERATION: the generation is not the group's.
    REBALANCE_IN_PROGRESS: another rebalance has begun: join again.
    INCONSISTENT_GROUP_PROTOCOL: protocol type or name are not the group's (v5).
    FENCED_INSTANCE_ID: another member took over this group.instance.id (v3).
    UNSUPPORTED_VERSION: static members while the cluster's inter-broker protocol lacks them.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, bytes_, int16, int32, string


class SyncGroupRequest(Request, key=14, versions="0-5", flexible="4+", rights={"group": "Read"}):
    group_id = string()
    generation_id = int32()
    member_id = string()
    group_instance_id = string(versions="3+", nullable="3+", default=None)
    protocol_type = string(versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name = string(versions="5+", nullable="5+", default=None, ignorable=True)

    class RequestAssignment(Struct):
        member_id = string()
        assignment = bytes_()

    assignments = array(RequestAssignment)  # of all members, from the leader alone


class SyncGroupResponse(Response, key=14, versions="0-5", flexible="4+", throttles="2+"):
    throttle_time_ms = int32(versions="1+", ignorable=True)
    error_code = int16()
    protocol_type = string(versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name = string(versions="5+", nullable="5+", default=None, ignorable=True)
    assignment = bytes_()
