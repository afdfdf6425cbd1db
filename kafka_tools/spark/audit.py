"""The audit job: what log directories hold and what is wrong with them, computed by Spark.

Prints nothing and knows no commands. Executors read ranges of segments (``scan``) and count them (``summary``); Spark
adds the counts up per partition directory. What comes back to the driver is one summary per partition directory and a
bounded number of findings, however much log there is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.spark.damage import SEVERITIES, WARNING
from kafka_tools.spark.options import DEFAULT_RANGE_BYTES
from kafka_tools.spark.plan import Range, cut, indexes_without_log, pack, partitions, segments_of
from kafka_tools.spark.summary import AuditFinding, Summary, compare_edges, summarise

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_tools.storage.layout import PartitionFiles

Key = tuple[str, str, int]
"""Log directory, topic, partition: a partition directory."""


class PartitionAudit(NamedTuple):
    """One partition directory: how many segments of how many bytes, and what is in them."""

    segments: int
    size_bytes: int
    summary: Summary


class Audit(NamedTuple):
    """The result: partitions sorted by topic, partition and directory; findings worst first.

    ``finding_counts`` counts all findings by (severity, kind), also those that are not listed.
    """

    partitions: list[PartitionAudit]
    findings: list[AuditFinding]
    finding_counts: Counter[tuple[str, str]]

    @property
    def worst(self) -> str | None:
        """The worst severity found, None if nothing was."""
        found = {severity for severity, _ in self.finding_counts}
        return max(found, key=SEVERITIES.index, default=None)


def audit(
    spark: SparkSession, log_dirs: Sequence[str], *, topics: Sequence[str] = (), range_bytes: int = DEFAULT_RANGE_BYTES
) -> Audit:
    """Audit log directories (or single partition directories) that the driver and all executors see.

    ``topics`` are glob patterns, empty for all; ``range_bytes`` is what one task reads. InputError for a directory
    that cannot be read.
    """
    found: list[Range] = []
    orphans: list[AuditFinding] = []
    for log_dir in dict.fromkeys(log_dirs):
        for partition in partitions(log_dir, tuple(topics)):
            found += segments_of(log_dir, partition)
            orphans += map(partial(_orphan, partition), indexes_without_log(partition))
    tasks = pack((part for segment in found for part in cut(segment, range_bytes)), range_bytes)
    context = spark.sparkContext
    summaries: dict[Key, Summary] = {}
    if tasks:
        # Few reducers: a summary is small, and each costs a Python worker its share of start-up.
        reducers = min(len(tasks), context.defaultParallelism)
        counted = context.parallelize(tasks, len(tasks)).flatMap(_summaries)
        summaries = dict(counted.reduceByKey(Summary.add, reducers).collect())
    return _result(found, summaries, orphans)


def _orphan(partition: PartitionFiles, path: str) -> AuditFinding:
    text = "an index file without its log: the broker removes it when it starts"
    return AuditFinding(WARNING, "log-missing", partition.topic, partition.partition, path, None, None, None, text)


def _summaries(ranges: Iterable[Range]) -> Iterator[tuple[Key, Summary]]:
    """What one task does: a summary per partition directory it meets."""
    totals: dict[Key, Summary] = {}
    for each in ranges:
        key = (each.log_dir, each.topic, each.partition)
        summary = summarise(each)
        totals[key] = totals[key].add(summary) if key in totals else summary
    return iter(totals.items())


def _result(found: Sequence[Range], summaries: dict[Key, Summary], orphans: Sequence[AuditFinding]) -> Audit:
    rows: dict[Key, PartitionAudit] = {}
    for segment in found:
        key = (segment.log_dir, segment.topic, segment.partition)
        before = rows.get(key) or PartitionAudit(0, 0, summaries[key])
        rows[key] = before._replace(segments=before.segments + 1, size_bytes=before.size_bytes + segment.size)
    counts = Counter((finding.severity, finding.kind) for finding in orphans)
    findings = list(orphans)
    for partition in rows.values():
        compare_edges(partition.summary)
        counts += partition.summary.finding_counts
        findings += partition.summary.findings
    findings.sort(key=attrgetter("place"))
    findings.sort(key=lambda finding: -SEVERITIES.index(finding.severity))
    ordered = sorted(rows, key=lambda key: (key[1], key[2], key[0]))
    return Audit([rows[key] for key in ordered], findings, counts)
