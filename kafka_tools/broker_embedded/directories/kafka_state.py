"""Reads the cluster state of Apache Kafka's controller in a directory: its newest snapshot and the log after it.

``records_of`` converts that state for this broker. ``adoptable`` checks whether this broker can serve it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_tools.broker_embedded.cluster.features import unsupported
from kafka_tools.broker_embedded.directories.local_store import decode_record
from kafka_tools.cluster_image.image import ClusterImage, Replay
from kafka_tools.errors import CorruptBatch, InputError, LogError
from kafka_tools.protocol.feature_levels import METADATA_VERSION
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored import cluster_metadata as stored
from kafka_tools.records.batches import BatchView
from kafka_tools.storage.kraft_snapshots import kraft_snapshots, read_kraft_snapshot
from kafka_tools.storage.layout import partition_files
from kafka_tools.storage.segment import Segment


def records_of(image: ClusterImage, node_id: int) -> Iterator[Stored]:
    """The fewest records that restore the image. ``node_id`` is the leader and only replica of every partition."""
    # metadata.version comes first: it determines how to read the other records.
    for name, level in sorted(image.features.items(), key=lambda feature: feature[0] != METADATA_VERSION):
        yield stored.FeatureLevelRecord(name=name, feature_level=level)
    for topic in image.topics.by_id.values():
        yield stored.TopicRecord(name=topic.name, topic_id=topic.id)
        for number, found in sorted(topic.partitions.items()):
            # A broker that shuts down cleanly leads nothing at its end. The next leader begins a new epoch.
            yield stored.PartitionRecord(
                partition_id=number, topic_id=topic.id, replicas=[node_id], isr=[node_id], leader=node_id,
                leader_epoch=found.leader_epoch, partition_epoch=found.partition_epoch,
            )  # fmt: skip
    for (kind, resource), configs in image.configs.items():
        for key, value in configs.items():
            yield stored.ConfigRecord(resource_type=kind, resource_name=resource, name=key, value=value)
    for entity, quotas in image.quotas.items():
        parts = [stored.ClientQuotaRecord.EntityData(entity_type=kind, entity_name=of) for kind, of in entity]
        for key, limit in quotas.items():
            yield stored.ClientQuotaRecord(entity=parts, key=key, value=limit)
    for credentials in image.scram.values():
        yield from credentials.values()
    yield from image.acls.values()
    yield from image.tokens.values()
    if image.producer_ids is not None:
        yield image.producer_ids


def read_kafka_state(directory: str, *, clean: bool) -> tuple[ClusterImage, int]:
    """The state in a ``__cluster_metadata-0`` of Kafka, and the number of torn bytes at the end of its log.

    ``clean``: whether its broker was shut down cleanly, so that torn bytes are damage. Raises OSError; LogError for
    damaged or missing data, and for features of a newer release.
    """
    replay = Replay(_refuse)
    try:
        return replay.image, _read_into(replay, directory, clean)
    except LogError as error:  # levels come first: an unsupported one explains why later records are unknown
        newer = unsupported(replay.image.features)
        if newer is None:
            raise
        raise LogError(f"the cluster uses {newer} ({error})", path=directory) from error


def _refuse(offset: int, error: InputError) -> None:
    raise LogError(f"the record at offset {offset} contradicts the records before it: {error}") from error


def _read_into(replay: Replay, directory: str, clean: bool) -> int:
    files = partition_files(directory)
    begin = 0
    for snapshot in kraft_snapshots(files)[-1:]:
        begin = snapshot.end_offset
        for record in read_kraft_snapshot(snapshot.path):
            replay.take(record.offset, decode_record(record.value or b"", snapshot.path))
    expected, torn_bytes = begin, 0
    for segment in files.segments:
        if segment.log is None:
            continue
        if torn_bytes:
            raise LogError(f"{segment.log} follows a damaged log", path=directory)
        with Segment(segment.log) as log:
            position = 0
            for view in _batches(log, clean):
                position = view.file_position + view.size_bytes
                if view.last_offset < begin:
                    continue
                if view.base_offset > expected:
                    gap = f"offsets {expected} to {view.base_offset - 1} of the cluster metadata are missing"
                    raise LogError(f"{segment.log}: {gap}", path=directory)
                expected = view.last_offset + 1
                if not view.is_control:
                    for record in view.records():
                        value = decode_record(record.value or b"", f"{segment.log} at offset {record.offset}")
                        replay.take(record.offset, value)
            torn_bytes = log.size_bytes - position
    return torn_bytes


def _batches(log: Segment, clean: bool) -> Iterator[BatchView]:
    """The batches of a file up to an incomplete write. CorruptBatch if valid batches follow damage."""
    damage: int | None = None
    for found in log.batches():
        position = found.file_position if isinstance(found, BatchView) else found.position or 0
        if isinstance(found, BatchView) and damage is None and found.crc_ok():
            yield found
        elif clean or (isinstance(found, BatchView) and found.crc_ok()):
            at = position if damage is None else damage
            raise CorruptBatch(f"{log.path} is damaged at position {at}", path=log.path, position=at)
        elif damage is None:
            damage = position
