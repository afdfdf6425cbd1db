"""The offsets that a reset plans and commits (ConsumerGroupCommand and OffsetsUtils), for groups of each kind.

Only groups that are empty, dead or unknown are reset. An offset outside the log becomes its start or its end, with a
warning. A group that cannot be reset leaves the others alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kafka_tools.admin.calls.offsets import EARLIEST, LATEST
from kafka_tools.admin.outcomes import Outcome, Outcomes
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
from kafka_tools.output.cells import Row
from kafka_tools.output.rows import ItemError
from kafka_tools.protocol.enums import GroupState
from kafka_tools.values import TopicPartition, moment_text

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient

RESETTABLE = (GroupState.EMPTY, GroupState.DEAD)
Offsets = dict[TopicPartition, int]
Topics = Mapping[str, list[int] | None]
"""Topic -> some of its partitions, or None for all of them."""


class OutsideGroup(InputError):
    """What a reset asks of one group is not that group's; others are reset all the same."""


class Holder(Protocol):
    """A member of a group, whatever its kind, as the one that holds partitions."""

    @property
    def client_id(self) -> str: ...

    @property
    def host(self) -> str: ...


class Resettable(Protocol):
    """What a reset asks of groups of one kind, and changes there."""

    admin: AdminClient

    def inactive(self, groups: Sequence[str]) -> dict[str, ItemError | None]:
        """Each group with None when it may be reset, else with the reason why not."""
        ...

    def committed(self, groups: Sequence[str]) -> Outcomes[str, Offsets]:
        """Where each group is, as far as it has offsets."""
        ...

    def all_partitions(self, group: str, committed: Offsets) -> list[TopicPartition]:
        """What is meant by all topics of the group."""
        ...

    def named_partitions(self, group: str, topics: Topics) -> list[TopicPartition]:
        """What is meant by these topics; raises InputError for one that is not there."""
        ...

    def alter(self, group: str, offsets: Offsets) -> Outcomes[TopicPartition, None]:
        """Put the group there."""
        ...


class ConsumerGroupResets:
    """Of consumer groups."""

    def __init__(self, admin: AdminClient) -> None:
        self.admin = admin

    def inactive(self, groups: Sequence[str]) -> dict[str, ItemError | None]:
        found: dict[str, ItemError | None] = {}
        for name, outcome in self.admin.describe_groups(groups).items():
            if outcome.value is None or outcome.value.state in RESETTABLE:
                found[name] = not_there_yet(name, outcome.error)
            else:
                found[name] = not_inactive(name, outcome.value.state, outcome.value.members)
        return found

    def committed(self, groups: Sequence[str]) -> Outcomes[str, Offsets]:
        return committed_offsets(self.admin, groups)

    def all_partitions(self, group: str, committed: Offsets) -> list[TopicPartition]:
        return sorted(committed)

    def named_partitions(self, group: str, topics: Topics) -> list[TopicPartition]:
        return named_partitions(self.admin, topics)

    def alter(self, group: str, offsets: Offsets) -> Outcomes[TopicPartition, None]:
        return self.admin.alter_group_offsets(group, offsets)


def committed_offsets(admin: AdminClient, groups: Sequence[str]) -> Outcomes[str, Offsets]:
    """What groups committed, of all of them together."""
    found = admin.list_groups_offsets(dict.fromkeys(groups)) if groups else Outcomes(())
    return Outcomes(
        (
            name,
            Outcome(None, outcome.error)
            if outcome.value is None
            else Outcome({key: value.offset for key, value in outcome.value.succeeded().items() if value is not None}),
        )
        for name, outcome in found.items()
    )


def not_there_yet(group: str, error: KafkaToolsError | None) -> ItemError | None:
    """The reason why a group without state cannot be reset; none for one that does not exist: it gets its first
    offsets this way."""
    return None if error is None or isinstance(error, NotFound) else ItemError.of(f"group '{group}'", error)


def not_inactive(group: str, state: str, members: Iterable[Holder]) -> ItemError:
    """The refusal of a group that has members, in the words of Kafka's tools."""
    return blocked(
        group,
        f"Assignments can only be reset if the group '{group}' is inactive, but the current state is {state}.",
        members,
    )


def blocked(group: str, text: str, members: Iterable[Holder]) -> ItemError:
    """The refusal of a group, with the members that stand in the way."""
    holders = ", ".join(sorted({f"{member.client_id} at {member.host}" for member in members}))
    return ItemError(f"group '{group}'", None, text + (f" Members: {holders}." if holders else ""))


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


def named_partitions(admin: AdminClient, topics: Topics) -> list[TopicPartition]:
    """The partitions that topics mean; raises InputError for a topic that is not there."""
    keys, missing = partitions_of(admin, topics)
    if missing:
        topic, error = missing[0]
        raise InputError(f"topic {topic}: {error}")
    return keys


def partitions_of(
    admin: AdminClient, topics: Mapping[str, list[int] | None]
) -> tuple[list[TopicPartition], list[tuple[str, KafkaToolsError]]]:
    """The partitions that ``--topic`` names, all of a topic looked up in the cluster; and the unknown topics."""
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
