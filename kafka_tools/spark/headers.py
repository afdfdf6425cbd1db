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
MAGIC_POSITION = 16
_FIRST_STEPS = 64
_SMALL_BYTES = 1024
"""If batches are smaller, looking for them at all places at once beats following each to the next."""
_SIEVES = 4
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
    not a whole magic 2 batch. Memory is bounded by the window, also for larger batches. OSError as from reading.
    """
    window = bytearray(max(window_bytes, HEADER_BYTES))
    bytes_of = np.frombuffer(window, np.uint8)
    bytes_of.flags.writeable = False  # the CRC library takes nothing else without a copy
    position = start
    while position < end:
        filled = file.read_into(memoryview(window)[: size - position], position)
        starts, after, whole = _chain(window, bytes_of, filled, end - position)
        if starts:
            fields = gather(bytes_of, starts)
            crc_ok = None
            if check_crc:
                stops = [*starts[1:], after]
                found = [value(bytes_of[at + _CRC_FROM : stop]) for at, stop in zip(starts, stops, strict=True)]
                crc_ok = np.array(found, np.uint32) == fields["crc"]
            yield Headers(position + np.array(starts, np.int64), fields, crc_ok)
            position += after
        elif whole and position + whole <= size:
            # A batch that is larger than the window.
            fields = gather(bytes_of, [0])
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


def _chain(data: bytearray, bytes_of: NDArray[np.uint8], filled: int, end: int) -> tuple[list[int], int, int]:
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
        if len(starts) == _FIRST_STEPS and at < _FIRST_STEPS * _SMALL_BYTES:
            more, at = _leap(bytes_of[:filled], at, end)
            starts += more
    return starts, at, 0


def _leap(data: NDArray[np.uint8], start: int, end: int) -> tuple[list[int], int]:
    """Whole batches from ``start`` on, and where the next one starts, found without a step for each of them.

    Where a byte says magic 2 and the length is one, a batch may start; what no other one leads to does not. Of what is
    left, each has to lead to the next: so far the chain is certain, however it was found.
    """
    behind = max(start, len(data) - HEADER_BYTES + 1)
    at = start + np.flatnonzero(data[start + MAGIC_POSITION : behind + MAGIC_POSITION] == 2)
    at = at[at < end]
    length = np.ndarray((len(data) - 3,), ">i4", data, strides=(1,))[at + 8].astype(np.int64)
    at = at[length >= _SMALLEST_LENGTH]
    after = at + PREFIX_BYTES + length[length >= _SMALLEST_LENGTH]
    for _ in range(_SIEVES):
        found = np.searchsorted(at, after)
        led_to = found[(found < len(at)) & (at[np.minimum(found, len(at) - 1)] == after)]
        kept = at == start
        kept[led_to] = True
        if kept.all():
            break
        at, after = at[kept], after[kept]
    if not len(at) or at[0] != start:
        return [], start
    breaks = np.flatnonzero((after[:-1] != at[1:]) | (after[:-1] > len(data)))
    count = int(breaks[0]) + 1 if len(breaks) else len(at)
    if after[count - 1] > len(data):
        count -= 1
    return at[:count].tolist(), int(after[count - 1]) if count else start


def gather(data: NDArray[np.uint8], starts: Sequence[int] | NDArray[np.int64]) -> NDArray[np.void]:
    """The headers (dtype HEADER) that begin at ``starts``; all of them lie within ``data``."""
    at_each = np.ndarray((max(0, len(data) - HEADER_BYTES + 1),), HEADER, data, strides=(1,))
    return at_each[np.asarray(starts, np.int64)]


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
