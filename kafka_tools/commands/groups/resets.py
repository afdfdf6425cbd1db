"""The offsets that a reset plans and commits (ConsumerGroupCommand and OffsetsUtils), for groups of each kind.

Only groups that are empty, dead or unknown are reset. An offset outside the log becomes its start or its end, with a
warning. A group that cannot be reset leaves the others alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.admin.calls.offsets import EARLIEST, LATEST, at_or_after
from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.clock import SystemClock
from kafka_tools.commands import running
from kafka_tools.commands.groups.reset_plans import (
    Plan,
    parse_duration_ms,
    parse_moment_ms,
    parse_topics,
    plan_csv,
    read_plan,
)
from kafka_tools.commands.groups.resettable import Offsets, OutsideGroup, Resettable
from kafka_tools.commands.options.values import read_text
from kafka_tools.output.cells import Row
from kafka_tools.output.rows import ItemError, Rows
from kafka_tools.values import TopicPartition, moment_text

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient


def run(
    kind: Resettable,
    groups: Sequence[str],
    mode: str,
    given: Mapping[str, Any],
    output_format: str | None,
    text: Callable[[Plan], str],
    then: Callable[[Iterable[str]], list[ItemError]] | None = None,
) -> int:
    """Plan the reset of groups, commit it where ``--execute`` is given, print it; the exit status.

    ``mode`` and ``given`` as for ``prepare``; ``text``: the plan as Kafka's tool of this kind of groups prints it;
    ``then``: what is done to groups that were reset, and failed.
    """
    plan, errors = prepare(kind, groups, mode, given)
    before = positions(kind, plan) if output_format is not None else {}
    if given["execute"]:
        refused = {error.item for error in errors}
        plan, failures = commit(kind, plan)
        errors += failures
        if then is not None:
            errors += then([name for name in plan if f"group '{name}'" not in refused])
    if output_format is None:
        csv = plan_csv(plan, with_group=len(given["group"]) != 1) + "\n" if given.get("export") else None
        running.emit(csv or text(running.shown(plan)))
    rows = plan_rows(plan, before, "reset" if given["execute"] else "planned")
    return running.finish(Rows("reset-offsets", rows, errors), output_format, "could not reset")


def prepare(
    kind: Resettable, groups: Sequence[str], mode: str, given: Mapping[str, Any]
) -> tuple[Plan, list[ItemError]]:
    """Group -> partition -> new offset, and the groups that cannot be reset.

    ``mode``: the option that says where. ``given``: its value, and ``topic`` and ``all_topics``.
    """
    topics = parse_topics(given["topic"])
    from_file: Plan = {}
    moment_ms = 0
    if mode == "from_file":
        place = given["from_file"]
        from_file = read_plan(read_text(place, "reset plan"), place, groups)
    elif mode == "to_datetime":
        moment_ms = parse_moment_ms(given["to_datetime"], SystemClock().now_ms())
    elif mode == "by_duration":
        moment_ms = SystemClock().now_ms() - parse_duration_ms(given["by_duration"])
    if mode in ("to_datetime", "by_duration"):
        running.note(f"offsets of the first records at or after {moment_text(moment_ms)}")
    refusals = kind.inactive(groups)
    plan: Plan = {group: {} for group in refusals}
    errors = [refusal for refusal in refusals.values() if refusal is not None]
    ready = [group for group, refusal in refusals.items() if refusal is None]
    committed: Outcomes[str, Offsets] = Outcomes((group, Outcome[Offsets]({})) for group in ready)
    if given["all_topics"] or mode in ("to_current", "shift_by"):
        committed = kind.committed(ready)
        errors += [ItemError.of(f"group '{group}'", error) for group, error in committed.failures().items()]
    for group, offsets in committed.succeeded().items():
        if mode == "from_file":
            if group not in from_file:
                errors.append(ItemError(f"group '{group}'", None, f"No reset plan for group {group} found"))
            plan[group] = _within_log(kind.admin, from_file.get(group, {}))
            continue
        try:
            named = not given["all_topics"]
            keys = kind.named_partitions(group, topics) if named else kind.all_partitions(group, offsets)
            plan[group] = _new_offsets(kind.admin, keys, mode, given, offsets, moment_ms)
        except OutsideGroup as error:
            errors.append(ItemError.of(f"group '{group}'", error))
    return plan, errors


def commit(kind: Resettable, plan: Plan) -> tuple[Plan, list[ItemError]]:
    """Commit the offsets of each group; the part of the plan that was done, and what failed, by partition."""
    done: Plan = {}
    errors = []
    for group, offsets in plan.items():
        failures = kind.alter(group, offsets).failures() if offsets else {}
        done[group] = {key: offset for key, offset in offsets.items() if key not in failures}
        errors += [ItemError.of(f"{key} of group '{group}'", error) for key, error in failures.items()]
    return done, errors


def positions(kind: Resettable, plan: Plan) -> dict[str, Offsets]:
    """Where the groups of a plan are before it is committed; a group that cannot be asked is left out."""
    return kind.committed([group for group, offsets in plan.items() if offsets]).succeeded()


def plan_rows(plan: Plan, before: Mapping[str, Offsets], result: str) -> list[Row]:
    """A row per partition: from where, where to, and how many offsets that passes over or reads again."""
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


def _new_offsets(
    admin: AdminClient,
    keys: Sequence[TopicPartition],
    mode: str,
    given: Mapping[str, Any],
    committed: Offsets,
    moment_ms: int,
) -> Offsets:
    if mode == "to_offset":
        return _within_log(admin, dict.fromkeys(keys, given["to_offset"]))
    if mode == "shift_by":
        for key in keys:
            if key not in committed:
                raise OutsideGroup(
                    f"Cannot shift offset for partition {key} since there is no current committed offset"
                )
        return _within_log(admin, {key: committed[key] + given["shift_by"] for key in keys})
    if mode == "to_earliest":
        return _log_offsets(admin, keys, EARLIEST)
    if mode == "to_latest":
        return _log_offsets(admin, keys, LATEST)
    if mode == "to_current":
        ends = _log_offsets(admin, [key for key in keys if key not in committed], LATEST)
        return {key: committed[key] if key in committed else ends[key] for key in keys}
    found = _log_offsets(admin, keys, at_or_after(moment_ms))
    late = [key for key in keys if found[key] < 0]
    for key in late:
        running.note(
            f"\nWarn: Partition {key.partition} from topic {key.topic} is empty. Falling back to latest known offset."
        )
    return found | _log_offsets(admin, late, LATEST)


def _log_offsets(admin: AdminClient, keys: Iterable[TopicPartition], spec: int) -> Offsets:
    wanted = dict.fromkeys(keys, spec)
    if not wanted:
        return {}
    outcomes = admin.list_offsets(wanted).raise_any()
    return {key: outcome.get().offset for key, outcome in outcomes.items()}


def _within_log(admin: AdminClient, wanted: Offsets) -> Offsets:
    starts = _log_offsets(admin, wanted, EARLIEST)
    ends = _log_offsets(admin, wanted, LATEST)
    offsets = {}
    for key, offset in wanted.items():
        offsets[key] = max(starts[key], min(ends[key], offset))
        if offset != offsets[key]:
            which = "higher than latest" if offset > ends[key] else "lower than earliest"
            running.note(
                f"New offset ({offset}) is {which} offset for topic partition {key}. "
                f"Value will be set to {offsets[key]}"
            )
    return offsets
