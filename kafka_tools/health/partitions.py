"""Checks of partitions: leaders, replicas in sync, preferred leaders, reassignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kafka_tools.admin.client import PartitionDescription
from kafka_tools.health.facts import Facts
from kafka_tools.health.finding import ERROR, INFO, WARNING, Diagnosis, counted, named, of

_MOST_UNPREFERRED = 0.1
"""The part of partitions led by another replica from which on leadership counts as uneven, as Kafka's
``leader.imbalance.per.broker.percentage``."""


def check(facts: Facts) -> Iterator[Diagnosis]:
    """Findings about partitions."""
    total = facts.partition_count
    offline: list[str] = []
    under_min: list[str] = []
    at_min: list[str] = []
    under_replicated: list[str] = []
    single: list[str] = []
    missing: Counter[int] = Counter()
    for topic, each in _all(facts):
        name = f"{topic}-{each.partition}"
        least = _min_isr(facts, topic)
        if each.leader is None:
            offline.append(name)
            continue
        missing.update(set(each.replicas) - set(each.isr))
        if len(each.isr) < least <= len(each.replicas):
            under_min.append(name)
        elif len(each.replicas) == 1:
            single.append(name)
        elif len(each.isr) == least < len(each.replicas):
            at_min.append(name)
        elif len(each.isr) < len(each.replicas):
            under_replicated.append(name)
    absent = f"replicas missing from the ISR: {_by_broker(missing)}" if missing else ""
    if offline:
        yield Diagnosis(
            "partitions", ERROR, f"{of(len(offline), total, 'partition')} without a leader: nobody can write or read",
            named(offline), "the brokers with their replicas are down, or only replicas outside the ISR are alive",
            "kafka-topics -b $B --describe --unavailable-partitions",
        )  # fmt: skip
    if under_min:
        yield Diagnosis(
            "partitions", ERROR, f"{of(len(under_min), total, 'partition')} under min.insync.replicas: "
            "writes with acks=all fail", f"{named(under_min)}; {absent}", _down(facts, missing),
            "kafka-topics -b $B --describe --under-min-isr-partitions",
        )  # fmt: skip
    if at_min:
        yield Diagnosis(
            "partitions", WARNING, f"{of(len(at_min), total, 'partition')} at min.insync.replicas: "
            "one more broker down, and writes with acks=all fail", f"{named(at_min)}; {absent}", _down(facts, missing),
            "kafka-topics -b $B --describe --at-min-isr-partitions",
        )  # fmt: skip
    if under_replicated:
        yield Diagnosis(
            "partitions", WARNING, f"{of(len(under_replicated), total, 'partition')} under-replicated",
            f"{named(under_replicated)}; {absent}", _down(facts, missing),
            "kafka-topics -b $B --describe --under-replicated-partitions",
        )  # fmt: skip
    if single and len(facts.cluster.nodes) > 1:
        yield Diagnosis(
            "partitions", INFO, f"{of(len(single), total, 'partition')} with one replica: they stop with their broker",
            named(single), "", "kafka-reassign-partitions -b $B --generate --help",
        )  # fmt: skip
    yield from _leadership(facts)
    if facts.reassignments:
        yield Diagnosis(
            "partitions", INFO, f"{counted(len(facts.reassignments), 'reassignment')} in progress",
            named(list(facts.reassignments)), "", "kafka-reassign-partitions -b $B --list",
        )  # fmt: skip


def _all(facts: Facts) -> Iterator[tuple[str, PartitionDescription]]:
    for name, topic in sorted(facts.topics.items()):
        for partition in topic.partitions:
            yield name, partition


def _min_isr(facts: Facts, topic: str) -> int:
    """min.insync.replicas of a topic; 1 where it is not known."""
    value = facts.topic_configs.get(topic, {}).get("min.insync.replicas")
    return int(value) if value is not None and value.isdigit() else 1


def _by_broker(missing: Counter[int]) -> str:
    return named([f"{count} of broker {broker}" for broker, count in missing.most_common()])


def _down(facts: Facts, missing: Counter[int]) -> str:
    """The likely cause of replicas that are not in sync."""
    alive = {node.id for node in facts.cluster.nodes}
    down = sorted(missing.keys() - alive)
    if down:
        return f"{'broker' if len(down) == 1 else 'brokers'} {named(down)} down"
    return "slow disks or a slow network between brokers: the brokers are alive"


def _leadership(facts: Facts) -> Iterator[Diagnosis]:
    alive = {node.id for node in facts.cluster.nodes}
    led = [each for _, each in _all(facts) if each.leader is not None and each.replicas[0] in alive]
    others = [each for each in led if each.leader != each.replicas[0]]
    if len(others) > _MOST_UNPREFERRED * len(led):
        leaders = Counter(each.leader for each in led)
        yield Diagnosis(
            "partitions", INFO, f"{of(len(others), len(led), 'partition')} not led by the preferred replica",
            named([f"broker {broker} leads {count}" for broker, count in sorted(leaders.items(), key=str)]),
            "a broker was restarted",
            "kafka-leader-election -b $B --election-type preferred --all-topic-partitions",
        )  # fmt: skip
