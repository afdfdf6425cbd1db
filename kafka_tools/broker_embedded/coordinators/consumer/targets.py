"""The target assignment of a group, computed by an assignor in slices (``TargetAssignmentBuilder``)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from kafka_tools.broker_embedded.coordinators.consumer.assignors import MemberSpec, hash_order, uniform
from kafka_tools.broker_embedded.coordinators.consumer.assignors import range as ranges
from kafka_tools.broker_embedded.coordinators.consumer.consumer_records import (
    long_record,
    target_epoch_record,
    target_record,
)
from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.consumer.member import ConsumerMember, MemberTarget
from kafka_tools.broker_embedded.slices import Work

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.consumer.group_topics import GroupTopics
    from kafka_tools.broker_embedded.coordinators.consumer.settings import ConsumerGroupSettings
    from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord, Runtime


class Targets:
    """Computes the target assignment of a group's epoch."""

    def __init__(self, runtime: Runtime, topics: GroupTopics, settings: ConsumerGroupSettings) -> None:
        self._runtime = runtime
        self._topics = topics
        self._settings = settings

    def update(
        self,
        group: ConsumerGroup,
        epoch: int,
        old: ConsumerMember,
        new: ConsumerMember,
        records: list[CoordinatorRecord],
    ) -> Work[MemberTarget]:
        """The member's target. If the group's target has an older epoch, a new one is added to ``records``.

        This happens at most once per group.consumer.assignment.interval.ms. The check for equal subscriptions includes
        this member. Kafka does not count a member that joins without topics, and may then assign nothing.
        """
        if group.target_epoch >= epoch or not self._is_due(group):
            return group.target_of(new)
        in_order = yield from hash_order.members_of_group(group.members)
        members = {member_id: group.members[member_id] for member_id in in_order if member_id in group.members}
        before = group.static_member(new.instance_id)
        if before is not None and before.id != new.id:
            del members[before.id]
        members[new.id] = new
        specs = {}
        ids: dict[frozenset[str], frozenset[UUID]] = {}
        for member_id, member in members.items():
            yield
            present = group.targets.get(member_id, {})
            if member_id == new.id and before is not None and before.id != new.id:
                present = group.targets.get(before.id, {})
            read = group.topics_of(member)
            if read not in ids:
                ids[read] = yield from self._topics.ids(read)
            specs[member_id] = MemberSpec(ids[read], member.instance_id, present)
        topic_ids = frozenset[UUID]().union(*ids.values())
        counts, names = {}, {}
        for topic_id in topic_ids:
            yield
            topic = self._topics.cluster.topics_by_id.get(topic_id)
            counts[topic_id], names[topic_id] = (0, "") if topic is None else (len(topic.partitions), topic.name)
        assignor = group.preferred_assignor(old, new) or self._settings.assignors[0]
        if assignor == "range":
            assigned = yield from ranges.assign(specs, counts)
        else:
            is_alike = group.reading_with(old, new).is_alike(len(members))
            assigned = yield from uniform.assign(specs, counts, names, is_alike)
        for member_id in specs:
            yield
            target = assigned.get(member_id, {})
            if group.targets.get(member_id) != target:
                made = partial(target_record, group.id, member_id, target)
                records.append((yield from long_record(made, len(target))))
        records.append(target_epoch_record(group.id, epoch, self._runtime.now_ms()))
        return MemberTarget(epoch, assigned.get(new.id, {}))

    def _is_due(self, group: ConsumerGroup) -> bool:
        interval_ms = self._settings.bounded(group.id, "assignment.interval.ms")
        return not group.target_ms or not interval_ms or self._runtime.now_ms() >= group.target_ms + interval_ms
