"""The assignment while a plan is computed: replicas, loads of brokers, and possible targets.

Brokers and partitions are numbers here, in the order of their ids and names. Sets of brokers are bits of an int, so
that a question about 100 brokers is one operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafka_tools.commands.partitions.planning.facts import ClusterFacts, DiskFacts, PlanOrder

UNKNOWN_ROOM = float("inf")
"""Room on a disk whose free space the broker does not report."""
_SHARE_OF_A_REPLICA = 1000
"""When bytes are balanced, a replica counts as at least 1/1000 of the mean one, so that empty ones spread as well."""


def brokers_in(members: int) -> Iterator[int]:
    """The brokers of a set, by id."""
    while members:
        lowest = members & -members
        yield lowest.bit_length() - 1
        members ^= lowest


class Disk(NamedTuple):
    """A log directory that takes replicas."""

    path: str
    free_bytes: float


class Layout:
    """The live brokers and their replicas while the plan is computed.

    A replica that leaves frees no room: until a move has ended, both the old and the new replica are on the disks. So a
    plan fits in any order of its moves.
    """

    def __init__(self, facts: ClusterFacts, order: PlanOrder) -> None:
        self.ids = sorted(facts.brokers)
        self.number_of = {id: number for number, id in enumerate(self.ids)}
        brokers = [facts.brokers[id] for id in self.ids]
        self.takers = 0
        self.keepers = 0
        """``takers``: brokers (bits) that may get replicas. ``keepers``: those that may have replicas and leaders."""
        for number, broker in enumerate(brokers):
            if broker.id in order.evacuated:
                continue
            self.takers |= broker.takes_replicas << number
            self.keepers |= (broker.takes_replicas or broker.keeps_replicas) << number
        racks = sorted({broker.rack or "" for broker in brokers}) if order.rack_aware else [""]
        self.rack = [racks.index(broker.rack or "") if order.rack_aware else 0 for broker in brokers]
        self.rack_members = [0] * len(racks)
        for number, rack in enumerate(self.rack):
            self.rack_members[rack] |= 1 << number
        self.disks = [_disks(broker.disks) for broker in brokers]
        self._free = [[disk.free_bytes for disk in disks] for disks in self.disks]
        self._disk_of: dict[tuple[int, int], int] = {}

        self.keys = sorted(facts.partitions)
        topics = {name: number for number, name in enumerate(dict.fromkeys(key.topic for key in self.keys))}
        self.topic = [topics[key.topic] for key in self.keys]
        self.size_bytes = [facts.partitions[key].size_bytes for key in self.keys]
        replicas = [facts.partitions[key].replicas for key in self.keys]
        count = sum(map(len, replicas))
        total = sum(size * len(each) for size, each in zip(self.size_bytes, replicas, strict=True))
        self._least = total // (_SHARE_OF_A_REPLICA * max(count, 1)) + 1
        self.original = [tuple(self.number_of[id] for id in each if id in self.number_of) for each in replicas]
        self.held: list[list[int]] = [[] for _ in self.keys]
        self.holders = [0] * len(self.keys)
        self.load = [0] * len(brokers)
        self.weight = [broker.other_bytes for broker in brokers]
        """The bytes that count for each broker: ``weight_of`` its replicas, and its replicas outside the plan."""
        capacities = [broker.capacity_bytes for broker in brokers]
        known = all(capacities[number] for number in brokers_in(self.takers))
        self.capacity: list[int] = [(known and capacity) or 1 for capacity in capacities]
        """Bytes that fit on each broker; 1 for all brokers if one is not known, so that plain bytes are compared."""
        self.topic_load: list[dict[int, int]] = [{} for _ in brokers]
        for partition, each in enumerate(self.original):
            for broker_number in each:
                self.add(partition, broker_number)

    def weight_of(self, partition: int) -> int:
        """The bytes that a replica of the partition counts as, when bytes are balanced."""
        return self.size_bytes[partition] + self._least

    def usage(self, broker: int, more: int = 0) -> float:
        """The usage of a broker with ``more`` bytes: a part of its capacity, or bytes if the capacity is unknown."""
        return (self.weight[broker] + more) / self.capacity[broker]

    def add(self, partition: int, broker: int) -> None:
        """Put a replica on a broker. An original replica needs no room."""
        self.held[partition].append(broker)
        self.holders[partition] |= 1 << broker
        self.load[broker] += 1
        self.weight[broker] += self.weight_of(partition)
        topics = self.topic_load[broker]
        topics[self.topic[partition]] = topics.get(self.topic[partition], 0) + 1
        if broker not in self.original[partition] and self._free[broker]:
            free = self._free[broker]
            disk = max(range(len(free)), key=free.__getitem__)
            free[disk] -= self.size_bytes[partition]
            self._disk_of[partition, broker] = disk

    def remove(self, partition: int, broker: int) -> None:
        """Take a replica from a broker."""
        self.held[partition].remove(broker)
        self.holders[partition] &= ~(1 << broker)
        self.load[broker] -= 1
        self.weight[broker] -= self.weight_of(partition)
        self.topic_load[broker][self.topic[partition]] -= 1
        disk = self._disk_of.pop((partition, broker), None)
        if disk is not None:
            self._free[broker][disk] += self.size_bytes[partition]

    def fits(self, partition: int, broker: int) -> bool:
        """Whether a disk of the broker has room for a replica, in addition to those of the plan."""
        if broker in self.original[partition]:
            return True
        free = self._free[broker]
        return not free or max(free) >= self.size_bytes[partition]

    def room_bytes(self, broker: int) -> float:
        """Size of the largest replica that fits on a broker."""
        return max(self._free[broker], default=UNKNOWN_ROOM)

    def disk_of(self, partition: int, broker: int) -> str | None:
        """The log directory of the plan for a new replica; None on a broker with one directory."""
        disk = self._disk_of.get((partition, broker))
        return None if disk is None or len(self.disks[broker]) < 2 else self.disks[broker][disk].path

    def in_rack(self, partition: int, rack: int) -> int:
        """Number of replicas of the partition in a rack."""
        return (self.holders[partition] & self.rack_members[rack]).bit_count()

    def targets(self, partition: int, source: int) -> int:
        """The brokers (bits) to which the replica on ``source`` may go by the rules of racks. Room is not checked.

        A replica in a rack with n replicas of the partition may go to a rack with at most n - 1. The spread over racks
        does not become worse.
        """
        allowed = self.takers & ~self.holders[partition]
        if len(self.rack_members) == 1:
            return allowed
        rack = self.rack
        own = rack[source]
        here = self.in_rack(partition, own)
        for other in self.held[partition]:
            there = rack[other]
            if there != own and (here == 1 or self.in_rack(partition, there) >= here):
                allowed &= ~self.rack_members[there]
        return allowed


def _disks(disks: tuple[DiskFacts, ...]) -> list[Disk]:
    """The disks that accept replicas; empty if the broker did not report its disks."""
    return [
        Disk(disk.path, UNKNOWN_ROOM if disk.free_bytes is None else disk.free_bytes)
        for disk in disks
        if disk.takes_replicas
    ]
