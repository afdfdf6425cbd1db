"""Records of ``__remote_log_metadata``: which segments are in tiered storage (KIP-405).

A value is frame version, record type and version as unsigned varints, then the struct.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, boolean, bytes_, int8, int32, int64, string, struct, uuid


class RemoteLogSegmentMetadataRecord(Stored, id=0, versions="0", flexible="0+"):
    """A segment is about to be copied to tiered storage.

    The leader of the partition writes it before the copy starts.
    """

    class RemoteLogSegmentIdEntry(Struct):
        class TopicIdPartitionEntry(Struct):
            # Topic name.
            name = string()
            # Topic id.
            id = uuid()
            # Index within the topic.
            partition = int32()

        topic_id_partition = struct(TopicIdPartitionEntry)
        # Random id of the copy. A repeated copy of the same segment has another one.
        id = uuid()

    remote_log_segment_id = struct(RemoteLogSegmentIdEntry)
    # Offset of the first record in the segment.
    start_offset = int64()
    # Offset of the last record, inclusive.
    end_offset = int64()
    # Broker that copies the segment.
    broker_id = int32()
    # Largest timestamp of the records, by which retention.ms deletes the segment.
    max_timestamp_ms = int64()
    # Time at which the record was written, in ms since 1970.
    event_timestamp_ms = int64()

    class SegmentLeaderEpochEntry(Struct):
        leader_epoch = int32()
        # First offset of the epoch within the segment.
        offset = int64()

    # The epochs in which the records were written, ascending. A copy of a former leader is recognised by them.
    segment_leader_epochs = array(SegmentLeaderEpochEntry)
    # Size of the log file, without its indexes.
    segment_size_in_bytes = int32()
    # Data of the storage plugin (KIP-917), which reports it with the end of the copy. Null: none.
    custom_metadata = bytes_(nullable="0+", default=None)
    # 0: the copy has started. RemoteLogSegmentMetadataUpdateRecord contains the later states.
    remote_log_segment_state = int8()
    # True: no transaction of the segment was aborted, so there is no transaction index to fetch.
    txn_index_empty = boolean(tag=0)


class RemoteLogSegmentMetadataUpdateRecord(Stored, id=1, versions="0", flexible="0+"):
    """The state of a copied segment changes.

    The leader of the partition writes it when the copy is complete, and before and after the copy is deleted.
    """

    class RemoteLogSegmentIdEntry(Struct):
        class TopicIdPartitionEntry(Struct):
            # Topic name.
            name = string()
            # Topic id.
            id = uuid()
            # Index within the topic.
            partition = int32()

        topic_id_partition = struct(TopicIdPartitionEntry)
        # Id of the copy, from its RemoteLogSegmentMetadataRecord.
        id = uuid()

    remote_log_segment_id = struct(RemoteLogSegmentIdEntry)
    # Broker that wrote the record.
    broker_id = int32()
    # Time at which the record was written, in ms since 1970.
    event_timestamp_ms = int64()
    # Data of the storage plugin (KIP-917), for later reads of the copy. Null: none.
    custom_metadata = bytes_(nullable="0+", default=None)
    # 1: copied. 2: deletion has started. 3: deleted.
    remote_log_segment_state = int8()


class RemotePartitionDeleteMetadataRecord(Stored, id=2, versions="0", flexible="0+"):
    """The copies of a deleted partition are being deleted.

    The broker that deletes the partition writes it at each step.
    """

    class TopicIdPartitionEntry(Struct):
        # Topic name.
        name = string()
        # Topic id.
        id = uuid()
        # Index within the topic.
        partition = int32()

    topic_id_partition = struct(TopicIdPartitionEntry)
    # Broker that wrote the record.
    broker_id = int32()
    # Time at which the record was written, in ms since 1970.
    event_timestamp_ms = int64()
    # 0: marked for deletion. 1: deletion has started. 2: finished.
    remote_partition_delete_state = int8()


class RemoteLogSegmentMetadataSnapshotRecord(Stored, id=3, versions="0", flexible="0+"):
    """A segment in a snapshot of one partition's metadata.

    Early releases of tiered storage kept it in a file beside the partition's log. Kafka 3.9 and later do not write it.
    """

    # Id of the copy, from its RemoteLogSegmentMetadataRecord.
    segment_id = uuid()
    # Offset of the first record in the segment.
    start_offset = int64()
    # Offset of the last record, inclusive.
    end_offset = int64()
    # Broker that wrote the newest record of the segment.
    broker_id = int32()
    # Largest timestamp of the records, by which retention.ms deletes the segment.
    max_timestamp_ms = int64()
    # Time at which the newest record of the segment was written, in ms since 1970.
    event_timestamp_ms = int64()

    class SegmentLeaderEpochEntry(Struct):
        leader_epoch = int32()
        # First offset of the epoch within the segment.
        offset = int64()

    # The epochs in which the records were written, ascending.
    segment_leader_epochs = array(SegmentLeaderEpochEntry)
    # Size of the log file, without its indexes.
    segment_size_in_bytes = int32()
    # Data of the storage plugin (KIP-917). Null: none.
    custom_metadata = bytes_(nullable="0+", default=None)
    # 0: the copy has started. 1: copied. 2: deletion has started. 3: deleted.
    remote_log_segment_state = int8()
    # True: no transaction of the segment was aborted.
    txn_index_empty = boolean(tag=0)


RECORDS: dict[int, type[Stored]] = {
    0: RemoteLogSegmentMetadataRecord,
    1: RemoteLogSegmentMetadataUpdateRecord,
    2: RemotePartitionDeleteMetadataRecord,
    3: RemoteLogSegmentMetadataSnapshotRecord,
}
"""Record type number -> struct."""
