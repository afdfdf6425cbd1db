"""Topic configs from the cluster metadata log in a log directory.

Every broker of a KRaft cluster keeps that log (``__cluster_metadata-0``) in its first log directory. Without one
(ZooKeeper, a copy of a single partition) the configs are unknown, and the result is empty.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from kafka_tools.errors import CorruptBatch, KafkaToolsError
from kafka_tools.protocol.enums import CLUSTER_METADATA, ConfigResourceType
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import RECORDS, ConfigRecord
from kafka_tools.records.framing import framed
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.kraft_snapshots import NewerRecords
from kafka_tools.storage.layout import PartitionFiles, partition_files
from kafka_tools.storage.segment import Segment

METADATA_DIR = f"{CLUSTER_METADATA}-0"


class Configs(NamedTuple):
    """Dynamic configs: by topic, and the cluster-wide defaults of brokers. ``known``: a metadata log was read."""

    known: bool
    topics: dict[str, dict[str, str]]
    defaults: dict[str, str]
    newer: NewerRecords
    """Records of that log, and of its newest snapshot, that came after what is known here."""

    def value(self, topic: str, name: str) -> str | None:
        """A topic's own setting, else the cluster-wide default (``log.`` in front), else None."""
        own = self.topics.get(topic, {}).get(name)
        return own if own is not None else self.defaults.get(_BROKER_NAMES.get(name, "log." + name))

    def number(self, topic: str, name: str) -> int | None:
        """The same as a number, None if it is not set or not a number."""
        text = self.value(topic, name)
        try:
            return None if text is None else int(text)
        except ValueError:
            return None

    def compacted(self, topic: str) -> bool | None:
        """Whether the cleanup policy contains compact; None if the policy is not known."""
        policy = self.value(topic, "cleanup.policy")
        return None if policy is None else "compact" in policy


_CONFIG_RECORDS: dict[int, type[Stored]] = {number: cls for number, cls in RECORDS.items() if cls is ConfigRecord}
_BROKER_NAMES = {
    "max.message.bytes": "message.max.bytes",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
}


def read_configs(log_dirs: Iterable[str]) -> Configs:
    """The configs of the newest metadata log in the directories; empty where none is readable."""
    there = []
    for log_dir in log_dirs:
        with suppress(OSError):
            there.append(partition_files(os.path.join(log_dir, METADATA_DIR)))
    newest = max((files for files in there if files.segments), default=None, key=_reach)
    if newest is None:
        return Configs(False, {}, {}, NewerRecords(""))
    found = Configs(True, {}, {}, NewerRecords(newest.directory))
    for file in (*newest.checkpoints[-1:], *(segment.log for segment in newest.segments if segment.log)):
        with suppress(OSError):  # removed meanwhile; the walk over the log tells what is unreadable
            _read(file, found)
    return found


def _reach(files: PartitionFiles) -> int:
    return files.segments[-1].base_offset + files.size_bytes


def _read(file: str, found: Configs) -> None:
    with Segment(file) as segment:
        for batch in segment.batches():
            if isinstance(batch, Finding) or batch.magic != 2 or batch.is_control:
                continue
            try:
                for record in batch.records():
                    found.newer.count(record.value or b"")
                    _apply(record.value or b"", found)
            except KafkaToolsError:
                continue  # a finding of the audit itself; what else is readable still counts


def _apply(value: bytes, found: Configs) -> None:
    """One record of the metadata log."""
    try:
        record, version = framed(value, _CONFIG_RECORDS)
    except CorruptBatch:
        return
    assert isinstance(record, ConfigRecord)
    if version != 0:
        return
    if record.resource_type == ConfigResourceType.TOPIC:
        configs = found.topics.setdefault(record.resource_name, {})
    elif record.resource_type == ConfigResourceType.BROKER and record.resource_name == "":
        configs = found.defaults
    else:
        return
    if record.value is None:
        configs.pop(record.name, None)
    else:
        configs[record.name] = record.value
