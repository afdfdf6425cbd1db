"""Headers of many magic 2 batches of a file, window by window: the fast path of the audit.

Reads a file in windows of bounded size, follows the chain of batches in each (``records.chain_columns``), and checks
every CRC. It does not decompress or parse records. It reads well-formed magic 2 batches only, and stops at the first
byte of anything else. ``storage.segment`` then finds out what is there.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from google_crc32c import extend, value

from kafka_tools.records.chain import CRC_FROM, HEADER_BYTES, MAGIC_POSITION, OF_MAGIC_2, PREFIX_BYTES, size_at
from kafka_tools.records.chain_columns import follow_many, gather

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.spark.files import File

WINDOW_BYTES = 1024 * 1024


class Headers(NamedTuple):
    """Headers of consecutive batches.

    ``positions`` are bytes in the file, ``fields`` has the dtype ``chain_columns.HEADER``. ``crc_ok`` is None if no CRC
    was checked.
    """

    positions: NDArray[np.int64]
    fields: NDArray[np.void]
    crc_ok: NDArray[np.bool_] | None

    def take(self, at: slice | NDArray[np.int64] | NDArray[np.bool_]) -> Headers:
        """Some of the batches."""
        return Headers(self.positions[at], self.fields[at], None if self.crc_ok is None else self.crc_ok[at])

    def column(self, name: str) -> NDArray[np.int64]:
        """A field of the headers."""
        return self.fields[name].astype(np.int64)

    @property
    def last_offsets(self) -> NDArray[np.int64]:
        return self.column("base_offset") + self.column("last_offset_delta")

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The sizes of the batches in bytes, with their headers."""
        return self.column("length") + PREFIX_BYTES


def scan(
    file: File, start: int, end: int, *, check_crc: bool, window_bytes: int = WINDOW_BYTES
) -> Generator[Headers, None, int]:
    """Headers of the batches from ``start`` up to ``end``.

    Returns the position after the last one: ``end``, or the start of data that is not a
    whole magic 2 batch. Memory is bounded by the window, also for larger batches. OSError as from reading.
    """
    window = bytearray(max(window_bytes, HEADER_BYTES))
    bytes_of = np.frombuffer(window, np.uint8)
    bytes_of.flags.writeable = False  # the CRC library takes nothing else without a copy
    position = start
    while position < end:
        filled = file.read_into(memoryview(window)[: end - position], position)
        starts, after = follow_many(window, 0, filled)
        if starts:
            fields = gather(bytes_of, starts)
            crc_ok = None
            if check_crc:
                stops = [*starts[1:], after]
                found = [value(bytes_of[at + CRC_FROM : stop]) for at, stop in zip(starts, stops, strict=True)]
                crc_ok = np.array(found, np.uint32) == fields["crc"]
            yield Headers(position + np.array(starts, np.int64), fields, crc_ok)
            position += after
            continue
        size_bytes = size_at(window) if filled >= HEADER_BYTES else 0
        if size_bytes - PREFIX_BYTES < OF_MAGIC_2[window[MAGIC_POSITION]] or position + size_bytes > end:
            return position
        # A batch that is larger than the window.
        fields = gather(bytes_of, [0])
        ok = None
        if check_crc:
            found_crc = _crc_of(file, position + CRC_FROM, position + size_bytes, window)
            if found_crc is None:
                return position
            ok = np.array([found_crc], np.uint32) == fields["crc"]
        yield Headers(np.array([position], np.int64), fields, ok)
        position += size_bytes
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
