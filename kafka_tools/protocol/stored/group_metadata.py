"""Classic groups in ``__consumer_offsets``: record type 2."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, bytes_, int32, int64, string


class GroupMetadataKey(Stored, id=2, versions="0"):
    """Key of a classic group's state. No value (a tombstone): the group is deleted."""

    # Group id.
    group = string()


class MemberMetadata(Struct):
    # Chosen by the coordinator when the member joined.
    member_id = string()
    # group.instance.id of a static member (KIP-345). Null: a dynamic member.
    group_instance_id = string(versions="3+", nullable="3+", default=None, ignorable=True)
    # client.id of the member.
    client_id = string()
    # The member's address as the coordinator saw it, such as /10.0.0.7.
    client_host = string()
    # Longest time to rejoin in a rebalance, in ms. -1: session_timeout applies.
    rebalance_timeout = int32(versions="1+", default=-1, ignorable=True)
    # Longest time between two heartbeats, in ms.
    session_timeout = int32()
    # Bytes that the member sent in JoinGroup for the chosen protocol. A ConsumerProtocolSubscription for consumers.
    subscription = bytes_()
    # Bytes that the leader sent for the member in SyncGroup. A ConsumerProtocolAssignment for consumers.
    assignment = bytes_()


class GroupMetadataValue(Stored, versions="0-4", flexible="4+"):
    """State of a classic group after a rebalance.

    The group coordinator writes it when the leader has sent the assignments in SyncGroup, when the last member leaves,
    and when a static member returns with a new member id.

    v1: adds members[].rebalance_timeout.
    v2: adds current_state_timestamp.
    v3: adds members[].group_instance_id.
    v4: flexible.
    """

    # "consumer" for consumers, "connect" for Kafka Connect. Empty for a group that only has offsets.
    protocol_type = string()
    # Counts the rebalances.
    generation = int32()
    # Protocol that all members support, for consumers the assignor. Null: no members.
    protocol = string(nullable="0+")
    # Member id of the member that computes assignments. Null: no members.
    leader = string(nullable="0+")
    # Time at which the group reached its state, in ms since 1970. -1: unknown. Offsets of an empty group expire
    # counting from it.
    current_state_timestamp = int64(versions="2+", default=-1, ignorable=True)
    # Empty for a group without members.
    members = array(MemberMetadata)


KEYS: dict[int, type[Stored]] = {
    2: GroupMetadataKey,
}
"""Record type (the int16 before a key) -> key struct, always in version 0."""

VALUES: dict[int, type[Stored]] = {
    2: GroupMetadataValue,
}
"""Record type -> value struct; the int16 before a value is its version."""
