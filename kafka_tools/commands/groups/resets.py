"""New offsets of ``kafka-consumer-groups --reset-offsets``, and committing them (ConsumerGroupService.resetOffsets).

Only groups that are empty, dead or unknown are reset. An offset outside the log becomes its start or its end, with a
warning. A group that cannot be reset leaves the others alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.admin.calls.offsets import EARLIEST, LATEST
from kafka_tools.clock import SystemClock
from kafka_tools.commands import running
from kafka_tools.commands.groups.reset_plans import (
    Plan,
    parse_duration_ms,
    parse_moment_ms,
    parse_topics,
    read_plan,
)
from kafka_tools.commands.options.values import read_text
from kafka_tools.errors import InputError, KafkaToolsError, NotFound
from kafka_tools.output.rows import ItemError
from kafka_tools.protocol.enums import GroupState
from kafka_tools.values import TopicPartition, moment_text

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient

RESETTABLE = (GroupState.EMPTY, GroupState.DEAD)
Offsets = dict[TopicPartition, int]


def prepare(
    admin: AdminClient, groups: Sequence[str], mode: str, given: Mapping[str, Any]
) -> tuple[Plan, list[ItemError]]:
    """Group -> partition -> new offset, and the groups that cannot be reset. ``mode`` is the option that says where."""
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
    plan: Plan = {}
    errors = []
    for group, refusal in _inactive(admin, groups).items():
        if refusal is not None:
            plan[group] = {}
            errors.append(refusal)
            continue
        if mode == "from_file":
            if group not in from_file:
                errors.append(ItemError(f"group '{group}'", None, f"No reset plan for group {group} found"))
            plan[group] = _within_log(admin, from_file.get(group, {}))
            continue
        committed = _committed(admin, group) if given["all_topics"] or mode in ("to_current", "shift_by") else {}
        keys = sorted(committed) if given["all_topics"] else _partitions(admin, topics)
        plan[group] = _new_offsets(admin, keys, mode, given, committed, moment_ms)
    return plan, errors


def commit(admin: AdminClient, plan: Plan) -> tuple[Plan, list[ItemError]]:
    """Commit the offsets of each group; the part of the plan that was done, and what failed, by partition."""
    done: Plan = {}
    errors = []
    for group, offsets in plan.items():
        failures = admin.alter_group_offsets(group, offsets).failures() if offsets else {}
        done[group] = {key: offset for key, offset in offsets.items() if key not in failures}
        errors += [ItemError.of(f"{key} of group '{group}'", error) for key, error in failures.items()]
    return done, errors


def partitions_of(
    admin: AdminClient, topics: Mapping[str, list[int] | None]
) -> tuple[list[TopicPartition], list[tuple[str, KafkaToolsError]]]:
    """The partitions that ``--topic`` names, asking the cluster where all of a topic are meant; and unknown topics."""
    whole = [topic for topic, numbers in topics.items() if numbers is None]
    outcomes = admin.describe_topics(whole)
    keys = [TopicPartition(topic, number) for topic, numbers in topics.items() for number in numbers or ()]
    missing = []
    for topic, outcome in outcomes.items():
        if outcome.error is not None:
            missing.append((str(topic), outcome.error))
        else:
            keys += [TopicPartition(str(topic), each.partition) for each in outcome.get().partitions]
    return sorted(set(keys)), missing


def _inactive(admin: AdminClient, groups: Sequence[str]) -> dict[str, ItemError | None]:
    """Each group with None when it may be reset, else with the reason why not."""
    found: dict[str, ItemError | None] = {}
    for group, outcome in admin.describe_groups(groups).items():
        name = f"group '{group}'"
        if outcome.error is not None:
            # A group that does not exist yet gets its first offsets this way.
            found[group] = None if isinstance(outcome.error, NotFound) else ItemError.of(name, outcome.error)
        elif outcome.get().state in RESETTABLE:
            found[group] = None
        else:
            described = outcome.get()
            holders = ", ".join(sorted({f"{member.client_id} at {member.host}" for member in described.members}))
            text = (
                f"Assignments can only be reset if the group '{group}' is inactive, but the current state is "
                f"{described.state}." + (f" Members: {holders}." if holders else "")
            )
            found[group] = ItemError(name, None, text)
    return found


def _partitions(admin: AdminClient, topics: Mapping[str, list[int] | None]) -> list[TopicPartition]:
    keys, missing = partitions_of(admin, topics)
    if missing:
        topic, error = missing[0]
        raise InputError(f"topic {topic}: {error}")
    return keys


def _committed(admin: AdminClient, group: str) -> Offsets:
    outcomes = admin.list_group_offsets(group)
    return {key: each.value.offset for key, each in outcomes.items() if each.error is None and each.value is not None}


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
                raise InputError(f"Cannot shift offset for partition {key} since there is no current committed offset")
        return _within_log(admin, {key: committed[key] + given["shift_by"] for key in keys})
    if mode == "to_earliest":
        return _log_offsets(admin, keys, EARLIEST)
    if mode == "to_latest":
        return _log_offsets(admin, keys, LATEST)
    if mode == "to_current":
        ends = _log_offsets(admin, [key for key in keys if key not in committed], LATEST)
        return {key: committed[key] if key in committed else ends[key] for key in keys}
    found = _log_offsets(admin, keys, moment_ms)
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
