"""``--generate`` with a strategy of ours: survey the cluster, make a plan, print its summary."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.commands import running
from kafka_tools.commands.partitions.planning import facts as planning_facts
from kafka_tools.commands.partitions.planning.facts import ClusterFacts, MovePlan, PlanOrder
from kafka_tools.commands.partitions.planning.plan import make_plan
from kafka_tools.commands.partitions.planning.summary import PlanSummary, summarize
from kafka_tools.commands.partitions.reassignment import plan_options
from kafka_tools.commands.partitions.reassignment.plan_text import summary_lines
from kafka_tools.commands.partitions.reassignment.survey import Survey, survey
from kafka_tools.errors import InputError

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient

_BALANCES = {
    None: None,
    plan_options.LEAST_MOVEMENT: planning_facts.COUNT,
    plan_options.BY_SIZE: planning_facts.BYTES,
    plan_options.LEADERS: planning_facts.LEADERS,
}


class StrategyOrder(NamedTuple):
    """The order of a plan. ``strategy``: None if only ``evacuated`` and ``replication_factor`` move replicas.

    ``topics``: None for all. ``broker_ids``: brokers that may get replicas, None for all live ones.
    """

    strategy: str | None
    topics: Sequence[str] | None
    broker_ids: Collection[int] | None
    evacuated: frozenset[int]
    replication_factor: int | None
    rack_aware: bool


def propose(admin: AdminClient, asked: StrategyOrder) -> tuple[Survey, MovePlan, PlanSummary]:
    """Make a plan, and print its summary on stderr; what it was made from, the plan, the summary.

    Raises InputError if none is possible.
    """
    found = survey(admin, asked.topics)
    if found.running:
        running.note(f"{found.running} reassignment(s) in progress: the plan starts from their targets")
    facts = _with_takers(found, asked)
    order = PlanOrder(
        _BALANCES[asked.strategy],
        asked.evacuated,
        asked.replication_factor,
        rack_aware=asked.rack_aware,
        may_leave=asked.strategy is not None
        and asked.broker_ids is None
        and not asked.evacuated
        and asked.replication_factor is None,
    )
    _check(facts, asked)
    plan = make_plan(facts, order)
    _tell_what_stays(facts, order, plan)
    summary = summarize(facts, plan.replicas)
    running.note(*summary_lines(summary))
    return found, plan, summary


def _with_takers(found: Survey, asked: StrategyOrder) -> ClusterFacts:
    """The facts in which only brokers of --broker-list that reported their disks take replicas."""
    brokers = {}
    for id, broker in found.facts.brokers.items():
        is_listed = asked.broker_ids is None or id in asked.broker_ids
        takes = broker.takes_replicas and is_listed
        if asked.strategy == plan_options.BY_SIZE and id in found.silent:
            if takes:
                running.note(f"broker {id} gets no new replicas: its disk usage is unknown")
            takes = False
        brokers[id] = broker._replace(takes_replicas=takes, keeps_replicas=is_listed)
    unknown = [id for id, broker in brokers.items() if broker.disks and broker.capacity_bytes is None]
    if unknown and asked.strategy != plan_options.LEADERS:
        running.note(
            "brokers before 3.3 do not report the size of their disks: the plan does not check that everything fits"
        )
    return ClusterFacts(brokers, found.facts.partitions)


def _check(facts: ClusterFacts, asked: StrategyOrder) -> None:
    """Raise InputError if no broker may take replicas, some brokers have no rack, or an evacuated one holds nothing."""
    takers = [broker for id, broker in facts.brokers.items() if broker.takes_replicas and id not in asked.evacuated]
    if not takers:
        raise InputError(
            "No broker is left that can take replicas.",
            hint=f"running brokers are {', '.join(map(str, facts.brokers))}; --broker-list and --evacuate "
            "leave none of them",
        )
    without = [broker.id for broker in takers if broker.rack is None]
    if asked.rack_aware and without and len(without) < len(takers):
        raise InputError(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information.",
            hint=f"without a rack: broker {', '.join(map(str, without))}",
        )
    holders = {id for each in facts.partitions.values() for id in each.replicas}
    unknown = sorted(asked.evacuated - holders - facts.brokers.keys())
    if unknown:
        raise InputError(
            f"--evacuate: broker {unknown[0]} is not running and has no replica",
            hint=f"running brokers are {', '.join(map(str, facts.brokers))}",
        )


def _tell_what_stays(facts: ClusterFacts, order: PlanOrder, plan: MovePlan) -> None:
    if plan.left:
        running.note(
            f"{len(plan.left)} partition(s), such as {plan.left[0]}, have more replicas than there are "
            "brokers to take them and stay unchanged: lower the number with --replication-factor"
        )
    away = {
        key for key, each in facts.partitions.items()
        if any(id not in facts.brokers for id in each.replicas) and plan.replicas[key] == each.replicas
    } - set(plan.left)  # fmt: skip
    if away and order.balance is not None:
        running.note(
            f"{len(away)} partition(s), such as {min(away)}, have a replica on a broker that is down and "
            "stay unchanged: evacuate it first"
        )
