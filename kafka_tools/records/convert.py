"""Converts records from one magic to another, as a broker does for old clients.

For a consumer that reads magic 0 or 1, ``down_convert`` converts a few batches, and ``LazyConversion`` a whole fetch,
chunk by chunk (KIP-283). For a producer that writes magic 0 or 1, ``up_convert`` converts messages. Old magics cannot
store headers, producers' sequences, control batches and, in magic 0, timestamps, so these are lost. Sources:
``RecordsUtil``, ``LazyDownConversionRecords``, ``LogValidator`` of Kafka 2.0 to 3.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter_ns
from typing import NamedTuple

from kafka_tools.errors import CorruptBatch, UnsupportedCodec
from kafka_tools.protocol.enums import Codec
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import BatchBuilder
from kafka_tools.records.chain import LEAST_LENGTH, PREFIX, PREFIX_BYTES
from kafka_tools.records.record import Record

Now = Callable[[], int]
"""A clock in nanoseconds that only goes forward."""

CHUNK_BYTES = 128 * 1024
"""The bytes of the log to convert at a time, but at least one batch."""
_LARGEST_LENGTH = 0x7FFFFFFF


class ConversionStats(NamedTuple):
    """The cost of a conversion: bytes in memory, records that were converted, nanoseconds."""

    temporary_memory_bytes: int = 0
    records_converted: int = 0
    conversion_time_ns: int = 0

    def plus(self, other: ConversionStats) -> ConversionStats:
        return ConversionStats(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def __str__(self) -> str:
        return (
            f"RecordConversionStats(temporaryMemoryBytes={self.temporary_memory_bytes}, "
            f"numRecordsConverted={self.records_converted}, conversionTimeNanos={self.conversion_time_ns})"
        )


class Converted(NamedTuple):
    """Successive batches of the requested magic, and the cost of the conversion."""

    data: bytes
    stats: ConversionStats


def down_convert(
    views: Iterable[BatchView], magic: int, *, first_offset: int, now_ns: Now = perf_counter_ns
) -> Converted:
    """The batches in ``magic``. Batches with an older magic are unchanged.

    An uncompressed message of magic 0 or 1 is independent of others. So the result omits records before
    ``first_offset``, the requested offset, from uncompressed batches, but not from compressed ones. Raises
    CorruptBatch, and UnsupportedCodec for zstd, which old clients do not know.
    """
    began_ns = now_ns()
    parts: list[bytes] = []
    memory_bytes = converted = 0
    for view in views:
        if magic < 2 and view.is_control:
            continue
        if view.magic <= magic:
            parts.append(view.raw())
            memory_bytes += view.size_bytes
            continue
        if view.codec == Codec.ZSTD:
            raise UnsupportedCodec("Down-conversion of zstandard-compressed batches is not supported")
        keep_all = view.is_compressed
        records = [record for record in view.records() if keep_all or record.offset >= first_offset]
        if records:
            builder = _old_batch(view, records, magic)
            parts.append(
                builder.build(
                    base_offset=records[0].offset,
                    timestamp_type=max(0, view.timestamp_type),
                    append_time_ms=view.max_timestamp,
                )
            )
            memory_bytes += view.size_bytes + builder.size_bytes
            converted += len(records)
    return Converted(b"".join(parts), ConversionStats(memory_bytes, converted, now_ns() - began_ns))


def _old_batch(view: BatchView, records: list[Record], magic: int) -> BatchBuilder:
    builder = BatchBuilder(codec=view.codec, magic=magic)
    start = records[0].offset
    for record in records:
        builder.append(record.timestamp, record.key, record.value, offset_delta=record.offset - start)
    return builder


def down_convert_slice(data: bytes, magic: int, *, first_offset: int, now_ns: Now = perf_counter_ns) -> Converted:
    """As ``down_convert``, for the bytes of a fetch. Returns the bytes unchanged if no record was converted.

    An old client that receives an incomplete batch requests more bytes.
    """
    found = down_convert(batches(data), magic, first_offset=first_offset, now_ns=now_ns)
    return found if found.stats.records_converted else Converted(data, ConversionStats())


class LazyConversion:
    """The records of one partition in a fetch response, converted while they are sent.

    The response contains the number of bytes before they are converted: ``size_bytes``. This is the size of the log's
    batches, or of the first converted batch if that is larger. So a consumer gets at least one batch.
    """

    def __init__(self, data: bytes, magic: int, *, first_offset: int, now_ns: Now = perf_counter_ns) -> None:
        """``data``: complete batches of the log. Raises CorruptBatch or UnsupportedCodec for the first batch."""
        self._magic = magic
        self._first_offset = first_offset
        self._now_ns = now_ns
        self._views = batches(data)
        self._first: Converted | None = None
        self.stats = ConversionStats()
        self.size_bytes = 0
        first = next(self._views, None)
        if first is not None:
            self._first = self._convert([first])
            self.size_bytes = max(len(data), len(self._first.data))

    def chunks(self) -> Iterator[bytes]:
        """Exactly ``size_bytes`` bytes, in pieces. Iterate only once.

        Converted records usually take fewer bytes. The remaining bytes are the beginning of a longer batch, which a
        consumer ignores as truncated. Raises CorruptBatch and UnsupportedCodec.
        """
        left = self.size_bytes
        for found in self._converted():
            self.stats = self.stats.plus(found.stats)
            if left == self.size_bytes and len(found.data) > left and next(batches(found.data)).size_bytes > left:
                raise CorruptBatch(
                    f"Unable to send first batch completely. maximum_size: {left} "
                    f"converted_records_size: {next(batches(found.data)).size_bytes}"
                )
            piece = found.data[:left]
            left -= len(piece)
            if piece:
                yield piece
            if not left:
                return
        while left:
            piece = _filler(left)[:left]
            left -= len(piece)
            yield piece

    def _converted(self) -> Iterator[Converted]:
        if self._first is not None:
            first, self._first = self._first, None  # frees its memory once it is sent
            yield first
        view = next(self._views, None)
        while view is not None:
            chunk: list[BatchView] = []
            size_bytes = 0
            while view is not None and (not chunk or size_bytes + view.size_bytes <= CHUNK_BYTES):
                chunk.append(view)
                size_bytes += view.size_bytes
                view = next(self._views, None)
            yield self._convert(chunk)

    def _convert(self, views: list[BatchView]) -> Converted:
        return down_convert(views, self._magic, first_offset=self._first_offset, now_ns=self._now_ns)


def _filler(left: int) -> bytes:
    """The beginning of a batch that claims one byte more than ``left``.

    The claimed length is at least the smallest possible one. Kafka claims 13 if 12 bytes are left, which its own
    consumer reports as damage.
    """
    size_bytes = max(PREFIX_BYTES, min(left + 1, CHUNK_BYTES))
    return PREFIX.pack(-1, min(max(LEAST_LENGTH, left + 1), _LARGEST_LENGTH)) + bytes(size_bytes - PREFIX_BYTES)


def up_convert(
    views: Iterable[BatchView],
    *,
    base_offset: int = 0,
    codec: int | str | None = None,
    level: int | None = None,
    leader_epoch: int = -1,
    append_time_ms: int | None = None,
) -> bytes:
    """One magic 2 batch with all records of magic 0 or 1 messages, with offsets from ``base_offset`` on.

    ``codec`` None: the codec of the first message. ``level`` is the codec's own. ``append_time_ms``: LogAppendTime of
    that time. None: the records' own times (-1 from magic 0). Raises CorruptBatch for unreadable messages, for a wrong
    CRC, and if there are no messages.
    """
    builder: BatchBuilder | None = None
    for view in views:
        if view.magic >= 2:
            raise CorruptBatch("a batch of magic 2 among messages of older magics")
        if not view.crc_ok():
            raise CorruptBatch("the CRC of a message does not match its contents")
        if builder is None:
            builder = BatchBuilder(codec=view.codec if codec is None else codec, level=level)
        for record in view.records():
            if record.crc_ok is False:
                raise CorruptBatch("the CRC of a message in a compressed set does not match its contents")
            builder.append(record.timestamp, record.key, record.value)
    if builder is None:
        raise CorruptBatch("there are no messages to convert")
    return builder.build(
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        timestamp_type=0 if append_time_ms is None else 1,
        append_time_ms=append_time_ms,
    )
