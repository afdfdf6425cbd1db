"""Builds the bytes of batches of magic 0, 1 and 2, and changes their times as a broker does.

Sources: ``MemoryRecordsBuilder``, ``DefaultRecord``, ``LegacyRecord``, ``LogValidator`` of Kafka; KIP-32, KIP-98.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import TypedDict, Unpack

from kafka_tools.protocol.enums import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
    Codec,
)
from kafka_tools.records.chain import (
    ATTRIBUTE_BITS,
    ATTRIBUTES_POSITION,
    CRC_FROM,
    CRC_POSITION,
    FLAGS_POSITION,
    FROM_ATTRIBUTES,
    HEADER_BYTES,
    LEGACY_BYTES,
    MAX_TIMESTAMP_POSITION,
    PREFIX,
    PREFIX_BYTES,
    UP_TO_MAGIC,
    size_at,
)
from kafka_tools.records.compression import codec_id, compress
from kafka_tools.records.crc32c import crc32c

HeaderPairs = Sequence[tuple[str | bytes, bytes | None]]
Row = tuple[int, bytes | None, bytes | None, HeaderPairs]
"""(timestamp in ms, key, value, headers)."""

_CRC_BYTES = CRC_FROM - CRC_POSITION
_BEFORE_ATTRIBUTES = CRC_FROM - PREFIX_BYTES
_INT64 = Struct(">q")
_LEGACY_0 = Struct(">bb")
_LEGACY_1 = Struct(">bbq")
_MINUS_1 = b"\xff\xff\xff\xff"
_NULL = b"\x01"  # -1 as a zig-zag varint


def _unsigned(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_VARINTS = [_unsigned(value) for value in range(512)]


def varint(value: int) -> bytes:
    """A zig-zag varint (values of up to 64 bits; larger values wrap as Java's long does)."""
    value = (value << 1) ^ -(value >> 63 & 1)
    return _VARINTS[value] if 0 <= value < 512 else _unsigned(value & 0xFFFFFFFFFFFFFFFF)


def encode_record(
    timestamp_delta: int, offset_delta: int, key: bytes | None, value: bytes | None, headers: HeaderPairs = ()
) -> bytes:
    """One record of a magic 2 batch, starting with its length."""
    parts = [b"\x00", varint(timestamp_delta), varint(offset_delta)]
    parts += (_NULL,) if key is None else (varint(len(key)), key)
    parts += (_NULL,) if value is None else (varint(len(value)), value)
    parts.append(varint(len(headers)))
    for name, content in headers:
        raw = name.encode() if isinstance(name, str) else name
        parts += (varint(len(raw)), raw)
        parts += (_NULL,) if content is None else (varint(len(content)), content)
    record = b"".join(parts)
    return varint(len(record)) + record


class BatchBuilder:
    """Collects records and returns the bytes of one batch (magic 0 and 1: of one set of messages).

    ``codec`` is a name or id; ``level`` the codec's own level. By default, the batch is as a producer sends it: base
    offset 0, leader epoch -1.
    """

    def __init__(self, *, codec: int | str = "none", magic: int = 2, level: int | None = None) -> None:
        self.codec = codec_id(codec)
        self.magic = magic
        self.level = level
        if magic not in (0, 1, 2):
            raise ValueError(f"Unknown record version: {magic}")
        if self.codec == Codec.ZSTD and magic < 2:
            raise ValueError("zstd needs magic 2")
        self._records: list[bytes] = []
        self._rows: list[tuple[int, int, bytes | None, bytes | None]] = []
        wrapper_bytes = LEGACY_BYTES[magic] if magic < 2 and self.codec else 0
        self._size = HEADER_BYTES if magic == 2 else wrapper_bytes
        self._base_timestamp = 0
        self._max_timestamp = -1
        self._last_delta = -1

    @property
    def record_count(self) -> int:
        return len(self._records) if self.magic == 2 else len(self._rows)

    @property
    def size_bytes(self) -> int:
        """The size so far without compression, including the header of the batch or of the wrapper message."""
        return self._size

    @property
    def max_timestamp(self) -> int:
        """The newest timestamp so far, -1 without one."""
        return self._max_timestamp

    def append(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: HeaderPairs = (),
        *,
        offset_delta: int | None = None,
    ) -> None:
        """Add a record (time in ms). ``offset_delta`` defaults to one more than the last record's."""
        delta = self._last_delta + 1 if offset_delta is None else offset_delta
        if delta <= self._last_delta:
            raise ValueError(f"offset delta {delta} does not follow {self._last_delta}")
        self._last_delta = delta
        if self.magic < 2:
            if headers:
                raise ValueError(f"magic {self.magic} has no record headers")
            self._rows.append((delta, timestamp, key, value))
            self._size += LEGACY_BYTES[self.magic] + len(key or b"") + len(value or b"")
        else:
            if not self._records:
                self._base_timestamp = timestamp
            record = encode_record(timestamp - self._base_timestamp, delta, key, value, headers)
            self._records.append(record)
            self._size += len(record)
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp

    def build(
        self,
        *,
        base_offset: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        transactional: bool = False,
        control: bool = False,
        leader_epoch: int = -1,
        timestamp_type: int = 0,
        append_time_ms: int | None = None,
        last_offset_delta: int | None = None,
        delete_horizon_ms: int | None = None,
    ) -> bytes:
        """The batch. ``append_time_ms`` is the time of a LogAppendTime batch (``timestamp_type`` 1; default: the
        newest record's). ``last_offset_delta`` keeps the end of a batch if compaction removed its last records."""
        if self.magic < 2:
            return self._build_legacy(base_offset, timestamp_type, append_time_ms)
        if timestamp_type and append_time_ms is not None:
            self._max_timestamp = append_time_ms
        base_timestamp, records = self._base_timestamp, self._records
        attributes = self.codec | (timestamp_type and LOG_APPEND_TIME_BIT)
        attributes |= (transactional and TRANSACTIONAL_BIT) | (control and CONTROL_BIT)
        if delete_horizon_ms is not None:
            # The horizon replaces the base timestamp, and the deltas count from it.
            raise_delta = base_timestamp - delete_horizon_ms
            records = [_rebased(record, raise_delta) for record in records]
            base_timestamp, attributes = delete_horizon_ms, attributes | DELETE_HORIZON_BIT
        body = compress(self.codec, b"".join(records), level=self.level) if records else b""
        return sealed(
            body,
            base_offset,
            leader_epoch,
            attributes,
            self._last_delta if last_offset_delta is None else last_offset_delta,
            base_timestamp if records or delete_horizon_ms is not None else -1,
            self._max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            len(records),
        )

    def _build_legacy(self, base_offset: int, timestamp_type: int, append_time_ms: int | None) -> bytes:
        attributes = LOG_APPEND_TIME_BIT if self.magic and timestamp_type else 0
        newest = self._max_timestamp if append_time_ms is None or not timestamp_type else append_time_ms
        rows = self._rows
        if not self.codec:
            return b"".join(
                encode_message(
                    self.magic,
                    attributes,
                    base_offset + delta,
                    newest if timestamp_type and append_time_ms is not None else timestamp,
                    key,
                    value,
                )
                for delta, timestamp, key, value in rows
            )
        if not rows:
            return b""
        # Inner offsets are absolute in magic 0, and relative to the first in magic 1 (KIP-31).
        start = base_offset if self.magic == 0 else 0
        inner = b"".join(
            encode_message(self.magic, attributes, start + delta, timestamp, key, value)
            for delta, timestamp, key, value in rows
        )
        packed = compress(self.codec, inner, level=self.level, old_lz4_checksum=self.magic == 0)
        return encode_message(self.magic, attributes | self.codec, base_offset + self._last_delta, newest, None, packed)


def sealed(body: bytes, base_offset: int, leader_epoch: int, attributes: int, *fields: int) -> bytes:
    """A magic 2 batch of encoded, maybe compressed records. ``fields``: those of the header after the attributes."""
    covered = FROM_ATTRIBUTES.pack(attributes, *fields) + body
    head = UP_TO_MAGIC.pack(base_offset, _BEFORE_ATTRIBUTES + len(covered), leader_epoch, 2)
    return b"".join((head, crc32c(covered).to_bytes(_CRC_BYTES, "big"), covered))


def _rebased(record: bytes, difference: int) -> bytes:
    """The record with ``difference`` added to its timestamp delta."""
    from kafka_tools.protocol.primitives import read_varint, read_varlong

    _, start = read_varint(record, 0)
    delta, rest = read_varlong(record, start + 1)
    changed = record[start : start + 1] + varint(delta + difference) + record[rest:]
    return varint(len(changed)) + changed


def encode_message(
    magic: int, attributes: int, offset: int, timestamp: int, key: bytes | None, value: bytes | None
) -> bytes:
    """One message of magic 0 or 1, starting with offset and length."""
    covered = b"".join(
        (
            _LEGACY_1.pack(magic, attributes, timestamp) if magic else _LEGACY_0.pack(magic, attributes),
            _MINUS_1 if key is None else len(key).to_bytes(4, "big") + key,
            _MINUS_1 if value is None else len(value).to_bytes(4, "big") + value,
        )
    )
    return PREFIX.pack(offset, _CRC_BYTES + len(covered)) + zlib.crc32(covered).to_bytes(_CRC_BYTES, "big") + covered


class HeaderFields(TypedDict, total=False):
    """The header fields that ``BatchBuilder.build`` accepts, with the same names and defaults."""

    base_offset: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    control: bool
    leader_epoch: int
    timestamp_type: int
    append_time_ms: int | None
    delete_horizon_ms: int | None


def build_batch(
    records: Iterable[Row],
    *,
    codec: int | str = "none",
    magic: int = 2,
    level: int | None = None,
    offsets: Iterable[int] | None = None,
    last_offset: int | None = None,
    **header: Unpack[HeaderFields],
) -> bytes:
    """The bytes of one batch of (timestamp in ms, key, value, headers), with these fields in its header.

    Offsets count from ``base_offset``, unless ``offsets`` contains the offset of each record, ascending.
    ``last_offset`` (magic 2) keeps the range of a batch if compaction removed its last records. ``level`` is the
    codec's own.
    """
    builder = BatchBuilder(codec=codec, magic=magic, level=level)
    base_offset = header.get("base_offset", 0)
    if offsets is None:
        for timestamp, key, value, headers in records:
            builder.append(timestamp, key, value, headers)
    else:
        for offset, (timestamp, key, value, headers) in zip(offsets, records, strict=True):
            builder.append(timestamp, key, value, headers, offset_delta=offset - base_offset)
    return builder.build(last_offset_delta=None if last_offset is None else last_offset - base_offset, **header)


def set_times(buffer: bytearray | memoryview, position: int, *, max_timestamp: int, appended: bool = False) -> None:
    """Set the largest timestamp of the magic 2 batch at ``position``, whether it is the broker's time, and the CRC.

    Clears attributes without a meaning, as in ``DefaultRecordBatch.setMaxTimestamp``.
    """
    end = position + size_at(buffer, position)
    kept = buffer[position + FLAGS_POSITION] & ATTRIBUTE_BITS & ~LOG_APPEND_TIME_BIT
    buffer[position + ATTRIBUTES_POSITION] = 0
    buffer[position + FLAGS_POSITION] = kept | (LOG_APPEND_TIME_BIT if appended else 0)
    _INT64.pack_into(buffer, position + MAX_TIMESTAMP_POSITION, max_timestamp)
    crc = crc32c(buffer[position + CRC_FROM : end])
    buffer[position + CRC_POSITION : position + CRC_FROM] = crc.to_bytes(_CRC_BYTES, "big")
