"""Balances the bytes of brokers with few moves: bin packing that starts from the current assignment.

The fullest broker gives a replica to the emptiest: the largest one that moves neither broker past the mean, so that
few bytes move twice. If every replica is too large, the plan moves one that balances the pair better, or exchanges two
replicas. A broker within one hundredth of the mean is unchanged.
"""

from __future__ import annotations

import bisect
import itertools
from typing import NamedTuple

from kafka_tools.commands.partitions.planning.layout import Layout, brokers_in

TOLERANCE = 0.01
"""Maximum distance from the mean, as a part of the mean, at which no replica moves for a broker."""
_TRIFLE = 4
"""A replica does not move if this many times the broker's number of replicas, all of its size, would be too few."""
_SWAP_TRIFLE = 10
"""An exchange moves two replicas, so it must transfer at least a tenth of the wanted bytes."""
_SWAPS_TRIED = 64
"""Number of the largest replicas of a broker that are tried."""


class Transfer(NamedTuple):
    """Source and target broker, the wanted bytes, and the bytes that would make both equally full."""

    source: int
    target: int
    wanted: float
    even: float


class ByteLoads:
    """Bytes of brokers. Call ``start`` for each replica that may move, then ``even_out``."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._items: list[list[tuple[int, int]]] = [[] for _ in layout.ids]
        self._reach: dict[int, int] = {}
        self._tried: dict[tuple[int, int], tuple[int, int]] = {}
        """Found in the present round: where replicas of a broker may go, and what was tried for another broker."""
        brokers = list(brokers_in(layout.takers))
        capacity = sum(layout.capacity[broker] for broker in brokers)
        self._mean = sum(layout.weight[broker] for broker in brokers) / max(capacity, 1)
        """The usage of each broker if all are equally full."""

    def start(self, partition: int, broker: int) -> None:
        """Allow a replica to move."""
        bisect.insort(self._items[broker], (self._layout.weight_of(partition), partition))

    def even_out(self) -> None:
        """Move replicas until no worthwhile move balances a pair of brokers better."""
        while self._round():
            pass

    def _round(self) -> bool:
        """Try brokers from the fullest down, until none can give a replica. Returns whether a replica moved."""
        layout = self._layout
        waiting = list(brokers_in(layout.takers))
        self._reach.clear()
        self._tried.clear()
        moved = False
        while waiting:
            source = max(waiting, key=lambda broker: (layout.usage(broker), -broker))
            if self._relieve(source):
                moved = True
            else:
                waiting.remove(source)
        return moved

    def _relieve(self, source: int) -> bool:
        """Move replicas from ``source`` to an emptier broker. Returns False if no move is worthwhile."""
        layout = self._layout
        if not self._items[source]:
            return False  # all its movable replicas are gone, and replicas outside the plan fill it
        if source not in self._reach:
            self._reach[source] = 0
            for _, partition in self._items[source]:
                self._reach[source] |= layout.targets(partition, source)
        reached = self._reach[source]
        own = layout.usage(source)
        emptier = [broker for broker in brokers_in(reached) if own - layout.usage(broker) > TOLERANCE * self._mean]
        for target in sorted(emptier, key=layout.usage):
            even = (own - layout.usage(target)) / (1 / layout.capacity[source] + 1 / layout.capacity[target])
            surplus = (own - self._mean) * layout.capacity[source]
            gap = (self._mean - layout.usage(target)) * layout.capacity[target]
            transfer = Transfer(source, target, min(surplus, gap) if surplus > 0 and gap > 0 else even, even)
            if self._give(transfer) or self._swap(transfer):
                return True
            self._reach[source] &= ~(1 << target)
        return False

    def _give(self, transfer: Transfer) -> bool:
        """Move the largest replica that is not larger than wanted, or the next larger one if that is better too."""
        items = self._items[transfer.source]
        least = transfer.wanted / (_TRIFLE * len(items))
        middle = bisect.bisect_right(items, (transfer.wanted, len(self._layout.keys)))
        pair = transfer.source, transfer.target
        first = min(middle, bisect.bisect_right(items, self._tried.get(pair, items[-1])))
        smaller = (items[at] for at in range(first - 1, -1, -1))
        larger = (items[at] for at in range(middle, len(items)))
        for weight, partition in itertools.takewhile(lambda item: item[0] >= least, smaller):
            self._tried[pair] = weight, partition
            if self._may(partition, transfer.source, transfer.target):
                self._move(weight, partition, transfer.source, transfer.target)
                return True
        for weight, partition in itertools.takewhile(lambda item: item[0] <= 2 * transfer.even - least, larger):
            if self._may(partition, transfer.source, transfer.target):
                self._move(weight, partition, transfer.source, transfer.target)
                return True
        return False

    def _swap(self, transfer: Transfer) -> bool:
        """Exchange a replica for a smaller one, if both may move and their difference is close to the bytes wanted."""
        source, target, wanted, even = transfer
        there = self._items[target]
        best: tuple[float, tuple[int, int], tuple[int, int]] | None = None
        least = wanted / _SWAP_TRIFLE
        for large in reversed(self._items[source][-_SWAPS_TRIED:]):
            if not there or not self._may(large[1], source, target):
                continue
            at = bisect.bisect_left(there, (large[0] - wanted, 0))
            for small in there[max(at - 2, 0) : at + 2]:
                difference = large[0] - small[0]
                is_better = least <= difference <= 2 * even - least
                off = abs(difference - wanted)
                if is_better and (best is None or off < best[0]) and self._may(small[1], target, source):
                    best = off, large, small
        if best is None:
            return False
        _, large, small = best
        self._move(*large, source, target)
        self._move(*small, target, source)
        return True

    def _may(self, partition: int, source: int, target: int) -> bool:
        layout = self._layout
        return bool(layout.targets(partition, source) >> target & 1) and layout.fits(partition, target)

    def _move(self, weight: int, partition: int, source: int, target: int) -> None:
        items = self._items[source]
        del items[bisect.bisect_left(items, (weight, partition))]
        bisect.insort(self._items[target], (weight, partition))
        self._layout.remove(partition, source)
        self._layout.add(partition, target)
