"""The data that a fetch returned for one partition: batches cut into records, without those of aborted transactions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.errors import CorruptBatch
from kafka_tools.protocol.enums import ControlRecordType
from kafka_tools.protocol.messages.fetch import FetchResponse
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.control import control_type
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.clients.fetching.polled_columns import PolledColumns

PartitionData = FetchResponse.FetchableTopicResponse.PartitionData


class ConsumedRecord(NamedTuple):
    """A record as a consumer hands it out.

    ``timestamp_type`` is 0 (create time), 1 (log append time) or -1 (magic 0 has no timestamps);
    ``leader_epoch`` is -1 where the batch does not say.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int


class Chunk:
    """The data of one fetch for one partition, decoded batch by batch as records are returned."""

    def __init__(
        self, topic_partition: TopicPartition, offset: int, data: PartitionData, settings: ConsumerSettings
    ) -> None:
        self.topic_partition = topic_partition
        self.position = offset
        self.exhausted = False
        self.high_watermark = data.high_watermark
        self.leader_epoch = -1
        """Leader epoch of the last batch that was taken as columns."""
        self._failure: CorruptBatch | None = None
        self._check_crcs = settings.check_crcs
        self._aborted = _AbortedTransactions(data) if settings.read_committed else None
        self._batches = self._whole_batches(memoryview(data.records or b""))
        self._ahead: deque[BatchView] = deque()
        """Batches that were checked but not returned yet."""
        self._failure_ahead: CorruptBatch | None = None
        self._hidden_end = offset
        """The offset after the last batch without records for applications."""
        self._current: BatchView | None = None
        self._records: list[ConsumedRecord] = []
        self._next = 0
        self._batch_end = offset

    def take(self, limit: int) -> list[ConsumedRecord]:
        """Up to ``limit`` records of one batch; ``position`` moves past them and past hidden records.

        A batch that cannot be read raises CorruptBatch, again each time: nothing is skipped unless someone seeks.
        """
        if self._failure is not None:
            raise self._failure
        try:
            return self._take(limit)
        except CorruptBatch as error:
            self._failure = self._corrupt(str(error))
            raise self._failure from error

    def take_columns(self) -> PolledColumns | None:
        """The records of the next batches, as many as are decoded together; None if there is none. Raises as ``take``.

        ``position`` moves past them.
        """
        if self._failure is not None:
            raise self._failure
        try:
            return self._take_columns()
        except CorruptBatch as error:
            self._failure = self._corrupt(str(error))
            raise self._failure from error

    def _take(self, limit: int) -> list[ConsumedRecord]:
        while self._next >= len(self._records):
            batch = self._visible_batch()
            if batch is None:
                self.exhausted = True
                return []
            self._current = batch
            self._records, self._next = self._decode(batch), 0
            self._batch_end = batch.last_offset + 1
        end = self._next + limit
        taken = self._records[self._next : end]
        self._next = end
        self.position = self._batch_end if end >= len(self._records) else taken[-1].offset + 1
        return taken

    def _take_columns(self) -> PolledColumns | None:
        from kafka_tools.clients.fetching.polled_columns import MOST_BYTES, columns_of

        if self._current is not None and self._next < len(self._records):
            self._ahead.appendleft(self._current)
        self._current, self._records, self._next = None, [], 0
        self._look_ahead(MOST_BYTES)
        if not self._ahead:
            self._visible_batch()  # raises a failure, or moves the position to the end
            self.exhausted = True
            return None
        columns, count = columns_of(self.topic_partition, tuple(self._ahead), self.position)
        taken = [self._ahead.popleft() for _ in range(count)]
        self.position = self._batch_end = max(self.position, taken[-1].last_offset + 1)
        self.leader_epoch = taken[-1].partition_leader_epoch
        return columns

    def _look_ahead(self, most_bytes: int) -> None:
        """Check further batches until those that are not returned have ``most_bytes``."""
        size_bytes = sum(batch.size_bytes for batch in self._ahead)
        while size_bytes < most_bytes and self._failure_ahead is None:
            try:
                batch = next(self._batches, None)
                if batch is None:
                    return
                if self._is_hidden(batch):
                    self._hidden_end = batch.last_offset + 1
                    continue
            except CorruptBatch as error:
                self._failure_ahead = error
                return
            self._ahead.append(batch)
            size_bytes += batch.size_bytes

    def _visible_batch(self) -> BatchView | None:
        """The next batch whose records may be returned; None at the end. ``position`` moves past those before it."""
        self.position = max(self.position, self._batch_end)
        while not self._ahead:
            self.position = max(self.position, self._hidden_end)
            if self._failure_ahead is not None:
                raise self._failure_ahead
            batch = next(self._batches, None)
            if batch is None:
                return None
            if not self._is_hidden(batch):
                return batch
            self._hidden_end = batch.last_offset + 1
        return self._ahead.popleft()

    def _is_hidden(self, batch: BatchView) -> bool:
        """Whether the batch has no records for applications. Raises CorruptBatch if its bytes are damaged."""
        if self._check_crcs and not batch.crc_ok():
            raise CorruptBatch(f"batch at offset {batch.base_offset}: the CRC does not match")
        return (self._aborted is not None and self._aborted.hides(batch)) or batch.is_control

    def _decode(self, batch: BatchView) -> list[ConsumedRecord]:
        topic, partition = self.topic_partition
        position, kind, epoch = self.position, batch.timestamp_type, batch.partition_leader_epoch
        new = tuple.__new__
        return [
            new(ConsumedRecord, (topic, partition, offset, timestamp, kind, key, value, headers, epoch))
            for offset, timestamp, key, value, headers, _, _, _ in batch.records()
            if offset >= position
        ]

    def _whole_batches(self, data: memoryview) -> Iterator[BatchView]:
        """The batches that arrived whole: brokers cut the answer at a size, through a batch if need be."""
        batch = None
        for batch in batches(data):
            yield batch
        if batch is None and len(data):
            raise CorruptBatch(
                "the batch at this offset is larger than max.partition.fetch.bytes, and the broker sent only a "
                "part of it"
            )

    def _corrupt(self, what: str) -> CorruptBatch:
        return CorruptBatch(
            f"{self.topic_partition} at offset {self.position}: {what}",
            hint="seek past the record to continue consumption",
        )


class _AbortedTransactions:
    """Which batches of a fetch belong to transactions that were aborted."""

    def __init__(self, data: PartitionData) -> None:
        self._starts = deque(sorted((row.first_offset, row.producer_id) for row in data.aborted_transactions or ()))
        self._producers: set[int] = set()

    def hides(self, batch: BatchView) -> bool:
        """Whether the records of ``batch`` must not be handed out; batches come in order of offset."""
        while self._starts and self._starts[0][0] <= batch.last_offset:
            self._producers.add(self._starts.popleft()[1])
        if not batch.is_transactional:
            return False
        if batch.is_control:
            if batch.producer_id in self._producers and _is_abort(batch):
                self._producers.discard(batch.producer_id)
            return True
        return batch.producer_id in self._producers


def _is_abort(batch: BatchView) -> bool:
    """Whether a control batch is an abort marker."""
    return any(control_type(record.key) == ControlRecordType.ABORT for record in islice(batch.records(), 1))
