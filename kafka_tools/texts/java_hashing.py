"""Java's hash of a text and the order of its hash tables, which are visible in Kafka.

The hash of a group's id determines its coordinator. Some results of Kafka's assignors, and some lines of its tools,
follow the iteration order of a ``HashMap`` or ``HashSet``: bucket by bucket, and within a bucket in insertion order.
(Java turns eight keys in one bucket into a tree, with an order of its own. Only specially chosen names cause this.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")


@lru_cache(maxsize=1024)
def string_hash(text: str) -> int:
    """``String.hashCode`` as an unsigned number. (Cached: all partitions of a topic need the same hash.)"""
    found = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        found = (31 * found + unit) & 0xFFFFFFFF
    return found


def positive_hash(text: str) -> int:
    """Kafka's ``Utils.abs(text.hashCode())``, which selects the partition of a group or transactional id.

    -2^31, the one hash without a positive counterpart, counts as 0.
    """
    code = string_hash(text)
    return min(code, (1 << 32) - code) % (1 << 31)


def in_buckets(keys: Iterable[T], hash_of: Callable[[T], int], buckets: int) -> list[T]:
    """``keys``, inserted in this order into a ``HashMap`` of ``buckets`` (a power of two), in its iteration order."""

    def bucket(key: T) -> int:
        found = hash_of(key)
        return (found ^ (found >> 16)) & (buckets - 1)

    return sorted(keys, key=bucket)
