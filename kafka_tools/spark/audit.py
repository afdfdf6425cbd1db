"""The audit job: contents of log directories, damage in them, wasted space. Computed by Spark.

This module prints nothing and knows no commands. A small input (``is_small``) is read by the process itself
(``engine.ProcessEngine``). Otherwise executors read ranges of segments (``measures.partition``) and directories
(``findings.files``), and Spark adds up the measures per partition directory. The driver receives a few tens of
kilobytes per partition directory and a limited number of findings, whatever the size of the log. From these the driver
derives the findings that need several partitions or the configs (``findings``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.clock import SystemClock
from kafka_tools.errors import InputError
from kafka_tools.spark.cutting import cut
from kafka_tools.spark.engine import Engine, Key, SparkEngine
from kafka_tools.spark.files import is_remote, modified_ms, normalised
from kafka_tools.spark.findings import files, judgement, unseen
from kafka_tools.spark.findings.copies import Suspect, locate
from kafka_tools.spark.findings.facts import Around, LogDir, PartitionFacts, read_log_dir, seen_until
from kafka_tools.spark.measures.configs import read_configs
from kafka_tools.spark.measures.partition import Depth
from kafka_tools.spark.measures.summary import Summary
from kafka_tools.spark.options import DEFAULT_RANGE_BYTES
from kafka_tools.spark.plan import pack
from kafka_tools.spark.segments import Range, partitions, segments_of
from kafka_tools.spark.selection import Selection
from kafka_tools.spark.store_copy import log_dir_copy
from kafka_tools.storage.findings import ERROR, INFO, NO_PARTITIONS, SEVERITIES, Finding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_TASKS_PER_CORE = 6
_LEAST_RANGE_BYTES = 8 * 1024 * 1024
"""Segments are cut smaller than requested, down to this size, if cores would be idle otherwise."""
_LARGEST_TASK_BYTES = 1024 * 1024 * 1024
SMALL_BYTES = 128 * 1024 * 1024
"""One process reads so much in 2 to 4 s; Spark takes longer to start."""
_DIRECTORY_BYTES = 256 * 1024
"""The cost of a partition directory with its indexes, as a number of bytes to read."""


class AuditOptions(NamedTuple):
    """The input of an audit, and the depth of the check.

    ``topics`` are glob patterns, empty for all. ``records``: decompress and parse them, for everything that is about
    keys, values and headers. ``since_ms``: leave out segments that were last written before. ``range_bytes`` is what
    is read at a time, and the least that a task reads. ``now_ms`` is the time that timestamps are compared with, None
    for the clock's.
    """

    topics: tuple[str, ...] = ()
    records: bool = True
    since_ms: int | None = None
    range_bytes: int = DEFAULT_RANGE_BYTES
    now_ms: int | None = None


class PartitionAudit(NamedTuple):
    """One partition directory: the number, the size and the contents of its segments.

    ``facts`` is None if nothing was read: everything is older than ``since_ms``, or there is no segment.
    """

    segments: int
    size_bytes: int
    summary: Summary
    facts: PartitionFacts | None = None
    left_out: int = 0


class Audit(NamedTuple):
    """The result: partitions sorted by topic, partition and directory; findings worst first.

    ``finding_counts`` counts all findings by (severity, kind), also those that are not listed.
    """

    log_dirs: list[str]
    options: AuditOptions
    around: Around
    partitions: list[PartitionAudit]
    findings: list[Finding]
    finding_counts: Counter[tuple[str, str]]
    transactional_ids: dict[int, str]
    planned_bytes: int = 0
    """Size of the logs that the plan includes."""

    @property
    def worst(self) -> str | None:
        """The worst severity of all findings, None without findings."""
        found = {severity for severity, _ in self.finding_counts}
        return max(found, key=SEVERITIES.index, default=None)

    @property
    def read_bytes(self) -> int:
        """Size of the batches that were read."""
        return sum(each.summary.batch_bytes for each in self.partitions)

    @property
    def nothing_in(self) -> list[Finding]:
        """A finding for each requested directory that contains nothing to audit."""
        return [finding for finding in self.findings if (finding.severity, finding.kind) == (ERROR, NO_PARTITIONS)]


class _Plan:
    """The input of an audit, listed on the driver."""

    def __init__(self, log_dirs: Sequence[str], options: AuditOptions, copies: ExitStack, now_ms: int) -> None:
        self.segments: list[Range] = []
        self.left_out: Counter[Key] = Counter()
        self.left_out_bytes: Counter[Key] = Counter()
        self.directories: list[files.Directory] = []
        self.findings: list[Finding] = []
        self.keys: list[Key] = []
        self.sizes: dict[Key, list[int]] = {}
        self.on_disk: dict[str, str] = {}
        """Log directory -> the local directory with its own files: for one in a store, a copy."""
        self.log_dirs: dict[str, LogDir] = {}
        empty: list[str] = []
        for log_dir in log_dirs:
            before = len(self.keys)
            here = copies.enter_context(_copied(log_dir)) if is_remote(log_dir) else log_dir
            self.on_disk[log_dir] = here
            # Before the partitions, so that a log that is being written contains the offsets of its checkpoint.
            self.log_dirs[log_dir] = read_log_dir(here, now_ms)._replace(path=log_dir)
            for found in partitions(log_dir, Selection(topics=options.topics)):
                key = (log_dir, found.topic, found.partition)
                self.keys.append(key)
                self.directories.append(files.Directory(*key, found.directory))
                for segment in segments_of(log_dir, found):
                    if _is_old(segment, options.since_ms):
                        self.left_out[key] += 1
                        self.left_out_bytes[key] += segment.size
                    else:
                        self.segments.append(segment)
                        self.sizes.setdefault(key, []).append(segment.size)
            if len(self.keys) == before:
                empty.append(log_dir)
            self.findings += (files.in_store(finding, here, log_dir) for finding in files.log_dir_findings(here))
        self.findings += (_nothing_in(log_dir, options.topics, others=bool(self.keys)) for log_dir in empty)


@contextmanager
def _copied(log_dir: str) -> Iterator[str]:
    """A copy of a store's log directory without its partitions. InputError if it cannot be read."""
    with ExitStack() as stack:
        try:
            copy = stack.enter_context(log_dir_copy(log_dir))
        except OSError as error:
            raise InputError(f"log directory {error.filename or log_dir}: {error.strerror or error}") from error
        yield copy


def _nothing_in(log_dir: str, topics: Sequence[str], *, others: bool) -> Finding:
    """The finding for a path without partitions: a mistyped path must not look like a healthy cluster.

    ``others``: other directories contain the requested topics. A broker without partitions of a topic is normal.
    """
    severity = ERROR
    if topics and any(True for _ in partitions(log_dir)):
        text = f"contains no partition of a topic that matches {', '.join(topics)}"
        severity = INFO if others else ERROR
    else:
        text = "contains no partition; pass a directory of the broker's log.dirs"
    return Finding(log_dir, NO_PARTITIONS, text, severity=severity)


def _is_old(segment: Range, since_ms: int | None) -> bool:
    """Whether a segment was last written before ``since_ms``; an active one never is."""
    if since_ms is None or segment.last_segment:
        return False
    written = modified_ms(segment.file)
    return written is not None and written < since_ms


def audit(spark: SparkSession, log_dirs: Sequence[str], options: AuditOptions | None = None) -> Audit:
    """Audit log directories (or single partition directories) that the driver and all executors see.

    InputError for a directory that cannot be read.
    """
    return audit_with(SparkEngine(spark), log_dirs, options or AuditOptions())


def is_small(log_dirs: Sequence[str], options: AuditOptions | None = None) -> bool:
    """Whether so little is to be read, on local disks, that this process finishes before Spark has started.

    InputError for a directory that cannot be read.
    """
    if any(map(is_remote, log_dirs)):
        return False
    options = options or AuditOptions()
    left = SMALL_BYTES
    for log_dir in dict.fromkeys(map(normalised, log_dirs)):
        for found in partitions(log_dir, Selection(topics=options.topics)):
            wanted = (each.size for each in segments_of(log_dir, found) if not _is_old(each, options.since_ms))
            left -= _DIRECTORY_BYTES + sum(wanted)
            if left < 0:
                return False
    return True


def audit_with(engine: Engine, log_dirs: Sequence[str], options: AuditOptions) -> Audit:
    """The same with any engine. InputError as above."""
    with ExitStack() as copies:
        return _audit(engine, log_dirs, options, copies)


def _audit(engine: Engine, log_dirs: Sequence[str], options: AuditOptions, copies: ExitStack) -> Audit:
    now_ms = SystemClock().now_ms() if options.now_ms is None else options.now_ms
    directories = list(dict.fromkeys(map(normalised, log_dirs)))
    plan = _Plan(directories, options, copies, now_ms)
    depth = Depth(now_ms, options.records, digests=len(directories) > 1)
    total = sum(segment.size for segment in plan.segments)
    range_bytes = min(options.range_bytes, max(_LEAST_RANGE_BYTES, total // max(1, engine.parallelism)))
    tasks = pack(
        (part for segment in plan.segments for part in cut(segment, range_bytes)),
        task_bytes(total, range_bytes, engine.parallelism),
    )
    facts: dict[Key, PartitionFacts] = {}
    findings = _Findings(plan.findings)
    if tasks or plan.directories:
        facts, found_in_files = engine.measure(tasks, depth, plan.directories)
        for found in found_in_files:
            findings.extend(found)
    every = list(facts.values())
    around = _around(plan, every, now_ms)
    transactional_ids = judgement.transactional_ids(every)
    for each in every:
        findings.add_counted(each.summary)
        findings.extend(judgement.of_partition(each, around, transactional_ids))
    findings.extend(judgement.of_all(every, around))
    doubtful = judgement.doubtful_copies(every, around)
    if doubtful:
        for differences in engine.each(_locate, doubtful, 1):
            findings.extend(differences)
    rows = [
        _partition(key, plan, facts.get(key)) for key in sorted(plan.keys, key=lambda key: (key[1], key[2], key[0]))
    ]
    findings.extend(_left_out(plan))
    findings.extend(unseen.of_all(tasks, every))
    return Audit(directories, options, around, rows, findings.ordered(), findings.counts, transactional_ids, total)


def task_bytes(total_bytes: int, range_bytes: int, parallelism: int) -> int:
    """Bytes of log that one task reads, range by range: just enough tasks to keep all cores busy to the end.

    Spark and its Python worker take some 50 ms for any task.
    """
    wanted = total_bytes // max(1, parallelism * _TASKS_PER_CORE)
    return max(range_bytes, min(wanted, _LARGEST_TASK_BYTES))


def _around(plan: _Plan, every: Sequence[PartitionFacts], now_ms: int) -> Around:
    by_dir: dict[str, list[PartitionFacts]] = {path: [] for path in plan.log_dirs}
    for facts in every:
        by_dir[facts.log_dir].append(facts)
    log_dirs = {path: seen_until(plan.log_dirs[path], here, now_ms) for path, here in by_dir.items()}
    return Around(now_ms, read_configs(plan.on_disk.values()), log_dirs)


def _locate(suspect: Suspect) -> list[Finding]:
    return list(locate(suspect))


class _Findings:
    """Findings with a bound per kind; all are counted."""

    MOST_OF_A_KIND = 2000

    def __init__(self, first: Iterable[Finding]) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self._listed: Counter[tuple[str, str]] = Counter()
        self._rows: list[Finding] = []
        self.extend(first)

    def extend(self, found: Iterable[Finding]) -> None:
        """Count findings and list them."""
        for finding in found:
            self.counts[finding.severity, finding.kind] += 1
            self._list(finding)

    def add_counted(self, summary: Summary) -> None:
        """Add the findings of a summary, which counts more than it lists."""
        self.counts += summary.finding_counts
        for finding in summary.findings:
            self._list(finding)

    def _list(self, finding: Finding) -> None:
        key = finding.severity, finding.kind
        self._listed[key] += 1
        if self._listed[key] <= self.MOST_OF_A_KIND:
            self._rows.append(finding)

    def ordered(self) -> list[Finding]:
        """The listed ones, worst first, then by place."""
        rows = sorted(self._rows, key=attrgetter("place"))
        return sorted(rows, key=lambda finding: -SEVERITIES.index(finding.severity))


def _partition(key: Key, plan: _Plan, facts: PartitionFacts | None) -> PartitionAudit:
    sizes = plan.sizes.get(key, [])
    summary = facts.summary if facts is not None else Summary(*key)
    left_out = plan.left_out[key]
    size = sum(sizes) + plan.left_out_bytes[key]
    return PartitionAudit(len(sizes) + left_out, size, summary, facts, left_out)


def _left_out(plan: _Plan) -> Iterator[Finding]:
    if plan.left_out:
        total = sum(plan.left_out_bytes.values())
        text = (
            f"{sum(plan.left_out.values())} segments of {total} bytes were not read: their last write was before "
            "--since"
        )
        yield Finding(None, "left-out", text, size_bytes=total)
