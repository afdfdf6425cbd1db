"""JoinGroup (11): join a classic group, or join again for a rebalance.

Sent by members to the coordinator of the group. It answers when all members have joined, or when the rebalance timeout
is over. The response to the leader lists all members with their subscriptions.

Versions
    v1: rebalance_timeout_ms, separate from the session timeout (KIP-62).
    v2: throttle times in the response.
    v3: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v4: the answer to a first join is MEMBER_ID_REQUIRED, with the id to join with (KIP-394).
    v5: static members (KIP-345).
    v6: flexible.
    v7: the protocol type of the group in the response (KIP-559).
    v8: the reason of a join (KIP-800).
    v9: the leader learns that the assignment stays as it is (KIP-814).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks READ on the group.
    INVALID_GROUP_ID: the group id is empty.
    INVALID_SESSION_TIMEOUT: the session timeout is not between group.min.session.timeout.ms and
        group.max.session.timeout.ms.
    INCONSISTENT_GROUP_PROTOCOL: no protocol type, no protocols, or none that all other members support.
    MEMBER_ID_REQUIRED: a first join. Join again with the member id in this response (v4).
    UNKNOWN_MEMBER_ID: the group does not have this member. Join with an empty id.
    FENCED_INSTANCE_ID: another member has taken over this group.instance.id (v5).
    GROUP_MAX_SIZE_REACHED: the group already has group.max.size members.
    REBALANCE_IN_PROGRESS: the rebalance in which the member joined is over. Join again.
    UNSUPPORTED_VERSION: the inter-broker protocol of the cluster does not support static members.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, bytes_, int16, int32, string


class JoinGroupRequest(Request, key=11, effect="changes", versions="0-9", flexible="6+", rights={"group": "Read"}):
    group_id = string()
    # The coordinator removes a member that sends no heartbeat for this long, in milliseconds.
    session_timeout_ms = int32()
    # How long the member may take to join again during a rebalance, in milliseconds. -1: the session timeout, as in v0.
    rebalance_timeout_ms = int32(versions="1+", default=-1, ignorable=True)
    # Empty: a new member. It repeats the request with the member id of the response.
    member_id = string()
    # The member's group.instance.id. Null: a dynamic member.
    group_instance_id = string(versions="5+", nullable="5+", default=None)
    # Kind of group: "consumer" for consumers, "connect" for Connect workers. All members must agree.
    protocol_type = string()

    class RequestProtocol(Struct):
        # Name of an assignor, such as "range".
        name = string(map_key=True)
        # What the assignor needs to know of the member. For consumers: ConsumerProtocolSubscription.
        metadata = bytes_()

    # Assignors that the member supports, the preferred one first. The group uses one that all members support.
    protocols = array(RequestProtocol)
    # Why the member joins, for the broker's log. Null: no reason given.
    reason = string(versions="8+", nullable="8+", default=None, ignorable=True)


class JoinGroupResponse(Response, key=11, versions="0-9", flexible="6+", throttles="3+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="2+", ignorable=True)
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Counts the rebalances of the group. Heartbeats and commits send it. -1: with an error.
    generation_id = int32(default=-1)
    # The group's protocol type. Null: with an error.
    protocol_type = string(versions="7+", nullable="7+", default=None, ignorable=True)
    # Assignor that the group uses. Null, or empty up to v6: with an error.
    protocol_name = string(nullable="7+", on_error=None)
    # Member id of the leader, which computes the assignment. Empty: with an error.
    leader = string()
    # True: a static leader came back, and the assignment stays as it is. The leader sends none.
    skip_assignment = boolean(versions="9+")
    # The member's own id. With MEMBER_ID_REQUIRED: the id to join with.
    member_id = string(echoed="0+")

    class ResponseMember(Struct):
        member_id = string()
        # The member's group.instance.id. Null: a dynamic member.
        group_instance_id = string(versions="5+", nullable="5+", default=None, ignorable=True)
        # What this member sent for the chosen assignor.
        metadata = bytes_()

    # All members, in the response to the leader. Empty: the member is not the leader.
    members = array(ResponseMember)
