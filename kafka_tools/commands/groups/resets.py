"""Plans and commits the offsets of a reset (ConsumerGroupCommand and OffsetsUtils), for groups of each kind.

Only empty, dead or unknown groups are reset. An offset outside the log becomes its start or its end, with a warning. A
group that cannot be reset does not affect the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.commands import running
from kafka_tools.commands.groups.holders import is_blocked
from kafka_tools.commands.groups.reset_plans import Plan, parse_topics, plan_csv
from kafka_tools.commands.groups.reset_targets import Target
from kafka_tools.commands.groups.resettable import GroupResets, Offsets, OutsideGroup
from kafka_tools.errors import KafkaToolsError
from kafka_tools.output.cells import Row
from kafka_tools.output.rows import ItemError, Rows
from kafka_tools.values import TopicPartition

_AT_ONCE = 1000
"""Maximum number of groups whose offsets are committed within one deadline."""
_MOST_NAMED = 10
"""Maximum number of new groups that a remark names."""


def run(
    kind: GroupResets,
    groups: Sequence[str],
    mode: str,
    given: Mapping[str, Any],
    output_format: str | None,
    text: Callable[[Plan], str],
    then: Callable[[Iterable[str]], list[ItemError]] | None = None,
    warning: str | None = None,
    unlisted: Sequence[ItemError] = (),
) -> int:
    """Plan the reset of groups, commit it with ``--execute``, and print it. Returns the exit status.

    ``mode`` and ``given`` as for ``prepare``. ``text``: formats the plan like Kafka's tool for this kind of groups.
    ``then``: deletes the internal topics of groups that were completely reset, and returns the failures. ``warning`` is
    printed if the command line is valid. ``unlisted``: the brokers whose groups are unknown.
    """
    plan, errors = prepare(kind, groups, mode, given)
    errors = [*unlisted, *errors]
    if warning is not None:
        running.note(warning)
    named = [group for group, offsets in plan.items() if offsets]
    before = kind.committed(named).succeeded() if output_format is not None else {}
    if given["execute"]:
        refused = {error.item for error in errors}
        wanted = plan
        plan, failures = commit(kind, wanted)
        errors += failures
        if then is not None:
            done = [name for name in plan if f"group '{name}'" not in refused]
            _tell_undone([name for name in done if plan[name] != wanted[name]])
            errors += then([name for name in done if plan[name] == wanted[name]])
    if output_format is None and (plan or not errors):
        csv = plan_csv(plan, with_group=len(given["group"]) != 1) + "\n" if given.get("export") else None
        running.emit(csv or text(running.shown(plan)))
    rows = plan_rows(plan, before, "reset" if given["execute"] else "planned")
    return running.finish(Rows("reset-offsets", rows, errors), output_format, "cannot reset")


def prepare(
    kind: GroupResets, groups: Sequence[str], mode: str, given: Mapping[str, Any]
) -> tuple[Plan, list[ItemError]]:
    """Group -> partition -> new offset, and the groups that cannot be reset.

    A group without a possible plan is left out. A group that must not be reset has an empty plan, as in Kafka.
    ``mode``: the option that selects the offsets. ``given``: its value, and ``topic`` and ``all_topics``. Requests are
    for all groups together: their number depends on brokers, not on groups.
    """
    topics = parse_topics(given["topic"])
    target = Target(kind, mode, given, groups)
    standings = kind.standings(groups)
    plan: Plan = {group: {} for group in standings}
    errors = [each.refusal for each in standings.values() if each.refusal is not None]
    ready = [group for group, each in standings.items() if each.refusal is None]
    committed: Outcomes[str, Offsets] = Outcomes((group, Outcome[Offsets]({})) for group in ready)
    if given["all_topics"] or mode in ("to_current", "shift_by"):
        committed = kind.committed(ready)
    failed = dict(committed.failures())
    offsets = committed.succeeded()
    keys = target.partitions(offsets, topics) if offsets else Outcomes[str, list[TopicPartition]](())
    if keys is None and given["all_topics"]:
        keys = Outcomes((group, _all_of(kind, group, offsets[group])) for group in offsets)
    elif keys is None:
        keys = kind.named_partitions(list(offsets), topics)
    failed |= keys.failures()
    target.look_up(keys.succeeded(), offsets)
    for group, wanted in keys.succeeded().items():
        try:
            plan[group] = target.offsets(group, wanted, offsets[group])
        except KafkaToolsError as error:
            failed[group] = error
    errors += [_refused(group, failed[group]) for group in ready if group in failed]
    unread = committed.failures()
    for group, why in failed.items():
        if group not in unread and not isinstance(why, OutsideGroup):
            del plan[group]
    _tell_new([group for group in ready if standings[group].is_new and plan.get(group)], bool(given["execute"]))
    _tell_empty([group for group in ready if group in plan and group not in failed and not plan[group]])
    return plan, errors


def _all_of(kind: GroupResets, group: str, committed: Offsets) -> Outcome[list[TopicPartition]]:
    try:
        return Outcome(kind.all_partitions(group, committed))
    except KafkaToolsError as error:
        return Outcome(None, error)


def _refused(group: str, error: KafkaToolsError) -> ItemError:
    found = ItemError.of(f"group '{group}'", error)
    where = error.item
    return found if where is None or where in found.message else found._replace(message=f"{where}: {found.message}")


def _tell_new(groups: Sequence[str], execute: bool) -> None:
    if groups:
        what = "its first offsets create it" if len(groups) == 1 else "their first offsets create them"
        does = "does" if len(groups) == 1 else "do"
        subject = "group" if len(groups) == 1 else "groups"
        when = "now" if execute else "with --execute"
        running.note(f"{subject} {_listed(groups)} {does} not exist yet: {what} {when}")


def _tell_empty(groups: Sequence[str]) -> None:
    if groups:
        subject, has = ("group", "has") if len(groups) == 1 else ("groups", "have")
        running.note(f"nothing to reset: {subject} {_listed(groups)} {has} no offsets of these topics")


def _tell_undone(groups: Sequence[str]) -> None:
    """Note groups whose internal topics stay: without state, an application at its old offsets would count from
    zero."""
    if groups:
        whose = "group" if len(groups) == 1 else "groups"
        running.note(
            f"internal topics of {whose} {_listed(groups)} are not deleted: some offsets could not be committed"
        )


def _listed(groups: Sequence[str]) -> str:
    names = ", ".join(f"'{group}'" for group in groups[:_MOST_NAMED])
    return f"{names} and {len(groups) - _MOST_NAMED} more" if len(groups) > _MOST_NAMED else names


def commit(kind: GroupResets, plan: Plan) -> tuple[Plan, list[ItemError]]:
    """Commit the offsets of each group. Returns the committed part of the plan, and an error per group or partition."""
    outcomes: dict[str, Outcome[Outcomes[TopicPartition, None]]] = {}
    wanted = [group for group, offsets in plan.items() if offsets]
    for start in range(0, len(wanted), _AT_ONCE):
        outcomes |= kind.alter({group: plan[group] for group in wanted[start : start + _AT_ONCE]})
    joined = [group for group, outcome in outcomes.items() if _has_members(outcome)]
    blocked = {name: each.refusal for name, each in kind.standings(joined).items()} if joined else {}
    done: Plan = {}
    errors = []
    for group, offsets in plan.items():
        done[group] = {}
        outcome = outcomes.get(group)
        if outcome is None:
            continue
        if outcome.error is not None:
            errors.append(blocked.get(group) or ItemError.of(f"group '{group}'", outcome.error))
            continue
        failures = outcome.get().failures()
        done[group] = {key: offset for key, offset in offsets.items() if key not in failures}
        refusal = blocked.get(group)
        if refusal is not None and len(failures) == len(offsets):
            errors.append(refusal)
        else:
            errors += [ItemError.of(f"{key} of group '{group}'", error) for key, error in failures.items()]
    return done, errors


def _has_members(outcome: Outcome[Outcomes[TopicPartition, None]]) -> bool:
    """Whether a coordinator refused offsets because a member joined the group meanwhile."""
    failures = outcome.get().failures().values() if outcome.error is None else [outcome.error]
    return any(is_blocked(error) for error in failures)


def plan_rows(plan: Plan, before: Mapping[str, Offsets], result: str) -> list[Row]:
    """A row per partition: old and new offset, and the number of skipped or repeated offsets."""
    rows: list[Row] = []
    for group, offsets in plan.items():
        for key, offset in offsets.items():
            old = before.get(group, {}).get(key)
            rows.append(
                {
                    "group": group,
                    "topic": key.topic,
                    "partition": key.partition,
                    "old_offset": old,
                    "new_offset": offset,
                    "skipped": None if old is None else max(0, offset - old),
                    "repeated": None if old is None else max(0, old - offset),
                    "result": result,
                }
            )
    return rows
