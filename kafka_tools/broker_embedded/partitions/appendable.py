"""The partitions that clients append to, found by the bytes with which produce requests name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.metadata import Cluster
    from kafka_tools.broker_embedded.partitions.partition import Partition


class Appendable:
    """Of the partitions that are led here those that ordinary clients may append to: no internal topics'.

    ``forget`` is called when partitions come or go; what was found before then holds no longer.
    """

    def __init__(self, cluster: Cluster, partitions: Mapping[tuple[str, int], Partition]) -> None:
        self._cluster = cluster
        self._partitions = partitions
        self._found: dict[tuple[bytes, int, bool], Partition] = {}

    def find(self, topic: bytes, number: int, *, by_id: bool) -> Partition | None:
        """The partition if it takes appends now, else None.

        ``topic`` is as it stands in a request: the bytes of the topic's id, or its name behind a byte that counts both.
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
        """Look for each anew."""
        self._found.clear()
