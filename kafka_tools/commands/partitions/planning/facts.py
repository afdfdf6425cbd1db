"""The input of a plan (brokers, their disks, partitions, the request) and its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafka_tools.values import TopicPartition

COUNT, BYTES, LEADERS = "count", "bytes", "leaders"
"""The balance of a plan: replicas of each broker, bytes of each disk, or only preferred leaders."""


class DiskFacts(NamedTuple):
    """A log directory. ``free_bytes``: free space, None from brokers before 3.3, which do not report it (KIP-827).

    ``replica_bytes``: size of all replicas in it, those outside the plan included. ``takes_replicas``: it is not
    cordoned (KIP-1066).
    """

    path: str
    free_bytes: int | None
    replica_bytes: int
    takes_replicas: bool = True


class BrokerFacts(NamedTuple):
    """A live broker. ``takes_replicas``: the plan may place replicas on it. ``keeps_replicas``: its replicas and
    leaders may stay, even if it gets no new ones.

    ``disks``: empty if the broker did not report them. ``other_bytes``: size of its replicas outside the plan.
    """

    id: int
    rack: str | None = None
    takes_replicas: bool = True
    disks: tuple[DiskFacts, ...] = ()
    other_bytes: int = 0
    keeps_replicas: bool = False

    @property
    def capacity_bytes(self) -> int | None:
        """Bytes for replicas on its disks: the current replicas and the free space; None if not known."""
        if not self.disks:
            return None
        total = 0
        for disk in self.disks:
            if disk.free_bytes is None:
                return None
            total += disk.replica_bytes + disk.free_bytes
        return total


class PlacedPartition(NamedTuple):
    """A partition. ``replicas``: ids of its brokers, including those that are down, the preferred leader first."""

    replicas: tuple[int, ...]
    size_bytes: int


class ClusterFacts(NamedTuple):
    """The live brokers, by id, and the partitions of the plan."""

    brokers: Mapping[int, BrokerFacts]
    partitions: Mapping[TopicPartition, PlacedPartition]


class PlanOrder(NamedTuple):
    """The request for a plan.

    ``balance``: COUNT, BYTES or LEADERS; with None only ``evacuated`` and ``replication_factor`` move replicas.
    ``rack_aware``: spread replicas over racks. ``may_leave``: a partition with more replicas than there are brokers
    to take them stays as it is; otherwise it is an InputError.
    """

    balance: str | None
    evacuated: frozenset[int] = frozenset()
    replication_factor: int | None = None
    rack_aware: bool = True
    may_leave: bool = False


class MovePlan(NamedTuple):
    """A plan. ``replicas``: of every partition of the order, the preferred leader first.

    ``log_dirs``: (partition, broker) -> path of a new replica, on brokers with several disks when bytes are balanced.
    ``left``: partitions that should change and stay as they are, because no broker can take them.
    """

    replicas: Mapping[TopicPartition, tuple[int, ...]]
    log_dirs: Mapping[tuple[TopicPartition, int], str]
    left: tuple[TopicPartition, ...] = ()
