"""The plan of ``kafka-delete-records``: the offsets of ``--before``, the deleted amount, topics that will refuse.

Records are counted by offsets, so that control records and compacted offsets count as well. Bytes are an estimate:
the size of the leader's log, divided evenly among its offsets.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.offsets import EARLIEST, LATEST, at_or_after
from kafka_tools.commands.partitions.reassignment.current import replicas_in
from kafka_tools.errors import DeadlineExceeded, InputError, KafkaToolsError, UsageError
from kafka_tools.output.rows import ItemError
from kafka_tools.protocol.enums import INTERNAL_TOPICS
from kafka_tools.shown_text import counted
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient, ConfigEntry
    from kafka_tools.admin.outcomes import Outcome
    from kafka_tools.output.cells import Row

HIGH_WATERMARK = -1
END = "end"
CLEANUP_POLICY, COMPACT, DELETE = "cleanup.policy", "compact", "delete"
SHARE_OF_TIME = 0.3
"""The part of the remaining time for requests whose results the deletion does not need."""
_MAX_OFFSET = 2**63 - 1


class Before(NamedTuple):
    """A value of ``--before``: an offset (-1: the high watermark), or a time, for the first record at or after it."""

    offset: int | None
    moment_ms: int | None = None


class PlannedDeletion(NamedTuple):
    """The deletion in one partition. Offsets are exclusive ends; ``estimated_bytes`` is None if sizes are not known."""

    partition: TopicPartition
    log_start_offset: int
    before_offset: int
    log_end_offset: int
    estimated_bytes: int | None

    @property
    def records(self) -> int:
        """The number of offsets from the log's start to the first one kept; 0 if that is beyond the end, which brokers
        refuse."""
        if self.before_offset > self.log_end_offset:
            return 0
        return max(self.before_offset - self.log_start_offset, 0)

    def row(self) -> Row:
        """The row for ``-o``."""
        return {
            "topic": self.partition.topic,
            "partition": self.partition.partition,
            "log_start_offset": self.log_start_offset,
            "before_offset": self.before_offset,
            "log_end_offset": self.log_end_offset,
            "records": self.records,
            "estimated_bytes": self.estimated_bytes,
        }


def parse_before(text: str, now_ms: int) -> Before:
    """Parse ``--before``: digits are an offset, -1 and ``end`` the high watermark, other texts a time.

    Raises UsageError for an invalid text.
    """
    from kafka_tools.texts.moments import moment_ms

    typed = text.strip()
    if typed in (END, str(HIGH_WATERMARK)):
        return Before(HIGH_WATERMARK)
    if typed.isascii() and typed.isdigit():
        if len(typed) > 19 or int(typed) > _MAX_OFFSET:
            raise UsageError(f"invalid --before: expected an offset of at most {_MAX_OFFSET}")
        return Before(int(typed))
    try:
        return Before(None, moment_ms(text, now_ms))
    except InputError as error:
        raise UsageError(f"--before: {error}", hint=f"or an offset, or '{END}' for all committed records") from error


def offsets_of(
    admin: AdminClient, partitions: Sequence[TopicPartition], before: Before
) -> tuple[dict[TopicPartition, int], list[ItemError]]:
    """The first offset to keep of each partition, and the partitions without a response.

    If all records are older than the time, it is the log's end before the search.
    """
    if before.moment_ms is None:
        assert before.offset is not None
        return dict.fromkeys(partitions, before.offset), []
    if not partitions:
        return {}, []
    # The ends come first: a record that arrives meanwhile is newer than the time, and stays.
    in_time = admin.deadline(admin.deadline().left_s() / 2)  # so that time remains if a broker does not respond
    ends = admin.list_offsets(dict.fromkeys(partitions, LATEST), deadline=in_time)
    found = admin.list_offsets(dict.fromkeys(partitions, at_or_after(before.moment_ms)))
    offsets, errors = {}, []
    for key in partitions:
        error = found[key].error or ends[key].error
        if error is not None:
            errors.append(ItemError.of(key, error))
            continue
        first = found[key].get().offset
        offsets[key] = first if first >= 0 else ends[key].get().offset
    return offsets, errors


def refusals(admin: AdminClient, topics: Iterable[str]) -> dict[str, str]:
    """Topic -> the reason why its brokers will refuse. Topics whose configs are unknown or slow are left out."""
    from kafka_tools.admin.client import ConfigResource

    found = {}
    names = list(dict.fromkeys(topics))
    asked = [ConfigResource("topic", name) for name in names if name not in INTERNAL_TOPICS]
    configs: Mapping[ConfigResource, Outcome[list[ConfigEntry]]] = {}
    with contextlib.suppress(DeadlineExceeded):
        seconds = admin.deadline().left_s() * SHARE_OF_TIME
        configs = admin.describe_configs(asked, timeout_s=seconds) if asked else {}
    for name in names:
        if name in INTERNAL_TOPICS:
            found[name] = "is an internal topic of Kafka: brokers will refuse to delete its records"
    for resource, outcome in configs.items():
        policy = next((each.value for each in outcome.value or () if each.name == CLEANUP_POLICY), None) or ""
        policies = policy.replace(" ", "").split(",")
        if COMPACT in policies and DELETE not in policies:
            found[resource.name] = (
                f"has {CLEANUP_POLICY}={policy}: brokers will refuse to delete its records (POLICY_VIOLATION)"
            )
    return found


def soon_summarized(admin: AdminClient, offsets: Mapping[TopicPartition, int]) -> list[str]:
    """The summary of the following deletion, for partitions whose offsets are known soon."""
    with contextlib.suppress(DeadlineExceeded):
        return summary(planned(admin, offsets, SHARE_OF_TIME)[0])
    return []


def planned(
    admin: AdminClient, offsets: Mapping[TopicPartition, int], share_of_time: float = 1.0
) -> tuple[list[PlannedDeletion], dict[TopicPartition, ItemError]]:
    """The deletion in each partition, and the partitions whose offsets are unknown after this part of the remaining
    time."""
    if not offsets:
        return [], {}
    left_s = admin.deadline().left_s() * share_of_time
    starts = admin.list_offsets(dict.fromkeys(offsets, EARLIEST), timeout_s=left_s / 2)
    ends = admin.list_offsets(dict.fromkeys(offsets, LATEST), timeout_s=left_s / 2)
    failed = {key: ItemError.of(key, error) for asked in (starts, ends) for key, error in asked.failures().items()}
    known = [key for key in offsets if key not in failed]
    sizes = _sizes(admin, known)
    plans = []
    for key in known:
        start, end = starts[key].get().offset, ends[key].get().offset
        before = end if offsets[key] == HIGH_WATERMARK else offsets[key]
        plan = PlannedDeletion(key, start, before, end, None)
        if key in sizes:
            share = plan.records / (end - start) if end > start else 0.0
            plan = plan._replace(estimated_bytes=round(sizes[key] * share))
        plans.append(plan)
    return plans, failed


def _sizes(admin: AdminClient, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """Bytes of the leaders' logs, for brokers that respond in time. A missing estimate is no failure."""
    try:
        leaders = _leaders(admin, partitions)
        asked = [key for key in partitions if key in leaders]
        brokers = sorted({leaders[key] for key in asked})
        seconds = admin.deadline().left_s() * SHARE_OF_TIME
        told = admin.describe_log_dirs(brokers, asked, timeout_s=seconds) if asked else {}
    except KafkaToolsError:
        return {}
    return {
        place.topic_partition: replica.size_bytes
        for broker, directories in told.items()
        for place, _, replica in replicas_in(broker, directories.value or {})
        if leaders.get(place.topic_partition) == broker and not replica.is_future
    }


def _leaders(admin: AdminClient, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    names = {key.topic for key in partitions}
    described = admin.describe_topics(names, timeout_s=admin.deadline().left_s() * SHARE_OF_TIME)
    return {
        TopicPartition(str(topic), each.partition): each.leader
        for topic, outcome in described.items()
        if outcome.value is not None
        for each in outcome.value.partitions
        if each.leader is not None
    }


def summary(plans: Sequence[PlannedDeletion]) -> list[str]:
    """A line for each topic with the deleted amount."""
    lines = []
    for topic in dict.fromkeys(each.partition.topic for each in plans):
        own = [each for each in plans if each.partition.topic == topic]
        sizes = [each.estimated_bytes for each in own]
        known = [each for each in sizes if each is not None]
        size = f", about {sum(known)} bytes (an estimate)" if len(known) == len(own) else ""
        partitions = counted(len(own), "partition", "partitions")
        lines.append(f"{topic}: {sum(each.records for each in own)} records of {partitions} to delete{size}")
        lines += [
            (
                f"{each.partition}: cannot delete before offset {each.before_offset}: it is beyond the end "
                f"offset {each.log_end_offset}"
            )
            for each in own
            if each.before_offset > each.log_end_offset
        ]
    return lines
