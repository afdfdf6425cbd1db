"""The groups of this broker, and the log that keeps them: the base of every part of the group coordinator."""

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
"""Record type -> struct. Types 0 and 1 share their value: version 0 of it is what type 0 wrote."""
_DAMAGED = "The groups in %s are not served until it is repaired (kafka-tools broker mend)"


class GroupStore:
    """``groups`` by id. A group is written before it holds. ``members``: the owners of sessions, by type of group."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.log = CoordinatorLog(runtime, CONSUMER_OFFSETS, "offsets.topic.compression.codec")
        self.loading = Loading(self.log, KEYS, VALUES, runtime.background, _DAMAGED)
        self.groups: dict[str, Group] = {}
        self.members: dict[str, Members] = {}

    def find(self, group_id: str) -> Group | None:
        """The group of this id, of any type. BrokerError while its part of the log is not read, or cannot be."""
        self.loading.check(group_id)
        return self.groups.get(group_id)

    def find_as(self, kind: type[G], group_id: str) -> G | None:
        """As ``find``, if it is a group of this type."""
        return of_type(self.find(group_id), kind)

    def existing(self, kind: type[G], group_id: str) -> G:
        """As ``find_as``; BrokerError GROUP_ID_NOT_FOUND for any other."""
        group = self.find(group_id)
        found = of_type(group, kind)
        if found is None:
            problem = "not found" if group is None else f"is not a {kind.type} group"
            raise error_for(error_codes.GROUP_ID_NOT_FOUND, f"Group {group_id} {problem}.")
        return found

    def seen(self, group_id: str) -> object:
        """A value that changes whenever the group of this id does."""
        group = self.groups.get(group_id)
        return group, None if group is None else group.stamp

    def holds(self, group: Group) -> bool:
        """Whether the group is still this coordinator's: timers ask before they act."""
        return self.groups.get(group.id) is group

    def create(self, group_id: str) -> ClassicGroup:
        """A new, empty group, in the log already, where a group of another type without members makes way for it.

        BrokerError if it cannot be written.
        """
        former = self.find(group_id)
        group = ClassicGroup(group_id, self.runtime.now_ms())
        self.write(group_id, [*(() if former is None else former.tombstones()), group_record(group, {})])
        self.groups[group_id] = group
        return group

    def create_simple(self, group_id: str) -> ClassicGroup:
        """A group that only commits: its offsets are all there is in the log."""
        group = self.groups[group_id] = ClassicGroup(group_id, self.runtime.now_ms())
        return group

    def ensured(self) -> Work[None]:
        """Create the log if there is none. BrokerError with the code for a member if it cannot be created."""
        with mapped_errors(GROUP_CODES):
            yield from self.log.ensured()

    def partition(self, group_id: str) -> int:
        """The partition of ``__consumer_offsets`` that holds the group."""
        return partition_for(group_id, self.log.partitions)

    def write(self, group_id: str, records: Sequence[CoordinatorRecord]) -> None:
        """Append records of one group. BrokerError with the code for a member."""
        with mapped_errors(GROUP_CODES):
            self.write_batch(group_id, whole(self.log.batch_of(records)))

    def batch_of(self, records: Iterable[CoordinatorRecord], producer: tuple[int, int] | None = None) -> Work[bytes]:
        """The batch of many records of one group, in slices, for ``write_batch``, and the log if there is none.

        BrokerError MESSAGE_TOO_LARGE, or why there is no log.
        """
        yield from self.log.ensured()
        return (yield from self.log.batch_of(records, producer))

    def write_batch(self, group_id: str, batch: bytes, *, producer: tuple[int, int] | None = None) -> None:
        """Append what ``batch_of`` has made, as part of the transaction of ``producer`` (id, epoch) if one is given.

        BrokerError with the code of the failed append.
        """
        if not self.log.partitions:
            raise error_for(error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"{self.log.topic} does not exist")
        self.log.append_batch(self.partition(group_id), batch, producer=producer)

    # changes of consumer groups

    def change_of(self, records: Sequence[CoordinatorRecord]) -> Work[bytes | None]:
        """The batch of a change of a consumer group, in slices, for ``commit``; None for none. Raises as it does."""
        if not records:
            return None
        with mapped_errors(GROUP_CODES):
            return (yield from self.log.batch_of(records))

    def write_change(self, group_id: str, batch: bytes) -> None:
        """Append what ``change_of`` has made: who asks makes it hold. BrokerError with the code for a member."""
        with mapped_errors(GROUP_CODES):
            self.write_batch(group_id, batch)

    def commit(self, group_id: str, records: Sequence[CoordinatorRecord], batch: bytes | None = None) -> None:
        """Write a change of a consumer group and make it hold. BrokerError with the code for a member: it does not.

        ``batch``: what ``change_of`` made of the records.
        """
        batch = whole(self.change_of(records)) if batch is None else batch
        if batch is None:
            return
        self.write_change(group_id, batch)
        for record in records:
            replay(self.groups, record.key, record.value, record.read)

    def group_of(self, group_id: str, records: Iterable[CoordinatorRecord]) -> Work[ConsumerGroup | None]:
        """The consumer group that records make from nothing, in slices: it holds once its maker has written them."""
        made: dict[str, Group] = {}
        for record in records:
            yield
            replay(made, record.key, record.value, record.read)
        return of_type(made.get(group_id), ConsumerGroup)
