"""Generated clusters, and what every plan for them must keep, judged without the planner's own state.

The rules look at facts and at the plan alone: replicas on different brokers, over as many racks as there are, within
what is free on the disks, and as balanced as the strategy promises.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

from kafka_tools.commands.partitions.planning.facts import (
    BrokerFacts,
    ClusterFacts,
    DiskFacts,
    MovePlan,
    PlacedPartition,
    PlanOrder,
)
from kafka_tools.values import TopicPartition

Placed = Mapping[TopicPartition, tuple[int, ...]]


def cluster(
    seed: int, *, brokers: int, partitions: int, racks: int, replicas: int = 3, new: int = 0, disks: int = 1,
    fill: float = 0.4,
) -> ClusterFacts:  # fmt: skip
    """A cluster as one grew: topics of many sizes, most of whose partitions were placed on the first brokers.

    ``new``: brokers, the last ones, that hold nothing yet. ``fill``: how full the disks of all brokers are together.
    ``racks`` 0: brokers have none. Replicas are spread over racks, as Kafka places them.
    """
    chance = random.Random(seed)
    rack_of = {id: None if racks == 0 else f"rack-{id % racks}" for id in range(1, brokers + 1)}
    old = list(range(1, brokers - new + 1))
    found: dict[TopicPartition, PlacedPartition] = {}
    topic = 0
    while len(found) < partitions:
        count = min(chance.choice((1, 3, 12, 50, 200)), partitions - len(found))
        mean_size = 10 ** chance.uniform(3, 10)
        favoured = chance.sample(old, max(replicas * 2, len(old) // 2)) if len(old) > replicas * 2 else old
        for number in range(count):
            placed = _spread(chance, favoured, rack_of, replicas)
            size = int(mean_size * chance.uniform(0.3, 2))
            found[TopicPartition(f"topic-{topic}", number)] = PlacedPartition(placed, size)
        topic += 1
    held: Counter[int] = Counter()
    for each in found.values():
        for id in each.replicas:
            held[id] += each.size_bytes
    total = sum(held.values())
    known = {}
    for id, rack in rack_of.items():
        capacity = int(total / brokers / fill * chance.choice((1, 1, 1, 2)))
        free = max(capacity - held[id], int(total / brokers))
        parts = tuple(
            DiskFacts(f"/disk-{number}", free // disks, held[id] // disks) for number in range(disks)
        )  # fmt: skip
        known[id] = BrokerFacts(id, rack, True, parts)
    return ClusterFacts(known, found)


def _spread(
    chance: random.Random, brokers: list[int], rack_of: Mapping[int, str | None], replicas: int
) -> tuple[int, ...]:
    placed: list[int] = []
    for _ in range(replicas):
        used = Counter(rack_of[id] for id in placed)
        free = [id for id in brokers if id not in placed]
        fewest = min(used[rack_of[id]] for id in free)
        placed.append(chance.choice([id for id in free if used[rack_of[id]] == fewest]))
    return tuple(placed)


def broken_rules(facts: ClusterFacts, order: PlanOrder, plan: MovePlan) -> list[str]:
    """What a plan breaks of what every plan keeps, a line for each."""
    found = []
    if plan.replicas.keys() != facts.partitions.keys():
        found.append("the plan is not about the partitions that were asked about")
    takers = {id for id, broker in facts.brokers.items() if broker.takes_replicas and id not in order.evacuated}
    coming: Counter[int] = Counter()
    for key, proposed in plan.replicas.items():
        was = facts.partitions[key]
        if proposed == was.replicas or key in plan.left:
            if proposed != was.replicas:
                found.append(f"{key} is said to stay as it is, and changes")
            continue
        if len(set(proposed)) != len(proposed):
            found.append(f"{key} has two replicas on one broker: {proposed}")
        if len(proposed) != (order.replication_factor or len(was.replicas)):
            found.append(f"{key} has {len(proposed)} replicas")
        for id in proposed:
            if id not in facts.brokers or id in order.evacuated:
                found.append(f"{key} has a replica on {id}")
            elif id not in was.replicas:
                coming[id] += was.size_bytes
                if id not in takers:
                    found.append(f"{key} gets a replica on {id}, which takes none")
    for id, size in coming.items():
        frees = [disk.free_bytes for disk in facts.brokers[id].disks if disk.takes_replicas]
        if frees and None not in frees and size > sum(filter(None, frees)):
            found.append(f"broker {id} gets {size} bytes and has room for {sum(filter(None, frees))}")
    return found + _disks_too_full(facts, plan)


def _disks_too_full(facts: ClusterFacts, plan: MovePlan) -> list[str]:
    coming: Counter[tuple[int, str]] = Counter()
    for (key, id), path in plan.log_dirs.items():
        coming[id, path] += facts.partitions[key].size_bytes
    free = {(id, disk.path): disk for id, broker in facts.brokers.items() for disk in broker.disks}
    return [
        f"{path} of broker {id} gets {size} bytes"
        for (id, path), size in coming.items()
        if not free[id, path].takes_replicas or size > (free[id, path].free_bytes or 0)
    ]


def rack_faults(facts: ClusterFacts, order: PlanOrder, placed: Placed) -> list[str]:
    """Partitions that are not over as many racks, as evenly, as they could be on the brokers that take replicas."""
    sizes = Counter(
        facts.brokers[id].rack for id in facts.brokers
        if facts.brokers[id].takes_replicas and id not in order.evacuated
    )  # fmt: skip
    found = []
    for key, replicas in placed.items():
        used = Counter(facts.brokers[id].rack for id in replicas)
        for fuller, most in used.items():
            for other, size in sizes.items():
                if most - used[other] > 1 and used[other] < size:
                    found.append(f"{key} has {most} replicas in {fuller} and {used[other]} in {other}")
    return found


def spread_of(counts: Mapping[int, int], brokers: ClusterFacts) -> int:
    """The difference between the broker with most and the one with least."""
    found = [counts.get(id, 0) for id, broker in brokers.brokers.items() if broker.takes_replicas]
    return max(found) - min(found)


def replica_counts(placed: Placed) -> Counter[int]:
    """Broker -> how many replicas it holds."""
    return Counter(id for replicas in placed.values() for id in replicas)


def leader_counts(placed: Placed) -> Counter[int]:
    """Broker -> how many partitions prefer it as their leader."""
    return Counter(replicas[0] for replicas in placed.values())


def byte_counts(facts: ClusterFacts, placed: Placed) -> Counter[int]:
    """Broker -> bytes of its replicas."""
    found: Counter[int] = Counter()
    for key, replicas in placed.items():
        for id in replicas:
            found[id] += facts.partitions[key].size_bytes
    return found


def fullest(facts: ClusterFacts, placed: Placed) -> float:
    """How full the fullest broker is, as a part of its capacity; or its bytes, where no capacity is known."""
    sizes = byte_counts(facts, placed)
    return max((sizes[id] + broker.other_bytes) / (broker.capacity_bytes or 1) for id, broker in facts.brokers.items())


def current(facts: ClusterFacts) -> dict[TopicPartition, tuple[int, ...]]:
    """Where the replicas are before the plan."""
    return {key: each.replicas for key, each in facts.partitions.items()}


def moves(facts: ClusterFacts, placed: Placed) -> tuple[int, int]:
    """How many replicas go to a broker that does not have the partition, and their bytes."""
    count = size = 0
    for key, replicas in placed.items():
        new = len(set(replicas) - set(facts.partitions[key].replicas))
        count += new
        size += new * facts.partitions[key].size_bytes
    return count, size


def fewest_moves(facts: ClusterFacts) -> int:
    """How many replicas must move at least for brokers to differ by one at most, if nothing were forbidden."""
    takers = {id for id, broker in facts.brokers.items() if broker.takes_replicas}
    counts = replica_counts(current(facts))
    gone = sum(count for id, count in counts.items() if id not in takers)
    total = sum(counts.values())
    low, high = total // len(takers), -(-total // len(takers))
    over = sum(max(counts.get(id, 0) - high, 0) for id in takers)
    under = sum(max(low - counts.get(id, 0), 0) for id in takers)
    return max(over + gone, under)
