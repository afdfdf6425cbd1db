"""The groups and offsets of one partition of ``__consumer_offsets``, kept apart until all of it is read."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING
from uuid import UUID

from kafka_tools.broker_embedded.coordinators.classic.classic_records import group_of_value
from kafka_tools.broker_embedded.coordinators.committed_offsets import CommittedOffsets
from kafka_tools.broker_embedded.coordinators.consumer import consumer_replay
from kafka_tools.broker_embedded.coordinators.group import Group
from kafka_tools.broker_embedded.coordinators.offset_records import OffsetCommit, committed_of_value
from kafka_tools.broker_embedded.coordinators.record_checks import check_classic_group, check_consumer_group
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.group_metadata import GroupMetadataKey, GroupMetadataValue
from kafka_tools.protocol.stored.offset_commit import LegacyOffsetCommitKey, OffsetCommitKey, OffsetCommitValue
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.group_store import GroupStore


class ReadGroups:
    """Groups and offsets of one partition. Records that no broker writes raise UnfitRecord and change nothing."""

    def __init__(self, partition: int) -> None:
        self._partition = partition
        self._groups: dict[str, Group] = {}
        self._offsets = CommittedOffsets()
        self._places: dict[TopicPartition, TopicPartition] = {}
        self._topic_ids: dict[UUID, UUID] = {}

    def replay(self, key: Stored, value: Stored | None) -> None:
        if isinstance(key, GroupMetadataKey):
            if value is None:
                self._groups.pop(key.group, None)
            else:
                assert isinstance(value, GroupMetadataValue)
                check_classic_group(value)
                self._groups[key.group] = group_of_value(key.group, value)
        elif isinstance(key, (OffsetCommitKey, LegacyOffsetCommitKey)):
            assert value is None or isinstance(value, OffsetCommitValue)
            at = self._place(key)
            if value is None:
                self._offsets.forget(key.group, (at,))
            else:
                self._offsets.commit(key.group, ((at, self._committed(value)),))
        else:
            if value is not None:
                check_consumer_group(self._groups, key, value)
            consumer_replay.replay(self._groups, key, value)

    def pending(self, producer_id: int, key: Stored, value: Stored | None) -> None:
        if isinstance(key, (OffsetCommitKey, LegacyOffsetCommitKey)) and isinstance(value, OffsetCommitValue):
            self._offsets.open.add(self._partition, producer_id, key.group, self._place(key), self._committed(value))
        else:
            self.replay(key, value)

    def ended(self, producer_id: int, committed: bool) -> Work[None]:
        return self._offsets.transaction_ended(self._partition, producer_id, committed)

    def _place(self, key: OffsetCommitKey | LegacyOffsetCommitKey) -> TopicPartition:
        """The partition of a commit: one shared object for all groups, since there may be very many."""
        at = TopicPartition(key.topic, key.partition)
        return self._places.setdefault(at, at)

    def _committed(self, value: OffsetCommitValue) -> OffsetCommit:
        value.topic_id = self._topic_ids.setdefault(value.topic_id, value.topic_id)
        return committed_of_value(value)


class LoadedGroups(ReadGroups):
    """The groups of one partition, which ``adopt`` moves to the served ``store`` and ``offsets``.

    ``done`` gets the ids of all groups once they are served. If the topic has grown, a partition may contain records of
    a group that now belongs to another one. The records of the group's own partition override them.
    """

    def __init__(
        self,
        partition: int,
        store: GroupStore,
        offsets: CommittedOffsets,
        done: Callable[[Collection[str]], None],
    ) -> None:
        super().__init__(partition)
        self._store = store
        self._served = offsets
        self._done = done
        self._ids: list[str] = []

    def adopt(self) -> Work[None]:
        groups, offsets, store = self._groups, self._offsets, self._store
        for group_id, committed in offsets.by_group.items():
            yield
            self._served.adopt(group_id, committed, newer=self._is_own(group_id))
        yield from self._served.open.adopt(offsets.open)
        for group_id, group in groups.items():
            yield
            if group_id not in store.groups or self._is_own(group_id):
                store.groups[group_id] = group
                store.members[group.type].loaded(group)
        for group_id in offsets.groups():
            yield
            if group_id not in store.groups:
                store.create_simple(group_id)
        self._ids = list({**groups, **dict.fromkeys(offsets.groups())})
        self._groups, self._offsets = store.groups, self._served

    def served(self) -> Work[None]:
        yield
        self._done(self._ids)

    def _is_own(self, group_id: str) -> bool:
        return self._store.partition(group_id) == self._partition
