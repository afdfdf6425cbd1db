"""Headers of many magic 2 batches at once, as numpy columns: the fast path of the audit.

Reads a file in windows of bounded size, follows the chain of batch lengths, and checks every CRC on the way; records
are neither decompressed nor parsed. It understands well-formed magic 2 batches only and stops at the first byte that is
none: what that is, ``storage.segment`` says. Layout: ``org.apache.kafka.common.record.DefaultRecordBatch``.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from google_crc32c import extend, value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.spark.files import File

HEADER = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("record_count", ">i4"),
    ]
)
HEADER_BYTES = HEADER.itemsize
PREFIX_BYTES = 12
"""Base offset and length, which the length does not count."""

WINDOW_BYTES = 1024 * 1024
_CRC_FROM = 21
_LENGTH_AND_MAGIC = Struct(">i4xb")
_SMALLEST_LENGTH = HEADER_BYTES - PREFIX_BYTES


class Headers(NamedTuple):
    """Headers of consecutive batches.

    ``positions`` in the file (bytes), ``fields`` (dtype HEADER), and per batch whether its CRC fits: None when that
    was not checked.
    """

    positions: NDArray[np.int64]
    fields: NDArray[np.void]
    crc_ok: NDArray[np.bool_] | None


def scan(
    file: File, start: int, end: int, size: int, *, check_crc: bool, window_bytes: int = WINDOW_BYTES
) -> Generator[Headers, None, int]:
    """Headers of the batches that start in ``[start, end)`` of a file of ``size`` bytes.

    Returns the position after the last of them: at least ``end`` when all is well, else where something begins that is
    no whole magic 2 batch. Memory is bounded by the window, also for batches that are larger. OSError as from reading.
    """
    window = bytearray(max(window_bytes, HEADER_BYTES))
    bytes_of = np.frombuffer(window, np.uint8)
    bytes_of.flags.writeable = False  # the CRC library takes nothing else without a copy
    position = start
    while position < end:
        filled = file.read_into(memoryview(window)[: size - position], position)
        starts, after, whole = _chain(window, filled, end - position)
        if starts:
            fields = _gather(bytes_of, starts)
            crc_ok = None
            if check_crc:
                stops = [*starts[1:], after]
                found = [value(bytes_of[at + _CRC_FROM : stop]) for at, stop in zip(starts, stops, strict=True)]
                crc_ok = np.array(found, np.uint32) == fields["crc"]
            yield Headers(position + np.array(starts, np.int64), fields, crc_ok)
            position += after
        elif whole and position + whole <= size:
            # A batch that is larger than the window.
            fields = _gather(bytes_of, [0])
            ok = None
            if check_crc:
                found_crc = _crc_of(file, position + _CRC_FROM, position + whole, window)
                if found_crc is None:
                    return position
                ok = np.array([found_crc], np.uint32) == fields["crc"]
            yield Headers(np.array([position], np.int64), fields, ok)
            position += whole
        else:
            return position
    return position


def concatenate(parts: Sequence[Headers]) -> Headers:
    """The headers of all ``parts`` in one."""
    if len(parts) == 1:
        return parts[0]
    checks = [part.crc_ok for part in parts if part.crc_ok is not None]
    return Headers(
        np.concatenate([part.positions for part in parts]),
        np.concatenate([part.fields for part in parts]),
        np.concatenate(checks) if len(checks) == len(parts) else None,
    )


def _chain(data: bytearray, filled: int, end: int) -> tuple[list[int], int, int]:
    """(starts of whole batches in ``data``, where the next one starts, the size of that one if its header is plain)."""
    starts: list[int] = []
    append = starts.append
    length_and_magic = _LENGTH_AND_MAGIC.unpack_from
    last_header = filled - HEADER_BYTES
    at = 0
    while at < end and at <= last_header:
        length, magic = length_and_magic(data, at + 8)
        if magic != 2 or length < _SMALLEST_LENGTH:
            return starts, at, 0
        after = at + PREFIX_BYTES + length
        if after > filled:
            return starts, at, after - at
        append(at)
        at = after
    return starts, at, 0


def _gather(data: NDArray[np.uint8], starts: list[int]) -> NDArray[np.void]:
    rows = np.array(starts)[:, None] + np.arange(HEADER_BYTES)
    return np.ascontiguousarray(data[rows]).view(HEADER)[:, 0]


def _crc_of(file: File, start: int, stop: int, window: bytearray) -> int | None:
    """CRC-32C of a stretch of the file, read through ``window``; None if the file ends before ``stop``."""
    crc = 0
    while start < stop:
        room = memoryview(window)[: stop - start]
        filled = file.read_into(room, start)
        if filled == 0:
            return None
        crc = extend(crc, bytes(room[:filled]))
        start += filled
    return crc
