"""Records of ``__remote_log_metadata``: which segments are in tiered storage (KIP-405).

A value is frame version, record type and version as unsigned varints, then the struct.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, boolean, bytes_, int8, int32, int64, string, struct, uuid


class RemoteLogSegmentMetadataRecord(Stored, id=0, versions="0", flexible="0+"):
    """Record: remote log segment metadata."""

    class RemoteLogSegmentIdEntry(Struct):
        class TopicIdPartitionEntry(Struct):
            name = string()
            id = uuid()
            partition = int32()

        topic_id_partition = struct(TopicIdPartitionEntry)
        id = uuid()

    remote_log_segment_id = struct(RemoteLogSegmentIdEntry)
    start_offset = int64()
    end_offset = int64()
    broker_id = int32()
    max_timestamp_ms = int64()
    event_timestamp_ms = int64()

    class SegmentLeaderEpochEntry(Struct):
        leader_epoch = int32()
        offset = int64()

    segment_leader_epochs = array(SegmentLeaderEpochEntry)
    segment_size_in_bytes = int32()
    custom_metadata = bytes_(nullable="0+", default=None)
    remote_log_segment_state = int8()
    txn_index_empty = boolean(tag=0)


class RemoteLogSegmentMetadataUpdateRecord(Stored, id=1, versions="0", flexible="0+"):
    """Record: remote log segment metadata update."""

    class RemoteLogSegmentIdEntry(Struct):
        class TopicIdPartitionEntry(Struct):
            name = string()
            id = uuid()
            partition = int32()

        topic_id_partition = struct(TopicIdPartitionEntry)
        id = uuid()

    remote_log_segment_id = struct(RemoteLogSegmentIdEntry)
    broker_id = int32()
    event_timestamp_ms = int64()
    custom_metadata = bytes_(nullable="0+", default=None)
    remote_log_segment_state = int8()


class RemotePartitionDeleteMetadataRecord(Stored, id=2, versions="0", flexible="0+"):
    """Record: remote partition delete metadata."""

    class TopicIdPartitionEntry(Struct):
        name = string()
        id = uuid()
        partition = int32()

    topic_id_partition = struct(TopicIdPartitionEntry)
    broker_id = int32()
    event_timestamp_ms = int64()
    remote_partition_delete_state = int8()


class RemoteLogSegmentMetadataSnapshotRecord(Stored, id=3, versions="0", flexible="0+"):
    """Record: remote log segment metadata snapshot."""

    segment_id = uuid()
    start_offset = int64()
    end_offset = int64()
    broker_id = int32()
    max_timestamp_ms = int64()
    event_timestamp_ms = int64()

    class SegmentLeaderEpochEntry(Struct):
        leader_epoch = int32()
        offset = int64()

    segment_leader_epochs = array(SegmentLeaderEpochEntry)
    segment_size_in_bytes = int32()
    custom_metadata = bytes_(nullable="0+", default=None)
    remote_log_segment_state = int8()
    txn_index_empty = boolean(tag=0)


RECORDS: dict[int, type[Stored]] = {
    0: RemoteLogSegmentMetadataRecord,
    1: RemoteLogSegmentMetadataUpdateRecord,
    2: RemotePartitionDeleteMetadataRecord,
    3: RemoteLogSegmentMetadataSnapshotRecord,
}
"""Record type number -> struct."""
