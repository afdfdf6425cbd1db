"""JoinGroup (11): join a classic group, or come back for a rebalance.

Sent by members to the group's coordinator, which answers once every member is there or the rebalance timeout is over.
The answer to the leader lists all members with what they subscribe to.

Versions
    v1: rebalance_timeout_ms beside the session timeout (KIP-62).
    v2: throttle times in the response.
    v3: throttled clients wait by themselves; the response comes first (KIP-219).
    v4: a first join is answered MEMBER_ID_REQUIRED, with the id to join with (KIP-394).
    v5: static members (KIP-345).
    v6: flexible.
    v7: the group's protocol type in the answer (KIP-559).
    v8: the reason of a join (KIP-800).
    v9: the leader is told to leave the assignment as it is (KIP-814).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: no READ on the group.
    INVALID_GROUP_ID: the group id is empty.
    INVALID_SESSION_TIMEOUT: outside group.min.session.timeout.ms and group.max.session.timeout.ms.
    INCONSISTENT_GROUP_PROTOCOL: no protocol type, no protocols, or none in common with the members.
    MEMBER_ID_REQUIRED: join again with the member id in this answer (v4).
    UNKNOWN_MEMBER_ID: the group has no such member: join with an empty id.
    FENCED_INSTANCE_ID: another member took over this group.instance.id (v5).
    GROUP_MAX_SIZE_REACHED: the group has group.max.size members.
    REBALANCE_IN_PROGRESS: the rebalance in which the member joined is over: join again.
    UNSUPPORTED_VERSION: static members while the cluster's inter-broker protocol lacks them.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, bytes_, int16, int32, string


class JoinGroupRequest(Request, key=11, versions="0-9", flexible="6+", rights={"group": "Read"}):
    group_id = string()
    session_timeout_ms = int32()  # a member without a heartbeat for so long is removed
    # how long a member may take to come back for a rebalance
    rebalance_timeout_ms = int32(versions="1+", default=-1, ignorable=True)
    member_id = string()
    group_instance_id = string(versions="5+", nullable="5+", default=None)
    protocol_type = string()  # "consumer" for consumers, "connect" for workers

    class RequestProtocol(Struct):
        name = string(map_key=True)
        metadata = bytes_()

    protocols = array(RequestProtocol)  # assignors, the one liked best first, with the member's subscription
    reason = string(versions="8+", nullable="8+", default=None, ignorable=True)


class JoinGroupResponse(Response, key=11, versions="0-9", flexible="6+", throttles="3+"):
    throttle_time_ms = int32(versions="2+", ignorable=True)
    error_code = int16()
    generation_id = int32(default=-1)
    protocol_type = string(versions="7+", nullable="7+", default=None, ignorable=True)
    protocol_name = string(nullable="7+", on_error=None)  # the assignor that was chosen
    leader = string()  # the member that assigns
    skip_assignment = boolean(versions="9+")  # the leader leaves the assignment as it is
    member_id = string(echoed="0+")

    class ResponseMember(Struct):
        member_id = string()
        group_instance_id = string(versions="5+", nullable="5+", default=None, ignorable=True)
        metadata = bytes_()

    members = array(ResponseMember)
