"""Kafka's placement of replicas: StripedReplicaPlacer of 4.3.1 with java.util.Random, with identical results.

Partitions go over racks in stripes: the leader of each comes from the next rack, its followers from the racks after
it, and within a rack from one broker after the other. After as many partitions as there are brokers, all orders are
shuffled. tests/against_kafka compares it with Kafka's own class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafka_tools.errors import InputError
from kafka_tools.output.kafka.java_words import hash_order
from kafka_tools.texts.java_hashing import string_hash


class UsableBroker(NamedTuple):
    """A broker that may get replicas. ``rack``: None if it has no rack, or racks do not matter."""

    id: int
    rack: str | None


def check_racks(racks: Mapping[int, str | None]) -> None:
    """Raise InputError if some brokers have a rack and others have none; ``racks``: broker id -> rack."""
    without = [id for id, rack in racks.items() if rack is None]
    if without and len(without) < len(racks):
        raise InputError(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information.",
            hint=f"without a rack: broker {', '.join(map(str, without))}",
        )


class JavaRandom:
    """java.util.Random: the same numbers for the same seed."""

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) & (1 << 48) - 1

    def below(self, bound: int) -> int:
        """``nextInt(bound)``: a number from 0 to ``bound`` - 1."""
        if bound & -bound == bound:
            return (bound * self._next()) >> 31
        while True:
            bits = self._next()
            number = bits % bound
            if bits - number + (bound - 1) < 1 << 31:  # Java looks for the overflow of an int
                return number

    def shuffle(self, items: list[Any]) -> None:
        """``Collections.shuffle`` of an ArrayList."""
        for size in range(len(items), 1, -1):
            other = self.below(size)
            items[size - 1], items[other] = items[other], items[size - 1]

    def _next(self) -> int:
        self._state = (self._state * 0x5DEECE66D + 0xB) & (1 << 48) - 1
        return self._state >> 17


class StripedPlacer:
    """Several placements with one random generator, topic by topic, as in Kafka's tool."""

    def __init__(self, random: JavaRandom) -> None:
        self._random = random

    def place(self, brokers: Sequence[UsableBroker], partitions: int, replication_factor: int) -> list[list[int]]:
        """The replicas of each partition from 0, the leader first. Raises InputError if there are too few brokers."""
        racks = _RackList(self._random, brokers)
        if replication_factor <= 0:
            raise InputError(
                f"Invalid replication factor {replication_factor}: the replication factor must be positive."
            )
        if not brokers:
            raise InputError(
                "All brokers are currently fenced, or have all their log directories cordoned.",
                hint="none of the brokers in --broker-list is running",
            )
        if replication_factor > len(brokers):
            raise InputError(
                f"The target replication factor of {replication_factor} cannot be reached because only {len(brokers)} "
                "broker(s) are registered or some brokers have all their log directories cordoned.",
                hint="name more running brokers in --broker-list",
            )
        return [racks.place(replication_factor) for _ in range(partitions)]


class _RackList:
    """The racks in their current order, and the position of the stripes (``epoch``, ``offset``)."""

    def __init__(self, random: JavaRandom, brokers: Sequence[UsableBroker]) -> None:
        self._random = random
        self._count = len(brokers)
        members: dict[str | None, list[int]] = {}
        for broker in brokers:
            members.setdefault(broker.rack, []).append(broker.id)
        # Chance is asked in the order of a HashMap of racks; stripes follow their names, no rack first.
        self._racks = {
            name: _Rack(members[name], random) for name in hash_order(members, lambda name: string_hash(name or ""))
        }
        self._names = sorted(self._racks, key=lambda name: (name is not None, (name or "").encode("utf-16-be")))
        self._epoch = 0
        self._offset = random.below(len(self._names)) if self._names else 0

    def place(self, replication_factor: int) -> list[int]:
        if self._epoch == self._count and self._count > 1:
            self._random.shuffle(self._names)
            for rack in self._racks.values():
                rack.shuffle(self._random)
            self._epoch = 0
        if self._offset == len(self._names):
            self._offset = 0
        first = self._offset
        # A rack that nobody asked since epoch 0 of the last round takes the new one for that one, and may have none.
        while (leader := self._racks[self._names[first]].next(self._epoch)) is None:
            first = (first + 1) % len(self._names)
        placed = [leader]
        at = self._offset
        skipped: int | None = first
        while len(placed) < replication_factor:
            # The leader's rack is passed over once.
            broker = None
            if at == skipped:
                skipped = None
            else:
                broker = self._racks[self._names[at]].next(self._epoch)
            at = (at + 1) % len(self._names)
            if broker is not None:
                placed.append(broker)
        self._epoch += 1
        self._offset += 1
        return placed


class _Rack:
    """The brokers of a rack, each once per epoch. Every epoch starts with the next broker."""

    def __init__(self, brokers: list[int], random: JavaRandom) -> None:
        self._brokers = sorted(brokers)
        self._given = 0
        self._epoch = 0
        self._first = random.below(len(self._brokers))

    def shuffle(self, random: JavaRandom) -> None:
        random.shuffle(self._brokers)

    def next(self, epoch: int) -> int | None:
        if self._epoch != epoch:
            self._epoch = epoch
            self._given = 0
            self._first = (self._first + 1) % len(self._brokers)
        if self._given >= len(self._brokers):
            return None
        self._given += 1
        return self._brokers[(self._given - 1 + self._first) % len(self._brokers)]
