"""Computes a plan: required moves, then the balance, then leaders. Equal facts give equal plans."""

from __future__ import annotations

from kafka_tools.commands.partitions.planning.byte_loads import ByteLoads
from kafka_tools.commands.partitions.planning.facts import BYTES, LEADERS, ClusterFacts, MovePlan, PlanOrder
from kafka_tools.commands.partitions.planning.layout import Layout
from kafka_tools.commands.partitions.planning.leader_counts import LeaderCounts
from kafka_tools.commands.partitions.planning.placing import settle
from kafka_tools.commands.partitions.planning.replica_counts import ReplicaCounts


def make_plan(facts: ClusterFacts, order: PlanOrder) -> MovePlan:
    """The new replicas of all partitions of ``facts``.

    Raises InputError if a partition needs more replicas than there are brokers to accept them, or none has room.
    """
    layout = Layout(facts, order)
    changed: set[int] = set()
    left: set[int] = set()
    if order.balance != LEADERS:
        changed, left = settle(layout, facts, order)
        _even_replicas(layout, order, left)
    fixed = left | {
        partition
        for partition, key in enumerate(layout.keys)
        if partition not in changed and len(layout.original[partition]) < len(facts.partitions[key].replicas)
    }
    ordered = [_in_order(layout, partition) for partition in range(len(layout.keys))]
    _even_leaders(layout, order, ordered, fixed)
    replicas = {}
    log_dirs = {}
    for partition, key in enumerate(layout.keys):
        was = facts.partitions[key].replicas
        replicas[key] = was if partition in fixed else tuple(layout.ids[broker] for broker in ordered[partition])
        if order.balance == BYTES:
            for broker in ordered[partition]:
                path = layout.disk_of(partition, broker)
                if path is not None:
                    log_dirs[key, layout.ids[broker]] = path
    return MovePlan(replicas, log_dirs, tuple(layout.keys[partition] for partition in sorted(left)))


def _even_replicas(layout: Layout, order: PlanOrder, left: set[int]) -> None:
    """Balance the movable replicas: all replicas with a balance, otherwise only those that had to move."""
    evened = ByteLoads(layout) if order.balance == BYTES else ReplicaCounts(layout)
    for partition, held in enumerate(layout.held):
        if partition in left:
            continue
        for broker in held:
            if order.balance is not None or broker not in layout.original[partition]:
                evened.start(partition, broker)
    evened.even_out()


def _in_order(layout: Layout, partition: int) -> list[int]:
    """The brokers of a partition: remaining brokers in their order, each new one in the place of one that leaves."""
    held = layout.held[partition]
    original = layout.original[partition]
    new = iter([broker for broker in held if broker not in original])
    kept = [broker if broker in held else next(new, None) for broker in original]
    return [broker for broker in kept if broker is not None] + list(new)


def _even_leaders(layout: Layout, order: PlanOrder, ordered: list[list[int]], fixed: set[int]) -> None:
    """Put preferred leaders first so that brokers have equally many, in ``ordered``.

    Without a balance only partitions whose preferred leader was moved away get another one.
    """
    first = [each[0] if each else None for each in ordered]
    leaders = LeaderCounts(layout, first)
    for partition, leader in enumerate(first):
        if partition in fixed or leader is None:
            continue
        was = layout.original[partition][:1]
        if order.balance is not None or was != (leader,):
            leaders.start(partition, leaders.among_keepers(partition, leader))
    leaders.even_out()
    for partition, leader in enumerate(leaders.leaders):
        if leader is not None and partition not in fixed:
            ordered[partition].remove(leader)
            ordered[partition].insert(0, leader)
