"""What a plan is made of, and what it is: brokers and their disks, partitions, what is asked for, what is proposed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafka_tools.values import TopicPartition

COUNT, BYTES, LEADERS = "count", "bytes", "leaders"
"""What a plan balances: replicas for each broker, bytes for each disk, or preferred leaders alone."""


class DiskFacts(NamedTuple):
    """A log directory. ``free_bytes``: room for more, None where the broker does not tell (before 3.3).

    ``replica_bytes``: of all replicas in it, also those that the plan is not about. ``takes_replicas``: not cordoned.
    """

    path: str
    free_bytes: int | None
    replica_bytes: int
    takes_replicas: bool = True


class BrokerFacts(NamedTuple):
    """A broker that is alive. ``takes_replicas``: the plan may give it replicas. ``keeps_replicas``: what it has, and
    leads, may stay even if it takes none.

    ``disks``: none where the broker did not tell. ``other_bytes``: of its replicas that the plan is not about.
    """

    id: int
    rack: str | None = None
    takes_replicas: bool = True
    disks: tuple[DiskFacts, ...] = ()
    other_bytes: int = 0
    keeps_replicas: bool = False

    @property
    def capacity_bytes(self) -> int | None:
        """What replicas may fill of its disks, those there now included; None if that is not known."""
        if not self.disks:
            return None
        total = 0
        for disk in self.disks:
            if disk.free_bytes is None:
                return None
            total += disk.replica_bytes + disk.free_bytes
        return total


class PlacedPartition(NamedTuple):
    """``replicas``: ids of brokers, also of such as are away, the preferred leader first."""

    replicas: tuple[int, ...]
    size_bytes: int


class ClusterFacts(NamedTuple):
    """The brokers that are alive, by id, and the partitions that the plan is about."""

    brokers: Mapping[int, BrokerFacts]
    partitions: Mapping[TopicPartition, PlacedPartition]


class PlanOrder(NamedTuple):
    """What is asked for.

    ``balance``: COUNT, BYTES, LEADERS; None: nothing moves but what ``evacuated`` and ``replication_factor`` ask for.
    ``rack_aware``: spread over racks. ``may_leave``: partitions with more replicas than brokers may take them stay as
    they are, and are no error.
    """

    balance: str | None
    evacuated: frozenset[int] = frozenset()
    replication_factor: int | None = None
    rack_aware: bool = True
    may_leave: bool = False


class MovePlan(NamedTuple):
    """``replicas``: of every partition that was asked about, the preferred leader first.

    ``log_dirs``: (partition, broker) -> path, of new replicas on brokers with several disks, where bytes decide.
    ``left``: partitions that stay as they are although they should change, because no broker could take them.
    """

    replicas: Mapping[TopicPartition, tuple[int, ...]]
    log_dirs: Mapping[tuple[TopicPartition, int], str]
    left: tuple[TopicPartition, ...] = ()
