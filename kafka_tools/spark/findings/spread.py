"""Findings about how records are spread: hot keys within a partition, partitions that differ within a topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafka_tools.spark.findings.facts import PartitionFacts
from kafka_tools.storage.findings import INFO, WARNING, Finding

HOT_SHARE = 0.2
_HOT_RECORDS = (1000, 100_000)
"""From how many records of a partition on a hot key is worth a remark, a warning."""

SKEW = 3.0
_SKEW_BYTES = (64 * 1024, 100 * 1024 * 1024)
"""The same for the bytes of a topic with skewed partitions."""


def hot_key_findings(facts: PartitionFacts) -> Iterator[Finding]:
    """Keys with a large share of a partition's records, by a record that has the key."""
    records = facts.records.records
    if facts.topic.startswith("__") or records < _HOT_RECORDS[0]:
        return
    for key in facts.keys.hot:
        if key.records < HOT_SHARE * records or facts.keys.distinct < 2:
            continue
        severity = WARNING if records >= _HOT_RECORDS[1] else INFO
        at_least = "at least " if facts.keys.hot_missed else ""
        text = (
            f"the key of the record at offset {key.offset} has {at_least}{key.records} of {records} records "
            f"({round(100 * key.records / records)} %)"
        )
        yield facts.finding("hot-key", text, path=key.file, offset=key.offset, size_bytes=key.bytes, severity=severity)


def skew_findings(topic: str, partitions: Sequence[PartitionFacts]) -> Iterator[Finding]:
    """Partitions (one copy of each) of a topic that hold several times the average."""
    sizes = [facts.summary.batch_bytes for facts in partitions]
    total = sum(sizes)
    if topic.startswith("__") or len(sizes) < 3 or total < _SKEW_BYTES[0]:
        return
    for facts, size in zip(partitions, sizes, strict=True):
        # The others' average: with few partitions the large one would lift its own.
        others = (total - size) / (len(sizes) - 1)
        if size > SKEW * others:
            severity = WARNING if total >= _SKEW_BYTES[1] else INFO
            number = len(sizes) - 1
            average = f"{size / others:.1f} times the average of the other {number} partitions" if others else ""
            text = f"{size} of the topic's {total} bytes: {average or f'the other {number} partitions are empty'}"
            yield facts.finding("partition-skew", text, size_bytes=size, severity=severity)
