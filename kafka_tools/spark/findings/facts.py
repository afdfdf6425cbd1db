"""The facts behind the findings: bounded numbers per partition directory, topic configs, checkpoints."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import zip_longest
from typing import NamedTuple

from kafka_tools.errors import KafkaToolsError
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, TRANSACTION_STATE
from kafka_tools.spark.files import is_remote
from kafka_tools.spark.measures.batches import BatchMeasures, Piece
from kafka_tools.spark.measures.configs import Configs
from kafka_tools.spark.measures.groups import InternalMeasures
from kafka_tools.spark.measures.partition import PartitionMeasures
from kafka_tools.spark.measures.producers import Anomaly, ProducerSpan, fold
from kafka_tools.spark.measures.records import RecordMeasures
from kafka_tools.spark.measures.sketches import HotKey
from kafka_tools.spark.measures.summary import Summary, compare_edges
from kafka_tools.storage import names
from kafka_tools.storage.checkpoints import read_offset_checkpoint
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.layout import ListedAgain
from kafka_tools.values import TopicPartition

PRODUCERS_LISTED = 20
OPEN_LISTED = 200


class Keys(NamedTuple):
    """Keys of a partition directory: estimates unless ``exact`` (see ``KeySample``)."""

    distinct: int
    exact: bool
    kept_bytes: int
    newest_is_tombstone: int
    hot: list[HotKey]
    hot_missed: int


class Producers(NamedTuple):
    """Producers of a partition directory: how many, those with the most bytes, open transactions, what is odd."""

    different: int
    unfollowed: int
    top: list[ProducerSpan]
    open: list[ProducerSpan]
    open_count: int
    anomalies: list[Anomaly]
    anomaly_count: int


class PartitionFacts(NamedTuple):
    """The facts of one partition directory; ``records`` without its key structures (they are in ``keys``)."""

    summary: Summary
    batches: BatchMeasures
    pieces: list[Piece]
    producers: Producers
    records: RecordMeasures
    keys: Keys
    internal: InternalMeasures

    @property
    def topic(self) -> str:
        return self.summary.topic

    @property
    def partition(self) -> int:
        return self.summary.partition

    @property
    def log_dir(self) -> str:
        return self.summary.log_dir

    @property
    def next_offset(self) -> int | None:
        """The offset after the last sound batch, None without any."""
        return None if self.summary.last_offset is None else self.summary.last_offset + 1

    def finding(
        self,
        kind: str,
        text: str,
        *,
        path: str | None = None,
        position: int | None = None,
        offset: int | None = None,
        size_bytes: int | None = None,
        severity: str | None = None,
    ) -> Finding:
        """A finding about this partition; ``severity`` None: that of the kind."""
        place = self.topic, self.partition, size_bytes
        return Finding(path, kind, text, position, offset, severity, *place)


def finish(found: PartitionMeasures) -> PartitionFacts:
    """The facts of a whole partition directory: what goes back to the driver."""
    compare_edges(found.summary, found.batches.pieces)
    pieces = _with_absent(sorted(found.batches.pieces, key=lambda piece: (piece.base_offset, piece.start)))
    lost = {(piece.base_offset, piece.start) for piece in pieces if piece.lost}
    whole = fold([each._replace(lost=(each.base_offset, each.start) in lost) for each in found.producers])
    every = list(whole.producers.values())
    opened = sorted((each for each in every if each.opening), key=lambda each: each.opening or (0,))
    producers = Producers(
        len(every),
        whole.unfollowed,
        sorted(every, key=lambda each: (-each.size_bytes, each.producer_id))[:PRODUCERS_LISTED],
        opened[:OPEN_LISTED],
        len(opened),
        whole.anomalies,
        whole.anomaly_count,
    )
    sample, hot = found.records.keys, found.records.hot
    keys = Keys(
        sample.distinct,
        sample.exact,
        sample.kept_bytes,
        sample.newest_is_tombstone,
        list(hot.top())[:5],
        hot.missed,
    )
    found.records.drop_keys()
    return PartitionFacts(found.summary, found.batches, pieces, producers, found.records, keys, found.internal)


def _with_absent(pieces: list[Piece]) -> list[Piece]:
    """The pieces, those lost that a segment follows which was not listed: compaction was replacing it just then."""
    if not pieces or is_remote(pieces[0].file):
        return pieces
    listed_again = ListedAgain(os.path.dirname(pieces[0].file))
    found = []
    for piece, following in zip_longest(pieces, pieces[1:]):
        ends_before = following is not None and (piece.next_offset or 0) < following.base_offset
        absent = ends_before and listed_again.has_between(piece.base_offset, following.base_offset)
        found.append(piece._replace(lost=True) if absent else piece)
    return found


class LogDir(NamedTuple):
    """A log directory's own files: checkpoints by partition (None where there is none), and how it was left.

    ``as_of_ms``: until when its broker was seen at work; the time that waiting is counted up to.
    """

    path: str
    as_of_ms: int
    recovery_points: dict[TopicPartition, int] | None
    log_starts: dict[TopicPartition, int]
    high_watermarks: dict[TopicPartition, int]
    cleaner_offsets: dict[TopicPartition, int]
    clean_shutdown: bool


class Around(NamedTuple):
    """The facts beside the partitions: time of the audit, topic configs, log directories by path."""

    now_ms: int
    configs: Configs
    log_dirs: dict[str, LogDir]

    def log_dir(self, facts: PartitionFacts) -> LogDir:
        """The log directory that a partition directory was found in."""
        return self.log_dirs[facts.log_dir]

    def committed(self, facts: PartitionFacts) -> int:
        """The offset before which a copy's batches are the same as the leader's: its high watermark, if known."""
        end = facts.next_offset or 0
        known = self.log_dir(facts).high_watermarks.get(TopicPartition(facts.topic, facts.partition))
        return end if known is None else min(end, known)

    def compacted(self, facts: PartitionFacts) -> bool:
        """Whether a topic is compacted: by its config, its name, the cleaner's checkpoint, or what compaction left."""
        known = self.configs.compacted(facts.topic)
        if known is not None:
            return known
        if facts.topic in (CONSUMER_OFFSETS, TRANSACTION_STATE):
            return True
        if TopicPartition(facts.topic, facts.partition) in self.log_dir(facts).cleaner_offsets:
            return True
        return bool(facts.batches.horizons or facts.batches.emptied or facts.batches.thinned)


def read_log_dir(path: str, now_ms: int) -> LogDir:
    """The facts of a log directory; files that are missing or unreadable say nothing (``files`` reports them)."""

    def offsets(name: str) -> dict[TopicPartition, int] | None:
        try:
            return read_offset_checkpoint(os.path.join(path, name))
        except (OSError, KafkaToolsError):
            return None

    recovery, starts, watermarks, cleaner = names.OFFSET_CHECKPOINTS
    times = [-1]
    for name in names.OFFSET_CHECKPOINTS:
        try:
            times.append(int(os.stat(os.path.join(path, name)).st_mtime * 1000))
        except OSError:
            continue
    return LogDir(
        path,
        max(time for time in times if time <= now_ms),
        offsets(recovery),
        offsets(starts) or {},
        offsets(watermarks) or {},
        offsets(cleaner) or {},
        os.path.exists(os.path.join(path, names.CLEAN_SHUTDOWN)),
    )


def seen_until(log_dir: LogDir, partitions: Iterable[PartitionFacts], now_ms: int) -> LogDir:
    """The log directory with ``as_of_ms`` moved on to the newest timestamp and the newest write that are not ahead."""
    newest = log_dir.as_of_ms
    for facts in partitions:
        newest = max(newest, facts.batches.seen_ms)
        for piece in facts.pieces:
            if piece.written_ms is not None and newest < piece.written_ms <= now_ms:
                newest = piece.written_ms
    return log_dir._replace(as_of_ms=newest)
