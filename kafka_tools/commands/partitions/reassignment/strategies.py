"""``--generate`` with a strategy of ours: survey the cluster, compute a plan, print its summary."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from kafka_tools.commands import running
from kafka_tools.commands.partitions.planning import facts as planning_facts
from kafka_tools.commands.partitions.planning.facts import ClusterFacts, MovePlan, PlanOrder
from kafka_tools.commands.partitions.planning.plan import make_plan
from kafka_tools.commands.partitions.planning.summary import PlanSummary, summarize
from kafka_tools.commands.partitions.reassignment import plan_options
from kafka_tools.commands.partitions.reassignment.documents import read_broker_list
from kafka_tools.commands.partitions.reassignment.placer import check_racks
from kafka_tools.commands.partitions.reassignment.plan_text import summary_lines
from kafka_tools.commands.partitions.reassignment.survey import Survey, survey
from kafka_tools.errors import InputError

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.commands.partitions.reassignment.plan_options import ProposalOrder

_BALANCES = {
    None: None,
    plan_options.LEAST_MOVEMENT: planning_facts.COUNT,
    plan_options.BY_SIZE: planning_facts.BYTES,
    plan_options.LEADERS: planning_facts.LEADERS,
}


def propose(
    admin: AdminClient, asked: ProposalOrder, broker_ids: Collection[int] | None
) -> tuple[Survey, MovePlan, PlanSummary]:
    """Compute a plan, and print its summary on stderr. Returns the survey, the plan and the summary.

    ``broker_ids``: brokers that may get replicas, None for all live ones. Raises InputError if no plan is possible.
    """
    planning = asked.planning
    evacuated = frozenset(() if planning.evacuate is None else read_broker_list(planning.evacuate, "--evacuate"))
    order = PlanOrder(
        _BALANCES[planning.strategy],
        evacuated,
        planning.replication_factor,
        rack_aware=asked.rack_aware,
        may_leave=planning.strategy is not None
        and broker_ids is None
        and not evacuated
        and planning.replication_factor is None,
    )
    found = survey(admin, asked.topics)
    if found.running:
        running.note(f"{found.running} reassignment(s) in progress: the plan starts from their targets")
    facts = _with_takers(found, order.balance, broker_ids)
    _check(facts, order)
    plan = make_plan(facts, order)
    _tell_what_stays(facts, order, plan)
    summary = summarize(facts, plan.replicas)
    running.note(*summary_lines(summary))
    return found, plan, summary


def _with_takers(found: Survey, balance: str | None, broker_ids: Collection[int] | None) -> ClusterFacts:
    """The facts in which only brokers of --broker-list that reported their disks accept replicas."""
    brokers = {}
    for id, broker in found.facts.brokers.items():
        is_listed = broker_ids is None or id in broker_ids
        takes = broker.takes_replicas and is_listed
        if balance == planning_facts.BYTES and id in found.silent:
            if takes:
                running.note(f"broker {id} gets no new replicas: its disk usage is unknown")
            takes = False
        brokers[id] = broker._replace(takes_replicas=takes, keeps_replicas=is_listed)
    unknown = [id for id, broker in brokers.items() if broker.disks and broker.capacity_bytes is None]
    if unknown and balance != planning_facts.LEADERS:
        running.note(
            "brokers before 3.3 do not report the size of their disks: the plan does not check that everything fits"
        )
    return ClusterFacts(brokers, found.facts.partitions)


def _check(facts: ClusterFacts, order: PlanOrder) -> None:
    """Raise InputError if no broker may get replicas, some brokers have no rack, or an evacuated one has no
    replicas."""
    racks = {id: each.rack for id, each in facts.brokers.items() if each.takes_replicas and id not in order.evacuated}
    if not racks:
        raise InputError(
            "No broker can receive replicas.",
            hint=f"running brokers are {', '.join(map(str, facts.brokers))}; --broker-list and --evacuate "
            "exclude all of them",
        )
    if order.rack_aware:
        check_racks(racks)
    holders = {id for each in facts.partitions.values() for id in each.replicas}
    unknown = sorted(order.evacuated - holders - facts.brokers.keys())
    if unknown:
        raise InputError(
            f"--evacuate: broker {unknown[0]} is not running and has no replica",
            hint=f"running brokers are {', '.join(map(str, facts.brokers))}",
        )


def _tell_what_stays(facts: ClusterFacts, order: PlanOrder, plan: MovePlan) -> None:
    if plan.left:
        running.note(
            f"{len(plan.left)} partition(s), such as {plan.left[0]}, stay unchanged, because fewer brokers than "
            "replicas are available: lower the number with --replication-factor"
        )
    away = {
        key for key, each in facts.partitions.items()
        if any(id not in facts.brokers for id in each.replicas) and plan.replicas[key] == each.replicas
    } - set(plan.left)  # fmt: skip
    if away and order.balance is not None:
        running.note(
            f"{len(away)} partition(s), such as {min(away)}, stay unchanged, because one of their brokers is down: "
            "evacuate this broker first"
        )
