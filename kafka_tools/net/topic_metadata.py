"""A client's metadata of a topic: its partitions and leaders, from a response and the previous metadata."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import NamedTuple

from kafka_tools.protocol.messages.metadata import MetadataResponse

NO_LEADER = -1


class PartitionMetadata(NamedTuple):
    """One partition: its leader and the leader epoch (-1: not known)."""

    leader_id: int
    leader_epoch: int


class TopicMetadata(NamedTuple):
    """One topic. ``error`` is its error code; partitions by number."""

    name: str
    topic_id: uuid.UUID
    is_internal: bool
    error: int
    partitions: Mapping[int, PartitionMetadata]
    available: tuple[int, ...]
    """Numbers of the partitions that have a leader, ascending."""


def topic_metadata(name: str, row: MetadataResponse.ResponseTopic, known: TopicMetadata | None) -> TopicMetadata:
    """The topic of a response; a leader of an older epoch than in ``known`` is ignored."""
    same = known is not None and known.topic_id == row.topic_id
    partitions = {}
    for partition in row.partitions:
        found = PartitionMetadata(partition.leader_id, partition.leader_epoch)
        before = known.partitions.get(partition.partition_index) if known is not None and same else None
        # The response is of a broker that lags behind. A recreated topic starts over.
        if before is not None and found.leader_epoch < before.leader_epoch:
            found = before
        partitions[partition.partition_index] = found
    available = tuple(sorted(number for number, found in partitions.items() if found.leader_id != NO_LEADER))
    return TopicMetadata(name, row.topic_id, row.is_internal, row.error_code, partitions, available)
