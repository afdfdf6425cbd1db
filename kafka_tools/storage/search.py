"""Searches for the next complete batch after damage, where lengths cannot be trusted.

A header counts only if its numbers are consistent, its offsets match the segment, and the CRC is valid. Impossible
headers are excluded many bytes at a time. The size of a file limits how many bytes the CRCs of all searches in it may
read. Below magic 2, the messages within a wrapper that could not be compressed look like messages of the log. Their
relative offsets (KIP-31) exclude them in every segment except a partition's first one.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from kafka_tools.protocol.enums import LOG_APPEND_TIME_BIT, Codec
from kafka_tools.records.chain import (
    ATTRIBUTE_BITS,
    CRC_FROM,
    CRC_POSITION,
    HEADER_BYTES,
    LEGACY_BYTES,
    LEGACY_CRC_FROM,
    LEGACY_CRC_POSITION,
    LENGTH_POSITION,
    MAGIC_POSITION,
    PREFIX_BYTES,
)
from kafka_tools.records.chain_columns import field, gather, number
from kafka_tools.records.crc32c import crc32c_extend
from kafka_tools.storage.layout import FIRST_BYTES, MAX_BATCH_BYTES, MAX_RELATIVE_OFFSET

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WINDOW_BYTES = 256 * 1024
_CRC_BYTES = 64 * 1024 * 1024
"""The bytes that CRC checks of a file's searches may read, in addition to the bytes that the searches have passed."""
_CRC_PART_BYTES = 1024 * 1024
_LEGACY_CODEC_BITS = Codec.GZIP | Codec.SNAPPY | Codec.LZ4
_LEGACY_ATTRIBUTES = (_LEGACY_CODEC_BITS, _LEGACY_CODEC_BITS | LOG_APPEND_TIME_BIT)
"""The possible bits for each magic: the codec (zstd needs magic 2) and, in magic 1, the timestamp's type."""
_SIZES_BYTES = 8
"""The bytes of the sizes of key and value at the end of the smallest message."""
_INT32 = Struct(">i")

Read = Callable[[int, int], bytes]
"""(position, maximum bytes) -> the bytes there, fewer only at the end of the file."""


class BatchSearch:
    """The searches in one file."""

    def __init__(self, read: Read, base_offset: int) -> None:
        """``base_offset``: the base offset of the segment."""
        self._read = read
        self._base_offset = base_offset
        self._crc_bytes_left = _CRC_BYTES

    def next(self, start: int, end: int, before: int) -> int | None:
        """The position of a batch with a valid CRC that starts between ``start`` and ``before`` and ends by ``end``."""
        position, want = start, FIRST_BYTES
        last = min(end, before + HEADER_BYTES)
        while position < before:
            size_bytes = min(want, last - position)
            data = self._read(position, size_bytes)
            is_last = len(data) < size_bytes or position + size_bytes == last
            # The next window contains the headers that this one would cut off.
            stop = before - position if is_last else len(data) - HEADER_BYTES
            for at, batch_bytes in self._candidates(data, stop, position, end):
                if batch_bytes <= self._crc_bytes_left:
                    self._crc_bytes_left -= batch_bytes
                    if self._crc_ok(position + at, batch_bytes, data[at + MAGIC_POSITION]):
                        self._crc_bytes_left += at + batch_bytes
                        return position + at
            if is_last:
                return None
            self._crc_bytes_left += stop
            position += stop
            want = min(want * 4, _WINDOW_BYTES)
        return None

    def may_start_at(self, position: int, end: int) -> bool:
        """Whether there is a header with consistent numbers at ``position``. Does not check the CRC."""
        data = self._read(position, min(HEADER_BYTES, end - position))
        return any(True for _ in self._candidates(data, 1, position, end))

    def _candidates(self, data: bytes, stop: int, position: int, end: int) -> Iterator[tuple[int, int]]:
        """(start, size) of everything in the form of a batch before ``stop`` in the bytes at ``position``."""
        for at, size_bytes in _headers(data, stop, self._base_offset, end - position):
            magic = data[at + MAGIC_POSITION]
            if magic == 2 or self._parts_fit(data, at, size_bytes, position, magic):
                yield at, size_bytes

    def _parts_fit(self, data: bytes, at: int, size_bytes: int, position: int, magic: int) -> bool:
        """Whether key and value fill the message at ``at`` to its last byte."""
        key_at = at + LEGACY_BYTES[magic] - _SIZES_BYTES
        key_bytes = max(_INT32.unpack_from(data, key_at)[0], 0)
        left = at + size_bytes - key_at - _SIZES_BYTES - key_bytes
        value_at = key_at + _INT32.size + key_bytes
        raw = data[value_at : value_at + _INT32.size]
        if len(raw) < _INT32.size:
            raw = self._read(position + value_at, _INT32.size)
        value_bytes = _INT32.unpack(raw)[0] if len(raw) == _INT32.size else None
        return value_bytes == left or (value_bytes == -1 and not left)

    def _crc_ok(self, position: int, size_bytes: int, magic: int) -> bool:
        """Whether the CRC of the batch at ``position`` is right. Reads it in parts, because its size may be wrong."""
        crc_from, stored_at, extend = LEGACY_CRC_FROM, LEGACY_CRC_POSITION, _crc32_extend
        if magic == 2:
            crc_from, stored_at, extend = CRC_FROM, CRC_POSITION, crc32c_extend
        end = position + size_bytes
        stored = self._read(position + stored_at, 4)
        position += crc_from
        crc = 0
        while position < end:
            part = self._read(position, min(_CRC_PART_BYTES, end - position))
            if not part:
                return False
            crc = extend(crc, part)
            position += len(part)
        return crc == int.from_bytes(stored, "big")


def _crc32_extend(crc: int, data: bytes) -> int:
    return zlib.crc32(data, crc)


def _headers(data: bytes, stop: int, base_offset: int, left: int) -> Iterator[tuple[int, int]]:
    """Starts and sizes of possible batches, if the file has ``left`` bytes from the start of ``data`` on."""
    count = min(stop, len(data) - LEGACY_BYTES[0] + 1)
    if count <= 0:
        return
    octets = np.frombuffer(data, np.uint8)

    def octet(at: int) -> NDArray[np.uint8]:
        return octets[at : at + count]

    possible = octet(MAGIC_POSITION) <= 2
    # All possible offsets of the segment share their first bytes.
    least, most = base_offset.to_bytes(8, "big"), (base_offset + MAX_RELATIVE_OFFSET).to_bytes(9, "big")[1:]
    for at, (value, other) in enumerate(zip(least, most, strict=True)):
        if value != other:
            break
        possible &= octet(at) == value
    lengths = [octet(at) for at in range(LENGTH_POSITION, PREFIX_BYTES)]
    possible &= lengths[0] <= MAX_BATCH_BYTES >> 24
    possible &= (lengths[0] | lengths[1] | lengths[2] | lengths[3]) != 0
    starts = np.flatnonzero(possible)
    if not len(starts):
        return
    sizes = field(data, "length", starts) + PREFIX_BYTES
    offsets = field(data, "base_offset", starts) - base_offset
    fits = (sizes <= np.minimum(left - starts, MAX_BATCH_BYTES)) & (offsets >= 0) & (offsets <= MAX_RELATIVE_OFFSET)
    starts, sizes, offsets = starts[fits], sizes[fits], offsets[fits]
    magics = octets[starts + MAGIC_POSITION]
    fits = np.zeros(len(starts), bool)
    for magic, least_bytes in enumerate((*LEGACY_BYTES, HEADER_BYTES)):
        chosen = np.flatnonzero((magics == magic) & (sizes >= least_bytes) & (starts <= len(data) - least_bytes))
        fit = _batch_fits if magic == 2 else _message_fits
        fits[chosen] = fit(data, starts[chosen], sizes[chosen], offsets[chosen])
    yield from zip(starts[fits].tolist(), sizes[fits].tolist(), strict=True)


def _message_fits(
    data: bytes, starts: NDArray[np.int64], sizes: NDArray[np.int64], offsets: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether attributes and key size are possible for messages, which all have the same magic below 2."""
    if not len(starts):
        return np.zeros(0, bool)
    magic = data[int(starts[0]) + MAGIC_POSITION]
    attributes = np.frombuffer(data, np.uint8)[starts + MAGIC_POSITION + 1]
    key_bytes = number(data, LEGACY_BYTES[magic] - _SIZES_BYTES, ">i4", starts)
    fits: NDArray[np.bool_] = (attributes & ~np.uint8(_LEGACY_ATTRIBUTES[magic]) == 0) & (key_bytes >= -1)
    return fits & (key_bytes <= sizes - LEGACY_BYTES[magic])


def _batch_fits(
    data: bytes, starts: NDArray[np.int64], sizes: NDArray[np.int64], offsets: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether the numbers in the headers of magic 2 batches are consistent."""
    headers = gather(data, starts)
    last_delta, count = (headers[name].astype(np.int64) for name in ("last_offset_delta", "record_count"))
    fits: NDArray[np.bool_] = (headers["attributes"] & ~ATTRIBUTE_BITS == 0) & (
        offsets + last_delta <= MAX_RELATIVE_OFFSET
    )
    fits &= (count >= 0) & (count <= last_delta + 1)
    for name in ("leader_epoch", "producer_id", "producer_epoch", "base_sequence"):
        fits &= headers[name] >= -1
    return fits
