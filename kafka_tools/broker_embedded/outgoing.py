"""Stored batches in the form that an old consumer can read.

Fetch v0 and v1 know magic 0, v2 and v3 magic 1, v4 and later every magic; zstd is for v10 and later
(``KafkaApis.maybeConvertFetchedData``). Records keep their offsets; headers and control batches go.
"""

from __future__ import annotations

from kafka_tools.protocol import error_codes
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import build_batch

_ZSTD = 4
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class NotConvertible(Exception):
    """Records that this version of Fetch cannot carry; ``code`` is the error code to answer with."""

    def __init__(self, code: int) -> None:
        super().__init__(f"error code {code}")
        self.code = code


def for_version(data: bytes, version: int) -> bytes:
    """The batches as a Fetch of ``version`` may carry them. Raises NotConvertible, or CorruptBatch."""
    if version >= 10:
        return data
    views = list(batches(data))
    if any(view.codec == _ZSTD for view in views):
        raise NotConvertible(error_codes.UNSUPPORTED_COMPRESSION_TYPE)
    if version >= 4:
        return data
    magic = 1 if version >= 2 else 0
    if all(view.magic <= magic for view in views):
        return data
    return b"".join(_down(view, data, magic) for view in views)


def _down(view: BatchView, data: bytes, magic: int) -> bytes:
    if view.is_control:
        return b""
    if view.magic <= magic:
        return data[view.position : view.position + view.size_bytes]
    records = list(view.records())
    if not records:
        return b""
    # Old formats count offsets from the first record of a set; gaps that compaction left need sets of their own.
    parts, start = [], 0
    for at in range(1, len(records) + 1):
        if at == len(records) or records[at].offset != records[at - 1].offset + 1:
            rows = [(record.timestamp, record.key, record.value, ()) for record in records[start:at]]
            parts.append(build_batch(rows, base_offset=records[start].offset, codec=_CODECS[view.codec], magic=magic))
            start = at
    return b"".join(parts)
