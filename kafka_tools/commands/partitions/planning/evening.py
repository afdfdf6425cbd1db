"""Balances a count per broker (replicas, leaders) with the fewest moves of one item, under constraints.

A move from the broker with the most items to one with at least two fewer improves the plan. If constraints forbid it,
a chain of moves may work: one item from the first broker to a second, another from there to a third, and so on. If
no such chain is left, the sum of squares is minimal (as in flows of convex cost).
"""

from __future__ import annotations

import bisect
from abc import ABC, abstractmethod
from collections.abc import Collection

from kafka_tools.commands.partitions.planning.layout import Layout, brokers_in

Item = tuple[bool, int, int]
"""(is at its original place, cost of its move, number of the partition), in the order of moving."""


class Evening(ABC):
    """Counts to balance. ``loads``: the count of each broker. ``topic_loads``: the count of each topic on it.
    ``items``: the items that may leave it, in order. ``among``: the brokers (bits) whose counts matter."""

    def __init__(self, layout: Layout, loads: list[int], topic_loads: list[dict[int, int]], among: int) -> None:
        self.layout = layout
        self.loads = loads
        self.topic_loads = topic_loads
        self.among = among
        self.items: list[list[Item]] = [[] for _ in loads]
        self._tried: list[dict[tuple[int, bool, bool], Item]] = [{} for _ in loads]

    @abstractmethod
    def allowed(self, partition: int, source: int) -> int:
        """The brokers (bits) to which the partition's item on ``source`` may go."""

    def fits(self, partition: int, target: int) -> bool:
        """Whether ``target``, one of ``allowed``, has room for it."""
        return True

    @abstractmethod
    def transfer(self, partition: int, source: int, target: int) -> None:
        """Do the move."""

    @abstractmethod
    def item(self, partition: int, broker: int) -> Item:
        """The item of a partition on a broker."""

    def spreads(self, partition: int, source: int, target: int) -> bool:
        """Whether the move improves the topic's spread over brokers. Such moves are preferred."""
        topic = self.layout.topic[partition]
        return self.topic_loads[source][topic] > self.topic_loads[target].get(topic, 0)

    def start(self, partition: int, broker: int) -> None:
        """Allow a partition's item on a broker to move."""
        bisect.insort(self.items[broker], self.item(partition, broker))

    def even_out(self) -> None:
        """Apply moves and chains until none improves the balance."""
        while self._round():
            pass

    def _round(self) -> bool:
        """Try brokers from the highest down, until none can give an item. Returns whether an item moved.

        A broker from which no better broker can be reached is done, and so are the brokers that it reaches.
        """
        everybody = list(brokers_in(self.among))
        brokers = everybody
        loads = self.loads
        reach: dict[int, int] = {}
        moved = False
        while brokers:
            highest = max(brokers, key=lambda broker: (loads[broker], -broker))
            if loads[highest] - min(loads[broker] for broker in everybody) < 2:
                break
            if self._direct(highest, reach):
                moved = True
                continue
            chain, reached = self._chain(highest)
            if chain:
                for partition, source, target in chain:
                    self._move(partition, source, target)
                    reach.pop(source, None)
                    reach.pop(target, None)
                moved = True
            else:
                brokers = [broker for broker in brokers if not reached >> broker & 1]
        return moved

    def _direct(self, source: int, reach: dict[int, int]) -> bool:
        """Move one item from ``source`` to the broker with the fewest items that accepts it. Removes others from
        ``reach``."""
        if source not in reach:
            reach[source] = self._reachable(source)
        loads = self.loads
        lower = [target for target in brokers_in(reach[source] & self.among) if loads[source] - loads[target] >= 2]
        for target in sorted(lower, key=loads.__getitem__):
            found = self._next(source, target)
            if found is not None:
                self._move(found, source, target)
                return True
            reach[source] &= ~(1 << target)
        return False

    def _chain(self, start: int) -> tuple[list[tuple[int, int, int]], int]:
        """The shortest chain of moves to a broker with at least two fewer items, and all reached brokers."""
        came_from = {start: start}
        reached = 1 << start
        waiting = [start]
        for source in waiting:
            for target in brokers_in(self._reachable(source) & self.among & ~reached):
                if self._find(source, target, ()) is None:
                    continue
                came_from[target] = source
                reached |= 1 << target
                waiting.append(target)
                if self.loads[start] - self.loads[target] >= 2:
                    chain = self._moves_of(came_from, target)
                    if chain:
                        return chain, reached
        return [], reached

    def _moves_of(self, came_from: dict[int, int], end: int) -> list[tuple[int, int, int]]:
        """A different partition for each step, so that no step affects the permissions of another."""
        chain: list[tuple[int, int, int]] = []
        target = end
        while came_from[target] != target:
            source = came_from[target]
            found = self._find(source, target, [partition for partition, *_ in chain])
            if found is None:
                return []
            chain.append((found, source, target))
            target = source
        return chain

    def _reachable(self, source: int) -> int:
        reached = 0
        for _, _, partition in self.items[source]:
            reached |= self.allowed(partition, source)
        return reached

    def _next(self, source: int, target: int) -> int | None:
        """As ``_find``, going on behind what was of no use before: with a thousand moves between two brokers nothing is
        looked at a thousand times. What is missed by that, because others have moved meanwhile, chains find."""
        items = self.items[source]
        tried = self._tried[source]
        for is_original in (False, True):
            for spreads in (True, False):
                key = target, is_original, spreads
                first = bisect.bisect_left(items, tried.get(key, (is_original, -1, -1)))
                for at in range(first, len(items)):
                    item = items[at]
                    partition = item[2]
                    if item[0] != is_original:
                        break
                    tried[key] = item
                    if (
                        self.allowed(partition, source) >> target & 1
                        and self.fits(partition, target)
                        and (not spreads or self.spreads(partition, source, target))
                    ):
                        return partition
        return None

    def _find(self, source: int, target: int, besides: Collection[int]) -> int | None:
        """The partition to move: one that has been moved already, then one whose topic spreads better, then cheap."""
        second: Item | None = None
        for item in self.items[source]:
            partition = item[2]
            if second is not None and item[0] and not second[0]:
                break
            if not self.allowed(partition, source) >> target & 1 or partition in besides:
                continue
            if not self.fits(partition, target):
                continue
            if self.spreads(partition, source, target):
                return partition
            second = second or item
        return None if second is None else second[2]

    def _move(self, partition: int, source: int, target: int) -> None:
        items = self.items[source]
        del items[bisect.bisect_left(items, self.item(partition, source))]
        self.transfer(partition, source, target)
        self._tried[target].clear()
        self.start(partition, target)
