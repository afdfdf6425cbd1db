"""The partitions that clients append to, looked up by the bytes of their names or ids in produce requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.metadata import Cluster
    from kafka_tools.broker_embedded.partitions.partition import Partition


class Appendable:
    """The partitions of this broker to which clients may append; not the ones of internal topics.

    Call ``forget`` when partitions are added or removed, because results are cached.
    """

    def __init__(self, cluster: Cluster, partitions: Mapping[tuple[str, int], Partition]) -> None:
        self._cluster = cluster
        self._partitions = partitions
        self._found: dict[tuple[bytes, int, bool], Partition] = {}

    def find(self, topic: bytes, number: int, *, by_id: bool) -> Partition | None:
        """The partition if it takes appends now, else None.

        ``topic``: as in a request, the bytes of the topic's id, or a length byte and the topic's name.
        """
        partition = self._found.get((topic, number, by_id)) or self._find(topic, number, by_id)
        return None if partition is None or partition.log.offline else partition

    def _find(self, asked: bytes, number: int, by_id: bool) -> Partition | None:
        if by_id:
            topic = self._cluster.topics_by_id.get(UUID(bytes=asked))
        else:
            topic = self._cluster.topics.get(asked[1:].decode(errors="replace"))
        if topic is None or topic.is_internal:
            return None
        partition = self._partitions.get((topic.name, number))
        if partition is None or partition.topic_id != topic.id:
            return None
        self._found[asked, number, by_id] = partition
        return partition

    def forget(self) -> None:
        """Clear the cache."""
        self._found.clear()
