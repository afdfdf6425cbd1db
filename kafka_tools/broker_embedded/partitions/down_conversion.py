"""Converts stored batches to the format of old consumers.

Fetch v0 and v1 get magic 0, v2 and v3 get magic 1 at most, v4 and later get the stored batches.
``records.convert`` converts the records.
"""

from __future__ import annotations

from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import Codec
from kafka_tools.records.batches import batches
from kafka_tools.records.convert import LazyConversion


class NotConvertible(Exception):
    """Records that this version of Fetch cannot contain; ``code`` is the error code of the answer."""

    def __init__(self, code: int) -> None:
        super().__init__(f"error code {code}")
        self.code = code


def down_converted(data: bytes, version: int, fetch_offset: int) -> bytes:
    """The batches, fetched from ``fetch_offset``, in a format for Fetch ``version``, 0 to 3.

    Raises NotConvertible, or CorruptBatch.
    """
    views = list(batches(data))
    if any(view.codec == Codec.ZSTD for view in views):
        raise NotConvertible(error_codes.UNSUPPORTED_COMPRESSION_TYPE)
    magic = 1 if version >= 2 else 0
    if all(view.magic <= magic for view in views):
        return data
    return b"".join(LazyConversion(data, magic, first_offset=fetch_offset).chunks())
