"""Control records, which brokers write between the records of clients. Applications never receive them.

The key contains the type (int16 version, int16 type), and the value the details. Transaction markers (KIP-98) end a
producer's transaction in a partition. The metadata log and its snapshots contain the other types (KIP-595, KIP-630,
KIP-853). Sources: ``ControlRecordType``, ``EndTransactionMarker``, ``ControlRecordUtils`` of Kafka.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.errors import CorruptBatch, WireError
from kafka_tools.protocol.enums import ControlRecordType
from kafka_tools.records.text import JAVA_ERRORS

if TYPE_CHECKING:
    from kafka_tools.protocol.schema import Stored
    from kafka_tools.records.batches import BatchView

NAMES = tuple(ControlRecordType.known())
"""Kafka's names of the types; the index is the number in the key."""

_KEY = Struct(">hh")  # version, type
_VERSION = Struct(">h")
_MARKER = Struct(">hi")  # version, coordinator epoch
_KEY_VERSION = 0


class EndMarker(NamedTuple):
    """A control record that ends a producer's transaction. ``timestamp`` is in milliseconds."""

    offset: int
    timestamp: int
    committed: bool
    coordinator_epoch: int


def control_type(key: bytes | None) -> int:
    """The number of a control record's type. A newer Kafka has numbers that are not in NAMES. Raises CorruptBatch."""
    if key is None or len(key) < _KEY.size:
        raise CorruptBatch("a control record has no type in its key")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptBatch(f"a control record has the unknown key version {version}")
    return int(number)


def control_value(number: int, value: bytes | None) -> tuple[Stored, int]:
    """(value, its version) of a control record whose type is in NAMES. Raises CorruptBatch."""
    from kafka_tools.protocol.codec import decode_prefix

    cls = _struct(number)
    data = value or b""
    if len(data) < _VERSION.size:
        raise CorruptBatch("Could not read version from value's buffer.")
    # Kafka reads an unknown version as the nearest known one.
    version = min(max(_VERSION.unpack_from(data)[0], cls.MIN_VERSION), cls.MAX_VERSION)
    try:
        # In a marker the version is before the struct. In other types it is the struct's first field.
        start = _VERSION.size if number <= ControlRecordType.COMMIT else 0
        message, _ = decode_prefix(cls, version, data, start, text_errors=JAVA_ERRORS)
    except WireError as error:
        raise CorruptBatch(f"cannot read a control record of the type {NAMES[number]}: {error}") from error
    return message, version


def _struct(number: int) -> type[Stored]:
    from kafka_tools.protocol.stored import control_records as stored

    return (
        stored.EndTxnMarker,
        stored.EndTxnMarker,
        stored.LeaderChangeMessage,
        stored.SnapshotHeaderRecord,
        stored.SnapshotFooterRecord,
        stored.KRaftVersionRecord,
        stored.VotersRecord,
    )[number]


def read_marker(view: BatchView) -> EndMarker | None:
    """The marker in a control batch; None for other control records, and for a batch that the cleaner emptied.

    Raises CorruptBatch for an incomplete control record.
    """
    for record in view.records():
        number = control_type(record.key)
        if number not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
            return None
        if record.value is None or len(record.value) < _MARKER.size:
            raise CorruptBatch(f"the transaction marker at offset {record.offset} is truncated")
        return EndMarker(
            record.offset, record.timestamp, number == ControlRecordType.COMMIT, _MARKER.unpack_from(record.value)[1]
        )
    return None


def build_control_batch(
    values: Sequence[tuple[int, bytes]],
    *,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """The control batch of a KRaft log or snapshot: (type, encoded value) for each record."""
    from kafka_tools.records.build import build_batch

    rows = [(timestamp, _KEY.pack(_KEY_VERSION, number), value, ()) for number, value in values]
    return build_batch(rows, base_offset=base_offset, leader_epoch=leader_epoch, control=True)


def build_marker(
    producer_id: int,
    producer_epoch: int,
    *,
    committed: bool,
    coordinator_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """The batch that ends a producer's transaction in a partition, as transaction coordinators write it."""
    from kafka_tools.records.build import build_batch

    row = (timestamp, _KEY.pack(_KEY_VERSION, int(committed)), _MARKER.pack(0, coordinator_epoch), ())
    return build_batch(
        [row],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
        leader_epoch=leader_epoch,
    )
