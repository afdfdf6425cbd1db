"""The lines of many batches at once: what ``dump_files`` prints record by record, from columns.

Says no (None) to whatever is not plain, and leaves it to the scalar way. Text is built as if every byte were a
character of its own (latin-1), so that keys and values are slices of one string and reach the output unchanged;
what is not UTF-8 is replaced at the end, which gives the same as replacing it in each value, since the text
between values is ASCII.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kafka_tools.errors import LogError
from kafka_tools.output import dump_text as text
from kafka_tools.output.dump_decoders import Decoder, control, is_plain_text
from kafka_tools.records.batches import BatchView
from kafka_tools.records.columns import RecordColumns, decode
from kafka_tools.records.text import java_text
from kafka_tools.records.v2 import read_headers

ARENA_BYTES = 24 * 1024 * 1024
"""What the batches of one window may decompress to here; more is read batch by batch."""


class Window:
    """The lines of a window's batches, and the offsets of its records (ascending as they are stored)."""

    def __init__(self, data: bytes, offsets: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        self.data = data
        self._offsets = offsets

    def gaps(self, previous: int) -> list[tuple[int, int]]:
        """(offset, next offset) where offsets do not follow one another, ``previous`` (-1: none) included."""
        offsets = self._offsets
        if not offsets.size:
            return []
        found = [(previous, int(offsets[0]))] if previous >= 0 and offsets[0] != previous + 1 else []
        at = np.flatnonzero(offsets[1:] != offsets[:-1] + 1)
        return found + [(int(offsets[index]), int(offsets[index + 1])) for index in at.tolist()]

    @property
    def last_offset(self) -> int | None:
        """The offset of the last record, None without records."""
        return int(self._offsets[-1]) if self._offsets.size else None


def window(
    views: Sequence[BatchView], batch_lines: Sequence[str], decoder: Decoder | None, skip_record_metadata: bool
) -> Window | None:
    """The lines of ``views`` with a line per record, None where the scalar way is needed.

    ``batch_lines`` are the batches' own lines. ``decoder`` None: no contents.
    """
    types = {view.timestamp_type for view in views}
    if len(types) != 1 or any(view.magic != 2 for view in views):
        return None
    found = decode(views, limit_bytes=ARENA_BYTES)
    if found is None:
        return None
    try:
        lines = _lines(found, text.TIMESTAMP_TYPES[types.pop()], decoder, skip_record_metadata)
        if any(view.is_control for view in views):
            _control_lines(lines, found, views, skip_record_metadata)
    except (LogError, IndexError, ValueError):
        return None
    joined = _with_batches(lines, found, batch_lines).encode("latin-1")
    return Window(_valid(joined), found.offset)


def _with_batches(lines: list[str], found: RecordColumns, batch_lines: Sequence[str]) -> str:
    bounds = np.searchsorted(found.batch, np.arange(len(batch_lines) + 1)).tolist()
    parts: list[str] = []
    for number, line in enumerate(batch_lines):
        parts.append(line)
        parts += lines[bounds[number] : bounds[number + 1]]
    return "".join(parts)


def _valid(data: bytes) -> bytes:
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return java_text(data).encode()
    return data


def _as_bytes_text(shown: str) -> str:
    """Proper text as the latin-1 string of its UTF-8 bytes."""
    return shown if shown.isascii() else shown.encode().decode("latin-1")


def _lines(found: RecordColumns, timestamp_type: str, decoder: Decoder | None, skip_metadata: bool) -> list[str]:
    if skip_metadata:
        if decoder is None:
            return ["\n"] * found.record_count
        return [f"{shown}\n" for shown in _contents(found, decoder, "| ")]
    if _is_simple(found) and decoder is not None and is_plain_text(decoder):
        return _simple_lines(found, timestamp_type)
    heads = _heads(found, timestamp_type)
    if decoder is None:
        return [f"{head}\n" for head in heads]
    return [f"{head}{shown}\n" for head, shown in zip(heads, _contents(found, decoder, " "), strict=True)]


def _is_simple(found: RecordColumns) -> bool:
    """No nulls, no headers, no sequences: what most logs hold."""
    if not found.record_count:
        return True
    return (
        int(found.key_size.min()) >= 0
        and int(found.value_size.min()) >= 0
        and not found.header_count.any()
        and int(found.sequence.max()) == -1 == int(found.sequence.min())
    )


def _simple_lines(found: RecordColumns, timestamp_type: str) -> list[str]:
    arena = found.arena.decode("latin-1")
    return [
        f"| offset: {offset} {timestamp_type}: {timestamp} keySize: {key_size} valueSize: {value_size} sequence: -1 "
        f"headerKeys: [] key: {arena[key:key_end]} payload: {arena[value:value_end]}\n"
        for offset, timestamp, key_size, value_size, key, key_end, value, value_end in zip(
            found.offset.tolist(),
            found.timestamp.tolist(),
            found.key_size.tolist(),
            found.value_size.tolist(),
            found.key_start.tolist(),
            (found.key_start + found.key_size).tolist(),
            found.value_start.tolist(),
            (found.value_start + found.value_size).tolist(),
            strict=True,
        )
    ]


def _heads(found: RecordColumns, timestamp_type: str) -> list[str]:
    """``| offset: ... headerKeys: [...]`` of every record."""
    headers = _header_keys(found) if found.header_count.any() else None
    columns = (
        found.offset.tolist(),
        found.timestamp.tolist(),
        found.key_size.tolist(),
        found.value_size.tolist(),
        found.sequence.tolist(),
    )
    if headers is None:
        return [
            f"| offset: {offset} {timestamp_type}: {timestamp} keySize: {key_size} valueSize: {value_size} "
            f"sequence: {sequence} headerKeys: []"
            for offset, timestamp, key_size, value_size, sequence in zip(*columns, strict=True)
        ]
    return [
        f"| offset: {offset} {timestamp_type}: {timestamp} keySize: {key_size} valueSize: {value_size} "
        f"sequence: {sequence} headerKeys: {keys}"
        for offset, timestamp, key_size, value_size, sequence, keys in zip(*columns, headers, strict=True)
    ]


def _header_keys(found: RecordColumns) -> list[str]:
    arena = found.arena
    return [
        _as_bytes_text(text.header_keys(read_headers(arena, position, end)[0])) if count else "[]"
        for count, position, end in zip(
            found.header_count.tolist(), found.headers_at.tolist(), found.end.tolist(), strict=True
        )
    ]


def _contents(found: RecordColumns, decoder: Decoder, prefix: str) -> list[str]:
    """`` key: ... payload: ...`` of every record; ``prefix`` before the first of the two."""
    spans = zip(
        found.offset.tolist(),
        found.key_size.tolist(),
        found.key_start.tolist(),
        (found.key_start + found.key_size).tolist(),
        found.value_size.tolist(),
        found.value_start.tolist(),
        (found.value_start + found.value_size).tolist(),
        strict=True,
    )
    if is_plain_text(decoder):
        arena = found.arena.decode("latin-1")
        return [
            (f"{prefix}key: {arena[key:key_end]} payload: {arena[value:value_end]}" if key_size >= 0 else
             f"{prefix}payload: {arena[value:value_end]}") if value_size >= 0 else
            (f"{prefix}key: {arena[key:key_end]}" if key_size >= 0 else "")
            for _, key_size, key, key_end, value_size, value, value_end in spans
        ]  # fmt: skip
    raw = found.arena
    shown: list[str] = []
    append = shown.append
    for offset, key_size, key, key_end, value_size, value, value_end in spans:
        key_text, payload = decoder(
            offset, raw[key:key_end] if key_size >= 0 else None, raw[value:value_end] if value_size >= 0 else None
        )
        if key_text is not None and payload is not None:
            line = f"{prefix}key: {key_text} payload: {payload}"
        else:
            line = text.contents(key_text, payload, prefix)
        append(line if line.isascii() else _as_bytes_text(line))
    return shown


def _control_lines(lines: list[str], found: RecordColumns, views: Sequence[BatchView], skip_metadata: bool) -> None:
    """Put the lines of control records in the place of ordinary ones."""
    bounds = np.searchsorted(found.batch, np.arange(len(views))).tolist()
    for view, start in zip(views, bounds, strict=True):
        if not view.is_control:
            continue
        timestamp_type = text.TIMESTAMP_TYPES[view.timestamp_type]
        for number, record in enumerate(view.records()):
            line = "" if skip_metadata else text.record_metadata(record, timestamp_type, 2) + control(record)
            lines[start + number] = _as_bytes_text(line) + "\n"
