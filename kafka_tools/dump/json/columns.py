"""JSON lines of many records together, from columns; ``lines`` creates the same lines one by one.

Measured: ``kafka-dump-log -o jsonl`` of 200 MiB of ASCII records of one form takes 5.5 s of CPU with this module and
14.7 s without it. With ``--deep-iteration`` instead of contents, it takes 1.8 s and 12.7 s. Without this module, values
that are not ASCII take 2.1 times as long, and records with two headers 1.6 times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING

import numpy as np

from kafka_tools.dump.byte_rows import ByteRows
from kafka_tools.dump.internal_decoders import OffsetsDecoder
from kafka_tools.dump.json import lines as json_lines
from kafka_tools.dump.json.contents import CoordinatorContents, control
from kafka_tools.dump.json.lines import Contents, Field, PlainContents
from kafka_tools.dump.offset_columns import OffsetCommits
from kafka_tools.dump.text_columns import TextWindow, assemble, flags, records
from kafka_tools.records.batches import BatchView
from kafka_tools.records.record_columns import RecordColumns

if TYPE_CHECKING:
    from kafka_tools.dump.byte_rows import Mask


def window(
    views: Sequence[BatchView],
    batch_lines: Callable[[int], Sequence[bytes]],
    contents: Contents | None,
    field: Field,
    skip_record_metadata: bool,
) -> TextWindow | None:
    """The lines of the first ``views`` with a line per record, None if they must be shown one by one.

    ``batch_lines`` returns the lines of the first few batches. ``contents`` None: only sizes.
    """
    in_control = flags(views, lambda view: view.is_control)
    if skip_record_metadata and contents is None and in_control is not None:
        return None

    def lines(part: RecordColumns) -> ByteRows:
        rows = ByteRows(part.record_count)
        ordinary = None if in_control is None else ~in_control[part.batch]
        shown = ordinary if skip_record_metadata else None  # control records contain only metadata
        rows.constant(b'{"type":"record","offset":', shown)
        rows.number(part.offset, shown)
        if not skip_record_metadata or contents is None:
            _metadata(rows, part)
            _headers(rows, part, None if contents is None else field, ordinary)
            if ordinary is not None:
                said = [
                    "" if record is None else f",{json_lines.control_member(*control(record))}"
                    for record in records(part, ~ordinary)
                ]
                rows.texts(said)
        if contents is not None:
            rows.constant(b",", ordinary)
            _contents(rows, part, contents, ordinary)
        rows.constant(b"}\n", shown)
        return rows

    return assemble(views, batch_lines, lines)


def _metadata(rows: ByteRows, part: RecordColumns) -> None:
    rows.constant(b',"timestamp_ms":')
    rows.number(part.timestamp)
    rows.constant(b',"key_size":')
    rows.number(part.key_size)
    rows.constant(b',"value_size":')
    rows.number(part.value_size)
    rows.constant(b',"sequence":')
    rows.number(part.sequence)
    rows.constant(b",")


def _headers(rows: ByteRows, part: RecordColumns, field: Field | None, ordinary: Mask | None) -> None:
    """Add the names and values of headers. Only the names without a field, and for control records."""
    if not part.header_count.any():
        rows.constant(
            (json_lines.header_keys(()) if field is None else json_lines.header_values((), field)).encode(), ordinary
        )
        if ordinary is not None:
            rows.constant(json_lines.header_keys(()).encode(), ~ordinary)
        return
    keys_only = [field is None] * part.record_count if ordinary is None or field is None else (~ordinary).tolist()
    rows.texts([
        json_lines.header_keys(found) if only or field is None else json_lines.header_values(found, field)
        for found, only in zip(part.headers(), keys_only, strict=True)
    ])  # fmt: skip


def _contents(rows: ByteRows, part: RecordColumns, contents: Contents, ordinary: Mask | None) -> None:
    if isinstance(contents, PlainContents) and contents.field is not json_lines.as_base64:
        _member(rows, part, "key", contents.field, ordinary)
        rows.constant(b",", ordinary)
        _member(rows, part, "value", contents.field, ordinary)
        return
    others = ordinary
    if isinstance(contents, CoordinatorContents) and isinstance(contents.decoder, OffsetsDecoder):
        commits = OffsetCommits(part, ordinary)
        rows.constant(b'"key":', commits.plain)
        commits.add_keys(rows)
        rows.constant(b',"value":', commits.plain)
        commits.add_values(rows)
        others = ~commits.plain if ordinary is None else ordinary & ~commits.plain
        if not others.any():
            return
    rows.texts([
        "" if record is None else contents(record.offset, record.key, record.value) for record in records(part, others)
    ])  # fmt: skip


def _member(rows: ByteRows, part: RecordColumns, name: str, field: Field, ordinary: Mask | None) -> None:
    """Add ``"key":...`` or ``"value":...`` of every record."""
    start, size = (part.key_start, part.key_size) if name == "key" else (part.value_start, part.value_size)
    ends = start + np.maximum(size, 0)
    low = int(start.min())
    data = bytes(part.arena[low : int(ends.max())])
    cuts = (start - low).tolist(), (ends - low).tolist()
    text = data.decode("latin-1")  # one character per byte: slices of text cost less than decoding bytes
    pieces = [text[at:end] for at, end in zip(*cuts, strict=True)]
    if int(size.min()) >= 0 and "".join(pieces).isascii():
        # All fields that show text show ASCII in the same way, and most data are ASCII.
        rows.constant(f'"{name}":'.encode(), ordinary)
        rows.texts(list(map(quoted, pieces)), ordinary)
        return
    nulls = (size < 0).tolist()
    rows.texts(
        [field(name, None if null else data[at:end]) for at, end, null in zip(*cuts, nulls, strict=True)], ordinary
    )
