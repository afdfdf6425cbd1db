"""What ``Producer.send_many`` returns: one result for many records, with the failures by index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from kafka_tools.clients.producing.batch import ProducerBatch
from kafka_tools.errors import KafkaToolsError


class DeliveredRecords(NamedTuple):
    """Acknowledged records that are next to each other in a partition.

    ``offset`` is the offset of the first, -1 if the broker did not return it (acks=0, a duplicate). ``indexes`` are the
    positions of the records in the argument of ``send_many``, in the order of their offsets.
    """

    topic: str
    partition: int
    offset: int
    indexes: Sequence[int]


class RecordsFailed(KafkaToolsError):
    """``Deliveries.result``: some records failed. ``failures`` has the error of each, by index."""

    def __init__(self, failures: dict[int, KafkaToolsError], count: int) -> None:
        index, first = next(iter(failures.items()))
        failed = f"{len(failures)} of {count} records failed, records[{index}]" if count > 1 else "the record failed"
        super().__init__(f"{failed}: {first}", hint=first.hint)
        self.failures = failures


class Run(NamedTuple):
    """Records of one call that were queued one after another in a batch. ``start`` is the place of the first there."""

    batch: ProducerBatch
    start: int
    indexes: Sequence[int]

    def parts(self) -> Iterator[Run]:
        """The same records in the batches that now contain them: a batch that was too large is split."""
        if self.batch.parts is None:
            yield self
            return
        first, second = self.batch.parts
        before = first.record_count
        cut = min(max(before - self.start, 0), len(self.indexes))
        if cut:
            yield from Run(first, self.start, self.indexes[:cut]).parts()
        if cut < len(self.indexes):
            yield from Run(second, max(self.start - before, 0), self.indexes[cut:]).parts()

    @property
    def done(self) -> bool:
        """Whether each record was acknowledged or has failed."""
        return self.batch.done if self.batch.parts is None else all(part.batch.done for part in self.parts())


class Deliveries:
    """The result of the records of one ``send_many``, each named by its index in the argument."""

    def __init__(self, producer: WaitsForMany, count: int, on_delivery: Callable[[Deliveries], object] | None) -> None:
        self._producer = producer
        self._count = count
        self._on_delivery = on_delivery
        self._is_queued = False
        """Whether every record is in a run."""
        self._runs: list[Run] = []
        self._first_open = 0
        """The runs before this one are done."""

    def __len__(self) -> int:
        """The number of records."""
        return self._count

    @property
    def done(self) -> bool:
        """Whether every record was acknowledged or has failed."""
        runs = self._runs
        while self._first_open < len(runs) and runs[self._first_open].done:
            self._first_open += 1
        return self._is_queued and self._first_open >= len(runs)

    def failures(self) -> dict[int, KafkaToolsError]:
        """The error of each record that has failed so far, by index, ascending."""
        failed = [part for part in self._parts() if part.batch.error is not None]
        for part in failed:
            self._producer.note_seen(part.batch)
        found = {index: part.batch.error for part in failed for index in part.indexes}
        return {index: error for index in sorted(found) if (error := found[index]) is not None}

    def delivered(self) -> list[DeliveredRecords]:
        """The records that were acknowledged so far, by the batches in which they were sent, the first index first."""
        found = [
            DeliveredRecords(*batch.topic_partition, batch.base_offset + start if batch.base_offset >= 0 else -1, each)
            for batch, start, each in self._parts()
            if batch.done and batch.error is None
        ]
        return sorted(found, key=lambda records: records.indexes[0])

    def result(self, timeout_s: float | None = None) -> list[DeliveredRecords]:
        """Wait until every record is acknowledged (at most ``timeout_s``), and return ``delivered()``.

        Raises RecordsFailed if records failed, and DeadlineExceeded when ``timeout_s`` passed first.
        """
        self._producer.wait_for(self, timeout_s)
        failures = self.failures()
        if failures:
            raise RecordsFailed(failures, self._count)
        return self.delivered()

    def _parts(self) -> Iterator[Run]:
        for run in list(self._runs):
            yield from run.parts()

    # For the producer

    @property
    def waits_for(self) -> str:
        """For the error of a wait."""
        return f"{self._count} records to be acknowledged"

    def add(self, batch: ProducerBatch, start: int, indexes: Sequence[int]) -> None:
        """Records were queued."""
        if self._on_delivery is not None:
            batch.watched.append((start, start + len(indexes), self))
        before = self._runs[-1] if self._runs else None
        if before is not None and before.batch is batch and before.start + len(before.indexes) == start:
            self._runs[-1] = Run(batch, before.start, _joined(before.indexes, indexes))
        else:
            self._runs.append(Run(batch, start, indexes))

    @property
    def queued(self) -> bool:
        """Whether any record was queued."""
        return bool(self._runs)

    def not_queued(self) -> list[int]:
        """The indexes of the records that were not queued."""
        known = {index for run in self._runs for index in run.indexes}
        return [index for index in range(self._count) if index not in known]

    def all_queued(self) -> None:
        """No record is added any more."""
        self._is_queued = True

    def told(self) -> None:
        """A batch ended: call the user's function if it was the last one."""
        if self._on_delivery is not None and self.done:
            on_delivery, self._on_delivery = self._on_delivery, None
            on_delivery(self)
            for part in self._parts():
                self._producer.note_seen(part.batch)


def _joined(left: Sequence[int], right: Sequence[int]) -> Sequence[int]:
    if isinstance(left, range) and isinstance(right, range) and left.stop == right.start:
        return range(left.start, right.stop)
    return [*left, *right]


class WaitsForMany(Protocol):
    """The producer, as far as ``Deliveries`` needs it."""

    def wait_for(self, delivery: Deliveries, timeout_s: float | None) -> None:
        """Wait until ``delivery`` is done."""

    def note_seen(self, batch: ProducerBatch) -> None:
        """The caller has read the result of a batch."""
