"""A plan in numbers: moves, bytes, and the load of each broker before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_tools.commands.partitions.planning.facts import ClusterFacts
from kafka_tools.values import TopicPartition


class BrokerLoad(NamedTuple):
    """Replicas and preferred leaders of the plan's partitions, and all bytes of a broker."""

    replicas: int
    leaders: int
    bytes: int


class BrokerBalance(NamedTuple):
    """A broker before and after. ``capacity_bytes``: bytes for replicas on its disks, None if not known.

    ``is_alive``: if False, ``before`` counts the replicas that are assigned to the broker.
    """

    id: int
    rack: str | None
    is_alive: bool
    before: BrokerLoad
    after: BrokerLoad
    capacity_bytes: int | None


class PlanSummary(NamedTuple):
    """A plan in numbers. ``moved_replicas``: replicas on brokers that do not have the partition yet, ``moved_bytes``
    their size; ``removed_replicas``: those without another in their place; ``moved_leaders``: partitions with another
    preferred leader."""

    partitions: int
    changed_partitions: int
    moved_replicas: int
    moved_bytes: int
    removed_replicas: int
    moved_leaders: int
    brokers: list[BrokerBalance]

    def spread(self) -> tuple[BrokerLoad, BrokerLoad] | None:
        """The difference between the live brokers with most and with least: (before, after).

        None for fewer than two.
        """
        alive = [each for each in self.brokers if each.is_alive]
        if len(alive) < 2:
            return None
        return _span([each.before for each in alive]), _span([each.after for each in alive])

    def row(self) -> dict[str, object]:
        """The summary as plain values."""
        spread = self.spread()
        return {
            **{name: getattr(self, name) for name in self._fields if name != "brokers"},
            "brokers": [
                each._asdict() | {"before": each.before._asdict(), "after": each.after._asdict()}
                for each in self.brokers
            ],
            "spread": spread and {"before": spread[0]._asdict(), "after": spread[1]._asdict()},
        }


def _span(loads: Sequence[BrokerLoad]) -> BrokerLoad:
    return BrokerLoad(*(max(numbers) - min(numbers) for numbers in zip(*loads, strict=True)))


def summarize(facts: ClusterFacts, replicas: Mapping[TopicPartition, tuple[int, ...]]) -> PlanSummary:
    """The numbers of a plan that puts the partitions of ``facts`` on ``replicas``."""
    before = {key: each.replicas for key, each in facts.partitions.items()}
    loads = [_loads(facts, placed) for placed in (before, replicas)]
    moved = size = removed = leaders = changed = 0
    for key, was in before.items():
        now = replicas[key]
        new = len(set(now) - set(was))
        changed += now != was
        moved += new
        size += new * facts.partitions[key].size_bytes
        removed += max(len(was) - len(now), 0)
        leaders += now[:1] != was[:1]
    none = BrokerLoad(0, 0, 0)
    brokers = []
    for id in sorted({*facts.brokers, *loads[0], *loads[1]}):
        known = facts.brokers.get(id)
        brokers.append(
            BrokerBalance(
                id,
                known.rack if known is not None else None,
                known is not None,
                loads[0].get(id, none),
                loads[1].get(id, none),
                known.capacity_bytes if known is not None else None,
            )
        )
    return PlanSummary(len(before), changed, moved, size, removed, leaders, brokers)


def _loads(facts: ClusterFacts, placed: Mapping[TopicPartition, tuple[int, ...]]) -> dict[int, BrokerLoad]:
    replicas = Counter(id for each in placed.values() for id in each)
    leaders = Counter(each[0] for each in placed.values() if each)
    sizes = Counter({id: broker.other_bytes for id, broker in facts.brokers.items()})
    for key, each in placed.items():
        for id in each:
            sizes[id] += facts.partitions[key].size_bytes
    return {id: BrokerLoad(replicas[id], leaders[id], sizes[id]) for id in {*replicas, *sizes}}
