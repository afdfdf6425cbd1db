"""Balances the number of preferred leaders per broker. Only the order of replicas changes."""

from __future__ import annotations

from kafka_tools.commands.partitions.planning.evening import Evening, Item
from kafka_tools.commands.partitions.planning.layout import Layout, brokers_in


class LeaderCounts(Evening):
    """Preferred leaders of brokers. ``leaders``: the leader of each partition; None without a live broker."""

    def __init__(self, layout: Layout, leaders: list[int | None]) -> None:
        super().__init__(layout, [0] * len(layout.ids), [{} for _ in layout.ids], layout.keepers)
        self._first = leaders
        self.leaders = list(leaders)
        for partition, leader in enumerate(leaders):
            if leader is not None:
                self._count(partition, leader, 1)

    def allowed(self, partition: int, source: int) -> int:
        return self.layout.holders[partition] & self.among & ~(1 << source)

    def transfer(self, partition: int, source: int, target: int) -> None:
        self.leaders[partition] = target
        self._count(partition, source, -1)
        self._count(partition, target, 1)

    def among_keepers(self, partition: int, leader: int) -> int:
        """The leader. If it must not lead, another allowed broker of the partition that leads least."""
        others = list(brokers_in(self.allowed(partition, leader)))
        if self.among >> leader & 1 or not others:
            return leader
        target = min(others, key=lambda broker: (self.loads[broker], broker))
        self.transfer(partition, leader, target)
        return target

    def item(self, partition: int, broker: int) -> Item:
        return self._first[partition] == broker, 0, partition

    def _count(self, partition: int, broker: int, change: int) -> None:
        self.loads[broker] += change
        leads = self.topic_loads[broker]
        topic = self.layout.topic[partition]
        leads[topic] = leads.get(topic, 0) + change
