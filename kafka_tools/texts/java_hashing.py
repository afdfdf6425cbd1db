"""Java's hash of a text and the order of its hash tables, which Kafka lets people see.

A group's coordinator follows from the hash of its id; some results of Kafka's assignors, and some lines of its tools,
follow from the order in which a ``HashMap`` or ``HashSet`` is walked: bucket by bucket, and within one in the order of
insertion. (Eight keys in one bucket become a tree, whose order is not followed: only names made for it get there.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")


@lru_cache(maxsize=1024)
def string_hash(text: str) -> int:
    """``String.hashCode``, without its sign. (Kept, since all partitions of a topic ask for the same.)"""
    found = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        found = (31 * found + unit) & 0xFFFFFFFF
    return found


def positive_hash(text: str) -> int:
    """``Utils.abs(text.hashCode())`` of Kafka, by which groups and transactional ids find their partition.

    The one hash without a positive counterpart, -2^31, counts as 0.
    """
    code = string_hash(text)
    return min(code, (1 << 32) - code) % (1 << 31)


def in_buckets(keys: Iterable[T], hash_of: Callable[[T], int], buckets: int) -> list[T]:
    """``keys``, put into a table of ``buckets`` (a power of two) one after the other, as a ``HashMap`` walks it."""

    def bucket(key: T) -> int:
        found = hash_of(key)
        return (found ^ (found >> 16)) & (buckets - 1)

    return sorted(keys, key=bucket)
