"""The records that a share consumer has acquired in one partition, and their acknowledgements until they are sent.

Plain state without I/O. Follows ``ShareInFlightBatch`` and ``Acknowledgements`` of Kafka's Java client.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kafka_tools.errors import InputError
from kafka_tools.values import TopicPartition

GAP = 0
"""Acknowledges an offset without record: compacted, or a control record."""


class AcknowledgeType(enum.IntEnum):
    """What becomes of a record (KIP-932, KIP-1222)."""

    ACCEPT = 1
    """It was processed."""
    RELEASE = 2
    """Deliver it again, to this or another member."""
    REJECT = 3
    """It cannot be processed: deliver it never again."""
    RENEW = 4
    """It needs more time: lock it for another ``acquisition_lock_timeout_ms``. ``poll`` returns it again."""


class SharedRecord(NamedTuple):
    """A record as a share consumer returns it. ``delivery_count``: 1 the first time; the rest as ``ConsumedRecord``."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int
    delivery_count: int


class Acknowledged(NamedTuple):
    """Offsets ``first`` to ``last`` and their common type: an ``AcknowledgeType`` or GAP."""

    first: int
    last: int
    type: int


class HeldRecords:
    """One partition at one leader. A lock ends with its leader, so another leader is another object."""

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.records: dict[int, SharedRecord] = {}
        """Returned to the application, with types in ``_types`` once they are acknowledged."""
        self._types: dict[int, int] = {}
        self._ranges: list[Acknowledged] = []
        self._renewing: dict[int, SharedRecord] = {}

    def add(self, records: Iterable[SharedRecord]) -> None:
        """Records that the application gets now."""
        for record in records:
            self.records[record.offset] = record

    def add_range(self, acknowledged: Acknowledged) -> None:
        """Offsets that the application never gets."""
        self._ranges.append(acknowledged)

    def acknowledge(self, offset: int, type: AcknowledgeType) -> None:
        """Acknowledge a record; the last type counts. InputError for one that this consumer does not hold."""
        if offset not in self.records:
            raise InputError(
                f"The record cannot be acknowledged: {self.topic_partition} at offset {offset}",
                hint="acknowledge each record once, before the next poll",
            )
        self._types[offset] = type

    def accept_rest(self) -> None:
        """Accept every record without acknowledgement."""
        for offset in self.records:
            self._types.setdefault(offset, AcknowledgeType.ACCEPT)

    @property
    def unacknowledged(self) -> int:
        """The number of returned records without acknowledgement."""
        return len(self.records) - len(self._types)

    @property
    def is_renewing(self) -> bool:
        """Whether the broker has yet to confirm renewed locks."""
        return bool(self._renewing)

    @property
    def is_idle(self) -> bool:
        return not (self.records or self._types or self._ranges or self._renewing)

    def take(self) -> tuple[list[Acknowledged], set[int]]:
        """(acknowledgements to send in order of offset, offsets that the application acknowledged).

        Renewed records are held back until the broker confirms.
        """
        for offset, kind in self._types.items():
            record = self.records.pop(offset)
            if kind == AcknowledgeType.RENEW:
                self._renewing[offset] = record
        taken, offsets = sorted([*_ranges(self._types), *self._ranges]), set(self._types)
        self._types, self._ranges = {}, []
        return taken, offsets

    def done(self, sent: Iterable[Acknowledged], *, failed: bool) -> list[SharedRecord]:
        """The broker answered. Returns the records whose lock was renewed; the application gets them again."""
        renewed = []
        for first, last, kind in sent:
            if kind == AcknowledgeType.RENEW:
                found = (self._renewing.pop(offset, None) for offset in range(first, last + 1))
                renewed += [record for record in found if record is not None]
        return [] if failed else renewed


def _ranges(types: Mapping[int, int]) -> Iterator[Acknowledged]:
    start = end = kind = -1
    for offset in sorted(types):
        if offset == end + 1 and types[offset] == kind:
            end = offset
            continue
        if start >= 0:
            yield Acknowledged(start, end, kind)
        start, end, kind = offset, offset, types[offset]
    if start >= 0:
        yield Acknowledged(start, end, kind)
