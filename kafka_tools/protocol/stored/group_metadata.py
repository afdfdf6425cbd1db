"""Classic groups in ``__consumer_offsets``: record type 2."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, bytes_, int32, int64, string


class GroupMetadataKey(Stored, id=2, versions="0"):
    """The group id."""

    group = string()


class MemberMetadata(Struct):
    member_id = string()
    group_instance_id = string(versions="3+", nullable="3+", default=None, ignorable=True)
    client_id = string()
    client_host = string()
    rebalance_timeout = int32(versions="1+", default=-1, ignorable=True)
    session_timeout = int32()
    subscription = bytes_()
    assignment = bytes_()


class GroupMetadataValue(Stored, versions="0-4", flexible="4+"):
    """Generation, leader, protocol and members of a stable classic group.

    v1: adds members[].rebalance_timeout.
    v2: adds current_state_timestamp.
    v3: adds members[].group_instance_id.
    v4: flexible.
    """

    protocol_type = string()
    generation = int32()
    protocol = string(nullable="0+")
    leader = string(nullable="0+")
    current_state_timestamp = int64(versions="2+", default=-1, ignorable=True)
    members = array(MemberMetadata)


KEYS: dict[int, type[Stored]] = {
    2: GroupMetadataKey,
}
"""Record type (the int16 before a key) -> key struct, always in version 0."""

VALUES: dict[int, type[Stored]] = {
    2: GroupMetadataValue,
}
"""Record type -> value struct; the int16 before a value is its version."""
