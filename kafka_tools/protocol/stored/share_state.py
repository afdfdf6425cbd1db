"""Share-group state in ``__share_group_state``."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, int8, int16, int32, int64, string, uuid


class ShareSnapshotKey(Stored, id=0, versions="0"):
    """Key: share snapshot."""

    group_id = string()
    topic_id = uuid()
    partition = int32()


class ShareSnapshotValue(Stored, versions="0", flexible="0+"):
    """Value: share snapshot."""

    snapshot_epoch = int32()
    state_epoch = int32()
    leader_epoch = int32()
    start_offset = int64()
    delivery_complete_count = int32(default=-1, tag=0)
    create_timestamp = int64()
    write_timestamp = int64()

    class StateBatch(Struct):
        first_offset = int64()
        last_offset = int64()
        delivery_state = int8()
        delivery_count = int16()

    state_batches = array(StateBatch)


class ShareUpdateKey(Stored, id=1, versions="0"):
    """Key: share update."""

    group_id = string()
    topic_id = uuid()
    partition = int32()


class ShareUpdateValue(Stored, versions="0", flexible="0+"):
    """Value: share update."""

    snapshot_epoch = int32()
    leader_epoch = int32()
    start_offset = int64()
    delivery_complete_count = int32(default=-1, tag=0)

    class StateBatch(Struct):
        first_offset = int64()
        last_offset = int64()
        delivery_state = int8()
        delivery_count = int16()

    state_batches = array(StateBatch)


KEYS: dict[int, type[Stored]] = {
    0: ShareSnapshotKey,
    1: ShareUpdateKey,
}
"""Record type (the int16 before a key) -> key struct, always in version 0."""

VALUES: dict[int, type[Stored]] = {
    0: ShareSnapshotValue,
    1: ShareUpdateValue,
}
"""Record type -> value struct; the int16 before a value is its version."""
