"""Batches in a buffer: header fields immediately, records on demand.

One class for all magics: a magic 2 batch, or a magic 0 or 1 message with its inner records, if it is a compressed
wrapper. Sources: KIP-32, KIP-98; ``ByteBufferLogInputStream``, ``DefaultRecordBatch``, ``AbstractLegacyRecordBatch``.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct

from kafka_tools.errors import CorruptBatch, UnknownMagic
from kafka_tools.protocol.enums import (
    CODEC_BITS,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
    TimestampType,
)
from kafka_tools.records import v2
from kafka_tools.records.chain import (
    CRC_FROM,
    EPOCH_POSITION,
    HEADER,
    HEADER_BYTES,
    LEAST_LENGTH,
    LEGACY_BYTES,
    LEGACY_CRC_FROM,
    LEGACY_HEADER,
    LEGACY_TIMESTAMP_POSITION,
    MAGIC_POSITION,
    OF_KNOWN_MAGIC,
    PREFIX_BYTES,
    Buffer,
    follow,
    size_at,
)
from kafka_tools.records.compression import LIMIT_BYTES, decompress
from kafka_tools.records.crc32c import crc32c, crc32c_extend
from kafka_tools.records.record import Record

_CRC_BYTES = 1024 * 1024
"""The size of the parts of a CRC. Each part is copied, and a damaged length may claim hundreds of megabytes."""
_TIMESTAMP = _OFFSET = Struct(">q")
_EPOCH = Struct(">i")
_unpack_header = HEADER.unpack_from


class BatchView:
    """The header of one batch, and access to its records. The buffer is not copied.

    position, size_bytes: the place of the whole batch in the buffer; file_position: its position in the file of which
    the buffer is a window. Timestamps are in milliseconds, -1 without one. producer_id, producer_epoch, base_sequence
    and partition_leader_epoch are -1 if the batch has none (always, below magic 2). crc is the stored one, unsigned.
    """

    __slots__ = (
        "_base_offset",
        "_count",
        "_last_offset_delta",
        "attributes",
        "base_sequence",
        "base_timestamp",
        "buffer",
        "crc",
        "file_position",
        "magic",
        "max_timestamp",
        "partition_leader_epoch",
        "position",
        "producer_epoch",
        "producer_id",
        "size_bytes",
    )  # fmt: skip

    attributes: int
    base_sequence: int
    base_timestamp: int
    buffer: Buffer
    crc: int
    file_position: int
    magic: int
    max_timestamp: int
    partition_leader_epoch: int
    position: int
    producer_epoch: int
    producer_id: int
    size_bytes: int
    _base_offset: int | None
    _count: int | None
    _last_offset_delta: int

    def __init__(self, buffer: Buffer, position: int, file_position: int | None = None) -> None:
        """Read the header of the batch at ``position``. The caller has checked that the batch is complete.

        A magic above 2 is read as 2, as in Kafka's file reader; Kafka reads 128 and above as negative numbers.
        """
        self.buffer = buffer
        self.position = position
        self.file_position = position if file_position is None else file_position
        if 2 <= buffer[position + MAGIC_POSITION] < 128:
            (
                self._base_offset,
                length,
                self.partition_leader_epoch,
                self.magic,
                self.crc,
                self.attributes,
                self._last_offset_delta,
                self.base_timestamp,
                self.max_timestamp,
                self.producer_id,
                self.producer_epoch,
                self.base_sequence,
                self._count,
            ) = _unpack_header(buffer, position)
            self.size_bytes = PREFIX_BYTES + length
            return
        # The offset of a wrapper is the offset of its last inner record.
        self._last_offset_delta, length, self.crc, self.magic, self.attributes = LEGACY_HEADER.unpack_from(
            buffer, position
        )
        self.size_bytes = PREFIX_BYTES + length
        self._base_offset = self._count = None
        self.max_timestamp = -1
        if self.magic == 1:
            self.max_timestamp = _TIMESTAMP.unpack_from(buffer, position + LEGACY_TIMESTAMP_POSITION)[0]
        self.base_timestamp = self.max_timestamp
        self.partition_leader_epoch = self.producer_id = self.producer_epoch = self.base_sequence = -1

    @property
    def count_from_0(self) -> int:
        """The number of records if the magic is 2 and their offsets count from 0, as clients send them; else 0."""
        count = self._count
        return count if count and count > 0 and not self._base_offset and count == self._last_offset_delta + 1 else 0

    @property
    def codec(self) -> int:
        """The id of the compression codec (``enums.CODECS``); 5 to 7 are not assigned yet."""
        return self.attributes & CODEC_BITS

    @property
    def timestamp_type(self) -> int:
        """0: the producer's time (CreateTime); 1: the broker's (LogAppendTime); -1: none (magic 0)."""
        if self.magic == 0:
            return TimestampType.NO_TIMESTAMP_TYPE
        return TimestampType.LOG_APPEND_TIME if self.attributes & LOG_APPEND_TIME_BIT else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.magic >= 2 and bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return self.magic >= 2 and bool(self.attributes & CONTROL_BIT)

    @property
    def delete_horizon_ms(self) -> int | None:
        """The time from which tombstones and markers of the batch may be removed (KIP-534), None if not set."""
        return self.base_timestamp if self.magic >= 2 and self.attributes & DELETE_HORIZON_BIT else None

    @property
    def is_compressed(self) -> bool:
        return bool(self.attributes & CODEC_BITS)

    @property
    def base_offset(self) -> int:
        """The first offset. Below magic 2 this decompresses a wrapper; raises CorruptBatch."""
        if self._base_offset is None:
            if self.is_compressed:
                from kafka_tools.records.legacy import first_offset

                self._base_offset = first_offset(self)
            else:
                self._base_offset = self._last_offset_delta
        return self._base_offset

    @property
    def last_offset(self) -> int:
        """The last offset, even if compaction has removed its record."""
        if self.magic >= 2:
            return self._base_offset + self._last_offset_delta  # type: ignore[operator]
        return self._last_offset_delta

    @property
    def record_count(self) -> int:
        """The number of records. Below magic 2 this decompresses a wrapper; raises CorruptBatch."""
        if self._count is None:
            self._count = sum(1 for _ in self.records()) if self.is_compressed else 1
        return self._count

    @property
    def last_sequence(self) -> int:
        """The sequence of the last offset, -1 without a producer id."""
        if self.base_sequence == v2.NO_SEQUENCE:
            return v2.NO_SEQUENCE
        return v2.sequence_after(self.base_sequence, self._last_offset_delta)

    def place(self, base_offset: int, leader_epoch: int) -> int:
        """Set the first offset and the leader epoch of a magic 2 batch, also in the buffer, as a leader does on append.

        Returns the offset after its last one. The CRC covers neither field. The buffer must be writable.
        """
        _OFFSET.pack_into(self.buffer, self.position, base_offset)
        _EPOCH.pack_into(self.buffer, self.position + EPOCH_POSITION, leader_epoch)
        self._base_offset = base_offset
        self.partition_leader_epoch = leader_epoch
        return base_offset + self._last_offset_delta + 1

    def raw(self) -> bytes:
        """The whole batch as it is stored."""
        return bytes(self.buffer[self.position : self.position + self.size_bytes])

    def crc_ok(self) -> bool:
        """Whether the stored CRC matches the contents."""
        start = self.position + (CRC_FROM if self.magic >= 2 else LEGACY_CRC_FROM)
        end = self.position + self.size_bytes
        if self.magic < 2:
            return self.crc == zlib.crc32(memoryview(self.buffer)[start:end])
        crc = crc32c(self.buffer[start : min(end, start + _CRC_BYTES)])
        for at in range(start + _CRC_BYTES, end, _CRC_BYTES):
            crc = crc32c_extend(crc, bytes(self.buffer[at : min(end, at + _CRC_BYTES)]))
        return self.crc == crc

    def sound(self) -> bytes | None:
        """A copy of the bytes that the CRC covers, from the attributes on. None if the CRC does not match. Only for
        magic 2.
        """
        covered = bytes(self.buffer[self.position + CRC_FROM : self.position + self.size_bytes])
        return covered if crc32c(covered) == self.crc else None

    def body(self, *, limit_bytes: int = LIMIT_BYTES) -> bytes:
        """The records of a magic 2 batch as bytes, decompressed. Raises CorruptBatch, UnsupportedCodec."""
        stored = bytes(self.buffer[self.position + HEADER_BYTES : self.position + self.size_bytes])
        codec = self.attributes & CODEC_BITS
        return decompress(codec, stored, limit_bytes=limit_bytes) if codec else stored

    def records(self, *, limit_bytes: int = LIMIT_BYTES) -> Iterator[Record]:
        """The records, oldest first; ``limit_bytes`` limits their decompressed size.

        Raises CorruptBatch or UnsupportedCodec, after the records before the damage.
        """
        if self.magic < 2:
            from kafka_tools.records.legacy import read_records

            return read_records(self, limit_bytes)
        assert self._base_offset is not None and self._count is not None
        if not self._count:
            return iter(())
        return v2.read_records(
            self.body(limit_bytes=limit_bytes),
            self._count,
            self._base_offset,
            self.base_timestamp,
            self.max_timestamp if self.attributes & LOG_APPEND_TIME_BIT else None,
            self.base_sequence,
        )

    def __repr__(self) -> str:
        return f"BatchView(position={self.position}, size_bytes={self.size_bytes}, magic={self.magic})"


def batches(buffer: Buffer, *, strict: bool = True, max_batch_bytes: int | None = None) -> Iterator[BatchView]:
    """The batches of ``buffer``, from its start. An incomplete last batch is silently omitted.

    With ``strict`` an impossible length or magic raises CorruptBatch (UnknownMagic), as Kafka's reader of buffers
    does; else the iteration ends there. ``max_batch_bytes`` limits a batch without its first 12 bytes.
    """
    starts, position = follow(buffer, least=OF_KNOWN_MAGIC)
    for start in starts:
        view = BatchView(buffer, start)
        if max_batch_bytes is not None and view.size_bytes > PREFIX_BYTES + max_batch_bytes:
            position = start
            break
        yield view
    if strict:
        _refuse(buffer, position, max_batch_bytes)


def sole_batch(buffer: Buffer) -> BatchView | None:
    """The magic 2 batch that fills ``buffer``, as producers send it; None for anything else."""
    size_bytes = len(buffer)
    if size_bytes < HEADER_BYTES or buffer[MAGIC_POSITION] != 2:
        return None
    view = BatchView(buffer, 0)
    return view if view.size_bytes == size_bytes else None


def _refuse(buffer: Buffer, position: int, max_batch_bytes: int | None) -> None:
    """Raise CorruptBatch for bytes that are not a batch, but accept the beginning of a batch."""
    left = len(buffer) - position
    if left < PREFIX_BYTES:
        return
    size_bytes = size_at(buffer, position)
    if (length := size_bytes - PREFIX_BYTES) < LEAST_LENGTH:
        raise CorruptBatch(
            f"Record size {length} is less than the minimum record overhead ({LEAST_LENGTH})", position=position
        )
    if max_batch_bytes is not None and length > max_batch_bytes:
        raise CorruptBatch(
            f"Record size {length} exceeds the largest allowable message size ({max_batch_bytes}).", position=position
        )
    if left <= MAGIC_POSITION:
        return
    magic = buffer[position + MAGIC_POSITION]
    if magic > 2:
        raise UnknownMagic(f"Invalid magic found in record: {magic - 256 if magic > 127 else magic}", position=position)
    if size_bytes <= left and size_bytes < (HEADER_BYTES if magic == 2 else LEGACY_BYTES[magic]):
        raise CorruptBatch(f"A batch of magic {magic} cannot have {size_bytes} bytes", position=position)
