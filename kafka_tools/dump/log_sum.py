"""Totals over the batches of a log: counts, sizes, codecs, times, producers and transactions.

Computed from batch headers and decompressed sizes. ``LogSum.add`` adds the sum of the next log.
"""

from __future__ import annotations

from collections import Counter
from copy import copy
from typing import Any

from kafka_tools.dump.json.ending import opened
from kafka_tools.errors import CorruptBatch, LogError
from kafka_tools.protocol.enums import CODECS, TIMESTAMP_TYPES, ControlRecordType, TimestampType
from kafka_tools.records.batches import BatchView
from kafka_tools.records.chain import HEADER_BYTES, LEGACY_BYTES
from kafka_tools.records.control import control_type
from kafka_tools.records.record import Record

MOST_PRODUCERS = 10_000
"""The maximum number of producers with separate totals. Batches of other producers count only in the common totals."""


_OWN = (
    *("batches", "damaged_batches", "records", "control_batches", "transactional_batches"),
    *("first_offset", "last_offset", "first_timestamp_ms", "last_timestamp_ms", "timestamp_types", "magics"),
)
"""The attributes of ``LogSum`` that are members of the summary object, in its order."""


class CodecSum:
    """Batches of one codec. ``opened_bytes`` and ``uncompressed_bytes`` count only readable batches."""

    def __init__(self) -> None:
        self.batches = self.records = self.size_bytes = self.opened_bytes = self.uncompressed_bytes = 0

    def add(self, other: CodecSum) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    @property
    def ratio(self) -> float | None:
        """The compression ratio of the batches, None if no batch could be decompressed."""
        return round(self.uncompressed_bytes / self.opened_bytes, 3) if self.opened_bytes else None


class ProducerSum:
    """The totals of one producer id, under the names of the summary object."""

    def __init__(self, view: BatchView) -> None:
        self.producer_epoch = view.producer_epoch
        self.batches = self.records = 0
        self.first_offset, self.last_offset = view.base_offset, view.last_offset
        self.last_sequence = -1

    def add(self, view: BatchView, records: int) -> None:
        self.producer_epoch = view.producer_epoch
        self.batches += 1
        self.records += records
        self.last_offset = view.last_offset
        if not view.is_control:
            self.last_sequence = view.last_sequence

    def merge(self, later: ProducerSum) -> None:
        self.producer_epoch, self.last_offset = later.producer_epoch, later.last_offset
        self.batches += later.batches
        self.records += later.records
        self.last_sequence = later.last_sequence if later.last_sequence >= 0 else self.last_sequence


class LogSum:
    """The totals of one log, or of several successive logs (``add``)."""

    def __init__(self) -> None:
        self.batches = self.records = self.control_batches = self.transactional_batches = 0
        self.damaged_batches = 0
        """The number of batches with a wrong CRC, whose headers are not added."""
        self.size_bytes = 0
        self.first_offset: int | None = None
        self.last_offset: int | None = None
        self.first_timestamp_ms: int | None = None
        self.last_timestamp_ms: int | None = None
        self.magics: Counter[str] = Counter()
        self.timestamp_types: Counter[str] = Counter()
        self.codecs: dict[str, CodecSum] = {}
        self.producers: dict[int, ProducerSum] = {}
        self.more_producers = False
        self.committed = self.aborted = 0
        self.open: dict[int, int] = {}
        """Producer id -> first offset of its open transaction."""
        self.ended: set[int] = set()
        """Producers with a marker in this log, which ends a transaction of an earlier log."""
        self.without_key: int | None = None
        self.tombstones: int | None = None
        self.key_bytes = self.value_bytes = 0

    def batch(self, view: BatchView) -> None:
        """Add a batch with a valid CRC."""
        base_offset, record_count = opened(view)
        records = record_count or 0
        if base_offset is not None and not 0 <= records <= view.last_offset - base_offset + 1:
            records = 0  # Kafka never writes such a count
        self.batches += 1
        self.records += records
        self.size_bytes += view.size_bytes
        self.control_batches += view.is_control
        self.transactional_batches += view.is_transactional
        self.magics[str(view.magic)] += 1
        self.timestamp_types[TIMESTAMP_TYPES[view.timestamp_type]] += 1
        if self.first_offset is None:
            self.first_offset = base_offset
        self.last_offset = view.last_offset
        self._times(view)
        self._codec(view, records)
        if view.producer_id >= 0:
            self._producer(view, records)

    def _times(self, view: BatchView) -> None:
        last = view.max_timestamp
        first = (
            last
            if view.delete_horizon_ms is not None or view.timestamp_type == TimestampType.LOG_APPEND_TIME
            else view.base_timestamp
        )
        if first >= 0 and (self.first_timestamp_ms is None or first < self.first_timestamp_ms):
            self.first_timestamp_ms = first
        if last >= 0 and (self.last_timestamp_ms is None or last > self.last_timestamp_ms):
            self.last_timestamp_ms = last

    def _codec(self, view: BatchView, records: int) -> None:
        codec = self.codecs.setdefault(CODECS[view.codec], CodecSum())
        codec.batches += 1
        codec.records += records
        codec.size_bytes += view.size_bytes
        try:
            if not view.is_compressed:
                uncompressed = view.size_bytes
            elif view.magic >= 2:
                uncompressed = HEADER_BYTES + len(view.body())
            else:
                overhead = LEGACY_BYTES[view.magic]
                uncompressed = sum(
                    overhead + len(record.key or b"") + len(record.value or b"") for record in view.records()
                )
        except CorruptBatch:
            return
        codec.opened_bytes += view.size_bytes
        codec.uncompressed_bytes += uncompressed

    def _producer(self, view: BatchView, records: int) -> None:
        producer = self.producers.get(view.producer_id)
        if producer is None:
            if len(self.producers) >= MOST_PRODUCERS:
                self.more_producers = True
                return
            producer = self.producers[view.producer_id] = ProducerSum(view)
        producer.add(view, records)
        if not view.is_transactional:
            return
        if not view.is_control:
            self.open.setdefault(view.producer_id, view.base_offset)
            return
        try:
            kinds = [control_type(record.key) for record in view.records()]
        except LogError:
            return
        for kind in kinds:
            if kind not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
                continue
            self.committed += kind == ControlRecordType.COMMIT
            self.aborted += kind == ControlRecordType.ABORT
            self.open.pop(view.producer_id, None)
            self.ended.add(view.producer_id)

    def record(self, record: Record) -> None:
        """Add a record that is not a control record."""
        self.without_key = (self.without_key or 0) + (record.key is None)
        self.tombstones = (self.tombstones or 0) + (record.value is None)
        self.key_bytes += len(record.key or b"")
        self.value_bytes += len(record.value or b"")

    def add(self, later: LogSum) -> None:
        """Add the sum of the next log."""
        for name in (
            *("batches", "damaged_batches", "records", "control_batches", "transactional_batches", "size_bytes"),
            *("committed", "aborted", "key_bytes", "value_bytes"),
        ):
            setattr(self, name, getattr(self, name) + getattr(later, name))
        self.first_offset = later.first_offset if self.first_offset is None else self.first_offset
        self.last_offset = self.last_offset if later.last_offset is None else later.last_offset
        firsts = [each for each in (self.first_timestamp_ms, later.first_timestamp_ms) if each is not None]
        lasts = [each for each in (self.last_timestamp_ms, later.last_timestamp_ms) if each is not None]
        self.first_timestamp_ms, self.last_timestamp_ms = min(firsts, default=None), max(lasts, default=None)
        self.magics.update(later.magics)
        self.timestamp_types.update(later.timestamp_types)
        for name, codec in later.codecs.items():
            self.codecs.setdefault(name, CodecSum()).add(codec)
        for producer_id in later.ended:
            self.open.pop(producer_id, None)
        for producer_id, offset in later.open.items():
            self.open.setdefault(producer_id, offset)
        for producer_id, producer in later.producers.items():
            if producer_id in self.producers:
                self.producers[producer_id].merge(producer)
            elif len(self.producers) < MOST_PRODUCERS:
                self.producers[producer_id] = copy(producer)
            else:
                self.more_producers = True
        self.more_producers = self.more_producers or later.more_producers
        if later.without_key is not None:
            self.without_key = (self.without_key or 0) + later.without_key
            self.tombstones = (self.tombstones or 0) + (later.tombstones or 0)

    def document(self) -> dict[str, Any]:
        """The member ``log`` of a summary object."""
        everything = CodecSum()
        for codec in self.codecs.values():
            everything.add(codec)
        return {
            **{name: getattr(self, name) for name in _OWN},
            "batch_bytes": self.size_bytes,
            "uncompressed_bytes": everything.uncompressed_bytes,
            "ratio": everything.ratio,
            "codecs": {
                name: {
                    "batches": codec.batches,
                    "records": codec.records,
                    "batch_bytes": codec.size_bytes,
                    "uncompressed_bytes": codec.uncompressed_bytes,
                    "ratio": codec.ratio,
                }
                for name, codec in sorted(self.codecs.items())
            },
            "without_key": self.without_key,
            "tombstones": self.tombstones,
            "key_bytes": None if self.without_key is None else self.key_bytes,
            "value_bytes": None if self.without_key is None else self.value_bytes,
            "committed_transactions": self.committed,
            "aborted_transactions": self.aborted,
            "open_transactions": [
                {"producer_id": each, "first_offset": offset} for each, offset in sorted(self.open.items())
            ],
            "producers": [
                {"producer_id": producer_id, **vars(producer)}
                for producer_id, producer in sorted(self.producers.items())
            ],
            "more_producers": self.more_producers,
        }  # fmt: skip
