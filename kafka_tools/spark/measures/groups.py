"""Consumer groups and transactional ids, as far as a partition of an internal topic contains them.

Keys of ``__consumer_offsets`` repeat with every commit, so each different key of a window is decoded once. A record
that cannot be decoded (written by a newer Kafka, or damaged) counts as ``unknown``. Memory is bounded, because only the
busiest groups are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafka_tools.errors import KafkaToolsError
from kafka_tools.protocol.codec import decode_versioned
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, TRANSACTION_STATE
from kafka_tools.protocol.stored import offset_commit, transaction_log

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.records.record_columns import RecordColumns

KEPT = 2000
_TRANSACTION_VERSIONS = dict.fromkeys((0, 1), transaction_log.TransactionLogValue)


class GroupCommits(NamedTuple):
    """A consumer group: offset commits (with tombstones), bytes of keys and values, first and last time in ms."""

    commits: int
    tombstones: int
    size_bytes: int
    first_ms: int
    last_ms: int

    def plus(self, other: GroupCommits) -> GroupCommits:
        """Both."""
        return GroupCommits(
            self.commits + other.commits,
            self.tombstones + other.tombstones,
            self.size_bytes + other.size_bytes,
            min(self.first_ms, other.first_ms),
            max(self.last_ms, other.last_ms),
        )


class InternalMeasures:
    """Groups of the offsets topic, and the transactional ids by producer id of the transactions topic."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupCommits] = {}
        self.dropped_groups = 0
        self.transactional_ids: dict[int, str] = {}
        self.unknown = 0

    def add(self, other: InternalMeasures) -> None:
        """Add the records of other ranges."""
        for name, group in other.groups.items():
            self._see_group(name, group)
        self.dropped_groups += other.dropped_groups
        self.transactional_ids |= other.transactional_ids
        self.unknown += other.unknown
        self._shrink()

    def add_columns(self, topic: str, columns: RecordColumns) -> None:
        """Count the records of an internal topic; ignore records of other topics."""
        if topic not in (CONSUMER_OFFSETS, TRANSACTION_STATE) or not columns.record_count:
            return
        by_key: dict[bytes, list[int]] = {}
        spans = zip(columns.key_start.tolist(), columns.key_size.tolist(), strict=True)
        for row, (start, size) in enumerate(spans):
            if size >= 2:
                by_key.setdefault(bytes(columns.arena[start : start + size]), []).append(row)
        see = self._see_commits if topic == CONSUMER_OFFSETS else self._see_transactions
        for key, rows in by_key.items():
            try:
                see(key, columns, np.array(rows))
            except (KafkaToolsError, ValueError):
                self.unknown += len(rows)
        self._shrink()

    def _see_commits(self, key: bytes, columns: RecordColumns, rows: NDArray[np.int64]) -> None:
        if int.from_bytes(key[:2], "big") not in offset_commit.KEYS:
            return  # a group's own record
        _, found = decode_versioned(offset_commit.KEYS, key)
        assert isinstance(found, offset_commit.OffsetCommitKey | offset_commit.LegacyOffsetCommitKey)
        sizes = columns.value_size[rows]
        times = columns.timestamp[rows]
        total = int(np.maximum(sizes, 0).sum()) + len(rows) * len(key)
        tombstones = int(np.count_nonzero(sizes < 0))
        self._see_group(found.group, GroupCommits(len(rows), tombstones, total, int(times.min()), int(times.max())))

    def _see_transactions(self, key: bytes, columns: RecordColumns, rows: NDArray[np.int64]) -> None:
        _, name = decode_versioned(transaction_log.KEYS, key)
        assert isinstance(name, transaction_log.TransactionLogKey)
        for row in rows.tolist():
            start, size = int(columns.value_start[row]), int(columns.value_size[row])
            if size >= 0 and len(self.transactional_ids) < KEPT:
                _, state = decode_versioned(_TRANSACTION_VERSIONS, bytes(columns.arena[start : start + size]))
                assert isinstance(state, transaction_log.TransactionLogValue)
                self.transactional_ids[state.producer_id] = name.transactional_id

    def _see_group(self, name: str, group: GroupCommits) -> None:
        before = self.groups.get(name)
        self.groups[name] = before.plus(group) if before else group

    def _shrink(self) -> None:
        if len(self.groups) > KEPT:
            kept = sorted(self.groups.items(), key=lambda item: (-item[1].size_bytes, item[0]))[:KEPT]
            self.dropped_groups += len(self.groups) - KEPT
            self.groups = dict(kept)
