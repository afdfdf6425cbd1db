"""The steps of ``kafka-streams-application-reset``: the group without members, offsets, internal topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.admin.calls.offsets import EARLIEST, LATEST
from kafka_tools.commands import running
from kafka_tools.commands.groups.holders import is_blocked, members_of, named
from kafka_tools.commands.groups.internal_topics import is_internal
from kafka_tools.commands.groups.reset_plans import read_plan
from kafka_tools.commands.groups.reset_targets import BY_TIME, LogOffsets, since
from kafka_tools.commands.groups.resets import plan_rows
from kafka_tools.commands.groups.resettable import partitions_of
from kafka_tools.commands.options.values import read_text
from kafka_tools.errors import InputError, NotFound, UnsupportedVersion
from kafka_tools.net.broker_errors import has_code
from kafka_tools.output.cells import Row
from kafka_tools.output.kafka import application_reset_text as text
from kafka_tools.output.rows import ItemError, Rows
from kafka_tools.protocol import error_codes
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient

Offsets = dict[TopicPartition, int]


class ApplicationReset:
    """One reset. ``given``: the options. ``mode``: the option that selects the offsets of input topics. ``has_text``:
    print Kafka's text."""

    def __init__(self, admin: AdminClient, given: Mapping[str, Any], mode: str, has_text: bool) -> None:
        self._admin = admin
        self._given = given
        self._mode = mode
        self._has_text = has_text
        self._group: str = given["application_id"]
        self._dry_run: bool = given["dry_run"]
        self._log = LogOffsets(admin)
        self._errors: list[ItemError] = []
        self._committed: Offsets = {}
        self._since = EARLIEST
        """The time of --to-datetime or --by-duration, in the form of ListOffsets."""
        self._absent = ""
        """A message that topics of the command line do not exist."""
        self._plan: Offsets = {}
        """The offsets of --from-file."""
        self._read_target()

    def run(self) -> Rows:
        """Reset, or only show it with --dry-run; returns a row for each change."""
        has_members = self._has_members()
        topics = sorted(topic.name for topic in self._admin.list_topics(include_internal=False))
        internal = self._internal_topics(topics)
        if has_members:
            read = [topic for topic in self._given["input_topics"] if topic in topics]
            if read and self._mode == "from_file":
                self._planned(self._partitions(read))
            self._remove_members()
        if self._dry_run:
            self._say(text.DRY_RUN)
        offsets = self._new_offsets(set(topics))
        done = offsets if self._dry_run else self._commit(offsets)
        rows = self._offset_rows(done)
        unmet = "some offsets could not be committed" if len(done) < len(offsets) else self._absent
        if unmet:
            # An application that continues at its old offsets without its state would count from zero.
            running.note(f"internal topics {'would not be' if self._dry_run else 'were not'} deleted: {unmet}")
        if self._dry_run or not unmet:  # the text of a dry run is Kafka's in any case
            self._say(text.DONE if offsets else "")
            deleted = self._delete(internal)
            rows += [] if unmet else deleted
        return Rows("application-reset", rows, self._errors)

    def _say(self, said: str) -> None:
        if self._has_text:
            running.emit(said)

    def _read_target(self) -> None:
        """Read the value of the mode: a file or a time. Contacts no broker."""
        if self._mode == "from_file":
            place = self._given["from_file"]
            content = read_text(place, "reset plan", keeps_line_ends=True)
            plan = read_plan(content, place, [self._group])
            others = sorted(plan.keys() - {self._group})
            if others:
                raise InputError(f"{place}: a row is for group '{others[0]}', not for '{self._group}'")
            if not plan:
                raise InputError(f"Error parsing reset plan CSV file. It is empty: {place}")
            self._plan = plan[self._group]
        elif self._mode in BY_TIME:
            self._since = since(self._mode, self._given)

    def _has_members(self) -> bool:
        """Whether there are members to remove. Without ``--force``, raises an error if there are."""
        group = self._group
        outcome = self._admin.describe_groups([group])[group]
        if isinstance(outcome.error, NotFound):
            self._without_streams_members()
            return False
        with running.about(group):
            members = outcome.get().members
            if members and not self._given["force"]:
                raise InputError(
                    f"Consumer group '{group}' is still active.{named(members)} Make sure to stop all running "
                    "application instances before running the reset tool. You can use option '--force' to remove "
                    "active members from the group."
                )
            return bool(members)

    def _remove_members(self) -> None:
        group = self._group
        self._say(text.forced(running.shown(group)))
        if self._dry_run:
            running.note("the dry run removes no members")
            return
        with running.about(group):
            for member, error in self._admin.remove_members(group, None).failures().items():
                if not has_code(error, error_codes.UNKNOWN_MEMBER_ID):  # the member left by itself
                    raise InputError(f"cannot remove member '{member}': {error}") from error

    def _without_streams_members(self) -> None:
        """The same check for a group of the streams protocol (KIP-1071), which Kafka's tool does not have."""
        outcome = self._admin.describe_streams_groups([self._group])[self._group]
        if isinstance(outcome.error, NotFound | UnsupportedVersion):
            return
        with running.about(self._group):
            members = outcome.get().members
            if members:
                raise InputError(
                    f"Streams group '{self._group}' is still active.{named(members)} Stop all running application "
                    "instances; members of streams groups cannot be removed by force."
                )

    def _internal_topics(self, topics: Sequence[str]) -> list[str]:
        """The internal topics to delete. Raises InputError for a named topic that is not internal."""
        read = {*self._given["input_topics"], *self._given["intermediate_topics"]}
        inferred = [topic for topic in topics if is_internal(topic, self._group) and topic not in read]
        wanted: list[str] = self._given["internal_topics"]
        if inferred and not wanted:
            return self._own(inferred)
        strangers = [topic for topic in wanted if topic not in inferred]
        if strangers:
            raise InputError(
                "Invalid topic specified in the --internal-topics option. Ensure that the topics specified are all "
                "internal topics. Do a dry run without the --internal-topics option to see the list of all internal "
                f"topics that can be deleted. Not internal: {', '.join(strangers)}"
            )
        return wanted or inferred

    def _own(self, inferred: Sequence[str]) -> list[str]:
        """The ``inferred`` topics without those of another application whose id starts like this one's.

        Kafka's tool deletes ``app-2-store-changelog`` with the topics of ``app``.
        """
        listed = self._admin.list_groups()
        if listed.errors:
            raise InputError(
                f"cannot tell which internal topics belong to other applications: {listed.errors[0]}",
                hint="name the topics to delete with --internal-topics",
            ) from listed.errors[0]
        longer = [each.group_id for each in listed if each.group_id.startswith(f"{self._group}-")]
        others = {topic: group for topic in inferred for group in longer if is_internal(topic, group)}
        for group in sorted(set(others.values())):
            left = ", ".join(topic for topic in others if others[topic] == group)
            running.note(
                f"left out, because they seem to belong to the application of group '{group}': {left} "
                "(name them with --internal-topics to delete them anyway)"
            )
        return [topic for topic in inferred if topic not in others]

    def _new_offsets(self, topics: set[str]) -> Offsets:
        """The new offsets of the application in its input and intermediate topics."""
        inputs, intermediates = self._given["input_topics"], self._given["intermediate_topics"]
        if intermediates:
            self._say(text.DEPRECATED_INTERMEDIATE)
        if not inputs and not intermediates:
            self._say(text.NO_TOPICS)
            return {}
        self._say(text.named_topics(running.shown(inputs), running.shown(intermediates)))
        absent = [[topic for topic in each if topic not in topics] for each in (inputs, intermediates)]
        self._say(text.not_found(*running.shown(absent)))
        for kind, names in zip(("input", "intermediate"), absent, strict=True):
            self._errors += [ItemError(f"topic {name}", None, f"this {kind} topic does not exist") for name in names]
            self._absent = self._absent or (names and f"{kind} topic {names[0]} does not exist") or ""
        read = self._partitions([topic for topic in inputs if topic in topics])
        ends = self._partitions([topic for topic in intermediates if topic in topics and topic not in inputs])
        if not read and not ends:
            return {}
        offsets: Offsets = {}
        if self._has_text is False or self._mode == "shift_by":
            found = self._admin.list_group_offsets(self._group)
            if self._mode == "shift_by":  # an unknown offset is not a missing offset
                for key in sorted(found.failures().keys() & set(read)):
                    with running.about(key), running.doing(f"the committed offset of {key}"):
                        found[key].get()
            self._committed = {key: each.offset for key, each in found.succeeded().items() if each is not None}
        if read:
            self._say(text.heading(running.shown(self._group)))
            offsets = self._positions(read)
            self._say(text.new_offsets(running.shown(offsets)))
        self._log.ask(ends, LATEST)
        self._say(text.at_their_ends(running.shown(self._group), running.shown(ends)))
        return offsets | {key: self._log.at(key, LATEST) for key in ends}

    def _partitions(self, topics: Sequence[str]) -> list[TopicPartition]:
        keys, missing = partitions_of(self._admin, dict.fromkeys(topics))
        for topic, error in missing:
            with running.about(f"topic {topic}"):
                raise error
        return keys

    def _positions(self, keys: Sequence[TopicPartition]) -> Offsets:
        """The offset of each partition of the input topics."""
        mode = self._mode
        if mode in ("to_earliest", "to_latest"):
            spec = EARLIEST if mode == "to_earliest" else LATEST
            self._log.ask(keys, spec)
            return {key: self._log.at(key, spec) for key in keys}
        if mode in BY_TIME:
            self._log.ask(keys, self._since)
            late = [key for key in keys if self._log.at(key, self._since) < 0]
            self._log.ask(late, LATEST)
            self._say("".join(text.empty(running.shown(key)) for key in late))
            return {key: self._log.at(key, LATEST if key in late else self._since) for key in keys}
        self._log.ask(keys, EARLIEST, LATEST)
        if mode == "to_offset":
            wanted = dict.fromkeys(keys, self._given["to_offset"])
        elif mode == "shift_by":
            # If a group has no offset, a consumer starts at the end.
            wanted = {key: self._committed.get(key, self._log.at(key, LATEST)) for key in keys}
            wanted = {key: offset + self._given["shift_by"] for key, offset in wanted.items()}
        else:
            wanted = self._planned(keys)
        return {key: self._within_log(key, offset) for key, offset in wanted.items()}

    def _planned(self, keys: Sequence[TopicPartition]) -> Offsets:
        place = self._given["from_file"]
        for key in keys:
            if key not in self._plan:
                raise InputError(f"{place}: no offset for partition {key} of an input topic")
        strangers = sorted(self._plan.keys() - set(keys))
        if strangers:
            raise InputError(f"{place}: {strangers[0]} is not a partition of an input topic")
        return {key: self._plan[key] for key in keys}

    def _within_log(self, key: TopicPartition, offset: int) -> int:
        start, end = self._log.at(key, EARLIEST), self._log.at(key, LATEST)
        if start < offset < end:
            return offset
        instead = start if offset < end else end
        self._say(text.outside(offset, is_lower=offset < end, instead=instead))
        return instead

    def _commit(self, offsets: Offsets) -> Offsets:
        """Commit the offsets. Returns the committed ones."""
        with running.about(self._group):
            failures = self._admin.alter_group_offsets(self._group, offsets).failures()
        is_held = any(map(is_blocked, failures.values()))
        held = named(members_of(self._admin.describe_groups, self._group)) if is_held else ""
        for key, error in failures.items():
            found = ItemError.of(f"{key} of group '{self._group}'", error)
            self._errors.append(found._replace(message=f"{found.message}.{held}") if held else found)
        return {key: offset for key, offset in offsets.items() if key not in failures}

    def _offset_rows(self, offsets: Offsets) -> list[Row]:
        result = "planned" if self._dry_run else "reset"
        rows = plan_rows({self._group: offsets}, {self._group: self._committed}, result)
        return [_row(row | {"action": "reset"}) for row in rows]

    def _delete(self, topics: Sequence[str]) -> list[Row]:
        """Delete internal topics. Returns a row for each topic that is, or in a dry run would be, deleted."""
        self._say(text.deleted(running.shown(topics), are_named=bool(self._given["internal_topics"])))
        failures = {} if self._dry_run or not topics else self._admin.delete_topics(topics).failures()
        self._errors += [ItemError.of(f"internal topic {topic}", error) for topic, error in failures.items()]
        if not failures:
            self._say(text.DONE)
        row = {"group": self._group, "partition": None, "action": "delete"}
        row |= dict.fromkeys(("old_offset", "new_offset", "skipped", "repeated"))
        result = "planned" if self._dry_run else "deleted"
        return [_row(row | {"topic": topic, "result": result}) for topic in topics if topic not in failures]


def _row(row: Row) -> Row:
    order = ("group", "action", "topic", "partition", "old_offset", "new_offset", "skipped", "repeated", "result")
    return {name: row[name] for name in order}
