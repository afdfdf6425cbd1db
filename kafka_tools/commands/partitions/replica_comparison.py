"""What the replicas of one partition have in common: batches are compared in pairs, by last offset and checksum.

Plain state without I/O. Follows ``ReplicaBuffer.verifyCheckSum`` of Kafka's ReplicaVerificationTool: each batch that
is below the high watermark of every replica is compared with the batch of the first replica.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafka_tools.output.cells import Row
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.values import TopicPartition

MOST_DIFFERENCES = 100
"""Differences that are kept for a partition. All are counted."""


class FetchedReplica(NamedTuple):
    """What one replica returned: its high watermark, and batches from the fetch offset on."""

    high_watermark: int
    records: bytes


class Difference(NamedTuple):
    """Two replicas differ in a batch. ``kind``: ``offset`` or ``checksum``, with the value of each replica."""

    kind: str
    offset: int
    replica: int
    value: int
    other: int
    other_value: int

    def text(self, partition: TopicPartition) -> str:
        """Kafka's line, without the time."""
        if self.kind == "offset":
            return (
                f"partition {partition}: replica {self.replica}'s offset {self.value} doesn't match replica "
                f"{self.other}'s offset {self.other_value}"
            )
        return (
            f"partition {partition} has unmatched checksum at offset {self.offset}; replica {self.replica}'s checksum "
            f"{self.value}; replica {self.other}'s checksum {self.other_value}"
        )


class ComparedPartition:
    """The progress of one partition. ``end_offset``: where ``--once`` ends, None without end."""

    def __init__(
        self, partition: TopicPartition, replicas: tuple[int, ...], offset: int, end_offset: int | None
    ) -> None:
        self.partition = partition
        self.replicas = replicas
        self.start_offset = offset
        self.offset = offset
        self.end_offset = end_offset
        self.lag = 0
        self.batches = 0
        self.differences: list[Difference] = []
        self.difference_count = 0
        self.is_misaligned = False
        """Two replicas have batches with different ends: what follows cannot be compared."""

    @property
    def is_done(self) -> bool:
        return self.is_misaligned or (self.end_offset is not None and self.offset >= self.end_offset)

    def compare(self, fetched: Mapping[int, FetchedReplica]) -> list[Difference]:
        """Compare what all replicas returned, and move behind it. Returns the differences that were found."""
        if set(self.replicas) - fetched.keys():
            return []
        self.lag = max(each.high_watermark for each in fetched.values())
        views = {replica: list(batches(memoryview(fetched[replica].records))) for replica in sorted(self.replicas)}
        found: list[Difference] = []
        for row in zip(*views.values(), strict=False):
            together = dict(zip(views, row, strict=True))
            if any(batch.last_offset >= fetched[replica].high_watermark for replica, batch in together.items()):
                break
            found += self._compare_batch(together)
            if self.is_misaligned:
                break
            self.batches += 1
            self.offset = row[0].last_offset + 1
        self.lag -= self.offset
        self.difference_count += len(found)
        self.differences += found[: MOST_DIFFERENCES - len(self.differences)]
        return found

    def row(self) -> Row:
        """The result."""
        return {
            "topic": self.partition.topic,
            "partition": self.partition.partition,
            "replicas": list(self.replicas),
            "start_offset": self.start_offset,
            "verified_offset": self.offset,
            "batches": self.batches,
            "result": "different" if self.difference_count else "same",
            "difference_count": self.difference_count,
            "differences": [each._asdict() for each in self.differences],
        }

    def _compare_batch(self, together: Mapping[int, BatchView]) -> list[Difference]:
        (first, batch), *others = together.items()
        found: list[Difference] = []
        for other, theirs in others:
            if theirs.last_offset != batch.last_offset:
                self.is_misaligned = True
                ends = batch.last_offset, theirs.last_offset
                return [*found, Difference("offset", self.offset, first, ends[0], other, ends[1])]
            if theirs.crc != batch.crc:
                found.append(Difference("checksum", batch.last_offset, first, batch.crc, other, theirs.crc))
        return found
