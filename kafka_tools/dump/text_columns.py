"""The lines of many batches together, from columns; ``text`` creates the same lines one by one.

Returns None for batches that are not plain, which ``text`` shows. Bytes stay bytes. Invalid UTF-8 in keys and values is
replaced at the end. The result is the same as if it were replaced in each one, because the text between them is ASCII.

Measured: ``kafka-dump-log --print-data-log`` of 200 MiB takes 2.5 s of CPU with this module and 15.9 s without it, for
records of one form (120 per batch, not compressed). For records of all sizes (half of the batches lz4, some with
headers, most not ASCII) it takes 5.8 s and 13.3 s.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafka_tools.dump import text
from kafka_tools.dump.byte_rows import ByteRows
from kafka_tools.dump.decoders import Decoder, is_plain_text
from kafka_tools.dump.internal_decoders import OffsetsDecoder, control
from kafka_tools.dump.offset_columns import OffsetCommits
from kafka_tools.errors import LogError
from kafka_tools.protocol.enums import TIMESTAMP_TYPES, TimestampType
from kafka_tools.records.batches import BatchView
from kafka_tools.records.columns import decode, new_arena
from kafka_tools.records.header_columns import headers as header_columns
from kafka_tools.records.record import Record
from kafka_tools.records.record_columns import RecordColumns
from kafka_tools.records.text import java_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.int64]
    Mask = NDArray[np.bool_]

SLAB_ROWS = 2048
"""The number of lines to build together, so that their memory stays in the processor's cache."""
_CREATE_TIME = f" {TIMESTAMP_TYPES[0]}: ".encode()
_APPEND_TIME = f" {TIMESTAMP_TYPES[1]}: ".encode()
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1


class TextWindow(NamedTuple):
    """The lines of the first ``batch_count`` batches, and the stored offsets of their records."""

    parts: list[bytes]
    """The lines, in pieces to write one after the other."""
    offsets: Column
    batch_count: int

    def gaps(self, previous: int) -> list[tuple[int, int]]:
        """(offset, next offset) of each gap, including a gap after ``previous`` (-1: none)."""
        offsets = self.offsets
        if not offsets.size:
            return []
        found = [(previous, int(offsets[0]))] if previous >= 0 and offsets[0] != previous + 1 else []
        at = np.flatnonzero(offsets[1:] != offsets[:-1] + 1)
        return found + [(int(offsets[index]), int(offsets[index + 1])) for index in at.tolist()]

    @property
    def first_offset(self) -> int | None:
        """The offset of the first record, None without records."""
        return int(self.offsets[0]) if self.offsets.size else None

    @property
    def last_offset(self) -> int | None:
        """The offset of the last record, None without records."""
        return int(self.offsets[-1]) if self.offsets.size else None


Contents = Callable[[ByteRows, RecordColumns, "Mask | None"], None]
"""Adds the contents of records to their lines. The mask excludes the records of control batches."""


@cache
def _arena() -> memoryview:
    """The memory of all windows, allocated once. Other memory of a window is also kept for the next window.

    Otherwise the C library returns freed memory to the system and takes it again for the next window. The page faults
    cost as much as all the work on the pages.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # only glibc has this option
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, 32 * 1024 * 1024)
        set_option(_TRIM_THRESHOLD, 128 * 1024 * 1024)
    return new_arena()


def window(
    views: Sequence[BatchView], crcs_ok: Sequence[bool], decoder: Decoder | None, skip_record_metadata: bool
) -> TextWindow | None:
    """The lines of the first ``views`` with a line per record, None if they must be shown one by one.

    The views have one buffer. ``crcs_ok``: whether the CRC of each is valid. ``decoder`` None: without contents.
    """
    if decoder is None:
        contents: Contents | None = None
    elif is_plain_text(decoder):
        contents = partial(_plain_contents, prefix=b"| " if skip_record_metadata else b" ")
    elif isinstance(decoder, OffsetsDecoder):
        contents = partial(_offsets_contents, decoder, prefix="| " if skip_record_metadata else " ")
    else:
        contents = partial(_decoded_contents, decoder, prefix="| " if skip_record_metadata else " ")

    in_control = flags(views, lambda view: view.is_control)
    append_time = flags(views, lambda view: view.timestamp_type == TimestampType.LOG_APPEND_TIME)

    def lines(part: RecordColumns) -> ByteRows:
        rows = ByteRows(part.record_count)
        ordinary = None if in_control is None else ~in_control[part.batch]
        if not skip_record_metadata:
            _metadata(rows, part, None if append_time is None else append_time[part.batch])
            if ordinary is not None:
                rows.texts(["" if record is None else control(record) for record in records(part, ~ordinary)])
        if contents is not None:
            contents(rows, part, ordinary)
        rows.constant(b"\n")
        return rows

    def batch_lines(count: int) -> list[bytes]:
        each = zip(views[:count], crcs_ok, strict=False)
        return [(text.batch_start(view) + text.batch_end(view, crc_ok)).encode() for view, crc_ok in each]

    return assemble(views, batch_lines, lines)


def assemble(
    views: Sequence[BatchView],
    batch_lines: Callable[[int], Sequence[bytes]],
    lines: Callable[[RecordColumns], ByteRows],
) -> TextWindow | None:
    """The lines of batches and their records. ``batch_lines`` returns the lines of the first few batches."""
    found = decode(views, _arena())
    if found is None:
        return None
    heads = batch_lines(found.batch_count) if found.batch_count else []
    starts = (np.cumsum(found.counts) - found.counts).tolist()
    slabs: list[bytes] = []
    done = 0
    try:
        for low in range(0, found.record_count, SLAB_ROWS):
            high = min(low + SLAB_ROWS, found.record_count)
            begun = bisect_left(starts, high, done)
            bounds = [0, *(start - low for start in starts[done:begun]), high - low]
            rest, *pieces = lines(found.take(slice(low, high))).cut(bounds)
            slabs.append(_valid(b"".join((rest, *chain.from_iterable(zip(heads[done:begun], pieces, strict=True))))))
            done = begun
    except (LogError, IndexError, ValueError):
        return None
    return TextWindow([*slabs, b"".join(heads[done:])], found.offset, found.batch_count)


def _valid(data: bytes) -> bytes:
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return java_text(data).encode()
    return data


def flags(views: Sequence[BatchView], of: Callable[[BatchView], bool]) -> Mask | None:
    """A mask of the batches for which ``of`` is true; None if there are none."""
    found = [of(view) for view in views]
    return np.array(found, np.bool_) if any(found) else None


def _metadata(rows: ByteRows, part: RecordColumns, append_time: Mask | None) -> None:
    """``| offset: ... headerKeys: [...]``."""
    rows.constant(b"| offset: ")
    rows.number(part.offset)
    if append_time is None:
        rows.constant(_CREATE_TIME)
    else:
        rows.constant(_CREATE_TIME, ~append_time)
        rows.constant(_APPEND_TIME, append_time)
    rows.number(part.timestamp)
    rows.constant(b" keySize: ")
    rows.number(part.key_size)
    rows.constant(b" valueSize: ")
    rows.number(part.value_size)
    rows.constant(b" sequence: ")
    rows.number(part.sequence)
    rows.constant(b" headerKeys: ")
    rows.constant(b"[")
    for number, each in enumerate(header_columns(part)):
        has_it = part.header_count > number
        start, size = np.zeros_like(part.offset), np.zeros_like(part.offset)
        start[each.rows], size[each.rows] = each.name_start, each.name_size
        rows.constant(b"," if number else b"", has_it)
        rows.span(part.arena, start, size)
    rows.constant(b"]")


def _plain_contents(rows: ByteRows, part: RecordColumns, where: Mask | None, *, prefix: bytes) -> None:
    """`` key: ... payload: ...``; ``prefix`` is before the first of the two."""
    has_key, has_value = part.key_size >= 0, part.value_size >= 0
    if where is not None:
        has_key &= where
        has_value &= where
    rows.constant(prefix + b"key: ", has_key)
    rows.span(part.arena, part.key_start, part.key_size, has_key)
    rows.constant(b" payload: ", has_value & has_key)
    rows.constant(prefix + b"payload: ", has_value & ~has_key)
    rows.span(part.arena, part.value_start, part.value_size, has_value)


def _decoded_contents(
    decoder: Decoder, rows: ByteRows, part: RecordColumns, where: Mask | None, *, prefix: str
) -> None:
    """Add the text of a decoder, record by record."""
    rows.texts([
        "" if record is None else text.contents(*decoder(record.offset, record.key, record.value), prefix)
        for record in records(part, where)
    ])  # fmt: skip


def _offsets_contents(
    decoder: Decoder, rows: ByteRows, part: RecordColumns, where: Mask | None, *, prefix: str
) -> None:
    """Add plain commits from columns, and other records one by one."""
    commits = OffsetCommits(part, where)
    rows.constant(f"{prefix}key: ".encode(), commits.plain)
    commits.add_keys(rows)
    rows.constant(b" payload: ", commits.plain)
    commits.add_values(rows)
    others = ~commits.plain if where is None else where & ~commits.plain
    if others.any():
        _decoded_contents(decoder, rows, part, others, prefix=prefix)


def records(part: RecordColumns, where: Mask | None = None) -> Iterator[Record | None]:
    """The records without their headers; None for records that ``where`` excludes."""
    wanted = repeat(True) if where is None else where.tolist()
    arena = part.arena
    spans = zip(
        wanted,
        part.offset.tolist(),
        part.timestamp.tolist(),
        part.key_size.tolist(),
        part.key_start.tolist(),
        part.value_size.tolist(),
        part.value_start.tolist(),
        part.sequence.tolist(),
        strict=False,
    )
    for is_wanted, offset, timestamp, key_size, key, value_size, value, sequence in spans:
        yield (
            Record(
                offset,
                timestamp,
                None if key_size < 0 else bytes(arena[key : key + key_size]),
                None if value_size < 0 else bytes(arena[value : value + value_size]),
                (),
                sequence,
            )
            if is_wanted
            else None
        )
