"""Members of the classic protocol in a consumer group: JoinGroup, SyncGroup, Heartbeat and LeaveGroup (KIP-848).

To them a rebalance looks as usual, but there is no leader and no member waits for others: the coordinator assigns
partitions. A member epoch is their generation. Follows the ``...ToConsumerGroup`` methods of Kafka's
``GroupMetadataManager``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from kafka_tools.broker_embedded.coordinators.consumer.coordinator import ConsumerGroups, new_member_id
from kafka_tools.broker_embedded.coordinators.consumer.fencing import Leaving
from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.consumer.heartbeat_checks import check_room, check_same
from kafka_tools.broker_embedded.coordinators.consumer.member import (
    LEAVING_EPOCH,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    ClassicSide,
    ConsumerMember,
)
from kafka_tools.broker_embedded.coordinators.consumer.member_timers import JOIN, SESSION, SYNC
from kafka_tools.broker_embedded.coordinators.consumer.migration import decoded
from kafka_tools.broker_embedded.coordinators.consumer.steps import GroupStep, MemberRequest
from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError, WireError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_PROTOCOL_TYPE
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolSubscription

log = logging.getLogger(__name__)

MEMBER_ID_REQUIRED_FROM = 4
"""Version of JoinGroup (KIP-394)."""
_STALE = "the assignment of its members for their current subscriptions is unknown"


class ClassicMembers:
    """The classic requests to consumer groups that have members. ``groups`` has the logic that both protocols share."""

    def __init__(self, groups: ConsumerGroups) -> None:
        self._groups = groups
        self._store = groups.store
        self._fencing = groups.fencing
        self._migration = groups.migration

    # JoinGroup

    def join(
        self, group_id: str, request: JoinGroupRequest, version: int, client_id: str, client_host: str
    ) -> Work[JoinGroupResponse]:
        """Join or rejoin, without waiting for other members. BrokerError with the member's error code."""
        settings = self._groups.settings
        group = self._store.existing(ConsumerGroup, group_id)
        if not settings.may_mix:
            raise error_for(
                error_codes.INCONSISTENT_GROUP_PROTOCOL,
                f"Cannot join the consumer group {group_id} with the classic protocol because the group migration is "
                "disabled.",
            )
        member_id = request.member_id or new_member_id()
        check_room(group, member_id, self._store.runtime.integer("group.consumer.max.size"))
        if not group.supports(request.protocol_type, [each.name for each in request.protocols]):
            raise error_for(
                error_codes.INCONSISTENT_GROUP_PROTOCOL, f"Member {member_id}'s protocols are not supported."
            )
        is_dynamic = request.group_instance_id is None
        if version >= MEMBER_ID_REQUIRED_FROM and is_dynamic and not request.member_id:
            return JoinGroupResponse(error_code=error_codes.MEMBER_ID_REQUIRED, member_id=member_id, protocol_name=None)
        subscription = yield from _subscription(request)
        asked = MemberRequest(
            group_id,
            member_id,
            LEAVING_EPOCH,
            request.group_instance_id,
            (yield from self._migration.partitions_of(subscription.owned_partitions)),
            _wanted(request, version, client_id, client_host, subscription),
            lambda _: True,
        )
        step = yield from self._groups.steps.take(group_id, lambda: self._step(asked, not request.member_id))
        member = step.member
        assert member.classic is not None
        if step.classic is not None:
            stale = step.group.target_epoch < step.epoch
            yield from self._fencing.become_classic(step.group, step.classic, step.batch, _STALE if stale else None)
        else:
            yield from self._groups.steps.commit(step)
            self._fencing.expect(SESSION, group_id, member.id, request.session_timeout_ms)
            self._fencing.expect(SYNC, group_id, member.id, member.rebalance_timeout_ms)
        self._fencing.deadlines.cancel(group_id, member.id, JOIN)
        return JoinGroupResponse(
            member_id=member.id,
            generation_id=member.epoch,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocol_name=member.classic.protocols[0][0],
        )

    def _step(self, asked: MemberRequest, is_new: bool) -> Work[GroupStep]:
        group = self._store.existing(ConsumerGroup, asked.group_id)
        records: list[CoordinatorRecord] = []
        if asked.instance_id is None:
            member = group.members.get(asked.member_id, ConsumerMember(asked.member_id))
        else:
            member = yield from self._groups.steps.static_member(group, asked, is_new, True, records)
        replaced = group.static_member(asked.instance_id)
        downgrades = replaced is not None and self._migration.downgrades_with(group, replaced)
        step = yield from self._groups.steps.advance(
            asked, group, member, records, resolved_only=False, downgrades=downgrades
        )
        if not downgrades:
            return step
        now_ms = self._store.runtime.now_ms()
        classic, more = yield from self._migration.downgraded(group, (), step.member, now_ms)
        return step._replace(classic=classic, records=[*step.records, *more])

    # SyncGroup, Heartbeat, LeaveGroup

    def sync(self, group: ConsumerGroup, request: SyncGroupRequest) -> Work[SyncGroupResponse]:
        """The assignment of a member. BrokerError with the member's error code."""
        member, classic = self._member(group, request.member_id, request.group_instance_id)
        _check_generation(member, request.generation_id)
        _check_protocol(member, classic, request)
        if group.target_epoch > member.epoch and member.state != UNREVOKED_PARTITIONS:
            self._fencing.expect(JOIN, group.id, member.id, member.rebalance_timeout_ms, once=True)
            raise error_for(
                error_codes.REBALANCE_IN_PROGRESS,
                f"A new rebalance is triggered in group {group.id} and member {member.id} should rejoin to catch up.",
            )
        self._fencing.deadlines.cancel(group.id, member.id, SYNC)
        self._fencing.expect(SESSION, group.id, member.id, classic.session_timeout_ms)
        return SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=(yield from self._migration.assignment_bytes(member.assigned, classic.protocols[0][1])),
        )

    def heartbeat(self, group: ConsumerGroup, request: HeartbeatRequest) -> int:
        """Extend a member's session; returns REBALANCE_IN_PROGRESS if the member must rejoin.

        BrokerError with the member's error code.
        """
        member, classic = self._member(group, request.member_id, request.group_instance_id)
        _check_generation(member, request.generation_id)
        self._fencing.expect(SESSION, group.id, member.id, classic.session_timeout_ms)
        if (
            member.epoch < group.target_epoch
            or member.state == UNREVOKED_PARTITIONS
            or (member.state == UNRELEASED_PARTITIONS and not group.waits_for_release(member))
        ):
            self._fencing.expect(JOIN, group.id, member.id, member.rebalance_timeout_ms, once=True)
            return error_codes.REBALANCE_IN_PROGRESS
        return error_codes.NONE

    def leave(
        self, group: ConsumerGroup, identities: Collection[LeaveGroupRequest.MemberIdentity]
    ) -> Work[list[int] | None]:
        """Remove members, also those of the consumer protocol; returns an error code for each.

        None if another group has replaced the group meanwhile. BrokerError if the write fails.
        """
        codes: list[int] | None = None

        def leaving() -> Leaving:
            nonlocal codes
            codes = None
            if not self._store.holds(group):
                return None
            codes, members = [], {}
            for identity in identities:
                try:
                    member = self._leaving(group, identity)
                except BrokerError as error:
                    codes.append(error.code.code)
                else:
                    members[member.id] = member
                    codes.append(error_codes.NONE)
            log.info("group %s: members %s leave", group.id, list(members))
            return group, members.values()

        yield from self._fencing.fence(group.id, leaving)
        return codes

    def _leaving(self, group: ConsumerGroup, identity: LeaveGroupRequest.MemberIdentity) -> ConsumerMember:
        if identity.group_instance_id is None:
            return group.member(identity.member_id)
        member = group.static_member(identity.group_instance_id)
        if member is None:
            raise error_for(error_codes.UNKNOWN_MEMBER_ID, f"Instance id {identity.group_instance_id} is unknown.")
        if identity.member_id:
            check_same(member, identity.member_id, identity.group_instance_id)
        return member

    def _member(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None
    ) -> tuple[ConsumerMember, ClassicSide]:
        if instance_id is None:
            member = group.member(member_id)
        else:
            found = group.static_member(instance_id)
            if found is None:
                raise error_for(
                    error_codes.UNKNOWN_MEMBER_ID,
                    f"Member with instance id {instance_id} is not a member of group {group.id}.",
                )
            check_same(found, member_id, instance_id)
            member = found
        if member.classic is None:
            raise error_for(error_codes.UNKNOWN_MEMBER_ID, f"Member {member.id} does not use the classic protocol.")
        return member, member.classic


def _wanted(
    request: JoinGroupRequest,
    version: int,
    client_id: str,
    client_host: str,
    subscription: ConsumerProtocolSubscription,
) -> Callable[[ConsumerMember], ConsumerMember]:
    protocols = tuple((each.name, bytes(each.metadata)) for each in request.protocols)
    timeout_ms = request.rebalance_timeout_ms if version >= 1 else request.session_timeout_ms

    def wanted(member: ConsumerMember) -> ConsumerMember:
        return member._replace(
            instance_id=member.instance_id if request.group_instance_id is None else request.group_instance_id,
            rack_id=subscription.rack_id or member.rack_id,
            rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
            topics=frozenset(subscription.topics),
            regex="",
            client_id=client_id,
            client_host=client_host,
            classic=ClassicSide(request.session_timeout_ms, protocols),
        )

    return wanted


def _subscription(request: JoinGroupRequest) -> Work[ConsumerProtocolSubscription]:
    try:
        return (yield from decoded(ConsumerProtocolSubscription, bytes(request.protocols[0].metadata)))
    except (WireError, ValueError) as error:
        log.warning("cannot read the subscription of a member of group %s: %s", request.group_id, error)
        raise error_for(error_codes.UNKNOWN_SERVER_ERROR) from error


def _check_generation(member: ConsumerMember, generation: int) -> None:
    if member.epoch != generation:
        raise error_for(
            error_codes.ILLEGAL_GENERATION,
            f"The request generation id {generation} is not equal to the member epoch {member.epoch} of member "
            f"{member.id}.",
        )


def _check_protocol(member: ConsumerMember, classic: ClassicSide, request: SyncGroupRequest) -> None:
    name, problem = classic.protocols[0][0], None
    if request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE):
        problem = (
            f"protocol type {request.protocol_type} from member {member.id} request is not equal to the group "
            f"protocol type {CONSUMER_PROTOCOL_TYPE}"
        )
    elif request.protocol_name not in (None, name):
        problem = (
            f"protocol name {request.protocol_name} from member {member.id} request is not equal to the protocol "
            f"name {name} returned in the join response"
        )
    if problem is not None:
        raise error_for(error_codes.INCONSISTENT_GROUP_PROTOCOL, f"The {problem}.")
