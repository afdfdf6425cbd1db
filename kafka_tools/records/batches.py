"""Batches in a buffer: one header view each, of any magic; records only on demand.

Offset and length stand at the same place in all magics, and so does the magic byte: that is what the walk
relies on. Source: ``org.apache.kafka.common.record.ByteBufferLogInputStream`` and the batch classes there.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct

from kafka_tools.errors import CorruptBatch, UnknownMagic
from kafka_tools.protocol.primitives import Buffer
from kafka_tools.records import v2
from kafka_tools.records.compression import DEFAULT_LIMIT_BYTES, decompress
from kafka_tools.records.crc32c import crc32c
from kafka_tools.records.record import Record

_PREFIX = Struct(">qi")
PREFIX_BYTES = 12
MAGIC_POSITION = 16
_LEGACY = Struct(">qiIbb")
_LEGACY_TIMESTAMP = Struct(">q")
SMALLEST_LENGTH = {0: 14, 1: 22, 2: v2.HEADER_BYTES - PREFIX_BYTES}
"""Least value of the length field, by magic."""

CODEC_MASK = 0x07
TIMESTAMP_TYPE_MASK = 0x08
TRANSACTIONAL_MASK = 0x10
CONTROL_MASK = 0x20
DELETE_HORIZON_MASK = 0x40


class BatchView:
    """The header of one batch. Making it costs one unpack; the body is not touched.

    ``position`` is where the batch starts in its buffer, ``size_bytes`` its whole size. Magic 0 and 1 have
    no producer, epoch or count: those read -1 (``record_count`` too for a compressed wrapper), and
    ``base_offset`` is the wrapper's offset, which is that of its last record.
    """

    __slots__ = (
        "attributes", "base_offset", "base_sequence", "base_timestamp", "buffer", "crc", "last_offset", "magic",
        "max_timestamp", "partition_leader_epoch", "position", "producer_epoch", "producer_id", "record_count",
        "size_bytes",
    )  # fmt: skip

    def __init__(self, buffer: Buffer, position: int) -> None:
        """Read the header at ``position``; the whole batch must be in the buffer (``batches`` checks that)."""
        self.buffer = buffer
        self.position = position
        self.magic = buffer[position + MAGIC_POSITION]
        if self.magic == 2:
            (
                self.base_offset, length, self.partition_leader_epoch, _, self.crc, self.attributes, last_offset_delta,
                self.base_timestamp, self.max_timestamp, self.producer_id, self.producer_epoch, self.base_sequence,
                self.record_count,
            ) = v2.HEADER.unpack_from(buffer, position)  # fmt: skip
            self.last_offset = self.base_offset + last_offset_delta
        else:
            self.base_offset, length, self.crc, _, self.attributes = _LEGACY.unpack_from(buffer, position)
            self.last_offset = self.base_offset
            timestamp = -1
            if self.magic == 1:
                (timestamp,) = _LEGACY_TIMESTAMP.unpack_from(buffer, position + _LEGACY.size)
            self.base_timestamp = self.max_timestamp = timestamp
            self.partition_leader_epoch = self.producer_id = self.producer_epoch = self.base_sequence = -1
            self.record_count = -1 if self.codec else 1
        self.size_bytes = length + PREFIX_BYTES

    @property
    def codec(self) -> int:
        """Compression codec id, 0 to 7 (5 to 7 are unknown to Kafka)."""
        return self.attributes & CODEC_MASK

    @property
    def timestamp_type(self) -> int:
        """0 CreateTime, 1 LogAppendTime, -1 none (magic 0)."""
        if self.magic == 0:
            return -1
        return 1 if self.attributes & TIMESTAMP_TYPE_MASK else 0

    @property
    def is_transactional(self) -> bool:
        return self.magic == 2 and bool(self.attributes & TRANSACTIONAL_MASK)

    @property
    def is_control(self) -> bool:
        return self.magic == 2 and bool(self.attributes & CONTROL_MASK)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones and markers may go; it takes the place of the base timestamp (KIP-534)."""
        return self.base_timestamp if self.magic == 2 and self.attributes & DELETE_HORIZON_MASK else None

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; it counts offsets, so compaction does not change it."""
        return v2.sequence_at(self.base_sequence, self.last_offset - self.base_offset)

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def end(self) -> int:
        """Position after the batch in its buffer."""
        return self.position + self.size_bytes

    def data(self) -> Buffer:
        """The whole batch, as a slice of its buffer."""
        return self.buffer[self.position : self.end]

    def body(self) -> memoryview:
        """The records of magic 2, still compressed if the batch is."""
        return memoryview(self.buffer)[self.position + v2.HEADER_BYTES : self.end]

    def crc_ok(self) -> bool:
        """Whether the stored checksum fits: CRC-32C of magic 2, CRC-32 of magic 0 and 1."""
        view = memoryview(self.buffer)
        if self.magic == 2:
            return crc32c(view[self.position + v2.CRC_COVERS_FROM : self.end]) == self.crc
        return zlib.crc32(view[self.position + MAGIC_POSITION : self.end]) == self.crc

    def records(self, *, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> Iterator[Record]:
        """The records, decompressed if need be, with absolute offsets.

        Raises CorruptBatch (also from within the iteration) for contents that are impossible, and for more than
        ``limit_bytes`` of them; UnsupportedCodec for a codec no Kafka knows.
        """
        if self.magic != 2:
            from kafka_tools.records.legacy import iterate_legacy

            return iterate_legacy(self, limit_bytes)
        if self.record_count < 0:
            raise CorruptBatch(f"the batch at offset {self.base_offset} claims {self.record_count} records")
        body: Buffer = self.body()
        if self.codec:
            body = decompress(self.codec, body, limit_bytes=limit_bytes)
        return v2.iterate_records(
            body,
            self.record_count,
            base_offset=self.base_offset,
            base_timestamp=self.base_timestamp,
            base_sequence=self.base_sequence,
            append_time_ms=self.max_timestamp if self.timestamp_type == 1 else None,
        )


def batches(buffer: Buffer, *, strict: bool = True) -> Iterator[BatchView]:
    """The batches of a buffer, in order.

    Strict: raises CorruptBatch for a length that is impossible or goes beyond the buffer, UnknownMagic for a
    magic above 2. Not strict: stops quietly there, as a consumer does with the cut last batch of a fetch.
    """
    position = 0
    end = len(buffer)
    while position < end:
        problem = header_problem(buffer, position, end)
        if problem is not None:
            if strict:
                raise problem
            return
        batch = BatchView(buffer, position)
        yield batch
        position = batch.end


def header_problem(buffer: Buffer, position: int, end: int) -> CorruptBatch | None:
    """Why no batch can be read at ``position``, None if one can."""
    left = end - position
    if left < MAGIC_POSITION + 1:
        return CorruptBatch(f"{left} bytes are too few for a batch", position=position)
    offset, length = _PREFIX.unpack_from(buffer, position)
    magic = buffer[position + MAGIC_POSITION]
    least = SMALLEST_LENGTH.get(magic)
    if least is None:
        return UnknownMagic(f"the batch at offset {offset} has the magic {magic}", position=position)
    if length < least:
        return CorruptBatch(f"the batch at offset {offset} has the length {length}, below {least}", position=position)
    if length > left - PREFIX_BYTES:
        return CorruptBatch(
            f"the batch at offset {offset} has the length {length}, but {left - PREFIX_BYTES} bytes are left",
            position=position,
        )
    return None
