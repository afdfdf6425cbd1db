"""Even out how many replicas brokers hold."""

from __future__ import annotations

from kafka_tools.commands.partitions.planning.evening import Evening, Item
from kafka_tools.commands.partitions.planning.layout import Layout


class ReplicaCounts(Evening):
    """Replicas of brokers. Moving one back to where it was, or on from where the plan has put it, costs nothing."""

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
