"""Building batches, and stamping ones that are built: what producers, brokers and tests need.

Source: ``org.apache.kafka.common.record.MemoryRecordsBuilder`` and ``DefaultRecordBatch.writeHeader``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct

from kafka_tools.errors import EncodeError
from kafka_tools.protocol.primitives import write_unsigned_varint, write_varint, write_varlong
from kafka_tools.records import v2
from kafka_tools.records.batches import CONTROL_MASK, TIMESTAMP_TYPE_MASK, TRANSACTIONAL_MASK
from kafka_tools.records.compression import codec_id, compress
from kafka_tools.records.crc32c import crc32c

Headers = Sequence[tuple[str, bytes | None]]
Input = tuple[int, bytes | None, bytes | None, Headers]
"""timestamp in ms, key, value, headers."""

_OFFSET = Struct(">q")
_EPOCH = Struct(">i")
_CRC = Struct(">I")
_ATTRIBUTES = Struct(">h")


class BatchBuilder:
    """Collects records of one magic 2 batch; ``size_bytes`` is what it takes so far, before compression."""

    def __init__(self) -> None:
        self._body = bytearray()
        self.count = 0
        self.base_timestamp = -1
        self.max_timestamp = -1

    @property
    def size_bytes(self) -> int:
        return v2.HEADER_BYTES + len(self._body)

    def append(
        self,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
        *,
        offset_delta: int | None = None,
    ) -> None:
        """Add a record; its offset is the next one unless ``offset_delta`` leaves a gap."""
        if self.count == 0:
            self.base_timestamp = timestamp_ms
        self.max_timestamp = max(self.max_timestamp, timestamp_ms)
        record = bytearray(b"\x00")  # attributes
        write_varlong(record, timestamp_ms - self.base_timestamp)
        write_varint(record, self.count if offset_delta is None else offset_delta)
        for part in (key, value):
            if part is None:
                record.append(1)  # -1, zig-zag
            else:
                write_varint(record, len(part))
                record += part
        write_varint(record, len(headers))
        for name, header_value in headers:
            encoded = name.encode()
            write_varint(record, len(encoded))
            record += encoded
            if header_value is None:
                record.append(1)
            else:
                write_varint(record, len(header_value))
                record += header_value
        write_unsigned_varint(self._body, len(record) << 1)
        self._body += record
        self.count += 1

    def build(
        self,
        *,
        base_offset: int = 0,
        codec: int | str = "none",
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        transactional: bool = False,
        control: bool = False,
        leader_epoch: int = -1,
        timestamp_type: int = 0,
        last_offset_delta: int | None = None,
    ) -> bytes:
        """The batch. ``last_offset_delta`` is that of the last record unless given (compacted batches)."""
        number = codec_id(codec)
        body = compress(number, self._body) if number else bytes(self._body)
        attributes = number
        if timestamp_type == 1:
            attributes |= TIMESTAMP_TYPE_MASK
        if transactional:
            attributes |= TRANSACTIONAL_MASK
        if control:
            attributes |= CONTROL_MASK
        batch = bytearray(v2.HEADER_BYTES + len(body))
        v2.HEADER.pack_into(
            batch,
            0,
            base_offset,
            len(batch) - 12,
            leader_epoch,
            2,
            0,
            attributes,
            self.count - 1 if last_offset_delta is None else last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            self.count,
        )
        batch[v2.HEADER_BYTES :] = body
        _CRC.pack_into(batch, v2.CRC_POSITION, crc32c(memoryview(batch)[v2.CRC_COVERS_FROM :]))
        return bytes(batch)


def build_batch(
    records: Iterable[Input],
    *,
    base_offset: int = 0,
    codec: int | str = "none",
    magic: int = 2,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = -1,
    timestamp_type: int = 0,
) -> bytes:
    """One batch of (timestamp_ms, key, value, headers); of magic 0 and 1 the same records as messages.

    Raises EncodeError for what the magic cannot hold (headers, producers, zstd before magic 2).
    """
    if magic != 2:
        from kafka_tools.records.legacy import build_legacy

        if producer_id >= 0 or transactional or control:
            raise EncodeError(f"magic {magic} has no producers, transactions or control batches")
        return build_legacy(records, base_offset=base_offset, codec=codec, magic=magic, timestamp_type=timestamp_type)
    builder = BatchBuilder()
    for timestamp_ms, key, value, headers in records:
        builder.append(timestamp_ms, key, value, headers)
    return builder.build(
        base_offset=base_offset,
        codec=codec,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
        control=control,
        leader_epoch=leader_epoch,
        timestamp_type=timestamp_type,
    )


def patch_batch(
    buffer: bytearray | memoryview,
    position: int,
    *,
    base_offset: int,
    leader_epoch: int,
    append_time_ms: int | None = None,
) -> None:
    """Stamp a magic 2 batch in place, as a broker does when it appends.

    Offset and leader epoch are outside the checksum. ``append_time_ms`` makes it LogAppendTime, which changes
    attributes and max timestamp, so the checksum is computed anew.
    """
    _OFFSET.pack_into(buffer, position, base_offset)
    _EPOCH.pack_into(buffer, position + 12, leader_epoch)
    if append_time_ms is None:
        return
    (attributes,) = _ATTRIBUTES.unpack_from(buffer, position + v2.CRC_COVERS_FROM)
    _ATTRIBUTES.pack_into(buffer, position + v2.CRC_COVERS_FROM, attributes | TIMESTAMP_TYPE_MASK)
    _OFFSET.pack_into(buffer, position + 35, append_time_ms)
    (length,) = _EPOCH.unpack_from(buffer, position + 8)
    view = memoryview(buffer)[position + v2.CRC_COVERS_FROM : position + 12 + length]
    _CRC.pack_into(buffer, position + v2.CRC_POSITION, crc32c(view))
