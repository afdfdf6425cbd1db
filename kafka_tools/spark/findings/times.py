"""Findings about time: impossible timestamps, and retention that does not work."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from kafka_tools.spark.findings.facts import Around, PartitionFacts
from kafka_tools.spark.findings.producers import duration
from kafka_tools.spark.findings.stakes import by_stake
from kafka_tools.spark.measures.summary import LOST
from kafka_tools.spark.measures.times import DAY_MS, FUTURE, HOUR_MS, SECONDS
from kafka_tools.storage.findings import Finding

DEFAULT_RETENTION_MS = 7 * DAY_MS
RETENTION_SLACK_MS = HOUR_MS
"""Kafka looks every five minutes (log.retention.check.interval.ms); an hour is more than enough for a slow disk."""
CHECK_SLACK_MS = 600_000
"""Bytes written within two of these intervals may have made a partition too large since Kafka's last check."""


class _Segment(NamedTuple):
    file: str
    size_bytes: int
    newest_ms: int | None
    first_offset: int | None
    written_ms: int | None


def timestamp_findings(facts: PartitionFacts, around: Around) -> Iterator[Finding]:
    """One finding per segment and kind of wrong timestamp, at the first such batch."""
    sizes = {piece.file: piece.size for piece in facts.pieces}
    for odd in facts.batches.odd_times.values():
        stake = sizes.get(odd.file, 0)
        kind = "timestamp-future" if odd.way == FUTURE else "timestamp-unit"
        if odd.way == FUTURE:
            ahead = duration(odd.worst_ms - around.now_ms)
            text = f"timestamps up to {odd.worst_ms} ms, {ahead} ahead"
        elif odd.way == SECONDS:
            text = f"timestamps down to {odd.worst_ms} ms, as if in seconds: retention considers them old"
        else:
            text = f"timestamps up to {odd.worst_ms} ms, as if in {odd.way}"
        pinned = "" if odd.way == SECONDS else f"; they keep a segment of {stake} bytes"
        text = f"{odd.batches} batches have {text}{pinned}"
        yield facts.finding(
            kind,
            text,
            path=odd.file,
            position=odd.position,
            offset=odd.offset,
            size_bytes=odd.size_bytes,
            severity=by_stake(kind, stake),
        )


def retention_findings(facts: PartitionFacts, around: Around) -> Iterator[Finding]:
    """Closed segments that retention by time or size should have removed."""
    if around.compacted(facts) and "delete" not in (around.configs.value(facts.topic, "cleanup.policy") or ""):
        return
    if facts.topic.startswith("__"):
        return
    segments = _segments(facts)
    closed = segments[:-1]
    known = around.configs.number(facts.topic, "retention.ms")
    limit_ms = DEFAULT_RETENTION_MS if known is None else known
    if limit_ms >= 0:
        oldest_ms = around.log_dir(facts).as_of_ms - limit_ms - RETENTION_SLACK_MS
        # Retention goes from the oldest segment on, and stops at the first that is still wanted.
        overdue = list(
            itertools.takewhile(lambda each: each.newest_ms is not None and each.newest_ms < oldest_ms, closed)
        )
        if overdue:
            total = sum(each.size_bytes for each in overdue)
            first = overdue[0]
            assert first.newest_ms is not None
            over = duration(around.log_dir(facts).as_of_ms - limit_ms - first.newest_ms)
            kind = "old-data" if known is None else "retention-overdue"
            limit = f"Kafka's default of {duration(limit_ms)}" if known is None else f"retention.ms={limit_ms}"
            text = f"{len(overdue)} segments of {total} bytes are older than {limit}, the oldest by {over}"
            yield _overdue(facts, kind, text, first, total)
    limit_bytes = around.configs.number(facts.topic, "retention.bytes")
    if limit_bytes is not None and limit_bytes >= 0 and closed:
        total = sum(each.size_bytes for each in segments)
        looked_ms = around.log_dir(facts).as_of_ms - CHECK_SLACK_MS
        # A file without a time among files with one was removed since: retention is at work.
        tells = any(each.written_ms is not None for each in segments)
        seen = sum(
            each.size_bytes
            for each in segments
            if (not tells if each.written_ms is None else each.written_ms < looked_ms)
        )
        if seen - closed[0].size_bytes > limit_bytes:
            text = f"the partition has {total} bytes, retention.bytes={limit_bytes}"
            yield _overdue(facts, "retention-overdue", text, closed[0], total - limit_bytes)


def _overdue(facts: PartitionFacts, kind: str, text: str, first: _Segment, size_bytes: int) -> Finding:
    return facts.finding(
        kind,
        text,
        path=first.file,
        position=0,
        offset=first.first_offset,
        size_bytes=size_bytes,
        severity=by_stake(kind, size_bytes),
    )


def idle_findings(facts: PartitionFacts, around: Around) -> Iterator[Finding]:
    """Partitions that are empty, or to which nothing was written for a long time."""
    if facts.topic.startswith("__"):
        return
    path = facts.pieces[-1].file if facts.pieces else None
    if not facts.summary.records:
        if any(kind in LOST for _, kind in facts.summary.finding_counts):
            return  # its contents are unknown
        at = facts.pieces[-1].base_offset if facts.pieces else 0
        text = (
            "the partition never contained a record"
            if at == 0
            else f"the partition contains no record; it ended at {at}"
        )
        yield facts.finding("empty-partition", text, path=path, offset=at)
        return
    newest = facts.summary.last_timestamp_ms
    as_of_ms = around.log_dir(facts).as_of_ms
    if newest is not None and newest > 0 and as_of_ms - newest > 30 * DAY_MS:
        text = f"the newest record is {duration(as_of_ms - newest)} old"
        yield facts.finding("idle-partition", text, path=path, offset=facts.summary.last_offset)


def _segments(facts: PartitionFacts) -> list[_Segment]:
    """The segments of a partition, from the ranges that they were read in."""
    found = []
    for file, group in itertools.groupby(facts.pieces, key=lambda piece: piece.file):
        pieces = list(group)
        times = [piece.newest_ms for piece in pieces if piece.newest_ms is not None]
        offsets = [piece.first_offset for piece in pieces if piece.first_offset is not None]
        newest = max(times) if times else None
        offset = min(offsets) if offsets else None
        found.append(_Segment(file, pieces[0].size, newest, offset, pieces[-1].written_ms))
    return found
