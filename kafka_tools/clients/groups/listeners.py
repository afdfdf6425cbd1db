"""What an application wants to be told about its partitions.

Follows ``ConsumerRebalanceListener`` of Kafka's Java client.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

from kafka_tools.values import TopicPartition

Listener = Callable[[list[TopicPartition]], None]


class RebalanceListeners(NamedTuple):
    """Called inside ``poll``, ``unsubscribe`` and ``close``, in the thread that calls these."""

    on_assigned: Listener | None = None
    on_revoked: Listener | None = None
    on_lost: Listener | None = None
    """For partitions that another member may have already, so that commits fail; ``on_revoked`` if it is None."""

    def within(self, context: Callable[[], AbstractContextManager[None]]) -> RebalanceListeners:
        """The same listeners, each called in a ``with`` block of ``context()``."""

        def wrapped(listener: Listener | None) -> Listener | None:
            if listener is None:
                return None

            def call(partitions: list[TopicPartition]) -> None:
                with context():
                    listener(partitions)

            return call

        return RebalanceListeners(*map(wrapped, self))

    def assigned(self, partitions: list[TopicPartition]) -> None:
        """New partitions, also when there is none: the rebalance is complete."""
        if self.on_assigned is not None:
            self.on_assigned(partitions)

    def revoked(self, partitions: list[TopicPartition]) -> None:
        """Partitions that this member gives up, which it still may commit."""
        if partitions and self.on_revoked is not None:
            self.on_revoked(partitions)

    def lost(self, partitions: list[TopicPartition]) -> None:
        """Partitions that this member had, and has no more."""
        told = self.on_lost or self.on_revoked
        if partitions and told is not None:
            told(partitions)
