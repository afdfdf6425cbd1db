"""Numbers of partitions added up: per topic, and over all. One copy of each partition counts."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_tools.spark.audit import Audit, PartitionAudit
from kafka_tools.spark.findings.facts import PartitionFacts
from kafka_tools.spark.findings.judgement import by_partition, fullest
from kafka_tools.spark.measures.groups import GroupCommits, InternalMeasures
from kafka_tools.spark.measures.records import RecordMeasures
from kafka_tools.spark.measures.sketches import Histogram
from kafka_tools.spark.measures.summary import CodecTotals
from kafka_tools.spark.measures.times import DAY_MS, DAYS_KEPT, HOUR_MS, HOURS_KEPT, Spans


class Total:
    """Partitions added up. Key estimates are the sums of the partitions': a key has one partition, as a rule."""

    def __init__(self) -> None:
        self.partitions = 0
        self.copies = 0
        self.copies_bytes = 0
        self.segments = 0
        self.size_bytes = 0
        self.batches = 0
        self.records = 0
        self.corrupt = 0
        self.codecs: dict[str, CodecTotals] = {}
        self.days = Spans(DAY_MS, DAYS_KEPT)
        self.hours = Spans(HOUR_MS, HOURS_KEPT)
        self.batch_sizes = Histogram()
        self.records_per_batch = Histogram()
        self.measured = RecordMeasures()
        self.distinct_keys = 0
        self.keys_exact = True
        self.reclaimable_bytes = 0
        self.first_ms: int | None = None
        self.last_ms: int | None = None

    def add(self, row: PartitionAudit, reclaimable: int | None) -> None:
        """Add the copy that represents a partition."""
        self.partitions += 1
        self.segments += row.segments
        self.size_bytes += row.size_bytes
        self.batches += row.summary.batches
        self.records += row.summary.records
        self.corrupt += row.summary.corrupt
        for name, codec in row.summary.codecs.items():
            self.codecs.setdefault(name, CodecTotals()).add(codec.batches, codec.records, codec.size_bytes)
        times = (self.first_ms, row.summary.first_timestamp_ms), (self.last_ms, row.summary.last_timestamp_ms)
        first, last = ([time for time in pair if time is not None] for pair in times)
        self.first_ms, self.last_ms = min(first, default=None), max(last, default=None)
        if row.facts is None:
            return
        facts = row.facts
        self.days.add(facts.batches.days)
        self.hours.add(facts.batches.hours)
        self.batch_sizes.add(facts.batches.sizes)
        self.records_per_batch.add(facts.batches.records_per_batch)
        self.measured.add(facts.records)
        self.distinct_keys += facts.keys.distinct
        self.keys_exact = self.keys_exact and facts.keys.exact
        self.reclaimable_bytes += reclaimable or 0


def standing(result: Audit) -> list[PartitionAudit]:
    """One row per partition: the fullest of its copies."""
    chosen = {
        id(fullest(group)) for group in by_partition([row.facts for row in result.partitions if row.facts]).values()
    }
    rows, seen = [], set()
    for row in result.partitions:
        key = row.summary.topic, row.summary.partition
        if (row.facts is not None and id(row.facts) in chosen) or (row.facts is None and key not in seen):
            rows.append(row)
            seen.add(key)
    return rows


def groups(every: Iterable[PartitionFacts]) -> dict[str, GroupCommits]:
    """The consumer groups of all partitions of the offsets topic."""
    whole = InternalMeasures()
    for facts in every:
        whole.add(facts.internal)
    return whole.groups
