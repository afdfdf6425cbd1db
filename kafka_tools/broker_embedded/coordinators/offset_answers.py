"""The topics of an answer about offsets, put together as Kafka does: OffsetCommit and OffsetDelete."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any


def put_together(refused: Iterable[tuple[Hashable, Any]], answered: Iterable[tuple[Hashable, Any]]) -> list[Any]:
    """Topics of a response, each with its name or id.

    ``refused`` did not reach the group; those of one topic are put together, and what the group ``answered`` is added
    to them. Where nothing was refused the group's answer stands as it is, also with a topic that was named twice.
    """
    topics: dict[Hashable, Any] = {}
    for key, topic in refused:
        if key in topics:
            topics[key].partitions += topic.partitions
        else:
            topics[key] = topic
    if not topics:
        return [topic for _, topic in answered]
    for key, topic in answered:
        if key in topics:
            topics[key].partitions += topic.partitions
        else:
            topics[key] = topic
    return list(topics.values())
