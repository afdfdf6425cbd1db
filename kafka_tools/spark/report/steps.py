"""A command for each finding that shows more about it or repairs it."""

from __future__ import annotations

import shlex

from kafka_tools.spark.files import is_remote
from kafka_tools.storage.findings import NO_PARTITIONS, Finding
from kafka_tools.storage.names import LOG

_BOOTSTRAP = "--bootstrap-server HOST:PORT"
_TOPIC_CONFIGS = {
    "timestamp-future": "message.timestamp.after.max.ms=3600000",
    "timestamp-unit": "message.timestamp.after.max.ms=3600000",
    "uncompressed": "compression.type=zstd",
    "offsets-bloat": "cleanup.policy=compact",
}
_SHOWN_CONFIGS = (
    "retention-overdue",
    "old-data",
    "compaction-lag",
    "tombstones-overdue",
    "reclaimable",
    "oversized-batch",
    "near-limit",
)
_WITH_RECORDS = ("unreadable-records", "hot-key", "header-bloat", "bad-marker", "bad-timestamp")
_NOTHING_TO_SHOW = (
    "vanished",
    "growing",
    "shrunk",
    "unflushed",
    "unknown-file",
    "unreadable",
    "leftover-directory",
    "index-missing",
    "timeindex-missing",
    NO_PARTITIONS,
)
_BESIDE_THE_ONE_BEFORE = ("sequence-gap", "sequence-duplicate", "producer-epoch", "offset-order")
_NOT_AT_ITS_OFFSET = ("offset-gap", "skipped")


def command(finding: Finding) -> str | None:
    """A command line that shows more about the finding or repairs it, None without one."""
    kind, topic = finding.kind, finding.topic
    if kind == "hanging-transaction" and topic is not None:
        place = f"--topic {shlex.quote(topic)} --partition {finding.partition} --start-offset {finding.offset}"
        return f"kafka-transactions.sh {_BOOTSTRAP} abort {place}"
    if topic is not None and kind in _TOPIC_CONFIGS:
        change = f"--alter --add-config {_TOPIC_CONFIGS[kind]}"
        return f"kafka-configs {_BOOTSTRAP} --entity-type topics --entity-name {shlex.quote(topic)} {change}"
    if topic is not None and kind in _SHOWN_CONFIGS:
        return f"kafka-configs {_BOOTSTRAP} --entity-type topics --entity-name {shlex.quote(topic)} --describe --all"
    if topic is not None and kind in ("replica-behind", "partition-skew", "empty-partition", "idle-partition"):
        return f"kafka-topics {_BOOTSTRAP} --describe --topic {shlex.quote(topic)}"
    if finding.path is None or kind in _NOTHING_TO_SHOW or is_remote(finding.path):
        return None  # kafka-dump-log reads files of its machine
    more = " --deep-iteration" if kind in _WITH_RECORDS else ""
    if finding.offset is not None and finding.path.endswith(LOG) and kind not in _NOT_AT_ITS_OFFSET:
        # A segment may have a gigabyte of others.
        first = max(0, finding.offset - 1) if kind in _BESIDE_THE_ONE_BEFORE else finding.offset
        more += f" --offsets {first}:{finding.offset + 1}"
    return f"kafka-dump-log --files {shlex.quote(finding.path)}{more}"
