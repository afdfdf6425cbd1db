"""The data that a share fetch returned for one partition: the acquired records, and the offsets that have none.

The batches are whole and can contain records that other members hold. Follows ``ShareCompletedFetch`` of Kafka's Java
client: an acquired offset without record is a gap, and a batch that cannot be read is rejected.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from kafka_tools.clients.sharing.held_records import GAP, Acknowledged, AcknowledgeType, SharedRecord
from kafka_tools.errors import CorruptBatch
from kafka_tools.protocol.messages.share_fetch import ShareFetchResponse
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.values import TopicPartition

AcquiredPartition = ShareFetchResponse.ShareFetchableTopicResponse.PartitionData


class AcquiredData:
    """What one member acquired with one fetch. ``expires_s``: when the locks end, in monotonic seconds."""

    def __init__(
        self, topic_partition: TopicPartition, data: AcquiredPartition, *, check_crcs: bool, expires_s: float
    ) -> None:
        self.expires_s = expires_s
        self.without_record: list[Acknowledged] = []
        """Offsets to acknowledge without asking the application."""
        self.failure: CorruptBatch | None = None
        """The first batch that could not be read; raised once the records before it were returned."""
        self._check_crcs = check_crcs
        self._topic_partition = topic_partition
        self._records = deque(self._matched(data))

    @property
    def is_empty(self) -> bool:
        return not self._records

    def take(self, limit: int) -> list[SharedRecord]:
        """Up to ``limit`` records."""
        return [self._records.popleft() for _ in range(min(limit, len(self._records)))]

    def _matched(self, data: AcquiredPartition) -> Iterator[SharedRecord]:
        """The records in the acquired ranges; everything else in the ranges goes to ``without_record``."""
        records = deque(self._decoded(data))
        rejected = deque(self._rejected)
        for row in sorted(data.acquired_records, key=lambda each: each.first_offset):
            position, end = row.first_offset, row.last_offset
            while records and records[0].offset < position:
                records.popleft()
            while rejected and rejected[0][1] < position:
                rejected.popleft()
            while position <= end:
                bad = rejected[0] if rejected and rejected[0][0] <= end else None
                record = records[0] if records and records[0].offset <= end else None
                if bad is not None and (record is None or bad[0] <= record.offset):
                    self._gap(position, bad[0] - 1)
                    last = min(bad[1], end)
                    kind = AcknowledgeType.REJECT
                    self.without_record.append(Acknowledged(max(position, bad[0]), last, kind))
                    if bad[1] <= end:
                        rejected.popleft()
                    position = last + 1
                elif record is not None:
                    self._gap(position, record.offset - 1)
                    yield records.popleft()._replace(delivery_count=row.delivery_count)
                    position = record.offset + 1
                else:
                    self._gap(position, end)
                    position = end + 1

    def _gap(self, first: int, last: int) -> None:
        if first <= last:
            self.without_record.append(Acknowledged(first, last, GAP))

    def _decoded(self, data: AcquiredPartition) -> list[SharedRecord]:
        self._rejected: list[tuple[int, int]] = []
        found: list[SharedRecord] = []
        if data.records is None:
            return found
        try:
            for batch in batches(memoryview(data.records)):
                try:
                    if not batch.is_control:
                        found += self._records_of(batch)
                except CorruptBatch as error:
                    self._rejected.append((batch.base_offset, batch.last_offset))
                    self._fail(batch.base_offset, str(error))
        except CorruptBatch as error:
            last = found[-1].offset + 1 if found else 0
            self._rejected.append((last, 2**63 - 1))
            self._fail(last, str(error))
        return found

    def _records_of(self, batch: BatchView) -> list[SharedRecord]:
        if self._check_crcs and not batch.crc_ok():
            raise CorruptBatch("the CRC does not match")
        topic, partition = self._topic_partition
        kind, epoch = batch.timestamp_type, batch.partition_leader_epoch
        return [
            SharedRecord(topic, partition, offset, timestamp, kind, key, value, headers, epoch, 0)
            for offset, timestamp, key, value, headers, _, _, _ in batch.records()
        ]

    def _fail(self, offset: int, what: str) -> None:
        if self.failure is None:
            self.failure = CorruptBatch(
                f"{self._topic_partition} at offset {offset}: {what}",
                hint="the share consumer rejects these records, so nobody gets them again",
            )
