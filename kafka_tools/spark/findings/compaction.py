"""Findings about compaction: partitions that wait for it, tombstones that it should have removed, bloated offsets."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_tools.protocol.enums import CONSUMER_OFFSETS
from kafka_tools.spark.findings.facts import Around, PartitionFacts
from kafka_tools.spark.findings.producers import duration
from kafka_tools.spark.findings.stakes import SMALL_BYTES, by_stake
from kafka_tools.spark.measures.times import DAY_MS
from kafka_tools.storage.findings import INFO, Finding
from kafka_tools.values import TopicPartition

DEFAULT_DIRTY_RATIO = 0.5
TOMBSTONE_SLACK_MS = 7 * DAY_MS
"""The next compaction after its horizon removes a tombstone; on a quiet partition that may take days."""

BLOATED_BYTES = 100 * SMALL_BYTES
_BLOATED_RATIO = 20
_RECLAIMABLE_SHARE = 0.3


def compaction_findings(facts: PartitionFacts, around: Around) -> Iterator[Finding]:
    """The findings about a compacted partition that waits for compaction."""
    if not around.compacted(facts):
        return
    yield from _lag(facts, around)
    horizon = facts.batches.oldest_horizon
    as_of_ms = around.log_dir(facts).as_of_ms
    if horizon is not None and as_of_ms - horizon[0] > 0:
        late_ms = as_of_ms - horizon[0]
        size = sum(piece.size for piece in facts.pieces if piece.start == 0)
        severity = by_stake("tombstones-overdue", size) if late_ms > TOMBSTONE_SLACK_MS else INFO
        text = f"{facts.batches.horizons} batches have a delete horizon; the oldest passed {duration(late_ms)} ago"
        _, path, position, offset = horizon
        yield facts.finding("tombstones-overdue", text, path=path, position=position, offset=offset, severity=severity)
    reclaimable = reclaimable_bytes(facts)
    if reclaimable is not None and reclaimable > _RECLAIMABLE_SHARE * facts.summary.batch_bytes:
        share = round(100 * reclaimable / facts.summary.batch_bytes)
        about = "" if facts.keys.exact else "about "
        text = f"{about}{reclaimable} of {facts.summary.batch_bytes} bytes ({share} %) have a newer record of their key"
        yield facts.finding("reclaimable", text, size_bytes=reclaimable)


def _lag(facts: PartitionFacts, around: Around) -> Iterator[Finding]:
    cleaned = around.log_dir(facts).cleaner_offsets.get(TopicPartition(facts.topic, facts.partition))
    first = facts.summary.first_offset
    if first is None or not facts.pieces:
        return
    clean_to = first if cleaned is None else max(cleaned, first)
    active = facts.pieces[-1].base_offset
    closed = [piece for piece in facts.pieces if piece.base_offset != active]
    total = sum(piece.end - piece.start for piece in closed)
    dirty = sum(piece.end - piece.start for piece in closed if piece.base_offset >= clean_to)
    ratio_text = around.configs.value(facts.topic, "min.cleanable.dirty.ratio")
    try:
        limit = DEFAULT_DIRTY_RATIO if ratio_text is None else float(ratio_text)
    except ValueError:
        limit = DEFAULT_DIRTY_RATIO
    if total == 0 or dirty / total <= max(limit, 0.01):
        return
    text = f"{dirty} of {total} bytes in closed segments ({round(100 * dirty / total)} %) are not compacted yet"
    if cleaned is None:
        text += "; the cleaner's checkpoint does not contain the partition"
    starts = [piece for piece in closed if piece.base_offset >= clean_to]
    # The cleaner starts at the limit; only a ratio well above it is late.
    late = dirty / total > min(0.9, 1.5 * limit)
    yield facts.finding(
        "compaction-lag",
        text,
        path=starts[0].file,
        position=0,
        offset=starts[0].base_offset,
        size_bytes=dirty,
        severity=by_stake("compaction-lag", dirty) if late else INFO,
    )


def reclaimable_bytes(facts: PartitionFacts) -> int | None:
    """Bytes that a compaction of the whole partition would free; None if records were not read.

    Records of keys with a newer record, in the proportion that the partition's batches are compressed.
    """
    total = facts.records.record_sizes.total
    if not facts.records.records or not total:
        return None
    unkept = max(0.0, 1 - min(facts.keys.kept_bytes, total) / total)
    return round(unkept * sum(facts.records.stored.values()))


def offsets_findings(facts: PartitionFacts, around: Around) -> Iterator[Finding]:
    """A partition of ``__consumer_offsets`` that is much larger than its newest commits, and who fills it."""
    if facts.topic != CONSUMER_OFFSETS or not facts.records.records:
        return
    size = facts.summary.batch_bytes
    kept = max(1, facts.keys.distinct)
    ratio = facts.records.records / kept
    if ratio < _BLOATED_RATIO:
        return
    busiest = sorted(facts.internal.groups.items(), key=lambda item: (-item[1].size_bytes, item[0]))[:3]
    total = max(1, facts.records.record_sizes.total)
    who = "; ".join(
        f"group '{name}' {group.commits} commits ({round(100 * group.size_bytes / total)} %)" for name, group in busiest
    )
    text = f"{facts.records.records} records of {size} bytes for {kept} different keys: {who}"
    severity = by_stake("offsets-bloat", size // (BLOATED_BYTES // SMALL_BYTES))
    yield facts.finding("offsets-bloat", text, size_bytes=size, severity=severity)
