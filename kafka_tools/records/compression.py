"""Kafka's codecs: none, gzip, snappy, lz4, zstd.

zlib and cramjam provide the codecs. This module adds Kafka's framing: the xerial format around snappy (a 16-byte
header, then blocks of 32 KiB) and LZ4 frames of independent 64 KiB blocks, the only kind that Kafka reads, with Kafka's
old header checksum. Every decompression is limited: the output buffer never exceeds ``limit_bytes``, regardless of the
sizes in the data. Sources: ``org.apache.kafka.common.compress``; KIP-110 (zstd).
"""

from __future__ import annotations

import zlib
from typing import Any

from kafka_tools.errors import CorruptBatch, DecompressesToMore, UnsupportedCodec
from kafka_tools.protocol.enums import CODECS

LIMIT_BYTES = 256 * 1024 * 1024
"""The default limit for the decompressed size of a batch, in bytes."""

_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_SNAPPY_BLOCK_BYTES = 32 * 1024
_LZ4_HEADER = bytes.fromhex("04224d18604082")  # version 1, independent blocks of 64 KiB, header checksum 0x82
_LZ4_BLOCK_BYTES = 64 * 1024
_LZ4_STORED = 0x80000000  # this bit of a block's length: the block is not compressed
_FIRST_GUESS_BYTES = 32 * 1024
_KEPT_BYTES = 1024 * 1024
_buffers: list[bytearray] = []
"""Free output buffers for lz4 and zstd, at most one per thread that decompresses at the same time. A new buffer costs a
page fault for each 4 KiB, which is more than all other work on small batches.
"""
_BUFFER_FULL = "failed to write whole buffer"  # cramjam's words for an output buffer that is too small


def codec_id(codec: int | str) -> int:
    """The id of a codec given by name or id. Raises UnsupportedCodec."""
    if isinstance(codec, str):
        if codec not in CODECS:
            raise UnsupportedCodec(f"unknown compression codec '{codec}': expected one of {', '.join(CODECS)}")
        return CODECS.index(codec)
    if not 0 <= codec < len(CODECS):
        raise UnsupportedCodec(f"unknown compression codec id {codec}: expected 0 to {len(CODECS) - 1}")
    return codec


def compress(
    codec: int | str, data: bytes | bytearray, *, level: int | None = None, old_lz4_checksum: bool = False
) -> bytes:
    """``data`` in Kafka's framing of the codec. ``level`` is the codec's own (gzip 1-9, lz4 1-17, zstd 1-22).

    ``old_lz4_checksum`` writes the lz4 header that magic 0 needs. Raises UnsupportedCodec.
    """
    number = codec_id(codec)
    if number == 0:
        return bytes(data)
    if number == 1:
        stream = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION if level is None else level, zlib.DEFLATED, 31)
        return stream.compress(data) + stream.flush()
    import cramjam

    if number == 2:
        return _compress_snappy(cramjam, bytes(data))
    if number == 3:
        frame = _compress_lz4(cramjam, bytes(data), level)
        if not old_lz4_checksum:
            return frame
        from kafka_tools.records.lz4_frame import with_old_checksum

        return with_old_checksum(frame)
    return bytes(cramjam.zstd.compress(bytes(data), level=3 if level is None else level))


def _compress_snappy(cramjam: Any, data: bytes) -> bytes:
    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _SNAPPY_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _SNAPPY_BLOCK_BYTES]))
        parts += (len(block).to_bytes(4, "big"), block)
    return b"".join(parts)


def _compress_lz4(cramjam: Any, data: bytes, level: int | None) -> bytes:
    options: dict[str, Any] = {"store_size": False}
    if level is not None:
        options |= {"mode": "high_compression", "compression": level}
    parts = [_LZ4_HEADER]
    for start in range(0, len(data), _LZ4_BLOCK_BYTES):
        plain = data[start : start + _LZ4_BLOCK_BYTES]
        block = bytes(cramjam.lz4.compress_block(plain, **options))
        if len(block) < len(plain):
            parts += (len(block).to_bytes(4, "little"), block)
        else:
            parts += ((len(plain) | _LZ4_STORED).to_bytes(4, "little"), plain)
    parts.append(b"\x00\x00\x00\x00")
    return b"".join(parts)


def decompress(codec: int | str, data: bytes | bytearray | memoryview, *, limit_bytes: int = LIMIT_BYTES) -> bytes:
    """The decompressed data, ``limit_bytes`` at most.

    Raises CorruptBatch for invalid or truncated data, DecompressesToMore for data that exceed the limit, and
    UnsupportedCodec for an unknown codec.
    """
    number = codec_id(codec)
    packed = data if type(data) is bytes else bytes(data)
    if number == 0:
        if len(packed) > limit_bytes:
            raise _too_large("uncompressed", limit_bytes)
        return packed
    if number == 1:
        return _decompress_gzip(packed, limit_bytes)
    import cramjam

    if number == 2:
        return _decompress_snappy(cramjam, packed, limit_bytes)
    return _grow(number, packed, limit_bytes)


def decompress_into(codec: int, data: bytes, output: memoryview) -> int | None:
    """Decompress into the start of ``output``. Returns the number of bytes, None if they do not fit or are damaged.

    For readers of many batches that reuse their memory. ``decompress`` raises the error for a batch.
    """
    try:
        if codec in (3, 4):
            return _into(codec, _standard_lz4(data) if codec == 3 else data, output)
        plain = decompress(codec, data, limit_bytes=len(output))
    except CorruptBatch:
        return None
    output[: len(plain)] = plain
    return len(plain)


def _into(number: int, packed: bytes, output: memoryview | bytearray) -> int | None:
    """``decompress_into`` for lz4 and zstd: None if the output is too small. Raises CorruptBatch."""
    import cramjam

    codec = cramjam.lz4 if number == 3 else cramjam.zstd
    try:
        return int(codec.decompress_into(packed, output))
    except cramjam.DecompressionError as error:
        if _BUFFER_FULL in str(error):
            return None
        raise CorruptBatch(f"cannot decompress the {CODECS[number]} data of a batch: {error}") from error


def _standard_lz4(packed: bytes) -> bytes:
    if packed[:7] == _LZ4_HEADER:
        return packed
    from kafka_tools.records.lz4_frame import with_standard_checksum

    return with_standard_checksum(packed)


def _too_large(name: str, limit_bytes: int) -> DecompressesToMore:
    return DecompressesToMore(f"the {name} data of a batch exceed the limit of {limit_bytes} bytes when decompressed")


def _decompress_gzip(data: bytes, limit_bytes: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    rest = data
    while True:  # there may be several members, as in Java's GZIPInputStream
        stream = zlib.decompressobj(31)
        try:
            part = stream.decompress(rest, limit_bytes - size + 1)
        except zlib.error as error:
            raise CorruptBatch(f"cannot decompress the gzip data of a batch: {error}") from error
        size += len(part)
        if size > limit_bytes:
            raise _too_large("gzip", limit_bytes)
        parts.append(part)
        if not stream.eof:
            raise CorruptBatch("the gzip data of a batch are truncated")
        rest = stream.unused_data
        if rest[:2] != b"\x1f\x8b":
            return b"".join(parts) if len(parts) > 1 else part


def _decompress_snappy(cramjam: Any, data: bytes, limit_bytes: int) -> bytes:
    """Java and Python write the xerial stream; some clients wrote one raw block."""
    if not data.startswith(_XERIAL):
        return _snappy_block(cramjam, data, 0, limit_bytes)
    parts: list[bytes] = []
    position, size = len(_XERIAL_HEADER), 0
    if len(data) < position:
        raise CorruptBatch("the snappy data of a batch end inside the stream's header")
    while position < len(data):
        if data[position : position + 16] == _XERIAL_HEADER:  # there may be several streams
            position += 16
            continue
        length = int.from_bytes(data[position : position + 4], "big", signed=True)
        position += 4
        if not 0 <= length <= len(data) - position:
            raise CorruptBatch(
                f"a snappy block of {length} bytes is longer than the remaining {len(data) - position} bytes"
            )
        parts.append(_snappy_block(cramjam, data[position : position + length], size, limit_bytes))
        size += len(parts[-1])
        position += length
    return b"".join(parts)


def _snappy_block(cramjam: Any, block: bytes, before: int, limit_bytes: int) -> bytes:
    """One decompressed raw block; ``before``: the number of bytes from earlier blocks."""
    if not block:
        raise CorruptBatch("the snappy data of a batch are truncated")
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if before + size > limit_bytes:
            raise _too_large("snappy", limit_bytes)
        # A copy of 3 bytes expands to at most 64, so a length beyond that ratio is wrong. Allocate nothing for it.
        if size > 64 * len(block):
            raise CorruptBatch(f"a snappy block of {len(block)} bytes claims {size} bytes")
        buffer = bytearray(size)
        written = cramjam.snappy.decompress_raw_into(block, buffer)
    except cramjam.DecompressionError as error:
        raise CorruptBatch(f"cannot decompress the snappy data of a batch: {error}") from error
    return bytes(buffer) if written == size else bytes(buffer[:written])


def _grow(number: int, packed: bytes, limit_bytes: int) -> bytes:
    """Decompress into a buffer that grows fourfold until the data fit or the limit is reached."""
    if number == 3:
        packed = _standard_lz4(packed)
    capacity = min(max(_FIRST_GUESS_BYTES, 8 * len(packed)), limit_bytes)
    while True:
        kept = (_buffers.pop() if _buffers else bytearray(_KEPT_BYTES)) if capacity <= _KEPT_BYTES else None
        buffer = bytearray(capacity) if kept is None else kept
        with memoryview(buffer)[:capacity] as output:
            try:
                written = _into(number, packed, output)
                if written is not None:
                    return bytes(output[:written])
            finally:
                if kept is not None:
                    _buffers.append(kept)
        if capacity >= limit_bytes:
            raise _too_large(CODECS[number], limit_bytes)
        capacity = min(capacity * 4, limit_bytes)
