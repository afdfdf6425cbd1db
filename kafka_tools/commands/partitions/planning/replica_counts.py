"""Balances the number of replicas per broker."""

from __future__ import annotations

from kafka_tools.commands.partitions.planning.evening import Evening, Item
from kafka_tools.commands.partitions.planning.layout import Layout


class ReplicaCounts(Evening):
    """Replicas of brokers. A move back to the original broker, or of a replica that already moved, costs nothing."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout, layout.load, layout.topic_load, layout.takers)

    def allowed(self, partition: int, source: int) -> int:
        return self.layout.targets(partition, source)

    def fits(self, partition: int, target: int) -> bool:
        return self.layout.fits(partition, target)

    def transfer(self, partition: int, source: int, target: int) -> None:
        self.layout.remove(partition, source)
        self.layout.add(partition, target)

    def item(self, partition: int, broker: int) -> Item:
        return broker in self.layout.original[partition], self.layout.size_bytes[partition], partition
