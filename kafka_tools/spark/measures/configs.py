"""Topic configs as the cluster metadata log in a log directory has them.

Every broker of a KRaft cluster keeps that log (``__cluster_metadata-0``) in its first log directory. Without one
(ZooKeeper, a copy of a single partition) the configs are unknown, and the result is empty.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from typing import NamedTuple

from kafka_tools.errors import KafkaToolsError
from kafka_tools.protocol.codec import decode_prefix
from kafka_tools.protocol.enums import CLUSTER_METADATA, ConfigResourceType
from kafka_tools.protocol.primitives import read_unsigned_varint
from kafka_tools.protocol.stored.cluster_metadata import ConfigRecord
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.kraft_snapshots import NewerRecords
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
        """The same as a number, None where it is not set or is none."""
        text = self.value(topic, name)
        try:
            return None if text is None else int(text)
        except ValueError:
            return None

    def compacted(self, topic: str) -> bool | None:
        """Whether the cleanup policy holds compact; None if the policy is not known."""
        policy = self.value(topic, "cleanup.policy")
        return None if policy is None else "compact" in policy


_BROKER_NAMES = {
    "max.message.bytes": "message.max.bytes",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
}


def read_configs(log_dirs: Iterable[str]) -> Configs:
    """The configs of the newest metadata log in the directories; empty where none is readable."""
    newest: tuple[int, str] | None = None
    for log_dir in log_dirs:
        path = os.path.join(log_dir, METADATA_DIR)
        logs = sorted(glob.glob(os.path.join(glob.escape(path), "*.log")))
        if logs:
            end = int(os.path.basename(logs[-1])[:20]) if os.path.basename(logs[-1])[:20].isdecimal() else -1
            size = sum(os.stat(each).st_size for each in logs if os.path.exists(each))
            newest = max(newest, (end + size, path)) if newest else (end + size, path)
    if newest is None:
        return Configs(False, {}, {}, NewerRecords(""))
    found = Configs(True, {}, {}, NewerRecords(newest[1]))
    snapshots = sorted(glob.glob(os.path.join(glob.escape(newest[1]), "*.checkpoint")))
    for file in snapshots[-1:] + sorted(glob.glob(os.path.join(glob.escape(newest[1]), "*.log"))):
        try:
            _read(file, found)
        except OSError:
            continue  # removed meanwhile; the walk over the log tells what is unreadable
    return found


def _read(file: str, found: Configs) -> None:
    with Segment(file) as segment:
        for batch in segment.batches(strict=False):
            if isinstance(batch, Finding) or batch.magic != 2 or batch.is_control:
                continue
            try:
                for record in batch.records():
                    found.newer.count(record.value or b"")
                    _apply(record.value or b"", found)
            except KafkaToolsError:
                continue  # a finding of the audit itself; what else is readable still counts


def _apply(value: bytes, found: Configs) -> None:
    """One record of the metadata log: frame version, type, version as varints, then the message."""
    try:
        frame, position = read_unsigned_varint(value, 0)
        kind, position = read_unsigned_varint(value, position)
        version, position = read_unsigned_varint(value, position)
        if frame != 1 or version != 0 or kind != ConfigRecord.ID:
            return
        record, _ = decode_prefix(ConfigRecord, version, value, position)
    except (KafkaToolsError, ValueError, IndexError):
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
