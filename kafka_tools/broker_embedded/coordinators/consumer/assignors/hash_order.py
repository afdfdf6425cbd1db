"""The iteration order of Java's hash tables, which affects the results of Kafka's assignors.

``HashMap`` and ``HashSet`` iterate over their buckets, and within a bucket in the order of insertion. The bucket
depends on the key's hash and on the number of buckets, both of which are specified or have not changed for releases.
(With eight keys in one bucket, Java creates a tree, whose root comes first. Only specially chosen names cause this.)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar
from uuid import UUID

from kafka_tools.broker_embedded.slices import Work
from kafka_tools.texts.java_hashing import in_buckets, string_hash

T = TypeVar("T")

_FEWEST_BUCKETS = 16
_GOLDEN_RATIO = -7046029254386353131
"""The factor by which ``BaseHashTable`` multiplies a hash; the upper bits are the bucket."""
_LOW_64 = (1 << 64) - 1
_LOW_32 = (1 << 32) - 1


def topic_hash(topic: UUID) -> int:
    """Kafka's ``Uuid.hashCode``, without a sign."""
    both = (topic.int >> 64) ^ (topic.int & _LOW_64)
    return (both >> 32) ^ (both & _LOW_32)


def topic_rank(topic: UUID) -> tuple[int, int]:
    """Sorts as Kafka's ``Uuid.compareTo``: two signed numbers of 64 bits."""
    sign = 1 << 63
    return (topic.int >> 64) ^ sign, (topic.int & _LOW_64) ^ sign


def grown_buckets(size: int) -> int:
    """The number of buckets of a table to which keys were added one by one: at most three for four buckets."""
    buckets = _FEWEST_BUCKETS
    while 4 * size > 3 * buckets:
        buckets *= 2
    return buckets


def copied_buckets(size: int) -> int:
    """The number of buckets of ``new HashSet<>(collection)`` up to Java 18.

    Later releases use half for 12, 24, 48, ... elements.
    """
    return 1 << (max(4 * size // 3 + 1, _FEWEST_BUCKETS) - 1).bit_length()


def members_of_group(members: Collection[str]) -> Work[list[str]]:
    """Member ids as a group of Kafka's has them, in its ``TimelineHashMap``, to which they came in the given order.

    It has at most four keys for three buckets. That it keeps its buckets when members leave is not known here. Yields
    between members.
    """
    bits = 1
    while 3 * len(members) > 4 << bits:
        bits += 1
    buckets = {}
    for member in list(members)[::-1]:  # within a bucket
        yield
        found = string_hash(member)
        signed = found - ((found >> 31) << 32)
        buckets[member] = (signed * _GOLDEN_RATIO & _LOW_64) >> (64 - bits)
    return sorted(buckets, key=buckets.__getitem__)


def members_in_order(members: Collection[str]) -> Work[list[str]]:
    """Member ids as keys of a ``HashMap`` to which they were added in the given order. Yields between members."""
    return _in_buckets(members, string_hash, grown_buckets(len(members)))


def topics_in_order(topics: Collection[UUID], names: Mapping[UUID, str]) -> Work[list[UUID]]:
    """The subscribed topics as Kafka's ``HashSet`` of them has them, which was made from one of their names.

    Yields between topics.
    """
    by_name = {names[topic]: topic for topic in topics}
    in_order = yield from _in_buckets(sorted(by_name), string_hash, copied_buckets(len(by_name)))
    added = [by_name[name] for name in in_order]
    return (yield from _in_buckets(added, topic_hash, copied_buckets(len(added))))


def assigned_in_order(topics: Collection[UUID], added: Mapping[UUID, int]) -> Work[list[UUID]]:
    """The topics of a member's target, of one bucket those first that are first in ``added``. Yields between topics."""
    rank = {}
    for topic in topics:
        yield
        rank[topic] = (added.get(topic, len(added)), topic.int)
    ranked = sorted(rank, key=rank.__getitem__)
    return (yield from _in_buckets(ranked, topic_hash, grown_buckets(len(ranked))))


def _in_buckets(keys: Iterable[T], hash_of: Callable[[T], int], buckets: int) -> Work[list[T]]:
    hashes: dict[T, int] = {}
    for key in keys:
        yield
        hashes[key] = hash_of(key)
    return in_buckets(hashes, hashes.__getitem__, buckets)


def partitions_in_order(partitions: Collection[int]) -> list[int]:
    """Partitions of a topic in a member's target, of one bucket the lowest first."""
    return in_buckets(sorted(partitions), int, copied_buckets(len(partitions)))
