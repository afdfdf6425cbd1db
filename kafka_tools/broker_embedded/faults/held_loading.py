"""Coordinator partitions that a start does not load until a test releases them."""

from __future__ import annotations

from collections.abc import Callable

from kafka_tools.broker_embedded.coordinators.runtime import partition_for
from kafka_tools.closing import Closing
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, TRANSACTION_STATE
from kafka_tools.values import TopicPartition


class HeldLoading(Closing):
    """The partition of a group, of a transactional id, of both, or all partitions without a name.

    As a context manager, it ends with the block.
    """

    def __init__(self, group: str | None, transactional_id: str | None) -> None:
        self._keys = {CONSUMER_OFFSETS: group, TRANSACTION_STATE: transactional_id}
        self._is_of_all = group is None and transactional_id is None
        self.release: Callable[[], None] = lambda: None
        """End the hold and load the partitions."""

    def close(self) -> None:
        self.release()

    def __repr__(self) -> str:
        named = [f"{topic} of {key!r}" for topic, key in self._keys.items() if key is not None]
        return f"<hold loading of {', '.join(named) or 'all coordinators'}>"

    def holds(self, at: TopicPartition, partitions: int) -> bool:
        """Whether a partition, of a topic with ``partitions`` partitions, is not to be loaded."""
        key = self._keys.get(at.topic)
        return self._is_of_all or (key is not None and partition_for(key, partitions) == at.partition)
