"""Offsets: of partitions (ListOffsets) and committed by groups (OffsetFetch, OffsetCommit, OffsetDelete)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafka_tools.admin.calls.records import by_topic, grouped
from kafka_tools.admin.driver import AdminCall, KeysRefused, Reply
from kafka_tools.admin.lookups import CoordinatorLookup, Lookup
from kafka_tools.admin.outcomes import Outcome, Outcomes, answered
from kafka_tools.clock import Deadline
from kafka_tools.net.broker_errors import broker_error, error_of
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import OffsetSpec
from kafka_tools.protocol.schema import Request
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.list_offsets import ListOffsetsResponse
    from kafka_tools.protocol.messages.offset_commit import OffsetCommitResponse
    from kafka_tools.protocol.messages.offset_delete import OffsetDeleteResponse
    from kafka_tools.protocol.messages.offset_fetch import OffsetFetchResponse

LATEST, EARLIEST, MAX_TIMESTAMP = OffsetSpec.LATEST, OffsetSpec.EARLIEST, OffsetSpec.MAX_TIMESTAMP
EARLIEST_LOCAL, LATEST_TIERED = OffsetSpec.EARLIEST_LOCAL, OffsetSpec.LATEST_TIERED
EARLIEST_PENDING_UPLOAD = OffsetSpec.EARLIEST_PENDING_UPLOAD
"""The special values of ``list_offsets`` in place of a timestamp (ms since the epoch)."""
_NEEDS = {
    MAX_TIMESTAMP: (7, "the offset of the largest timestamp"),
    EARLIEST_LOCAL: (8, "the earliest offset on local disk"),
    LATEST_TIERED: (9, "the latest tiered offset"),
    EARLIEST_PENDING_UPLOAD: (11, "the earliest offset to be uploaded"),
}
_COORDINATOR_BUSY = (error_codes.COORDINATOR_LOAD_IN_PROGRESS, error_codes.REBALANCE_IN_PROGRESS)
NAMES_UP_TO = 9
"""The newest version of OffsetFetch and OffsetCommit that names topics; later ones require ids."""
S = TypeVar("S")


def at_or_after(moment_ms: int) -> int:
    """The argument of ``list_offsets`` for the first record at or after a time (ms since the epoch).

    No record is older than 1970, and negative numbers have other meanings: -1 is the end of the log.
    """
    return max(moment_ms, 0)


class ListedOffset(NamedTuple):
    """An offset of a partition. ``offset`` is -1 where no record fits; ``timestamp`` -1 and epoch None if not told."""

    offset: int
    timestamp: int
    leader_epoch: int | None


class CommittedOffset(NamedTuple):
    """The committed offset of a group for a partition."""

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None


class ListOffsets(AdminCall[TopicPartition, ListedOffset, "ListOffsetsResponse"]):
    """Partition -> timestamp in ms, or one of the constants above."""

    name = "list offsets"

    specs: Mapping[TopicPartition, int]
    isolation_level: int
    lookup: Lookup[TopicPartition]

    def build(self, keys: list[TopicPartition], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest

        needs = {spec: _NEEDS.get(spec, (0, "")) for spec in {self.specs[key] for key in keys}}
        lacking = {spec: need for spec, need in needs.items() if not versions.has(ListOffsetsRequest, need[0])}
        if lacking:
            raise KeysRefused(
                {
                    key: versions.too_old(ListOffsetsRequest, *lacking[self.specs[key]])
                    for key in keys
                    if self.specs[key] in lacking
                }
            )
        Topic = ListOffsetsRequest.Topic
        items = grouped(keys, lambda key: Topic.Partition(partition_index=key.partition, timestamp=self.specs[key]))
        topics = [Topic(name=name, partitions=partitions) for name, partitions in items.items()]
        return ListOffsetsRequest(
            replica_id=-1, isolation_level=self.isolation_level, topics=topics, timeout_ms=deadline.left_ms()
        )

    def interpret(self, reply: Reply[TopicPartition, ListedOffset, ListOffsetsResponse]) -> None:
        for topic in reply.response.topics:
            for item in topic.partitions:
                key = TopicPartition(topic.name, item.partition_index)
                if item.error_code:
                    reply.add_error(key, broker_error(item.error_code))
                    continue
                epoch = item.leader_epoch if item.leader_epoch >= 0 else None
                reply.completed[key] = ListedOffset(item.offset, item.timestamp, epoch)


GroupOffsets = Outcomes[TopicPartition, "CommittedOffset | None"]


class FetchGroupOffsets(AdminCall[str, GroupOffsets, "OffsetFetchResponse"]):
    """Group -> partitions (None: all it has committed); the value is an outcome per partition, None for no offset."""

    name = "list group offsets"
    lookup = CoordinatorLookup()

    wanted: Mapping[str, Sequence[TopicPartition] | None]
    require_stable: bool

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> tuple[Request, int]:
        from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest

        version = min(versions.newest(OffsetFetchRequest), NAMES_UP_TO)
        stable = self.require_stable and version >= 7
        if version >= 8:
            groups = [
                OffsetFetchRequest.RequestGroup(
                    group_id=key, topics=self._topics(key, OffsetFetchRequest.RequestGroup.RequestTopics)
                )
                for key in keys
            ]
            return OffsetFetchRequest(groups=groups, require_stable=stable), version
        if len(keys) > 1:
            # Before 3.0 a request is about one group: the driver sends the others one by one.
            self.per_request = 1
            raise KeysRefused({})
        topics = self._topics(keys[0], OffsetFetchRequest.RequestTopic)
        return OffsetFetchRequest(group_id=keys[0], topics=topics, require_stable=stable), version

    def _topics(self, group_id: str, struct: Callable[..., S]) -> list[S] | None:
        wanted = self.wanted[group_id]
        if wanted is None:
            return None
        return [struct(name=name, partition_indexes=numbers) for name, numbers in by_topic(wanted).items()]

    def interpret(self, reply: Reply[str, GroupOffsets, OffsetFetchResponse]) -> None:
        if reply.version >= 8:
            asked = set(reply.keys)
            for group in reply.response.groups:
                if group.group_id in asked:
                    self._take(group.group_id, group, reply)
        else:
            self._take(reply.keys[0], reply.response, reply)

    def _take(
        self,
        group_id: str,
        told: OffsetFetchResponse | OffsetFetchResponse.ResponseGroup,
        reply: Reply[str, GroupOffsets, OffsetFetchResponse],
    ) -> None:
        error = error_of(told.error_code)
        if error is not None:
            reply.add_error(group_id, error)
            return
        found: dict[TopicPartition, Outcome[CommittedOffset | None]] = {}
        for topic in told.topics:
            for item in topic.partitions:
                key = TopicPartition(topic.name, item.partition_index)
                failure = error_of(item.error_code)
                if failure is not None and failure.code.retriable:
                    reply.again[group_id] = failure
                    return
                found[key] = Outcome(_committed(item)) if failure is None else Outcome(None, failure)
        wanted = self.wanted[group_id]
        reply.completed[group_id] = answered(sorted(found) if wanted is None else wanted, found, reply.node)


def _committed(
    item: OffsetFetchResponse.ResponseTopic.ResponsePartition
    | OffsetFetchResponse.ResponseGroup.ResponseTopics.ResponsePartitions,
) -> CommittedOffset | None:
    if item.committed_offset < 0:
        return None
    epoch = item.committed_leader_epoch if item.committed_leader_epoch >= 0 else None
    return CommittedOffset(item.committed_offset, item.metadata or "", epoch)


class CommitGroupOffsets(AdminCall[str, Outcomes[TopicPartition, None], "OffsetCommitResponse"]):
    """Commit for groups that have no members, a request for each; the value is an outcome per partition."""

    name = "alter group offsets"
    lookup = CoordinatorLookup()
    per_request = 1

    offsets: Mapping[str, Mapping[TopicPartition, CommittedOffset]]

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> tuple[Request, int]:
        from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest

        Topic = OffsetCommitRequest.RequestTopic
        (group_id,) = keys
        offsets = self.offsets[group_id]

        def partition(key: TopicPartition) -> OffsetCommitRequest.RequestTopic.RequestPartition:
            offset, metadata, epoch = offsets[key]
            return Topic.RequestPartition(
                partition_index=key.partition,
                committed_offset=offset,
                committed_leader_epoch=-1 if epoch is None else epoch,
                committed_metadata=metadata,
            )

        topics = [Topic(name=name, partitions=found) for name, found in grouped(offsets, partition).items()]
        version = min(versions.newest(OffsetCommitRequest), NAMES_UP_TO)
        return OffsetCommitRequest(group_id=group_id, topics=topics), version

    def interpret(self, reply: Reply[str, Outcomes[TopicPartition, None], OffsetCommitResponse]) -> None:
        (group_id,) = reply.keys
        take_partitions(group_id, self.offsets[group_id], reply)


class DeleteGroupOffsets(AdminCall[str, Outcomes[TopicPartition, None], "OffsetDeleteResponse"]):
    """Delete a group's committed offsets of some partitions (2.4); the value is an outcome per partition."""

    name = "delete group offsets"
    lookup = CoordinatorLookup()

    group_id: str
    partitions: Sequence[TopicPartition]

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.offset_delete import OffsetDeleteRequest

        versions.require(OffsetDeleteRequest, 0, "deleting offsets of a group")
        Topic = OffsetDeleteRequest.RequestTopic
        items = grouped(self.partitions, lambda key: Topic.RequestPartition(partition_index=key.partition))
        topics = [Topic(name=name, partitions=partitions) for name, partitions in items.items()]
        return OffsetDeleteRequest(group_id=self.group_id, topics=topics)

    def interpret(self, reply: Reply[str, Outcomes[TopicPartition, None], OffsetDeleteResponse]) -> None:
        if reply.response.error_code != error_codes.NONE:
            reply.settle(self.group_id, reply.response.error_code, None, Outcomes(()))
        else:
            take_partitions(self.group_id, self.partitions, reply)


def take_partitions(
    group_id: str,
    wanted: Iterable[TopicPartition],
    reply: Reply[str, Outcomes[TopicPartition, None], OffsetCommitResponse | OffsetDeleteResponse],
) -> None:
    """An outcome per partition; the whole call is tried again when its coordinator has moved or is not ready."""
    found: dict[TopicPartition, Outcome[None]] = {}
    for topic in reply.response.topics:
        for item in topic.partitions:
            row = error_codes.error(item.error_code)
            if row.coordinator_moved or row.code in _COORDINATOR_BUSY:
                reply.again[group_id] = broker_error(item.error_code)
                return
            found[TopicPartition(topic.name, item.partition_index)] = Outcome(None, error_of(item.error_code))
    reply.completed[group_id] = answered(wanted, found, reply.node)
