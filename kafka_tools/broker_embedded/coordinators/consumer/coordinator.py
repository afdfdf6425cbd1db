"""Consumer groups: the coordinator's part of KIP-848.

A heartbeat contains the subscription of a member and its partitions. The coordinator decides on the present state,
writes one batch of records, then applies it. Follows ``GroupMetadataManager`` (Kafka
4.3.1) in the order of its checks.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from kafka_tools.broker_embedded.coordinators.consumer.consumer_records import current_record, long_record
from kafka_tools.broker_embedded.coordinators.consumer.expressions import MayDescribe
from kafka_tools.broker_embedded.coordinators.consumer.fencing import Fencing, Leaving
from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.consumer.group_topics import GroupTopics
from kafka_tools.broker_embedded.coordinators.consumer.heartbeat_checks import (
    check_epoch,
    check_heartbeat,
    check_instance,
    check_room,
)
from kafka_tools.broker_embedded.coordinators.consumer.member import (
    JOINING_EPOCH,
    LEAVING_EPOCH,
    STATIC_LEAVING_EPOCH,
    UNREVOKED_PARTITIONS,
    ConsumerMember,
    Partitions,
)
from kafka_tools.broker_embedded.coordinators.consumer.member_timers import SESSION
from kafka_tools.broker_embedded.coordinators.consumer.migration import Migration
from kafka_tools.broker_embedded.coordinators.consumer.settings import ConsumerGroupSettings
from kafka_tools.broker_embedded.coordinators.consumer.steps import GroupStep, MemberRequest, Steps
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol.messages import consumer_group_heartbeat
from kafka_tools.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafka_tools.values import uuid_text

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.classic.rebalances import Rebalances
    from kafka_tools.broker_embedded.coordinators.group_store import GroupStore
    from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord

log = logging.getLogger(__name__)


class ConsumerGroups:
    """``heartbeat`` serves the only request of the protocol; ``steps`` is shared with the classic JoinGroup."""

    def __init__(self, store: GroupStore, rebalances: Rebalances) -> None:
        self.store = store
        self.topics = topics = GroupTopics(store)
        self.settings = settings = ConsumerGroupSettings(store.runtime)
        self.migration = Migration(store, topics, settings)
        self.fencing = Fencing(store, topics, self.migration, rebalances)
        self.steps = Steps(store, topics, settings, self.fencing, rebalances)
        store.members[ConsumerGroup.type] = self

    # ConsumerGroupHeartbeat

    def heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        version: int,
        client_id: str,
        client_host: str,
        may_describe: MayDescribe,
    ) -> Work[ConsumerGroupHeartbeatResponse]:
        """Join, stay or leave. BrokerError with the member's error code."""
        check_heartbeat(request, version, self.settings.assignors)
        if request.member_epoch in (LEAVING_EPOCH, STATIC_LEAVING_EPOCH):
            return (yield from self._leave(request))
        yield from self.store.ensured()
        member_id = request.member_id or new_member_id()

        def wanted(member: ConsumerMember) -> ConsumerMember:
            names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
            timeout_ms = request.rebalance_timeout_ms
            return member._replace(
                instance_id=_given(request.instance_id, member.instance_id),
                rack_id=_given(request.rack_id, member.rack_id),
                rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
                assignor=_given(request.server_assignor, member.assignor),
                topics=member.topics if names is None else frozenset(names),
                regex=_given(regex, member.regex),
                client_id=client_id,
                client_host=client_host,
                classic=None,
            )

        owned = None if request.topic_partitions is None else owned_partitions(request.topic_partitions)
        asked = MemberRequest(
            request.group_id, member_id, request.member_epoch, request.instance_id, owned, wanted, may_describe
        )
        step = yield from self.steps.take(asked.group_id, lambda: self._heartbeat_step(asked, request.member_id))
        yield from self.steps.commit(step)
        group_id, member = request.group_id, step.member
        self.fencing.expect(SESSION, group_id, member.id, self.settings.bounded(group_id, "session.timeout.ms"))
        response = ConsumerGroupHeartbeatResponse(
            member_id=member.id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=self.settings.bounded(group_id, "heartbeat.interval.ms"),
        )
        is_full = (
            request.rebalance_timeout_ms != -1
            and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
            and owned is not None
        )
        if request.member_epoch == JOINING_EPOCH or is_full or member.assigned != step.before.assigned:
            response.assignment = yield from _assignment(member)
        return response

    def _heartbeat_step(self, asked: MemberRequest, given_id: str) -> Work[GroupStep]:
        records: list[CoordinatorRecord] = []
        joins = asked.epoch == JOINING_EPOCH
        group = yield from self.migration.group_for(asked.group_id, joins, records)
        check_room(group, given_id, self.store.runtime.integer("group.consumer.max.size"))
        if asked.instance_id is None:
            found = group.members.get(asked.member_id)
            member = ConsumerMember(asked.member_id) if found is None and joins else group.member(asked.member_id)
            check_epoch(member, asked.epoch, asked.owned)
        else:
            member = yield from self.steps.static_member(group, asked, joins, False, records)
            if not joins:
                check_epoch(member, asked.epoch, asked.owned)
        return (yield from self.steps.advance(asked, group, member, records, resolved_only=True))

    def _leave(self, request: ConsumerGroupHeartbeatRequest) -> Work[ConsumerGroupHeartbeatResponse]:
        group, member = self._leaving(request)
        if request.instance_id is not None and request.member_epoch == STATIC_LEAVING_EPOCH:
            step = yield from self.steps.take(group.id, lambda: self._away_step(*self._leaving(request)))
            yield from self.steps.commit(step)
        else:
            log.info("group %s: member %s leaves", group.id, member.id)
            yield from self.fencing.fence(group.id, lambda: self._gone(request))
        return ConsumerGroupHeartbeatResponse(member_id=member.id, member_epoch=request.member_epoch)

    def _gone(self, request: ConsumerGroupHeartbeatRequest) -> Leaving:
        group, member = self._leaving(request)
        return group, [member]

    def _leaving(self, request: ConsumerGroupHeartbeatRequest) -> tuple[ConsumerGroup, ConsumerMember]:
        group = self.store.existing(ConsumerGroup, request.group_id)
        instance_id = request.instance_id
        if instance_id is None:
            return group, group.member(request.member_id)
        return group, check_instance(group.static_member(instance_id), request.member_id, instance_id)

    def _away_step(self, group: ConsumerGroup, member: ConsumerMember) -> Work[GroupStep]:
        """A static member leaves temporarily: its partitions stay reserved until its session expires."""
        assigned = {}
        for topic_id, numbers in member.assigned.items():
            yield
            assigned[topic_id] = dict.fromkeys(numbers, 0)
        left = member._replace(epoch=STATIC_LEAVING_EPOCH, assigned=assigned, revoking={})
        record = yield from long_record(lambda: current_record(group.id, left), len(assigned))
        return GroupStep(group, group.epoch, member, left, [record], [])

    def loaded(self, group: ConsumerGroup) -> None:
        """After a start, every member has one session timeout to return."""
        timeout_ms = self.settings.bounded(group.id, "session.timeout.ms")
        for member in group.members.values():
            self.fencing.expect(SESSION, group.id, member.id, timeout_ms)
            if member.state == UNREVOKED_PARTITIONS:
                self.fencing.expect_revocation(group.id, member)

    def committed(self, group: ConsumerGroup, member_id: str) -> None:
        """Do nothing: only heartbeats extend a session."""

    def ended(self, group: ConsumerGroup) -> None:
        """Cancel the deadlines of its members."""
        self.fencing.deadlines.cancel_group(group.id)


def new_member_id() -> str:
    """A new id for a member that sent none."""
    return uuid_text(uuid4())


def owned_partitions(
    topics: Collection[consumer_group_heartbeat.ConsumerGroupHeartbeatRequest.TopicPartitions],
) -> Partitions:
    """The partitions that a member reports as its own."""
    owned: dict[UUID, frozenset[int]] = {}
    for each in topics:
        owned[each.topic_id] = owned.get(each.topic_id, frozenset()) | frozenset(each.partitions)
    return owned


def _given(new: str | None, old: str | None) -> str | None:
    return old if new is None else new


def _assignment(member: ConsumerMember) -> Work[ConsumerGroupHeartbeatResponse.Assignment]:
    topics = []
    for topic_id, numbers in member.assigned.items():
        yield
        topics.append(consumer_group_heartbeat.TopicPartitions(topic_id=topic_id, partitions=sorted(numbers)))
    return ConsumerGroupHeartbeatResponse.Assignment(topic_partitions=topics)
