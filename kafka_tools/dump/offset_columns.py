"""Shows many plain offset commits of ``__consumer_offsets`` together, as ``internal_decoders.OffsetsDecoder`` does.

A plain commit has no metadata, JSON needs no escapes in its names, and its value has a version that brokers have
written since 2.1. Its numbers are then at fixed positions. Source: ``OffsetCommitKey``, ``OffsetCommitValue``.

Measured: if each commit is a batch (before Kafka 4.0), ``kafka-dump-log --offsets-decoder`` of 100 MiB takes 12.4 s of
CPU with this module and 35.2 s without it. With twelve commits per batch, it takes 5.3 s and 44.2 s, and as JSON lines
5.0 s and 45.1 s.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from kafka_tools.dump.byte_rows import cells_at

if TYPE_CHECKING:
    from kafka_tools.dump.byte_rows import ByteRows, Cells, Column, Mask
    from kafka_tools.records.record_columns import RecordColumns

# Key: type (2 bytes), length of the group's name (2), name, length of the topic's name (2), name, partition (4).
_KEY_TYPE, _GROUP_SIZE, _GROUP = 0, 2, 4
_KEY_BYTES = 10
"""The size of a key without its names."""
_LONGEST_NAME = 249
"""Kafka's limit for topics. A group's name may be longer, but rarely is."""
_PLAIN = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

# Value: version (2 bytes), offset (8), leader epoch (4); then
# in version 3: length of the metadata (2), commit time (8);
# in version 4: length of the metadata plus 1 (1), commit time (8), one tagged field: tag 0, 16 bytes of topic id.
_VERSION, _OFFSET, _EPOCH, _METADATA = 0, 2, 10, 14
_V3_BYTES, _V3_TIME = 24, 16
_V4_BYTES, _V4_TIME, _V4_TAG, _V4_TOPIC_ID = 42, 15, 23, 26
_NO_METADATA = 1
_TOPIC_ID_FOLLOWS = (0x0100, 16)
"""One tagged field and its tag; its size."""


class OffsetCommits:
    """The plain commits among some records. ``plain`` selects them; the lines of others get no keys and values."""

    def __init__(self, part: RecordColumns, where: Mask | None) -> None:
        self._arena = part.arena
        self._key, self._value = part.key_start, part.value_start
        self.plain: Mask = (part.key_size >= _KEY_BYTES) & (part.value_size >= _V3_BYTES)
        if where is not None:
            self.plain &= where
        self._find_values(part.value_size)
        self._find_names(part.key_size)
        self._is_v4 &= self.plain

    def _find_values(self, size: Column) -> None:
        version, metadata = self._numbers(">i2", self._value + _VERSION), self._value + _METADATA
        is_v3 = (version == 3) & (size == _V3_BYTES) & (self._numbers(">i2", metadata) == 0)
        tag, tag_size = _TOPIC_ID_FOLLOWS
        self._is_v4: Mask = (
            (version == 4)
            & (size == _V4_BYTES)
            & (self._numbers("u1", metadata) == _NO_METADATA)
            & (self._numbers(">i2", self._value + _V4_TAG) == tag)
            & (self._numbers("u1", self._value + _V4_TAG + 2) == tag_size)
        )
        self.plain &= is_v3 | self._is_v4

    def _find_names(self, size: Column) -> None:
        plain = self.plain
        self._group = self._key + _GROUP
        self._group_size = np.where(plain, self._numbers(">i2", self._key + _GROUP_SIZE), 0)
        left = size - _KEY_BYTES - self._group_size
        plain &= (self._numbers(">i2", self._key + _KEY_TYPE) == 1) & (self._group_size > 0) & (left > 0)
        plain &= (self._group_size <= _LONGEST_NAME) & (left <= _LONGEST_NAME)
        self._topic = np.where(plain, self._group + self._group_size + 2, self._key)
        self._topic_size = np.where(plain, self._numbers(">i2", np.maximum(self._topic - 2, 0)), 0)
        plain &= self._topic_size == left
        for start, name_size in ((self._group, self._group_size), (self._topic, self._topic_size)):
            name_size[~plain] = 0
            plain &= self._are_plain(start, name_size)

    def _are_plain(self, start: Column, size: Column) -> Mask:
        width = int(size.max())
        if not width:
            return size > 0
        fine = _plain_bytes()[cells_at(self._arena, start, width)]
        found: Mask = np.all(fine | (np.arange(width) >= size.reshape(-1, 1)), axis=1)
        return found

    def add_keys(self, rows: ByteRows) -> None:
        """``{"type":"1","data":{"group":...}}``."""
        rows.constant(b'{"type":"1","data":{"group":"', self.plain)
        rows.span(self._arena, self._group, self._group_size, self.plain)
        rows.constant(b'","topic":"', self.plain)
        rows.span(self._arena, self._topic, self._topic_size, self.plain)
        rows.constant(b'","partition":', self.plain)
        rows.number(self._numbers(">i4", self._topic + self._topic_size), self.plain)
        rows.constant(b"}}", self.plain)

    def add_values(self, rows: ByteRows) -> None:
        """``{"version":"4","data":{"offset":...}}``."""
        is_v3 = self.plain & ~self._is_v4
        rows.constant(b'{"version":"3","data":{"offset":', is_v3)
        rows.constant(b'{"version":"4","data":{"offset":', self._is_v4)
        rows.number(self._numbers(">i8", self._value + _OFFSET), self.plain)
        rows.constant(b',"leaderEpoch":', self.plain)
        rows.number(self._numbers(">i4", self._value + _EPOCH), self.plain)
        rows.constant(b',"metadata":"","commitTimestamp":', self.plain)
        time = self._numbers(">i8", self._value + np.where(self._is_v4, _V4_TIME, _V3_TIME))
        rows.number(time, self.plain)
        if self._is_v4.any():
            rows.constant(b',"topicId":"', self._is_v4)
            rows.cells(_base64(cells_at(self._arena, self._value + _V4_TOPIC_ID, 16)), self._is_v4)
            rows.constant(b'"', self._is_v4)
        rows.constant(b"}}", self.plain)

    def _numbers(self, layout: str, at: Column) -> Column:
        size = np.dtype(layout).itemsize
        every: Any = np.ndarray((len(self._arena) - size + 1,), layout, self._arena, strides=(1,))
        found: Column = every[at].astype(np.int64)
        return found


@cache
def _plain_bytes() -> Mask:
    table = np.zeros(256, np.bool_)
    table[np.frombuffer(_PLAIN, np.uint8)] = True
    return table


@cache
def _alphabet() -> Cells:
    return np.frombuffer(_PLAIN[26:52] + _PLAIN[:26] + _PLAIN[52:62] + b"-_", np.uint8)


def _base64(ids: Cells) -> Cells:
    """16 bytes as 22 characters, in Kafka's form of ids: safe for URLs, without padding."""
    padded = np.zeros((len(ids), 18), np.uint32)
    padded[:, :16] = ids
    words = padded[:, 0::3] << 16 | padded[:, 1::3] << 8 | padded[:, 2::3]
    found: Cells = _alphabet()[words.reshape(-1, 6, 1) >> np.array([18, 12, 6, 0], np.uint32) & 63]
    return found.reshape(-1, 24)[:, :22]
