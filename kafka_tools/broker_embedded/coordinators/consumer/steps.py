"""One step of a consumer group: a request of a member of either protocol, and the resulting change of the group.

A step is decided on the present state, written as one batch of records, then applied. The target of a large group takes
several slices. If the group changes meanwhile, the step starts again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.broker_embedded.coordinators.classic.group import ClassicGroup
from kafka_tools.broker_embedded.coordinators.consumer.consumer_records import (
    current_record,
    epoch_record,
    long_record,
    member_record,
    member_tombstones,
    partition_metadata_tombstone,
    target_record,
)
from kafka_tools.broker_embedded.coordinators.consumer.expressions import (
    CHANGED_AND_RESOLVED,
    SAME,
    Expressions,
    MayDescribe,
)
from kafka_tools.broker_embedded.coordinators.consumer.fencing import Fencing
from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.consumer.heartbeat_checks import check_instance, check_released
from kafka_tools.broker_embedded.coordinators.consumer.member import (
    UNREVOKED_PARTITIONS,
    ConsumerMember,
    MemberTarget,
    Partitions,
    Subscribed,
    reconciled,
)
from kafka_tools.broker_embedded.coordinators.consumer.member_timers import REBALANCE, SESSION
from kafka_tools.broker_embedded.coordinators.consumer.targets import Targets
from kafka_tools.broker_embedded.slices import Work, shielded

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.classic.rebalances import Rebalances
    from kafka_tools.broker_embedded.coordinators.consumer.group_topics import GroupTopics
    from kafka_tools.broker_embedded.coordinators.consumer.settings import ConsumerGroupSettings
    from kafka_tools.broker_embedded.coordinators.group_store import GroupStore
    from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord


class MemberRequest(NamedTuple):
    """The request of a member of either protocol. ``owned``: its partitions, None if unchanged.

    ``wanted`` returns the changed member for the present one, without a new assignment.
    """

    group_id: str
    member_id: str
    epoch: int
    instance_id: str | None
    owned: Partitions | None
    wanted: Callable[[ConsumerMember], ConsumerMember]
    may_describe: MayDescribe


class GroupStep(NamedTuple):
    """The change of a group and its member by a request. ``then`` is called after it is written.

    ``epoch``: the group's new epoch. ``batch``: the encoded records. ``made``: the group built from the records, if it
    is new. ``classic``: the classic group, if the records convert the group.
    """

    group: ConsumerGroup
    epoch: int
    before: ConsumerMember
    member: ConsumerMember
    records: list[CoordinatorRecord]
    then: list[Callable[[], None]]
    batch: bytes | None = None
    made: ConsumerGroup | None = None
    classic: ClassicGroup | None = None


class Steps:
    """``take`` decides a step, ``commit`` writes and applies it."""

    def __init__(
        self,
        store: GroupStore,
        topics: GroupTopics,
        settings: ConsumerGroupSettings,
        fencing: Fencing,
        rebalances: Rebalances,
    ) -> None:
        self._store = store
        self._topics = topics
        self._expressions = Expressions(store, topics)
        self._targets = Targets(store.runtime, topics, settings)
        self._fencing = fencing
        self._rebalances = rebalances

    def take(self, group_id: str, begin: Callable[[], Work[GroupStep]]) -> Work[GroupStep]:
        """Decide a step on an unchanged group. If the group or topics change meanwhile, the step starts again.

        This applies also to a failed step, since it may have seen an inconsistent state.
        """
        return self._topics.undisturbed(group_id, lambda: self._written(begin))

    def _written(self, begin: Callable[[], Work[GroupStep]]) -> Work[GroupStep]:
        """A step with the batch of its records, ready to be written."""
        step = yield from begin()
        step = step._replace(batch=(yield from self._store.change_of(step.records)))
        if not self._store.holds(step.group):
            step = step._replace(made=(yield from self._store.group_of(step.group.id, step.records)))
        return step

    @shielded
    def commit(self, step: GroupStep) -> Work[None]:
        """Write a step, then apply it. After a BrokerError, nothing has changed.

        The step takes effect immediately. Only the responses to parked requests of a former classic group, and the
        sessions of its members, follow in slices.
        """
        group_id, made = step.group.id, step.made
        former = self._store.find_as(ClassicGroup, group_id)
        if made is None:
            self._store.commit(group_id, step.records, step.batch)
        else:
            assert step.batch is not None
            self._store.write_change(group_id, step.batch)
            self._store.groups[group_id] = made
        for do in step.then:
            do()
        if made is not None and former is not None:
            yield from self._rebalances.converted(former)
            for member in step.group.members.values():
                yield
                assert member.classic is not None
                if self._store.holds(made) and member.id in made.members:
                    self._fencing.expect(SESSION, group_id, member.id, member.classic.session_timeout_ms, once=True)

    def static_member(
        self,
        group: ConsumerGroup,
        asked: MemberRequest,
        joins: bool,
        is_classic: bool,
        records: list[CoordinatorRecord],
    ) -> Work[ConsumerMember]:
        """The member with the instance id. If it joins, a new member, or one that replaces the present member."""
        assert asked.instance_id is not None
        present = group.static_member(asked.instance_id)
        if not joins:
            return check_instance(present, asked.member_id, asked.instance_id)
        if present is None:
            return group.members.get(asked.member_id, ConsumerMember(asked.member_id))
        if not is_classic and present.classic is None:
            check_released(present, asked.member_id, asked.instance_id)
        member = present._replace(id=asked.member_id, epoch=0, previous_epoch=0)
        records += member_tombstones(group.id, present.id)
        records.append(member_record(group.id, member))
        target = group.targets.get(present.id, {})
        records.append((yield from long_record(lambda: target_record(group.id, member.id, target), len(target))))
        records.append((yield from long_record(lambda: current_record(group.id, member), len(member.assigned))))
        return member

    def advance(
        self,
        asked: MemberRequest,
        group: ConsumerGroup,
        before: ConsumerMember,
        records: list[CoordinatorRecord],
        *,
        resolved_only: bool,
        downgrades: bool = False,
    ) -> Work[GroupStep]:
        """The member with what it reads now, the group's next epoch and target, and what the member gets of it.

        ``resolved_only``: another expression counts once it is known what it matches.
        """
        member = asked.wanted(before)
        then: list[Callable[[], None]] = []
        present = group.static_member(asked.instance_id)
        if present is not None and present.id != member.id:
            then.append(lambda: self._fencing.deadlines.cancel(group.id, present.id))
        if member != before:
            records.append(member_record(group.id, member))
        names_changed = member.topics != before.topics
        regex, begin = self._expressions.update(group, before, member, asked.may_describe, records)
        if begin is not None:
            then.append(begin)
        bumps = names_changed or (regex == CHANGED_AND_RESOLVED if resolved_only else regex != SAME)
        reading, epoch = group.reading, group.epoch
        serial = self._topics.serial
        if bumps or group.refreshed_epoch > epoch or self._topics.has_changed(reading.topics, group.refreshed_at):
            reading = group.reading_with(before, member)
            for name in reading.topics:
                yield
                self._topics.prepare(name)
            metadata_hash = self._topics.hash_of(reading.topics)
            if bumps or metadata_hash != group.metadata_hash:
                epoch += 1
                records.append(epoch_record(group.id, epoch, metadata_hash))
            if group.has_partition_metadata:
                records.append(partition_metadata_tombstone(group.id))
            then.append(lambda: self._refreshed(group.id, serial, epoch))
        changed = names_changed or regex != SAME
        if downgrades and group.target_epoch < epoch:
            return GroupStep(group, epoch, before, member, records, then)
        if downgrades:
            target = group.target_of(member)
        else:
            target = yield from self._targets.update(group, epoch, before, member, records)
        member = yield from self._reconcile(asked, group, member, target, changed, records, then)
        return GroupStep(group, epoch, before, member, records, then)

    def _reconcile(
        self,
        asked: MemberRequest,
        group: ConsumerGroup,
        member: ConsumerMember,
        target: MemberTarget,
        changed: bool,
        records: list[CoordinatorRecord],
        then: list[Callable[[], None]],
    ) -> Work[ConsumerMember]:
        if not changed and member.is_reconciled(target.epoch):
            return member
        names = group.topics_of(member)
        yield
        subscribed = Subscribed(names, (yield from self._topics.ids(names)))
        after = yield from reconciled(member, target, asked.owned, subscribed, changed, group.partition_epoch)
        if after != member:
            yield
            topics = len(after.assigned) + len(after.revoking)
            records.append((yield from long_record(lambda: current_record(group.id, after), topics)))
            if after.classic is None and after.state == UNREVOKED_PARTITIONS:
                then.append(lambda: self._fencing.expect_revocation(group.id, after))
            elif after.classic is None:
                then.append(lambda: self._fencing.deadlines.cancel(group.id, after.id, REBALANCE))
        return after

    def _refreshed(self, group_id: str, serial: int, epoch: int) -> None:
        group = self._store.find_as(ConsumerGroup, group_id)
        if group is not None:
            group.refreshed_at, group.refreshed_epoch = serial, epoch
