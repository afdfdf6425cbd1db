"""The new offsets of groups, for each mode of a reset (Kafka's OffsetsUtils).

An offset outside the log becomes its start or its end, with a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.admin.calls.offsets import EARLIEST, LATEST, ListedOffset, at_or_after
from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.clock import SystemClock
from kafka_tools.commands import running
from kafka_tools.commands.groups.reset_plans import Plan, parse_duration_ms, parse_moment_ms, read_plan
from kafka_tools.commands.groups.resettable import GroupResets, Offsets, OutsideGroup, Topics
from kafka_tools.commands.options.values import read_text
from kafka_tools.errors import InputError, NotFound
from kafka_tools.values import TopicPartition, moment_text

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient


BY_TIME = ("to_datetime", "by_duration")
"""The modes that find the first record at or after a time."""


class LogOffsets:
    """Offsets of the logs of partitions. Each offset is requested once for all groups."""

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin
        self._found: dict[tuple[TopicPartition, int], Outcome[ListedOffset]] = {}
        self.gone: set[TopicPartition] = set()
        """Partitions that do not exist."""

    def ask(self, keys: Iterable[TopicPartition], *specs: int) -> None:
        """Request offsets that are not known yet. A spec is a time (ms since the epoch), EARLIEST or LATEST."""
        for spec in specs:
            wanted = {key: spec for key in sorted(set(keys)) if (key, spec) not in self._found}
            for key, outcome in (self._admin.list_offsets(wanted) if wanted else {}).items():
                self._found[key, spec] = outcome
                if isinstance(outcome.error, NotFound):
                    self.gone.add(key)

    def is_told(self, key: TopicPartition, spec: int) -> bool:
        """Whether the offset is known."""
        return self._found[key, spec].error is None

    def at(self, key: TopicPartition, spec: int) -> int:
        """The offset. Raises the error of the partition."""
        with running.about(key):
            return self._found[key, spec].get().offset


class Target:
    """The meaning of one mode of a reset for each group.

    ``mode``: the option; ``given``: the options with their values; ``groups``: the groups to reset. Raises InputError
    for an invalid value or file, and for another group without offsets.
    """

    def __init__(self, kind: GroupResets, mode: str, given: Mapping[str, Any], groups: Sequence[str]) -> None:
        self._mode = mode
        self._given = given
        self._log = LogOffsets(kind.admin)
        self._since = EARLIEST
        """The time (ms since the epoch), or EARLIEST."""
        self._wanted: Plan | None = None
        """Offsets by group and partition, if the mode itself defines them (a file, another group)."""
        self._said: set[str] = set()
        if mode == "from_file":
            place = given["from_file"]
            self._wanted = read_plan(read_text(place, "reset plan", keeps_line_ends=True), place, groups)
            _tell_left_out(self._wanted, groups, place)
        elif mode == "from_group":
            copied = _offsets_of(kind, given["from_group"])
            self._wanted = dict.fromkeys(groups, copied)
        elif mode in BY_TIME:
            self._since = since(mode, given)

    def partitions(self, groups: Iterable[str], topics: Topics) -> Outcomes[str, list[TopicPartition]] | None:
        """The partitions of each group that the mode itself names; None if it names none.

        ``topics`` restricts them; empty for all topics.
        """
        if self._wanted is None:
            return None
        return Outcomes((group, self._chosen(group, self._wanted.get(group), topics)) for group in groups)

    def _chosen(self, group: str, plan: Offsets | None, topics: Topics) -> Outcome[list[TopicPartition]]:
        if plan is None:
            return Outcome(None, OutsideGroup(f"No reset plan for group {group} found"))
        chosen: list[TopicPartition] = []
        for topic, numbers in topics.items():
            found = [key for key in plan if key.topic == topic and (numbers is None or key.partition in numbers)]
            if not found and self._mode == "from_group":
                raise InputError(f"group '{self._given['from_group']}' has no committed offsets of topic {topic}")
            if not found:
                text = f"{self._given['from_file']}: no offset of topic {topic} for group {group}"
                return Outcome(None, OutsideGroup(text))
            chosen += found
        return Outcome(sorted(chosen if topics else plan))

    def look_up(self, keys: Mapping[str, Sequence[TopicPartition]], committed: Mapping[str, Offsets]) -> None:
        """Request the log offsets that ``offsets`` needs, for all groups together."""
        union = {key for each in keys.values() for key in each}
        if self._mode == "to_earliest":
            self._log.ask(union, EARLIEST)
        elif self._mode == "to_latest":
            self._log.ask(union, LATEST)
        elif self._mode == "to_current":
            new = {key for group, each in keys.items() for key in each if key not in committed[group]}
            self._log.ask(union if self._skips_gone else new, LATEST)
        elif self._mode in BY_TIME:
            self._log.ask(union, self._since)
            late = [key for key in sorted(union - self._log.gone) if self._is_late(key)]
            for key in late:
                running.note(
                    f"\nWarn: Partition {key.partition} from topic {key.topic} is empty. "
                    "Falling back to latest known offset."
                )
            self._log.ask(late, LATEST)
        else:
            self._log.ask(union, EARLIEST, LATEST)
        if self._skips_gone:
            for key in sorted(union & self._log.gone):
                running.note(f"{key} no longer exists: its offset is unchanged")

    @property
    def _skips_gone(self) -> bool:
        """Whether the partitions come only from committed offsets, which may be old."""
        return self._given["all_topics"] or self._mode == "from_group"

    def _is_late(self, key: TopicPartition) -> bool:
        return self._log.is_told(key, self._since) and self._log.at(key, self._since) < 0

    def offsets(self, group: str, keys: Iterable[TopicPartition], committed: Offsets) -> Offsets:
        """The new offsets of a group. Raises the error of a partition."""
        if self._skips_gone:
            keys = [key for key in keys if key not in self._log.gone]
        return {key: self._offset(group, key, committed.get(key)) for key in keys}

    def _offset(self, group: str, key: TopicPartition, committed: int | None) -> int:
        mode = self._mode
        if mode == "to_earliest":
            return self._log.at(key, EARLIEST)
        if mode == "to_latest":
            return self._log.at(key, LATEST)
        if mode == "to_current":
            return self._log.at(key, LATEST) if committed is None else committed
        if mode in BY_TIME:
            found = self._log.at(key, self._since)
            return self._log.at(key, LATEST) if found < 0 else found
        if mode == "to_offset":
            return self._within_log(key, self._given["to_offset"])
        if mode == "shift_by":
            if committed is None:
                raise OutsideGroup(
                    f"Cannot shift offset for partition {key} since there is no current committed offset"
                )
            return self._within_log(key, committed + self._given["shift_by"])
        assert self._wanted is not None
        return self._within_log(key, self._wanted[group][key])

    def _within_log(self, key: TopicPartition, offset: int) -> int:
        start, end = self._log.at(key, EARLIEST), self._log.at(key, LATEST)
        found = max(start, min(end, offset))
        if found != offset:
            which = "higher than latest" if offset > end else "lower than earliest"
            text = f"New offset ({offset}) is {which} offset for topic partition {key}. Value will be set to {found}"
            if text not in self._said:
                self._said.add(text)
                running.note(text)
        return found


def since(mode: str, given: Mapping[str, Any]) -> int:
    """The time of ``--to-datetime`` or ``--by-duration``, in the form of ListOffsets. Prints it on stderr."""
    now_ms = SystemClock().now_ms()
    if mode == "to_datetime":
        moment_ms = parse_moment_ms(given["to_datetime"], now_ms)
    else:
        moment_ms = now_ms - parse_duration_ms(given["by_duration"])
    running.note(f"offsets of the first records at or after {moment_text(moment_ms)}")
    return at_or_after(moment_ms)


def _tell_left_out(plan: Plan, groups: Sequence[str], place: str) -> None:
    others = sorted(plan.keys() - set(groups))
    if others:
        names = ", ".join(f"'{group}'" for group in others[:10]) + (" and others" if len(others) > 10 else "")
        running.note(f"{place}: ignored the rows of groups that are not named on the command line: {names}")


def _offsets_of(kind: GroupResets, group: str) -> Offsets:
    with running.about(group):
        found = kind.committed([group])[group].get()
    if not found:
        raise InputError(f"nothing to copy: group '{group}' has no committed offsets")
    return found
