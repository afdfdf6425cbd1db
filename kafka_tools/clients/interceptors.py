"""Interceptors: code of the user that sees every record of a producer or consumer (KIP-42).

An exception of an interceptor is logged and has no other effect, as in Kafka's Java client. So an interceptor is for
measuring, tracing and adding headers, and not for refusing records.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from kafka_tools.clients.producing.batch import Header, ProducerBatch
from kafka_tools.clients.producing.delivery import RecordMetadata, metadata_of
from kafka_tools.errors import InputError
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.clients.fetched_data import ConsumedRecord
    from kafka_tools.clients.groups.committed import OffsetAndMetadata

log = logging.getLogger(__name__)
T = TypeVar("T")


class OutgoingRecord(NamedTuple):
    """A record as it was given to ``Producer.send``. ``timestamp_ms``: None means the time of ``send``."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    headers: Sequence[Header] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class ProducerInterceptor(Protocol):
    """Sees the records of a producer. A subclass defines the methods that it needs; the others do nothing.

    Several threads may call the methods. They are called without the producer's lock.
    """

    def on_send(self, record: OutgoingRecord) -> OutgoingRecord:
        """Called by ``send`` first. Returns the record to send: the same one, or a changed copy.

        The next interceptor gets what this one returned. If this one raises, the next one gets the same record.
        """
        return record

    def on_acknowledgement(
        self, metadata: RecordMetadata, error: Exception | None, headers: Sequence[Header]
    ) -> object:
        """Called when a record was acknowledged or has failed, before ``on_delivery``; also if ``send`` raises.

        If the record failed, ``error`` says why. The offset and the time in ``metadata`` are -1 then, and so is the
        partition if it was not chosen yet. ``headers``: those of the record.
        """
        return None

    def close(self) -> object:
        """Called when the producer is closed."""
        return None


class ConsumerInterceptor(Protocol):
    """Sees the records of a consumer. A subclass defines the methods that it needs; the others do nothing.

    The thread inside a call of the consumer calls the methods.
    """

    def on_consume(self, records: list[ConsumedRecord]) -> list[ConsumedRecord]:
        """Called before ``poll`` returns records. Returns those that ``poll`` returns: the same, fewer or changed ones.

        The positions of the consumer do not depend on what is returned.
        """
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> object:
        """Called after a commit of offsets, also after an automatic one. Not called if the commit failed."""
        return None

    def close(self) -> object:
        """Called when the consumer is closed."""
        return None


class ProducerInterceptors:
    """The chain of one producer."""

    def __init__(self, chain: Sequence[ProducerInterceptor]) -> None:
        self._chain = _checked(chain, ("on_send", "on_acknowledgement", "close"))

    def on_send(self, record: OutgoingRecord) -> OutgoingRecord:
        """What the chain makes of a record."""
        for interceptor in self._chain:
            record = _called(interceptor.on_send, record, OutgoingRecord)
        return record

    def acknowledged(self, batch: ProducerBatch, index: int) -> None:
        """Record ``index`` of a batch was acknowledged, or has failed (``batch.error``)."""
        unknown = RecordMetadata(*batch.topic_partition, -1, -1)
        metadata = unknown if batch.error is not None else metadata_of(batch, index)
        self._tell(metadata, batch.error, batch.records[index][3])

    def refused(self, record: OutgoingRecord, error: Exception) -> None:
        """``send`` raises."""
        partition = record.partition if isinstance(record.partition, int) else -1
        self._tell(RecordMetadata(record.topic, partition, -1, -1), error, record.headers)

    def _tell(self, metadata: RecordMetadata, error: Exception | None, headers: Sequence[Header]) -> None:
        for interceptor in self._chain:
            try:
                interceptor.on_acknowledgement(metadata, error, headers)
            except Exception:
                log.warning("an interceptor failed in on_acknowledgement", exc_info=True)

    def close(self) -> None:
        """Close each of them, once."""
        chain, self._chain = self._chain, ()
        _close(chain)


class ConsumerInterceptors:
    """The chain of one consumer."""

    def __init__(
        self, chain: Sequence[ConsumerInterceptor], released: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """``released()`` releases the lock of the consumer during its block."""
        self._released = released
        self._chain = _checked(chain, ("on_consume", "on_commit", "close"))

    def on_consume(self, records: list[ConsumedRecord]) -> list[ConsumedRecord]:
        """What the chain makes of records."""
        with self._released():
            for interceptor in self._chain:
                records = _called(interceptor.on_consume, records, list)
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Offsets were committed."""
        with self._released():
            for interceptor in self._chain:
                try:
                    interceptor.on_commit(offsets)
                except Exception:
                    log.warning("an interceptor failed in on_commit", exc_info=True)

    def close(self) -> None:
        """Close each of them, once."""
        chain, self._chain = self._chain, ()
        _close(chain)


def _checked(chain: Sequence[T], methods: Sequence[str]) -> Sequence[T]:
    if not isinstance(chain, Sequence):
        raise InputError("invalid interceptors: expected a list of objects")
    for number, interceptor in enumerate(chain):
        is_class = isinstance(interceptor, type)
        if is_class or not all(callable(getattr(interceptor, name, None)) for name in methods):
            found = "a class" if is_class else type(interceptor).__name__
            wanted = f"an object with {', '.join(methods)}"
            raise InputError(f"invalid interceptors[{number}]: expected {wanted}, not {found}")
    return tuple(chain)


def _called(method: Callable[[T], T], given: T, kind: type) -> T:
    """What ``method`` makes of ``given``, which stays as it is if the method fails."""
    try:
        found = method(given)
        if isinstance(found, kind):
            return found
        log.warning("an interceptor returned %s from %s", type(found).__name__, method.__name__)
    except Exception:
        log.warning("an interceptor failed in %s", method.__name__, exc_info=True)
    return given


def _close(chain: Sequence[ProducerInterceptor] | Sequence[ConsumerInterceptor]) -> None:
    for interceptor in chain:
        try:
            interceptor.close()
        except Exception:
            log.exception("an interceptor could not be closed")
