"""Share-group state in ``__share_group_state``."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, int8, int16, int32, int64, string, uuid


class ShareSnapshotKey(Stored, id=0, versions="0"):
    """Key of the whole state of a share-partition. No value (a tombstone): the state is deleted."""

    group_id = string()
    topic_id = uuid()
    # Index within the topic.
    partition = int32()


class ShareSnapshotValue(Stored, versions="0", flexible="0+"):
    """The whole state of a share-partition. Records before it no longer matter.

    The share coordinator writes it on InitializeShareGroupState and on the first WriteShareGroupState, then in place of
    every 500th update (share.coordinator.snapshot.update.records.per.snapshot), and from time to time for partitions
    without updates.
    """

    # Counts the snapshots of the share-partition.
    snapshot_epoch = int32()
    # Raised when the state is initialized anew, such as by AlterShareGroupOffsets. Older ones are fenced.
    state_epoch = int32()
    # Leader epoch of the share-partition. Requests of an older leader are fenced.
    leader_epoch = int32()
    # First offset that is not finished. -1: not initialized, share.auto.offset.reset decides.
    start_offset = int64()
    # Offsets from start_offset on whose delivery is complete. -1: unknown.
    delivery_complete_count = int32(default=-1, tag=0)
    # Time at which the state was first written, in ms since 1970.
    create_timestamp = int64()
    # Time at which this snapshot was written, in ms since 1970.
    write_timestamp = int64()

    # A range of offsets in the same state.
    class StateBatch(Struct):
        first_offset = int64()
        # Inclusive.
        last_offset = int64()
        # 0: available. 2: acknowledged. 4: archived. Acquired records are stored as available.
        delivery_state = int8()
        # Number of times that the records were delivered. They are archived after group.share.delivery.count.limit.
        delivery_count = int16()

    # Ascending, without overlap. Offsets in no batch are available and were never delivered.
    state_batches = array(StateBatch)


class ShareUpdateKey(Stored, id=1, versions="0"):
    """Key of a change to the state of a share-partition. Changes count from the newest snapshot on."""

    group_id = string()
    topic_id = uuid()
    # Index within the topic.
    partition = int32()


class ShareUpdateValue(Stored, versions="0", flexible="0+"):
    """A change to the newest snapshot of the share-partition.

    The share coordinator writes it on WriteShareGroupState, which the leader of the share-partition sends.
    """

    # Epoch of the snapshot that it changes.
    snapshot_epoch = int32()
    # Leader epoch of the share-partition. Requests of an older leader are fenced.
    leader_epoch = int32()
    # First offset that is not finished. -1: no change.
    start_offset = int64()
    # Offsets from start_offset on whose delivery is complete. -1: unknown.
    delivery_complete_count = int32(default=-1, tag=0)

    # A range of offsets in the same state.
    class StateBatch(Struct):
        first_offset = int64()
        # Inclusive.
        last_offset = int64()
        # 0: available. 2: acknowledged. 4: archived. Acquired records are stored as available.
        delivery_state = int8()
        # Number of times that the records were delivered.
        delivery_count = int16()

    # The batches that have changed. They override those of the snapshot where they overlap.
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
