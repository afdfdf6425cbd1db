"""Plans of ``kafka-reassign-partitions --generate`` beside Kafka's own, on generated clusters of up to 100 brokers.

For each cluster and strategy: replicas and bytes moved, how uneven replicas, leaders and disks are left, CPU time of
the plan. Kafka's is its StripedReplicaPlacer, broker for broker the same (``placer.py``). Every plan is checked against
its constraints; the exit status is 1 if one breaks any. ``--seeds 5`` repeats it on other clusters.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from kafka_tools.commands.partitions.planning.facts import (
    BYTES,
    COUNT,
    LEADERS,
    ClusterFacts,
    MovePlan,
    PlanOrder,
)
from kafka_tools.commands.partitions.planning.plan import make_plan
from kafka_tools.commands.partitions.reassignment.generate import striped
from kafka_tools.commands.partitions.reassignment.placer import UsableBroker
from kafka_tools.texts.quantities import bytes_text
from tests.commands.partitions import plan_rules


class Shape(NamedTuple):
    """A cluster to be generated; ``new``: how many of its brokers are empty."""

    name: str
    brokers: int
    partitions: int
    racks: int
    new: int


SHAPES = (
    Shape("6 brokers, 3 racks, 300 partitions", 6, 300, 3, 0),
    Shape("12 brokers, 3 of them new, no racks, 1,000 partitions", 12, 1_000, 0, 3),
    Shape("30 brokers, 5 of them new, 3 racks, 4,000 partitions", 30, 4_000, 3, 5),
    Shape("100 brokers, 6 racks, 20,000 partitions", 100, 20_000, 6, 0),
    Shape("100 brokers, 20 of them new, 6 racks, 20,000 partitions", 100, 20_000, 6, 20),
)
ORDERS = (
    ("least-movement", PlanOrder(COUNT)),
    ("by-size", PlanOrder(BYTES)),
    ("leaders", PlanOrder(LEADERS)),
    ("--evacuate 1", PlanOrder(None, frozenset({1}))),
    ("--evacuate 1, away", PlanOrder(None, frozenset({1}))),
    ("--replication-factor 2", PlanOrder(None, replication_factor=2)),
    ("--replication-factor 4", PlanOrder(None, replication_factor=4)),
)
_ROW = "  {:<24} {:>9} {:>12} {:>10} {:>10} {:>10} {:>9} {:>8}"


def measured(name: str, facts: ClusterFacts, placed: plan_rules.Placed, seconds: float | None, broken: int) -> str:
    """A line about a plan; with ``seconds`` None about the cluster as it is."""
    count, size = plan_rules.moves(facts, placed)
    sizes = plan_rules.byte_counts(facts, placed)
    capacity = sum(broker.capacity_bytes or 0 for broker in facts.brokers.values())
    mean = sum(sizes.values()) / capacity if capacity else 1.0
    return _ROW.format(
        name,
        f"{count:,}",
        bytes_text(size),
        plan_rules.spread_of(plan_rules.replica_counts(placed), facts),
        plan_rules.spread_of(plan_rules.leader_counts(placed), facts),
        f"{plan_rules.fullest(facts, placed) / mean:.3f}",
        "" if seconds is None else f"{seconds:.2f} s",
        broken or "",
    )


def kafkas(facts: ClusterFacts) -> MovePlan:
    """What Kafka's tool proposes, all topics at once, with the seed that is ours by default."""
    brokers = [UsableBroker(id, broker.rack) for id, broker in facts.brokers.items()]
    return MovePlan(striped(plan_rules.current(facts), brokers, 0), {})


def rows(facts: ClusterFacts) -> Iterator[tuple[str, int]]:
    """A line for each plan, and how many rules it breaks."""
    yield measured("as it is", facts, plan_rules.current(facts), None, 0), 0
    began = time.process_time()
    plan = kafkas(facts)
    yield measured("kafka", facts, plan.replicas, time.process_time() - began, 0), 0
    for name, order in ORDERS:
        known = facts
        if name.endswith("away"):
            alive = {id: each for id, each in facts.brokers.items() if id not in order.evacuated}
            known = ClusterFacts(alive, facts.partitions)
        began = time.process_time()
        plan = make_plan(known, order)
        seconds = time.process_time() - began
        broken = plan_rules.broken_rules(known, order, plan)
        if order.balance in (COUNT, BYTES):
            broken += plan_rules.rack_faults(known, order, plan.replicas)
        for rule in broken[:3]:
            print(f"{name}: {rule}", file=sys.stderr)
        yield measured(name, known, plan.replicas, seconds, len(broken)), len(broken)


def main() -> int:
    """Print a table for each cluster; 1 if any plan breaks a rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1, help="how many clusters of each shape")
    parser.add_argument("--largest", type=int, default=100, help="leave out clusters of more brokers than that")
    arguments = parser.parse_args()
    broken = 0
    for shape in (each for each in SHAPES if each.brokers <= arguments.largest):
        for seed in range(1, arguments.seeds + 1):
            facts = plan_rules.cluster(
                seed, brokers=shape.brokers, partitions=shape.partitions, racks=shape.racks, new=shape.new
            )
            print(f"{shape.name} of 3 replicas, seed {seed}: {plan_rules.fewest_moves(facts):,} moves are the fewest "
                  "for as many replicas on each broker")  # fmt: skip
            print(_ROW.format("", "replicas", "bytes", "replicas", "leaders", "fullest", "CPU", "rules"))
            print(_ROW.format("", "moved", "moved", "max - min", "max - min", "to mean", "time", "broken"))
            for line, count in rows(facts):
                print(line, flush=True)
                broken += count
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
