"""Compression of batches: codec id or name to bytes and back, with a limit on what comes out.

The codecs themselves are cramjam's and zlib's. Ours is what Kafka adds: the xerial framing around snappy
(``org.xerial.snappy.SnappyOutputStream``) and an LZ4 frame of independent 64 KiB blocks without checksums
(``org.apache.kafka.common.compress.Lz4BlockOutputStream``); cramjam's own frames have linked blocks,
which Kafka's reader refuses. Output never grows beyond ``limit_bytes``, whatever the input claims.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from struct import Struct
from typing import Any

from kafka_tools.errors import CorruptBatch, InputError, UnsupportedCodec

Buffer = bytes | bytearray | memoryview

NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
"""Codec names by id: the lowest three bits of a batch's attributes."""

DEFAULT_LIMIT_BYTES = 1 << 30
_START_BYTES = 1 << 16
_BLOCK_BYTES = 1 << 16
_XERIAL_HEADER = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2
_XERIAL_BLOCK_BYTES = 1 << 15
_LZ4_HEADER = bytes.fromhex("04224d18604082")  # version 1, independent blocks, 64 KiB, header checksum 0x82
_BE32 = Struct(">i")
_LE32 = Struct("<I")


def codec_id(codec: int | str) -> int:
    """The id of a codec given by id or name; UnsupportedCodec for an unknown id, InputError for an unknown name."""
    if isinstance(codec, str):
        if codec not in NAMES:
            raise InputError(f"'{codec}' is no compression codec: give one of {', '.join(NAMES)}")
        return NAMES.index(codec)
    if not 0 <= codec < len(NAMES):
        raise UnsupportedCodec(f"compression codec {codec} is unknown")
    return codec


def codec_name(codec: int) -> str:
    """The name of a codec id; UnsupportedCodec for an unknown one."""
    return NAMES[codec_id(codec)]


def compress(codec: int | str, data: Buffer) -> bytes:
    """``data`` compressed as Kafka's producers write it; unchanged for "none"."""
    return _COMPRESS[codec_id(codec)](data)


def decompress(codec: int | str, data: Buffer, *, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> bytes:
    """What ``data`` was made of.

    Raises CorruptBatch for bytes that are not of this codec, are cut short, or would give more than
    ``limit_bytes``; UnsupportedCodec for an unknown codec id.
    """
    return _DECOMPRESS[codec_id(codec)](data, limit_bytes)


def _plain(data: Buffer) -> bytes:
    return bytes(data)


def _plain_back(data: Buffer, limit_bytes: int) -> bytes:
    if len(data) > limit_bytes:
        raise _too_long("none", limit_bytes)
    return bytes(data)


def _gzip(data: Buffer) -> bytes:
    deflate = zlib.compressobj(wbits=31)
    return deflate.compress(data) + deflate.flush()


def _gunzip(data: Buffer, limit_bytes: int) -> bytes:
    inflate = zlib.decompressobj(wbits=31)
    try:
        # One byte beyond the limit tells "exactly the limit" from "more than the limit".
        out = inflate.decompress(data, limit_bytes + 1)
    except zlib.error as error:
        raise CorruptBatch(f"gzip data cannot be read: {error}") from error
    if len(out) > limit_bytes:
        raise _too_long("gzip", limit_bytes)
    if not inflate.eof:
        raise CorruptBatch("gzip data ends before its end mark")
    return out


def _snappy(data: Buffer) -> bytes:
    from cramjam import snappy

    parts = [_XERIAL_HEADER]
    view = memoryview(data)
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(snappy.compress_raw(bytes(view[start : start + _XERIAL_BLOCK_BYTES])))
        parts += (_BE32.pack(len(block)), block)
    return b"".join(parts)


def _unsnappy(data: Buffer, limit_bytes: int) -> bytes:
    """Both forms are found in logs: Java and Python write the xerial stream, librdkafka and Go also raw blocks."""
    raw = bytes(data)
    if not raw.startswith(_XERIAL_HEADER[:8]):
        return _unsnappy_block(raw, limit_bytes)
    parts: list[bytes] = []
    total = 0
    position = len(_XERIAL_HEADER)
    while position < len(raw):
        if position + 4 > len(raw):
            raise CorruptBatch("snappy data ends inside a block's length")
        (size,) = _BE32.unpack_from(raw, position)
        position += 4
        if not 0 <= size <= len(raw) - position:
            raise CorruptBatch(f"a snappy block claims {size} bytes, but {len(raw) - position} are left")
        block = _unsnappy_block(raw[position : position + size], limit_bytes - total)
        total += len(block)
        parts.append(block)
        position += size
    return b"".join(parts)


def _unsnappy_block(block: bytes, limit_bytes: int) -> bytes:
    from cramjam import DecompressionError, snappy

    try:
        size = snappy.decompress_raw_len(block)
        if size > limit_bytes:
            raise _too_long("snappy", limit_bytes)
        out = bytearray(size)
        snappy.decompress_raw_into(block, out)
    except DecompressionError as error:
        raise CorruptBatch(f"snappy data cannot be read: {error}") from error
    return bytes(out)


def _lz4(data: Buffer) -> bytes:
    from cramjam import lz4

    parts = [_LZ4_HEADER]
    view = memoryview(data)
    for start in range(0, len(view), _BLOCK_BYTES):
        plain = bytes(view[start : start + _BLOCK_BYTES])
        block = bytes(lz4.compress_block(plain, store_size=False))
        if len(block) < len(plain):
            parts += (_LE32.pack(len(block)), block)
        else:  # the highest bit says that the block is not compressed
            parts += (_LE32.pack(len(plain) | 0x80000000), plain)
    parts.append(_LE32.pack(0))
    return b"".join(parts)


def _unlz4(data: Buffer, limit_bytes: int) -> bytes:
    from cramjam import lz4

    return _grow("lz4", lz4.decompress_into, data, limit_bytes)


def _zstd(data: Buffer) -> bytes:
    from cramjam import zstd

    return bytes(zstd.compress(bytes(data)))


def _unzstd(data: Buffer, limit_bytes: int) -> bytes:
    from cramjam import zstd

    return _grow("zstd", zstd.decompress_into, data, limit_bytes)


def _grow(name: str, decompress_into: Callable[[Any, Any], int], data: Buffer, limit_bytes: int) -> bytes:
    """Decompress into a buffer that is made larger until the data fit or the limit is reached."""
    from cramjam import DecompressionError

    raw = bytes(data)
    capacity = min(limit_bytes, max(_START_BYTES, 4 * len(raw)))
    while True:
        out = bytearray(capacity)
        try:
            return bytes(memoryview(out)[: decompress_into(raw, out)])
        except DecompressionError as error:
            if "failed to write whole buffer" not in str(error):
                raise CorruptBatch(f"{name} data cannot be read: {error}") from error
            if capacity >= limit_bytes:
                raise _too_long(name, limit_bytes) from error
        capacity = min(limit_bytes, capacity * 4)


def _too_long(name: str, limit_bytes: int) -> CorruptBatch:
    return CorruptBatch(f"{name} data gives more than the limit of {limit_bytes} bytes")


_COMPRESS: tuple[Callable[[Buffer], bytes], ...] = (_plain, _gzip, _snappy, _lz4, _zstd)
_DECOMPRESS: tuple[Callable[[Buffer, int], bytes], ...] = (_plain_back, _gunzip, _unsnappy, _unlz4, _unzstd)
