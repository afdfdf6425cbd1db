"""The groups of this broker, and their log. All parts of the group coordinator use this module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafka_tools.broker_embedded.coordinators.classic.classic_records import group_record
from kafka_tools.broker_embedded.coordinators.classic.group import ClassicGroup
from kafka_tools.broker_embedded.coordinators.consumer.consumer_replay import replay
from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.group import G, Group, Members, of_type
from kafka_tools.broker_embedded.coordinators.loading import Loading
from kafka_tools.broker_embedded.coordinators.runtime import (
    GROUP_CODES,
    CoordinatorLog,
    CoordinatorRecord,
    Runtime,
    mapped_errors,
    partition_for,
)
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, whole
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_OFFSETS
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored import consumer_group, group_metadata, offset_commit
from kafka_tools.protocol.stored.offset_commit import OffsetCommitValue

KEYS: dict[int, type[Stored]] = {**offset_commit.KEYS, **group_metadata.KEYS, **consumer_group.KEYS}
VALUES: dict[int, type[Stored]] = {
    **offset_commit.VALUES,
    **group_metadata.VALUES,
    **consumer_group.VALUES,
    0: OffsetCommitValue,
}
"""Record type -> struct. Types 0 and 1 share their value; records of type 0 have its version 0."""
_DAMAGED = "The groups in %s are not served until it is repaired (kafka-tools broker mend)"


class GroupStore:
    """``groups`` by id. A change takes effect after its records are written.

    ``members``: the owners of sessions, by group type.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.log = CoordinatorLog(runtime, CONSUMER_OFFSETS, "offsets.topic.compression.codec")
        self.loading = Loading(self.log, KEYS, VALUES, runtime.background, _DAMAGED)
        self.groups: dict[str, Group] = {}
        self.members: dict[str, Members] = {}

    def find(self, group_id: str) -> Group | None:
        """The group of this id, of any type. BrokerError while its partition is loading, or if it is damaged."""
        self.loading.check(group_id)
        return self.groups.get(group_id)

    def find_as(self, kind: type[G], group_id: str) -> G | None:
        """Like ``find``; None for a group of another type."""
        return of_type(self.find(group_id), kind)

    def existing(self, kind: type[G], group_id: str) -> G:
        """Like ``find_as``; BrokerError GROUP_ID_NOT_FOUND instead of None."""
        group = self.find(group_id)
        found = of_type(group, kind)
        if found is None:
            problem = "not found" if group is None else f"is not a {kind.type} group"
            raise error_for(error_codes.GROUP_ID_NOT_FOUND, f"Group {group_id} {problem}.")
        return found

    def seen(self, group_id: str) -> object:
        """A value that changes with every change of the group of this id."""
        group = self.groups.get(group_id)
        return group, None if group is None else group.stamp

    def holds(self, group: Group) -> bool:
        """Whether the store still contains this group. Timers check this before they act."""
        return self.groups.get(group.id) is group

    def create(self, group_id: str) -> ClassicGroup:
        """Create an empty classic group and write it. It replaces a group of another type without members.

        BrokerError if the write fails.
        """
        former = self.find(group_id)
        group = ClassicGroup(group_id, self.runtime.now_ms())
        self.write(group_id, [*(() if former is None else former.tombstones()), group_record(group, {})])
        self.groups[group_id] = group
        return group

    def create_simple(self, group_id: str) -> ClassicGroup:
        """Create a group that only commits. The log contains only its offsets."""
        group = self.groups[group_id] = ClassicGroup(group_id, self.runtime.now_ms())
        return group

    def ensured(self) -> Work[None]:
        """Create the log if it is missing. BrokerError with the code for a member if that fails."""
        with mapped_errors(GROUP_CODES):
            yield from self.log.ensured()

    def partition(self, group_id: str) -> int:
        """The partition of ``__consumer_offsets`` that contains the group."""
        return partition_for(group_id, self.log.partitions)

    def write(self, group_id: str, records: Sequence[CoordinatorRecord]) -> None:
        """Append records of one group. BrokerError with the code for a member."""
        with mapped_errors(GROUP_CODES):
            self.write_batch(group_id, whole(self.log.batch_of(records)))

    def batch_of(self, records: Iterable[CoordinatorRecord], producer: tuple[int, int] | None = None) -> Work[bytes]:
        """Build the batch of many records of one group for ``write_batch``, in slices. Create a missing log first.

        BrokerError MESSAGE_TOO_LARGE, or the error of creating the log.
        """
        yield from self.log.ensured()
        return (yield from self.log.batch_of(records, producer))

    def write_batch(self, group_id: str, batch: bytes, *, producer: tuple[int, int] | None = None) -> None:
        """Append a batch of ``batch_of``. With ``producer`` (id, epoch), it is part of the producer's transaction.

        BrokerError with the code of the failed append.
        """
        if not self.log.partitions:
            raise error_for(error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"{self.log.topic} does not exist")
        self.log.append_batch(self.partition(group_id), batch, producer=producer)

    # changes of consumer groups

    def change_of(self, records: Sequence[CoordinatorRecord]) -> Work[bytes | None]:
        """Build the batch of a change of a consumer group for ``commit``, in slices; None without records.

        BrokerError with the code for a member.
        """
        if not records:
            return None
        with mapped_errors(GROUP_CODES):
            return (yield from self.log.batch_of(records))

    def write_change(self, group_id: str, batch: bytes) -> None:
        """Append a batch of ``change_of``; the caller applies the change. BrokerError with the code for a member."""
        with mapped_errors(GROUP_CODES):
            self.write_batch(group_id, batch)

    def commit(self, group_id: str, records: Sequence[CoordinatorRecord], batch: bytes | None = None) -> None:
        """Write a change of a consumer group, then apply it. ``batch``: the result of ``change_of`` for the records.

        BrokerError with the code for a member; then nothing is applied.
        """
        batch = whole(self.change_of(records)) if batch is None else batch
        if batch is None:
            return
        self.write_change(group_id, batch)
        for record in records:
            replay(self.groups, record.key, record.value, record.read)

    def group_of(self, group_id: str, records: Iterable[CoordinatorRecord]) -> Work[ConsumerGroup | None]:
        """Build a new consumer group from records, in slices. The caller writes the records and adds the group."""
        made: dict[str, Group] = {}
        for record in records:
            yield
            replay(made, record.key, record.value, record.read)
        return of_type(made.get(group_id), ConsumerGroup)
