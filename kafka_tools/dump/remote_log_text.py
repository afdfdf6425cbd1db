"""Shows records of tiered storage as ``toString`` of Kafka's RemoteLogMetadata classes does (KIP-405)."""

from __future__ import annotations

from typing import Any

from kafka_tools.errors import CorruptBatch
from kafka_tools.protocol.schema import Stored
from kafka_tools.values import uuid_text

_SEGMENT_STATES = ("COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED")
_DELETE_STATES = ("DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED")


def remote_log_text(message: Stored) -> str:
    """One line of text. Raises CorruptBatch, in Kafka's words, for values that Kafka's classes refuse."""
    name = type(message).__name__
    fields: Any = message
    _check(name, fields)
    if name == "RemoteLogSegmentMetadataRecord":
        return (
            f"RemoteLogSegmentMetadata{{remoteLogSegmentId={_segment_id(fields.remote_log_segment_id)}, "
            f"startOffset={fields.start_offset}, endOffset={fields.end_offset}, brokerId={fields.broker_id}, "
            f"maxTimestampMs={fields.max_timestamp_ms}, eventTimestampMs={fields.event_timestamp_ms}, "
            f"segmentLeaderEpochs={_epochs(fields.segment_leader_epochs)}, "
            f"segmentSizeInBytes={fields.segment_size_in_bytes}, customMetadata={_custom(fields.custom_metadata)}, "
            f"state={_state(_SEGMENT_STATES, fields.remote_log_segment_state)}, "
            f"txnIdxEmpty={'true' if fields.txn_index_empty else 'false'}}}"
        )
    if name == "RemoteLogSegmentMetadataUpdateRecord":
        return (
            f"RemoteLogSegmentMetadataUpdate{{remoteLogSegmentId={_segment_id(fields.remote_log_segment_id)}, "
            f"customMetadata={_custom(fields.custom_metadata)}, "
            f"state={_state(_SEGMENT_STATES, fields.remote_log_segment_state)}, "
            f"eventTimestampMs={fields.event_timestamp_ms}, brokerId={fields.broker_id}}}"
        )
    if name == "RemotePartitionDeleteMetadataRecord":
        return (
            f"RemotePartitionDeleteMetadata{{topicPartition={_partition(fields.topic_id_partition)}, "
            f"state={_state(_DELETE_STATES, fields.remote_partition_delete_state)}, "
            f"eventTimestampMs={fields.event_timestamp_ms}, brokerId={fields.broker_id}}}"
        )
    return (
        f"RemoteLogSegmentMetadataSnapshot{{segmentId={uuid_text(fields.segment_id)}, "
        f"startOffset={fields.start_offset}, endOffset={fields.end_offset}, "
        f"maxTimestampMs={fields.max_timestamp_ms}, "
        f"segmentLeaderEpochs={_epochs(fields.segment_leader_epochs)}, "
        f"segmentSizeInBytes={fields.segment_size_in_bytes}, customMetadata={_custom(fields.custom_metadata)}, "
        f"state={_state(_SEGMENT_STATES, fields.remote_log_segment_state)}, "
        f"txnIdxEmpty={'true' if fields.txn_index_empty else 'false'}}}"
    )


def _check(name: str, fields: Any) -> None:
    """Raise CorruptBatch for values that the constructors of Kafka's classes refuse, in their order."""
    if name == "RemoteLogSegmentMetadataSnapshotRecord":
        _state(_SEGMENT_STATES, fields.remote_log_segment_state)
    if name == "RemoteLogSegmentMetadataRecord":
        start, end = fields.start_offset, fields.end_offset
        if start < 0:
            raise CorruptBatch(
                f"Unexpected start offset = {start}. StartOffset for a remote segment cannot be negative"
            )
        if end < start:
            raise CorruptBatch(
                f"Unexpected end offset = {end}. EndOffset for a remote segment cannot be less than "
                f"startOffset = {start}"
            )
    if hasattr(fields, "segment_leader_epochs") and not fields.segment_leader_epochs:
        raise CorruptBatch("segmentLeaderEpochs can not be null or empty")


def _segment_id(entry: Any) -> str:
    return f"RemoteLogSegmentId{{topicIdPartition={_partition(entry.topic_id_partition)}, id={uuid_text(entry.id)}}}"


def _partition(entry: Any) -> str:
    return f"{uuid_text(entry.id)}:{entry.name}-{entry.partition}"


def _epochs(entries: Any) -> str:
    ordered = sorted({entry.leader_epoch: entry.offset for entry in entries}.items())
    return "{" + ", ".join(f"{epoch}={offset}" for epoch, offset in ordered) + "}"


def _custom(data: bytes | None) -> str:
    if data is None:
        return "Optional.empty"
    return f"Optional[CustomMetadata{{{len(data)} bytes}}]"


def _state(states: tuple[str, ...], number: int) -> str:
    if not 0 <= number < len(states):
        # Kafka looks an unknown number up and finds nothing.
        raise CorruptBatch("null" if states is _DELETE_STATES else "state can not be null")
    return states[number]
