"""The lines of many batches at once, from columns of their headers; ``text`` makes the same lines one by one.

Where batches are small (a broker of before 4.0 writes one for each commit), their lines cost more than their records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kafka_tools.dump.byte_rows import ByteRows
from kafka_tools.protocol.enums import (
    CODEC_BITS,
    CODECS,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    TIMESTAMP_TYPES,
    TRANSACTIONAL_BIT,
)
from kafka_tools.records.batches import BatchView
from kafka_tools.records.chain import FIELDS, PREFIX_BYTES
from kafka_tools.records.chain_columns import gather
from kafka_tools.records.v2 import NO_SEQUENCE

_AFTER_LATEST_SEQUENCE = 1 << 31


def batch_lines(views: Sequence[BatchView], crcs_ok: Sequence[bool]) -> Sequence[bytes | memoryview]:
    """The lines of magic 2 batches that lie in one buffer."""
    positions = np.array([view.position for view in views], np.int64)
    headers = gather(views[0].buffer, positions)
    field = {name: headers[name].astype(np.int64) for name, _ in FIELDS}
    attributes, base_sequence = field["attributes"], field["base_sequence"]
    last_sequence = np.where(base_sequence == NO_SEQUENCE, NO_SEQUENCE, base_sequence + field["last_offset_delta"])
    last_sequence -= np.where(last_sequence >= _AFTER_LATEST_SEQUENCE, _AFTER_LATEST_SEQUENCE, 0)
    for at in np.flatnonzero((field["last_offset_delta"] < 0) | (base_sequence < NO_SEQUENCE)).tolist():
        last_sequence[at] = views[at].last_sequence  # damaged

    rows = ByteRows(len(views))
    for name, column in (
        (b"baseOffset: ", field["base_offset"]),
        (b" lastOffset: ", field["base_offset"] + field["last_offset_delta"]),
        (b" count: ", field["record_count"]),
        (b" baseSequence: ", base_sequence),
        (b" lastSequence: ", last_sequence),
        (b" producerId: ", field["producer_id"]),
        (b" producerEpoch: ", field["producer_epoch"]),
        (b" partitionLeaderEpoch: ", field["leader_epoch"]),
    ):
        rows.constant(name)
        rows.number(column)
    _boolean(rows, b" isTransactional: ", attributes & TRANSACTIONAL_BIT != 0)
    _boolean(rows, b" isControl: ", attributes & CONTROL_BIT != 0)
    has_horizon = attributes & DELETE_HORIZON_BIT != 0
    rows.constant(b" deleteHorizonMs: OptionalLong")
    rows.constant(b".empty", ~has_horizon)
    rows.constant(b"[", has_horizon)
    rows.number(field["base_timestamp"], has_horizon)
    rows.constant(b"]", has_horizon)
    rows.constant(b" position: ")
    rows.number(np.array([view.file_position for view in views], np.int64))
    append_time = attributes & LOG_APPEND_TIME_BIT != 0
    rows.constant(f" {TIMESTAMP_TYPES[0]}: ".encode(), ~append_time)
    rows.constant(f" {TIMESTAMP_TYPES[1]}: ".encode(), append_time)
    rows.number(field["max_timestamp"])
    rows.constant(b" size: ")
    rows.number(field["length"] + PREFIX_BYTES)
    rows.constant(b" magic: 2 compresscodec: ")
    for number, codec in enumerate(CODECS):
        rows.constant(codec.encode(), attributes & CODEC_BITS == number)
    rows.constant(b" crc: ")
    rows.number(field["crc"])
    _boolean(rows, b" isvalid: ", np.array(crcs_ok, np.bool_))
    rows.constant(b"\n")
    return rows.cut(range(len(views) + 1))


def _boolean(rows: ByteRows, name: bytes, flags: Any) -> None:
    rows.constant(name)
    rows.constant(b"true", flags)
    rows.constant(b"false", ~flags)
