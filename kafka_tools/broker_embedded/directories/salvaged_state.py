"""The records of the broker in a directory of the cluster metadata that is damaged or mixed with records of a topic.

The leader epoch of a batch says whose it is: the broker writes metadata with leader epoch 1. A client's topic starts
with epoch 0, and each start of the broker adds one. From the first start after the topic was created, the two cannot
be distinguished, and no more records are kept.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence

from kafka_tools.broker_embedded.cluster.store import LEADER_EPOCH
from kafka_tools.broker_embedded.directories.local_store import decode_record, snapshot_records
from kafka_tools.broker_embedded.directories.snapshots import snapshots_in
from kafka_tools.broker_embedded.directories.state_checks import is_of_a_topic
from kafka_tools.cluster_image.image import ClusterImage
from kafka_tools.errors import CorruptBatch, InputError, LogError
from kafka_tools.protocol.enums import CLUSTER_METADATA, ConfigResourceType
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.storage.layout import partition_files
from kafka_tools.storage.salvage import Salvage


class SalvagedState:
    """``kept``: the records of the newest valid snapshot and of the log after it, a list for each change."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.kept: list[list[Stored]] = []
        self.left_out: Counter[str] = Counter()
        self.end_offset = 0
        """The offset after the last record."""
        self.image = ClusterImage()
        """The image of the topics in the records. It contains nothing else."""
        self.removed: set[uuid.UUID] = set()
        self._foreign: uuid.UUID | None = None
        self._in_doubt = False
        begin = next_offset = self._take_snapshot()
        files = partition_files(directory)
        log_end = max((each.base_offset for each in files.segments if each.log is not None), default=0)
        salvage = Salvage(directory)
        for data in salvage:
            view = next(batches(data))
            log_end = max(log_end, view.last_offset + 1)
            if view.last_offset < begin:
                continue
            if view.base_offset > next_offset:
                self.left_out["span of missing offsets"] += 1
            next_offset = max(next_offset, view.last_offset + 1)
            self._take(view)
        self.end_offset = next_offset
        if salvage.damaged_spans:
            self.left_out["damaged span"] = salvage.damaged_spans
        if log_end < max((each.end_offset for each in snapshots_in(directory)), default=0):
            self.left_out["end of the log, which existed when a snapshot was written"] += 1
        elif log_end > next_offset:
            self.left_out["span of missing offsets"] += 1

    def _take_snapshot(self) -> int:
        """Keep the records of the newest valid snapshot. Returns the offset at which the log continues."""
        for found in reversed(snapshots_in(self.directory)):
            try:
                records = list(snapshot_records(found.path))
            except LogError:
                self.left_out["damaged snapshot"] += 1
                continue
            self._keep(records)
            return found.end_offset
        return 0

    @property
    def is_whole(self) -> bool:
        """Whether the directory contains only valid metadata of the broker."""
        return not self.left_out and self._foreign is None and not is_of_a_topic(self.directory)

    def _take(self, view: BatchView) -> None:
        if view.is_control:
            return
        try:
            records = [decode_record(record.value or b"", self.directory) for record in view.records()]
        except (LogError, CorruptBatch):
            self.left_out["batch that does not contain cluster metadata"] += 1
            return
        if self._in_doubt or view.partition_leader_epoch != LEADER_EPOCH:
            self.left_out.update(type(record).__name__ for record in records)
            return
        self._keep(records)

    def _keep(self, records: Sequence[Stored]) -> None:
        own = [record for record in records if self._is_of_the_state(record)]
        if own:
            self.kept.append(own)

    def _is_of_the_state(self, record: Stored) -> bool:
        """Whether a record fits the records before it and is not about the topic ``__cluster_metadata``. Applies it."""
        if isinstance(record, ConfigRecord):
            return (record.resource_type, record.resource_name) != (ConfigResourceType.TOPIC, CLUSTER_METADATA)
        if not isinstance(record, TopicRecord | PartitionRecord | PartitionChangeRecord | RemoveTopicRecord):
            return True
        if isinstance(record, TopicRecord) and record.name == CLUSTER_METADATA:
            self._foreign = record.topic_id
        if record.topic_id == self._foreign:
            # The topic's first new leader epoch is 1, with which the state is written.
            self._in_doubt = self._in_doubt or isinstance(record, PartitionChangeRecord)
            return False
        try:
            self.image.replay(record)
        except InputError:
            self.left_out[type(record).__name__] += 1
            return False
        if isinstance(record, RemoveTopicRecord):
            self.removed.add(record.topic_id)
        return True
