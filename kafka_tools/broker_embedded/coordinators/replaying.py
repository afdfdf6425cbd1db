"""Reads and validates the records of internal topics, for a start and for ``broker mend``.

Clients that may write to ``__consumer_offsets`` or ``__transaction_state`` can write anything. A record that no broker
writes is skipped with a reason. The other records of its batch and partition are used.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import partial
from struct import Struct
from typing import NamedTuple, Protocol

from kafka_tools.broker_embedded.slices import Work, to_thread
from kafka_tools.errors import CorruptBatch, DecodeError, UnsupportedVersion
from kafka_tools.protocol.codec import decode
from kafka_tools.protocol.schema import Stored
from kafka_tools.records.batches import BatchView
from kafka_tools.records.control import read_marker
from kafka_tools.records.record import Record
from kafka_tools.shown_text import one_line

log = logging.getLogger(__name__)

_INT16 = Struct(">h")
_MOST_AT_ONCE = 200
"""The records of a batch with more records are decoded on another thread."""
_BETWEEN = 8
"""Number of records of a batch after which a slice may end."""
_LONGEST = 300
"""Maximum length of a reason in characters. A reason may contain names that a client chose."""
MOST_NAMED = 20
"""Maximum number of records left out of one partition that are listed. The others are only counted."""

KeyTypes = Mapping[int, type[Stored]]
"""Record type -> key struct, or -> value struct."""


class UnfitRecord(Exception):
    """A record that no broker writes, or that contradicts what came before it; the text says why."""


class LeftOut(NamedTuple):
    """A skipped record, or an unreadable batch (``is_batch``) with its base offset."""

    offset: int
    reason: str
    is_batch: bool = False

    def __str__(self) -> str:
        reason = one_line(self.reason if len(self.reason) <= _LONGEST else self.reason[:_LONGEST] + "...")
        return f"the {'batch' if self.is_batch else 'record'} at offset {self.offset} was skipped: {reason}"


class Reader(Protocol):
    """A reader of the records of a partition, oldest first. Each method may raise UnfitRecord."""

    def replay(self, key: Stored, value: Stored | None) -> None:
        """Apply a record. Value None is a tombstone."""

    def pending(self, producer_id: int, key: Stored, value: Stored | None) -> None:
        """Keep a record of an open transaction until its marker."""

    def ended(self, producer_id: int, committed: bool) -> Work[None]:
        """End a producer's transaction. The returned work cleans up."""


def replay_batch(batch: BatchView, keys: KeyTypes, values: KeyTypes, to: Reader) -> Work[list[LeftOut]]:
    """Pass the records of a batch to ``to``, in slices; returns the skipped records.

    Record types that are not in ``keys`` are ignored: a newer Kafka may have written them.
    """
    try:
        if batch.is_control:
            marker = read_marker(batch)
            if marker is not None:
                yield from to.ended(batch.producer_id, marker.committed)
            return []
        is_long = batch.is_compressed or batch.record_count > _MOST_AT_ONCE
        records = (yield from to_thread(partial(list, batch.records()))) if is_long else list(batch.records())
    except CorruptBatch as error:
        return [LeftOut(batch.base_offset, str(error), is_batch=True)]
    left_out = []
    for number, record in enumerate(records, 1):
        if not number % _BETWEEN:
            yield
        reason = _replayed(record, batch, keys, values, to)
        if reason is not None:
            left_out.append(LeftOut(record.offset, reason))
    return left_out


def _replayed(record: Record, batch: BatchView, keys: KeyTypes, values: KeyTypes, to: Reader) -> str | None:
    """Pass one record to ``to``. Returns the reason if the record is skipped, otherwise None."""
    try:
        decoded = decode_record(keys, values, record.key, record.value)
        if decoded is None:
            return None
        if batch.is_transactional:
            to.pending(batch.producer_id, *decoded)
        else:
            to.replay(*decoded)
    except (DecodeError, UnsupportedVersion, UnfitRecord) as error:
        return str(error)
    except Exception:  # a contradiction that no check detects must not affect other records
        log.debug("the record at offset %d", record.offset, exc_info=True)
        return "it contradicts the records before it"
    return None


def decode_record(
    keys: KeyTypes, values: KeyTypes, key: bytes | None, value: bytes | None
) -> tuple[Stored, Stored | None] | None:
    """The key and value of one record; None for a record type that is not in ``keys``."""
    if key is None:
        raise UnfitRecord("it has no key")
    if len(key) < _INT16.size:
        raise UnfitRecord("its key has no record type")
    (record_type,) = _INT16.unpack_from(key)
    if record_type not in keys:
        return None
    decoded = decode(keys[record_type], 0, memoryview(key)[2:])
    if value is None:
        return decoded, None
    if len(value) < _INT16.size:
        raise UnfitRecord("its value has no version")
    (version,) = _INT16.unpack_from(value)
    return decoded, decode(values[record_type], version, memoryview(value)[2:])


def named(left_out: Iterable[LeftOut], already: int = 0) -> tuple[list[LeftOut], int]:
    """The records to list if ``already`` records were listed before, and the number of the others."""
    found = list(left_out)
    room = max(0, MOST_NAMED - already)
    return found[:room], len(found[room:])
