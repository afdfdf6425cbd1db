"""Even out how many replicas brokers hold."""

from __future__ import annotations

from kafka_tools.commands.partitions.planning.evening import Evening, Item
from kafka_tools.commands.partitions.planning.layout import Layout


class ReplicaCounts(Evening):
    """Replicas of brokers. Moving one back to where it was, or on from where the plan has put it, costs nothing."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout.load, layout.takers)
        self._layout = layout

    def allowed(self, partition: int, source: int) -> int:
        return self._layout.targets(partition, source)

    def fits(self, partition: int, target: int) -> bool:
        return self._layout.fits(partition, target)

    def spreads(self, partition: int, source: int, target: int) -> bool:
        topic = self._layout.topic[partition]
        loads = self._layout.topic_load
        return loads[source][topic] > loads[target].get(topic, 0)

    def transfer(self, partition: int, source: int, target: int) -> None:
        self._layout.remove(partition, source)
        self._layout.add(partition, target)

    def item(self, partition: int, broker: int) -> Item:
        layout = self._layout
        return broker in layout.original[partition], layout.size_bytes[partition], partition
