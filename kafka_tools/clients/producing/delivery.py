"""What a program gets for a record that it sent: its result, and the call when the result is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from kafka_tools.clients.producing.batch import ProducerBatch
from kafka_tools.errors import KafkaToolsError

OnDelivery = Callable[["RecordMetadata | None", KafkaToolsError | None], object]


class RecordMetadata(NamedTuple):
    """The location of a record. ``offset`` is -1 if the broker did not return it (acks=0, a duplicate)."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class Delivery:
    """The result of one record."""

    __slots__ = ("_batch", "_index", "_producer")

    waits_for = "the record to be acknowledged"

    def __init__(self, producer: Waits, batch: ProducerBatch, index: int) -> None:
        self._producer = producer
        self._batch = batch
        self._index = index

    def place(self) -> tuple[ProducerBatch, int]:
        """The batch in which the record was queued, and its index there."""
        return self._batch, self._index

    @property
    def done(self) -> bool:
        """Whether the record was acknowledged or has failed."""
        return self._batch.locate(self._index)[0].done

    @property
    def error(self) -> KafkaToolsError | None:
        """The reason why the record failed; None before it is done, and when it was acknowledged."""
        batch, _ = self._batch.locate(self._index)
        self._producer.note_seen(batch)
        return batch.error

    def result(self, timeout_s: float | None = None) -> RecordMetadata:
        """Wait until the record is acknowledged (at most ``timeout_s``) and say where it is.

        Raises what made it fail (BrokerError, DeadlineExceeded after ``delivery.timeout.ms``, ...), or
        DeadlineExceeded when ``timeout_s`` passed first; the record may still arrive then.
        """
        self._producer.wait_for(self, timeout_s)
        batch, index = self._batch.locate(self._index)
        self._producer.note_seen(batch)
        if batch.error is not None:
            raise batch.error
        return metadata_of(batch, index)


class Waits(Protocol):
    """The producer, as far as a ``Delivery`` needs it."""

    def wait_for(self, delivery: Delivery, timeout_s: float | None) -> None:
        """Wait until ``delivery`` is done."""

    def note_seen(self, batch: ProducerBatch) -> None:
        """The caller has read the result of a batch."""


def metadata_of(batch: ProducerBatch, index: int) -> RecordMetadata:
    """The location of record ``index`` of an acknowledged batch."""
    offset = batch.base_offset + index if batch.base_offset >= 0 else -1
    timestamp_ms = batch.append_time_ms if batch.append_time_ms >= 0 else batch.records[index][0]
    return RecordMetadata(*batch.topic_partition, offset, timestamp_ms)


def adapted(on_delivery: OnDelivery) -> Callable[[ProducerBatch, int], None]:
    """``on_delivery`` as a callback of a batch."""

    def call(batch: ProducerBatch, index: int) -> None:
        if batch.error is not None:
            on_delivery(None, batch.error)
        else:
            on_delivery(metadata_of(batch, index), None)

    return call
