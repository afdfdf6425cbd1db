"""A batch of records that a producer has queued: its contents and its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from kafka_tools.errors import KafkaToolsError
from kafka_tools.records.chain import HEADER_BYTES
from kafka_tools.values import TopicPartition

Header: TypeAlias = tuple[str, bytes | None]
PendingRecord: TypeAlias = tuple[int, bytes | None, bytes | None, Sequence[Header]]
"""(timestamp in ms, key, value, headers), as ``records.build`` takes it."""

MAX_EPOCH = 2**15 - 1


class ProducerIdentity(NamedTuple):
    """A producer id and epoch."""

    producer_id: int
    epoch: int


class Watcher(Protocol):
    """Who waits for the end of many records."""

    def told(self) -> None:
        """A batch with some of the records ended."""


class ProducerBatch:
    """Records of one partition that travel and succeed or fail together. Times are monotonic seconds."""

    def __init__(self, topic_partition: TopicPartition, created_s: float) -> None:
        self.topic_partition = topic_partition
        self.created_s = created_s
        self.records: list[PendingRecord] = []
        self.size_bytes = HEADER_BYTES
        self.callbacks: list[tuple[int, Callable[[ProducerBatch, int], None]]] = []
        self.watched: list[tuple[int, int, Watcher]] = []
        """(start, stop, who wants to know the end of the records between them)"""
        self.attempts = 0
        self.retry_at_s = 0.0
        self.identity: ProducerIdentity | None = None
        self.base_sequence = -1
        self.encoded: bytes | None = None
        self.done = False
        self.error: KafkaToolsError | None = None
        self.unreported = 0
        """Number of records of a failed batch whose failure was not reported."""
        self.base_offset = -1
        self.append_time_ms = -1
        self.parts: tuple[ProducerBatch, ProducerBatch] | None = None
        """The two halves that replaced this batch when the broker found it too large."""

    @property
    def record_count(self) -> int:
        """Number of records that the batch was filled with, even if it has been split."""
        return sum(part.record_count for part in self.parts) if self.parts else len(self.records)

    def locate(self, index: int) -> tuple[ProducerBatch, int]:
        """The batch that now contains record ``index``, and its index there."""
        batch = self
        while batch.parts is not None:
            first, second = batch.parts
            if index < first.record_count:
                batch = first
            else:
                batch, index = second, index - first.record_count
        return batch, index
