"""Findings about copies of one partition on several brokers, and about bytes beyond the recovery point."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kafka_tools.spark.findings.facts import Around, PartitionFacts
from kafka_tools.spark.measures.summary import LOST
from kafka_tools.spark.scan import HeaderRun, scan_range
from kafka_tools.spark.segments import partitions, segments_of
from kafka_tools.spark.selection import Selection
from kafka_tools.storage.findings import Finding
from kafka_tools.values import TopicPartition

_UNFLUSHED_BYTES = 64 * 1024 * 1024


class Suspect(NamedTuple):
    """Two copies that differ somewhere in a stretch of offsets, end excluded."""

    topic: str
    partition: int
    log_dirs: tuple[str, str]
    start: int
    end: int


def suspects(copies: Sequence[PartitionFacts], around: Around) -> Iterator[Suspect]:
    """Batches in which copies of one partition differ from the first copy. Differences through compaction do not count,
    because each broker compacts by itself.
    """
    first, *others = copies
    if any(around.compacted(facts) for facts in copies):
        return
    for other in others:
        bounds = [
            (facts.summary.first_offset, around.committed(facts)) for facts in (first, other) if facts.next_offset
        ]
        if len(bounds) < 2:
            continue
        start = max(low or 0 for low, _ in bounds)
        end = min(high for _, high in bounds)
        found = first.batches.digests.first_difference(other.batches.digests, start, end)
        if found is not None:
            yield Suspect(first.topic, first.partition, (first.log_dir, other.log_dir), *found)


def locate(suspect: Suspect) -> Iterator[Finding]:
    """The first batch of the second copy that is not the first one's. Reads only headers, of the segments concerned."""
    read = [_batches(suspect, log_dir) for log_dir in suspect.log_dirs]
    (mine, my_start), (theirs, their_start) = read
    # Retention may have gone further in one copy by now, in the middle of this.
    first = max(my_start, their_start)
    for key in sorted(key for key in mine.keys() | theirs.keys() if key[0] >= first):
        if mine.get(key) is None or theirs.get(key) is None:
            place = theirs.get(key) or mine[key]
            # The copy with a batch that the other has not (or has with other bytes) is the one that is shown.
            log_dir, other = suspect.log_dirs if key not in theirs else suspect.log_dirs[::-1]
            text = f"the batch at offset {key[0]} in {other} differs from the one in {log_dir}"
            path, position = place
            found = Finding(path, "replica-divergence", text, position, key[0])
            yield found._replace(topic=suspect.topic, partition=suspect.partition)
            return


def _batches(suspect: Suspect, log_dir: str) -> tuple[dict[tuple[int, int, int], tuple[str, int]], int]:
    """((first offset, last offset, CRC) -> (file, position) of the batches that start in the stretch, from which offset
    on all are there).
    """
    found: dict[tuple[int, int, int], tuple[str, int]] = {}
    complete_from = suspect.end
    number = suspect.partition, suspect.partition
    for partition in partitions(log_dir, Selection(names=frozenset((suspect.topic,)), partitions=(number,))):
        every = list(segments_of(log_dir, partition))
        complete_from = every[0].base_offset if every else suspect.end
        for segment, following in zip(every, [*every[1:], None], strict=True):
            past = following is not None and following.base_offset <= suspect.start
            if past or segment.base_offset >= suspect.end:
                continue
            for part in scan_range(segment, check_crc=False, count_legacy=False):
                if isinstance(part, HeaderRun):
                    _note(part, segment.file, suspect, found)
                elif any(row["damage"] in LOST for row in part if row.get("damage")):
                    complete_from = suspect.end if following is None else following.base_offset
    return found, complete_from


def _note(run: HeaderRun, file: str, suspect: Suspect, found: dict[tuple[int, int, int], tuple[str, int]]) -> None:
    headers = run.headers
    firsts, lasts = headers.column("base_offset"), headers.last_offsets
    for at in np.flatnonzero((firsts >= suspect.start) & (firsts < suspect.end)).tolist():
        key = int(firsts[at]), int(lasts[at]), int(headers.fields["crc"][at])
        found[key] = file, int(headers.positions[at])


def behind_findings(copies: Sequence[PartitionFacts]) -> Iterator[Finding]:
    """Copies that end at different offsets."""
    ends = sorted((facts.next_offset or 0, facts.log_dir) for facts in copies)
    if ends[0][0] != ends[-1][0]:
        text = f"the copy in {ends[0][1]} ends at {ends[0][0]}, the one in {ends[-1][1]} at {ends[-1][0]}"
        yield copies[0].finding("replica-behind", text, offset=ends[0][0])


def unflushed_findings(partitions: Sequence[PartitionFacts], around: Around) -> Iterator[Finding]:
    """Per log directory: bytes beyond recovery points, if they are many or the broker crashed."""
    totals: dict[str, tuple[int, int]] = {}
    for facts in partitions:
        size = unflushed_bytes(facts, around)
        if size:
            count, total = totals.get(facts.log_dir, (0, 0))
            totals[facts.log_dir] = count + 1, total + size
    for log_dir, (count, total) in sorted(totals.items()):
        if total >= _UNFLUSHED_BYTES or not around.log_dirs[log_dir].clean_shutdown:
            text = f"{total} bytes in {count} partitions are beyond their recovery points"
            file = os.path.join(log_dir, "recovery-point-offset-checkpoint")
            yield Finding(file, "unflushed", text, size_bytes=total)


def unflushed_bytes(facts: PartitionFacts, around: Around) -> int | None:
    """Bytes from the recovery point on, by whole ranges; None where no recovery point is known."""
    points = around.log_dir(facts).recovery_points
    if points is None:
        return None
    point = points.get(TopicPartition(facts.topic, facts.partition), 0)
    return sum(
        piece.end - piece.start for piece in facts.pieces if piece.next_offset is not None and piece.next_offset > point
    )
