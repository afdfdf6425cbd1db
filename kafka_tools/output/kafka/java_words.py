"""Java's part in the output of Kafka's tools: the order of hash tables, and the names of exceptions.

Tools print some collections in the order in which a ``java.util.HashMap`` walks them. It follows from the keys: a
table has a power of two of places, twice as many as soon as it is three quarters full, and a key's place is its hash,
the high half mixed into the low one. (Places that eight keys share become trees, whose order is not followed.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from kafka_tools.values import TopicPartition

K = TypeVar("K")
USUAL_PLACES = 16
"""The number of places of a table that was made without a size."""

_IRREGULAR = {
    "CORRUPT_MESSAGE": "CorruptRecordException",
    "REQUEST_TIMED_OUT": "TimeoutException",
    "STALE_CONTROLLER_EPOCH": "ControllerMovedException",
    "TOPIC_AUTHORIZATION_FAILED": "TopicAuthorizationException",
    "CLUSTER_AUTHORIZATION_FAILED": "ClusterAuthorizationException",
}
_ERRORS = "org.apache.kafka.common.errors"


def text_hash(text: str) -> int:
    """``String.hashCode``, without its sign."""
    units = text.encode("utf-16-be", "surrogatepass")
    result = 0
    for at in range(0, len(units), 2):
        result = (31 * result + int.from_bytes(units[at : at + 2])) & 0xFFFFFFFF
    return result


def partition_hash(partition: TopicPartition) -> int:
    """``TopicPartition.hashCode``, without its sign."""
    return (31 * (31 + partition.partition) + text_hash(partition.topic)) & 0xFFFFFFFF


def places(wanted: int) -> int:
    """The number of places of a table made for ``wanted`` keys (``HashMap.tableSizeFor``)."""
    return 1 << max(wanted - 1, 0).bit_length()


def hash_order(keys: Iterable[K], hash_of: Callable[[K], int], table: int = USUAL_PLACES) -> list[K]:
    """``keys``, put into a table of ``table`` places one after the other, in the order in which it is walked."""
    given = list(dict.fromkeys(keys))
    while len(given) > table * 3 // 4:
        table *= 2

    def place(key: K) -> int:
        mixed = hash_of(key)
        return (mixed ^ (mixed >> 16)) & (table - 1)

    return sorted(given, key=place)


def exception_name(error: str) -> str:
    """The class of the exception that Java's client makes of an error code, by the code's name."""
    words = error.removesuffix("_ERROR").removesuffix("_EXCEPTION").split("_")
    regular = "".join(word.capitalize() for word in words) + "Exception"
    return f"{_ERRORS}.{_IRREGULAR.get(error, regular)}"
