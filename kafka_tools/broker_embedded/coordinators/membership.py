"""Joining, syncing, heartbeating and leaving: the classic group protocol (KIP-62, 134, 345, 394, 814).

The operations and their order are those of the classic part of Kafka 4's ``GroupMetadataManager``. Here groups
meet timers, the log and parked requests; what a group is stands in ``classic_group``.
"""

from __future__ import annotations

import logging
import uuid
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.classic_group import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    ClassicGroup,
    Member,
    Protocols,
    in_join_version,
)
from kafka_tools.broker_embedded.coordinators.group_records import group_record, response_code_of_group_append
from kafka_tools.broker_embedded.dispatch import refuse
from kafka_tools.broker_embedded.purgatory import Parked
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.groups import Groups

log = logging.getLogger(__name__)

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""How long a member that never got an answer may stay: it cannot heartbeat yet, and its client may be gone."""

MEMBER_ID_REQUIRED_FROM = 4
SKIP_ASSIGNMENT_FROM = 9
"""Versions of JoinGroup (KIP-394, KIP-814)."""


class Membership:
    """The operations on classic groups. ``groups`` holds the groups and writes their records."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._core = groups.core

    # JoinGroup

    def join(
        self, request: JoinGroupRequest, version: int, client_id: str, client_host: str
    ) -> JoinGroupResponse | Parked:
        """Join or rejoin; the answer is parked until the group's members are known."""
        answer = self._join(request, version, client_id, client_host)
        return answer if isinstance(answer, Parked) else in_join_version(answer, version)

    def _join(
        self, request: JoinGroupRequest, version: int, client_id: str, client_host: str
    ) -> JoinGroupResponse | Parked:
        if not request.group_id:
            raise refuse(error_codes.INVALID_GROUP_ID)
        broker = self._core.configs.broker
        shortest, longest = (
            broker.integer("group.min.session.timeout.ms"),
            broker.integer("group.max.session.timeout.ms"),
        )
        if not shortest <= request.session_timeout_ms <= longest:
            raise refuse(error_codes.INVALID_SESSION_TIMEOUT)
        member_id = request.member_id
        group = self._groups.classic(request.group_id)
        if group is None:
            if member_id:
                raise refuse(error_codes.UNKNOWN_MEMBER_ID)
            group = self._groups.create(request.group_id)
        protocols = [(protocol.name, bytes(protocol.metadata)) for protocol in request.protocols]
        if not self._has_room(group, member_id):
            group.remove(member_id)
            self._try_complete_join(group)  # the others may have waited for this one
            return _join_error(error_codes.GROUP_MAX_SIZE_REACHED, "")
        if not group.supports(request.protocol_type, protocols):
            return _join_error(error_codes.INCONSISTENT_GROUP_PROTOCOL, member_id)
        joining = Member(
            member_id,
            instance_id=request.group_instance_id,
            client_id=client_id,
            client_host=client_host,
            rebalance_timeout_ms=request.rebalance_timeout_ms if version >= 1 else request.session_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocol_type=request.protocol_type,
            protocols=protocols,
        )
        joining.join_version = version
        reason = request.reason or "not provided"
        if member_id:
            return self._join_known(group, joining, reason)
        joining.id = f"{joining.instance_id or client_id}-{uuid.uuid4()}"
        return self._join_new(group, joining, version, reason)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        """Whether group.max.size lets this one in. While members rejoin, those that wait already are counted."""
        limit = self._core.configs.broker.integer("group.max.size")
        if group.state == EMPTY:
            return True
        known = group.members.get(member_id)
        if group.state == PREPARING_REBALANCE:
            return (known is not None and known.awaiting_join is not None) or group.awaiting_join_count < limit
        return known is not None or len(group.members) < limit

    def _join_new(self, group: ClassicGroup, joining: Member, version: int, reason: str) -> JoinGroupResponse | Parked:
        if joining.instance_id is not None:
            old_id = group.static_members.get(joining.instance_id)
            if old_id is not None:
                return self._replace_static(group, old_id, joining, version, reason)
        elif version >= MEMBER_ID_REQUIRED_FROM:
            member_id = joining.id
            group.pending_join[member_id] = self._core.timers.call_later(
                joining.session_timeout_ms, lambda: self._expire_pending(group, member_id)
            )
            return _join_error(error_codes.MEMBER_ID_REQUIRED, member_id)
        return self._add(group, joining, reason)

    def _join_known(self, group: ClassicGroup, joining: Member, reason: str) -> JoinGroupResponse | Parked:
        if joining.id in group.pending_join:
            return self._add(group, joining, reason)
        try:
            member = group.check_member(joining.id, joining.instance_id)
        except BrokerError as error:
            return _join_error(error.code.code, joining.id)
        if group.state == EMPTY:
            return _join_error(error_codes.UNKNOWN_MEMBER_ID, joining.id)
        unchanged = member.matches(joining.protocols)
        if unchanged and group.state == COMPLETING_REBALANCE:
            return group.join_response(member)  # its first answer got lost
        if unchanged and group.state == STABLE and group.leader != member.id:
            return group.join_response(member)
        # also the leader of a stable group: topics it reads may have changed
        parked = self._update(group, member, joining.protocols, joining)
        self._rebalance(group, f"member {member.id} joins again; client reason: {reason}")
        return parked

    def _add(self, group: ClassicGroup, joining: Member, reason: str) -> Parked:
        joining.is_new = True
        if group.state == PREPARING_REBALANCE and group.previous_state == EMPTY:
            group.new_member_added = True
        parked = Parked()
        group.add(joining, parked)
        self._expect_heartbeat(group, joining, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._rebalance(group, f"new member {joining.id}; client reason: {reason}")
        return parked

    def _update(self, group: ClassicGroup, member: Member, protocols: Protocols, joining: Member) -> Parked:
        member.protocols = protocols
        member.rebalance_timeout_ms = joining.rebalance_timeout_ms
        member.session_timeout_ms = joining.session_timeout_ms
        member.join_version = joining.join_version
        # an older request of the same member: most likely its connection is gone
        group.answer_join(member, _join_error(error_codes.REBALANCE_IN_PROGRESS, member.id))
        member.awaiting_join = Parked()
        return member.awaiting_join

    def _replace_static(
        self, group: ClassicGroup, old_id: str, joining: Member, version: int, reason: str
    ) -> JoinGroupResponse | Parked:
        """A static member came back without its id: it takes the place of its former self (KIP-345)."""
        former_leader = group.leader
        assert joining.instance_id is not None
        before = group.members[old_id]
        member = group.replace_static(joining.instance_id, old_id, joining.id)
        self._expect_heartbeat(group, member)
        parked = self._update(group, member, joining.protocols, joining)
        if group.state == STABLE:
            if group.select_protocol() != group.protocol:
                self._rebalance(group, f"static member {member.id} changes the group's protocol")
                return parked
            try:
                self._groups.write(group.id, [group_record(group, _assignments(group))])
            except BrokerError as error:
                member.protocols = before.protocols
                member.awaiting_join = None
                restored = group.replace_static(joining.instance_id, joining.id, old_id)
                restored.rebalance_timeout_ms = before.rebalance_timeout_ms
                restored.session_timeout_ms = before.session_timeout_ms
                self._expect_heartbeat(group, restored)
                return _join_error(response_code_of_group_append(error), "")
            if version >= SKIP_ASSIGNMENT_FROM:
                response = group.join_response(member, skip_assignment=group.leader == member.id)
            else:  # told that somebody else leads, so that it does not compute an assignment
                response = group.join_response(member)
                response.leader, response.members = former_leader or "", []
            group.answer_join(member, response)
        elif group.state == COMPLETING_REBALANCE:
            # the leader may be assigning partitions to the old id at this moment
            self._prepare_rebalance(group, f"static member {member.id} replaces {old_id}; client reason: {reason}")
        else:
            self._try_complete_join(group)
        return parked

    # rebalance

    def _rebalance(self, group: ClassicGroup, reason: str) -> None:
        if group.state == PREPARING_REBALANCE:
            self._try_complete_join(group)
        else:
            self._prepare_rebalance(group, reason)

    def _try_complete_join(self, group: ClassicGroup) -> None:
        """End the wait early when everybody is there; the first rebalance of a group waits its delay out."""
        if group.state == PREPARING_REBALANCE and group.previous_state != EMPTY and group.all_joined:
            self._complete_join(group)

    def _prepare_rebalance(self, group: ClassicGroup, reason: str) -> None:
        if group.state == COMPLETING_REBALANCE:
            self._answer_syncs(group, error_codes.REBALANCE_IN_PROGRESS)
        group.pending_sync.clear()
        if group.sync_timer:
            group.sync_timer.cancel()
        initial = group.state == EMPTY
        group.to(PREPARING_REBALANCE, self._core.clock.now_ms())
        log.info("group %s prepares to rebalance, old generation %d: %s", group.id, group.generation, reason)
        if initial:
            delay_ms = self._core.configs.broker.integer("group.initial.rebalance.delay.ms")
            self._wait_for_first(group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        elif group.all_joined:
            self._complete_join(group)
        else:
            self._start_join_timer(group, group.rebalance_timeout_ms)

    def _wait_for_first(self, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        """Collect the members of a new group (KIP-134): each delay in which one came is followed by another."""

        def over() -> None:
            if not self._groups.holds(group):
                return
            if group.new_member_added and remaining_ms:
                group.new_member_added = False
                step_ms = min(self._core.configs.broker.integer("group.initial.rebalance.delay.ms"), remaining_ms)
                self._wait_for_first(group, step_ms, max(remaining_ms - delay_ms, 0))
            else:
                self._complete_join(group)

        if group.join_timer:
            group.join_timer.cancel()
        group.join_timer = self._core.timers.call_later(delay_ms, over)

    def _start_join_timer(self, group: ClassicGroup, delay_ms: int) -> None:
        if group.join_timer:
            group.join_timer.cancel()
        group.join_timer = self._core.timers.call_later(
            delay_ms, lambda: self._complete_join(group) if self._groups.holds(group) else None
        )

    def _complete_join(self, group: ClassicGroup) -> None:
        """The wait is over: drop dynamic members that did not come, begin the next generation, answer the joins."""
        if group.join_timer:
            group.join_timer.cancel()
        for member in list(group.members.values()):
            if member.awaiting_join is None and member.instance_id is None:
                log.info("group %s: member %s did not rejoin in time", group.id, member.id)
                group.remove(member.id)
        if group.members and not group.elect_joined_leader():
            # static members only, none of them back: wait until their sessions end
            self._start_join_timer(group, group.rebalance_timeout_ms)
            return
        group.next_generation(self._core.clock.now_ms())
        if group.state == EMPTY:
            self._write_empty(group)
            return
        for member in list(group.members.values()):
            response = group.join_response(member)
            group.answer_join(member, response)
            self._expect_heartbeat(group, member)
            member.is_new = False
            group.pending_sync.add(member.id)
        generation = group.generation
        group.sync_timer = self._core.timers.call_later(
            group.rebalance_timeout_ms, lambda: self._expire_syncs(group, generation)
        )

    def _write_empty(self, group: ClassicGroup) -> None:
        try:
            self._groups.write(group.id, [group_record(group, {})])
        except BrokerError as error:
            # after a restart the older generation would come back, and its members time out: no harm
            log.warning("group %s: empty generation %d is not written: %s", group.id, group.generation, error)

    def _expire_syncs(self, group: ClassicGroup, generation: int) -> None:
        """Members that joined but never synced are out (KAFKA-10787)."""
        if not self._groups.holds(group) or group.generation != generation or not group.pending_sync:
            return
        if group.state in (COMPLETING_REBALANCE, STABLE):
            late = sorted(group.pending_sync)
            for member_id in late:
                group.remove(member_id)
            self._prepare_rebalance(group, f"members {late} did not sync in time")

    # SyncGroup

    def sync(self, request: SyncGroupRequest) -> SyncGroupResponse | Parked:
        """A member asks for its assignment; the leader brings everybody's."""
        if not request.group_id:
            raise refuse(error_codes.INVALID_GROUP_ID)
        group = self._groups.classic(request.group_id)
        if group is None or group.state == EMPTY:
            raise refuse(error_codes.UNKNOWN_MEMBER_ID)
        member = group.check_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation:
            raise refuse(error_codes.ILLEGAL_GENERATION)
        if _differs(request.protocol_type, group.protocol_type) or _differs(request.protocol_name, group.protocol):
            raise refuse(error_codes.INCONSISTENT_GROUP_PROTOCOL)
        if group.state == PREPARING_REBALANCE:
            raise refuse(error_codes.REBALANCE_IN_PROGRESS)
        self._synced(group, member)
        if group.state == STABLE:
            return _sync_response(group, member)
        group.answer_sync(member, SyncGroupResponse(error_code=error_codes.REBALANCE_IN_PROGRESS))
        parked = member.awaiting_sync = Parked()
        if group.leader == member.id:
            given = {entry.member_id: bytes(entry.assignment) for entry in request.assignments}
            self._take_assignment(group, {member_id: given.get(member_id, b"") for member_id in group.members})
        return parked

    def _synced(self, group: ClassicGroup, member: Member) -> None:
        group.pending_sync.discard(member.id)
        if not group.pending_sync and group.sync_timer:
            group.sync_timer.cancel()

    def _take_assignment(self, group: ClassicGroup, assignment: dict[str, bytes]) -> None:
        try:
            self._groups.write(group.id, [group_record(group, assignment)])
        except BrokerError as error:
            self._answer_syncs(group, response_code_of_group_append(error))
            self._rebalance(group, f"the assignment could not be stored: {error}")
            return
        for member in group.members.values():
            member.assignment = assignment[member.id]
        self._answer_syncs(group, error_codes.NONE)
        group.to(STABLE, self._core.clock.now_ms())

    def _answer_syncs(self, group: ClassicGroup, code: int) -> None:
        for member in group.members.values():
            if code:
                member.assignment = b""
                response = SyncGroupResponse(error_code=code)
            else:
                response = _sync_response(group, member)
            if group.answer_sync(member, response):
                self._expect_heartbeat(group, member)

    # Heartbeat and sessions

    def heartbeat(self, request: HeartbeatRequest) -> int:
        """Keep a member's session; returns the error code of the answer."""
        if not request.group_id:
            raise refuse(error_codes.INVALID_GROUP_ID)
        group = self._groups.classic(request.group_id)
        if group is None:
            raise refuse(error_codes.UNKNOWN_MEMBER_ID)
        member = group.check_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation:
            raise refuse(error_codes.ILLEGAL_GENERATION)
        self._expect_heartbeat(group, member)
        return error_codes.REBALANCE_IN_PROGRESS if group.state == PREPARING_REBALANCE else error_codes.NONE

    def keep_alive(self, group: ClassicGroup, member_id: str) -> None:
        """An offset commit counts as a heartbeat in a stable or rebalancing group."""
        member = group.members.get(member_id)
        if member is not None and group.state in (STABLE, PREPARING_REBALANCE):
            self._expect_heartbeat(group, member)

    def loaded(self, group: ClassicGroup) -> None:
        """After a start every stored member has one session to come back."""
        for member in group.members.values():
            self._expect_heartbeat(group, member)
        if len(group.members) > self._core.configs.broker.integer("group.max.size"):
            self._prepare_rebalance(group, "group.max.size is below the number of members")

    def unloaded(self, group: ClassicGroup) -> None:
        """The group is given up: answer who waits, stop its timers."""
        group.to(DEAD, self._core.clock.now_ms())
        for member in list(group.members.values()):
            group.answer_join(member, _join_error(error_codes.NOT_COORDINATOR, member.id))
            group.answer_sync(member, SyncGroupResponse(error_code=error_codes.NOT_COORDINATOR))
            group.remove(member.id)
        for member_id in list(group.pending_join):
            group.forget_pending(member_id)
        for timer in (group.join_timer, group.sync_timer):
            if timer:
                timer.cancel()

    def _expect_heartbeat(self, group: ClassicGroup, member: Member, timeout_ms: int | None = None) -> None:
        if member.heartbeat:
            member.heartbeat.cancel()
        after_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        member.heartbeat = self._core.timers.call_later(after_ms, lambda: self._expire_session(group, member))

    def _expire_session(self, group: ClassicGroup, member: Member) -> None:
        if not self._groups.holds(group) or group.members.get(member.id) is not member or member.outlives_session:
            return
        log.info("group %s: the session of member %s is over", group.id, member.id)
        group.answer_join(member, _join_error(error_codes.UNKNOWN_MEMBER_ID, ""))
        group.answer_sync(member, SyncGroupResponse(error_code=error_codes.UNKNOWN_MEMBER_ID))
        group.remove(member.id)
        self._after_removal(group, f"session of member {member.id} is over")

    def _expire_pending(self, group: ClassicGroup, member_id: str) -> None:
        if self._groups.holds(group) and member_id in group.pending_join:
            group.remove(member_id)
            if group.state == PREPARING_REBALANCE and group.all_joined:
                self._complete_join(group)

    def _after_removal(self, group: ClassicGroup, reason: str) -> None:
        if group.state in (STABLE, COMPLETING_REBALANCE):
            self._prepare_rebalance(group, reason)
        elif group.state == PREPARING_REBALANCE and group.all_joined:
            self._complete_join(group)

    # LeaveGroup

    def leave(self, request: LeaveGroupRequest, version: int) -> LeaveGroupResponse:
        """Members leave, several at once from v3 on; before it the one member's error is the answer's."""
        if not request.group_id:
            return LeaveGroupResponse(error_code=error_codes.INVALID_GROUP_ID)
        identities = request.members
        if version < 3:
            identities = [LeaveGroupRequest.MemberIdentity(member_id=request.member_id)]
        group = self._groups.classic(request.group_id)
        response = LeaveGroupResponse()
        left = []
        for identity in identities:
            code = error_codes.UNKNOWN_MEMBER_ID if group is None else self._leave_one(group, identity)
            if not code:
                left.append(identity.member_id or identity.group_instance_id)
            response.members.append(
                LeaveGroupResponse.MemberResponse(
                    member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=code
                )
            )
        if group is not None and left:
            if group.state == PREPARING_REBALANCE:
                self._try_complete_join(group)
            else:
                self._after_removal(group, f"members {left} left")
        if version < 3:
            response.error_code, response.members = response.members[0].error_code, []
        return response

    def _leave_one(self, group: ClassicGroup, identity: LeaveGroupRequest.MemberIdentity) -> int:
        member_id = identity.member_id
        if not member_id:  # an administrator removes a static member by its instance id
            found = group.static_members.get(identity.group_instance_id or "")
            if found is None:
                return error_codes.UNKNOWN_MEMBER_ID
            member_id = found
        elif member_id in group.pending_join:
            group.remove(member_id)
            return error_codes.NONE
        else:
            try:
                group.check_member(member_id, identity.group_instance_id)
            except BrokerError as error:
                code: int = error.code.code
                return code
        member = group.members[member_id]
        group.answer_join(member, _join_error(error_codes.UNKNOWN_MEMBER_ID, ""))
        group.answer_sync(member, SyncGroupResponse(error_code=error_codes.UNKNOWN_MEMBER_ID))
        group.remove(member_id)
        log.info("group %s: member %s leaves: %s", group.id, member_id, identity.reason or "not provided")
        return error_codes.NONE


def _join_error(code: int, member_id: str) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=code, member_id=member_id, protocol_name=None)


def _sync_response(group: ClassicGroup, member: Member) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=member.assignment
    )


def _assignments(group: ClassicGroup) -> dict[str, bytes]:
    return {member.id: member.assignment for member in group.members.values()}


def _differs(asked: str | None, own: str | None) -> bool:
    return asked is not None and own is not None and asked != own
