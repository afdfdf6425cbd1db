"""Kafka's default partitioner.

A keyed record goes to ``murmur2(key) mod partitions``, so records of every Kafka client land together; one without
key sticks to a partition until about a batch was written there (KIP-480, KIP-794, KIP-1123). Knows no metadata: callers
pass partition numbers. Hash and rule follow ``org.apache.kafka.common.utils.Utils.murmur2`` and ``BuiltInPartitioner``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from random import Random

_SEED = 0x9747B28C
_MIX = 0x5BD1E995
_MASK = 0xFFFFFFFF
_MANY = 64
"""From so many keys on, numpy pays."""


def murmur2(data: bytes) -> int:
    """Kafka's 32-bit MurmurHash2 of ``data``, unsigned."""
    length = len(data)
    hashed = _SEED ^ length
    words = length >> 2
    for word in struct.unpack_from(f"<{words}I", data):
        word = word * _MIX & _MASK
        word ^= word >> 24
        hashed = hashed * _MIX & _MASK ^ (word * _MIX & _MASK)
    tail = data[words << 2 :]
    if tail:
        hashed ^= int.from_bytes(tail, "little")
        hashed = hashed * _MIX & _MASK
    hashed ^= hashed >> 13
    hashed = hashed * _MIX & _MASK
    return hashed ^ hashed >> 15


def partition_for_key(key: bytes, partition_count: int) -> int:
    """The partition of a keyed record among ``partition_count`` (all of them, leaderless ones included)."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


def partitions_for_keys(keys: Sequence[bytes], partition_count: int) -> list[int]:
    """``partition_for_key`` of each key; many keys of one length at once, with numpy."""
    if len(keys) < _MANY:
        return [partition_for_key(key, partition_count) for key in keys]
    import numpy as np  # 50 ms, for those who send many records with keys

    found = np.empty(len(keys), np.int64)
    lengths = np.fromiter(map(len, keys), np.int64, len(keys))
    for length in np.unique(lengths).tolist():
        places = np.flatnonzero(lengths == length)
        data = b"".join(keys) if len(places) == len(keys) else b"".join([keys[place] for place in places.tolist()])
        table = np.frombuffer(data, np.uint8).reshape(len(places), length)
        words = np.ascontiguousarray(table[:, : length & ~3]).view("<u4")
        mix = np.uint32(_MIX)
        hashed = np.full(len(places), _SEED ^ length, np.uint32)
        for column in range(words.shape[1]):
            word = words[:, column] * mix
            word ^= word >> np.uint32(24)
            hashed *= mix
            hashed ^= word * mix
        tail = table[:, length & ~3 :]
        if tail.shape[1]:
            for column in range(tail.shape[1]):
                hashed ^= tail[:, column].astype(np.uint32) << np.uint32(8 * column)
            hashed *= mix
        hashed ^= hashed >> np.uint32(13)
        hashed *= mix
        hashed ^= hashed >> np.uint32(15)
        found[places] = (hashed & np.uint32(0x7FFFFFFF)) % np.uint32(partition_count)
    return found.tolist()


class StickyPartitioner:
    """The choice of partition for records of one topic that have no key.

    ``stick_bytes`` is how much goes to one partition before the next is drawn (Kafka: ``batch.size``).
    """

    def __init__(self, stick_bytes: int, random: Random) -> None:
        self._stick_bytes = stick_bytes
        self._random = random
        self._current = -1
        self._written_bytes = 0

    def choose(self, available: Sequence[int], size_bytes: int, near: Callable[[], Sequence[int]] | None = None) -> int:
        """The partition for a record of ``size_bytes``; ``available`` are the partitions that have a leader.

        ``near`` tells which of them have it in the producer's rack: the next one is drawn from these, if there are any.
        """
        self.left_bytes(available, near)
        return self.chose(size_bytes)

    def chose(self, size_bytes: int) -> int:
        """After ``left_bytes``: the partition, to which ``size_bytes`` go."""
        self._written_bytes += size_bytes
        return self._current

    def left_bytes(self, available: Sequence[int], near: Callable[[], Sequence[int]] | None = None) -> int:
        """Choose the next partition. Returns about how many bytes go there."""
        if self._current < 0 or self._written_bytes >= self._stick_bytes or self._current not in available:
            self._current = self._draw((near and near()) or available)
            self._written_bytes = 0
        return self._stick_bytes - self._written_bytes

    def _draw(self, available: Sequence[int]) -> int:
        # Another one than before where there is a choice, so that a quiet partition is left.
        others = [partition for partition in available if partition != self._current]
        return self._random.choice(others or list(available))
