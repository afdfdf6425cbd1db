"""Joining, syncing, heartbeating and leaving: the classic group protocol (KIP-62, 134, 345, 394, 814).

Checks and actions have the order of the classic part of Kafka 4's ``GroupMetadataManager``. ``rebalances`` has the
consequences of these operations, ``group`` the state of a group.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.classic.classic_records import group_record
from kafka_tools.broker_embedded.coordinators.classic.group import (
    COMPLETING_REBALANCE,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    ClassicGroup,
)
from kafka_tools.broker_embedded.coordinators.classic.member import Member
from kafka_tools.broker_embedded.coordinators.classic.rebalances import Rebalances, join_error, sync_response
from kafka_tools.broker_embedded.purgatory import Parked
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafka_tools.protocol.primitives import fitting

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.group_store import GroupStore

log = logging.getLogger(__name__)

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""The session timeout of a member that has no response yet. It cannot send heartbeats, and its client may be gone."""

MEMBER_ID_REQUIRED_FROM = 4
SKIP_ASSIGNMENT_FROM = 9
"""Versions of JoinGroup (KIP-394, KIP-814)."""


class Membership:
    """The operations on classic groups. ``groups`` contains the groups and writes their records."""

    def __init__(self, groups: GroupStore, rebalances: Rebalances) -> None:
        self._groups = groups
        self._runtime = groups.runtime
        self.rebalances = rebalances

    # JoinGroup

    def check_join(self, request: JoinGroupRequest) -> None:
        """BrokerError INVALID_GROUP_ID or INVALID_SESSION_TIMEOUT for a join that no group accepts."""
        if not request.group_id:
            raise error_for(error_codes.INVALID_GROUP_ID)
        integer = self._runtime.integer
        shortest, longest = integer("group.min.session.timeout.ms"), integer("group.max.session.timeout.ms")
        if not shortest <= request.session_timeout_ms <= longest:
            raise error_for(error_codes.INVALID_SESSION_TIMEOUT)

    def join(
        self, request: JoinGroupRequest, version: int, client_id: str, client_host: str
    ) -> JoinGroupResponse | Parked:
        """Join or rejoin. The response is parked until the group's members are known."""
        member_id = request.member_id
        group = self._groups.find_as(ClassicGroup, request.group_id)
        if group is None:
            if member_id:
                raise error_for(error_codes.UNKNOWN_MEMBER_ID)
            group = self._groups.create(request.group_id)
        protocols = [(protocol.name, bytes(protocol.metadata)) for protocol in request.protocols]
        if not self._has_room(group, member_id):
            group.remove(member_id)
            self.rebalances.try_complete(group)  # the others may have waited for this one
            return join_error(error_codes.GROUP_MAX_SIZE_REACHED, "")
        if not group.supports(request.protocol_type, protocols):
            return join_error(error_codes.INCONSISTENT_GROUP_PROTOCOL, member_id)
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
        prefix = client_id if joining.instance_id is None else joining.instance_id
        joining.id = fitting(prefix, f"-{uuid.uuid4()}")
        return self._join_new(group, joining, reason)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        """Whether group.max.size allows this member to join. While members rejoin, only parked joins are counted."""
        limit = self._runtime.integer("group.max.size")
        if group.state == EMPTY:
            return True
        known = group.members.get(member_id)
        if group.state == PREPARING_REBALANCE:
            return (known is not None and known.awaiting_join is not None) or group.awaiting_join_count < limit
        return known is not None or len(group.members) < limit

    def _join_new(self, group: ClassicGroup, joining: Member, reason: str) -> JoinGroupResponse | Parked:
        if joining.instance_id is not None:
            old_id = group.static_members.get(joining.instance_id)
            if old_id is not None:
                return self._replace_static(group, old_id, joining, reason)
        elif joining.join_version >= MEMBER_ID_REQUIRED_FROM:
            member_id = joining.id
            self.rebalances.expect_join(group, member_id, joining.session_timeout_ms)
            return join_error(error_codes.MEMBER_ID_REQUIRED, member_id)
        return self._add(group, joining, reason)

    def _join_known(self, group: ClassicGroup, joining: Member, reason: str) -> JoinGroupResponse | Parked:
        if joining.id in group.pending_join:
            if joining.instance_id is not None:  # only dynamic members get ids before they join
                return join_error(error_codes.UNKNOWN_SERVER_ERROR, "")
            return self._add(group, joining, reason)
        try:
            member = group.check_member(joining.id, joining.instance_id)
        except BrokerError as error:
            return join_error(error.code.code, joining.id)
        if group.state == EMPTY:
            return join_error(error_codes.UNKNOWN_MEMBER_ID, joining.id)
        unchanged = member.protocols == joining.protocols
        if unchanged and group.state == COMPLETING_REBALANCE:
            return group.join_response(member)  # its first response was lost
        if unchanged and group.state == STABLE and group.leader != member.id:
            return group.join_response(member)
        # also the leader of a stable group: topics it reads may have changed
        parked = self._update(group, member, joining)
        self.rebalances.begin(group, f"member {member.id} joins again; client reason: {reason}")
        return parked

    def _add(self, group: ClassicGroup, joining: Member, reason: str) -> Parked:
        joining.is_new = True
        if group.state == PREPARING_REBALANCE and group.previous_state == EMPTY:
            group.new_member_added = True
        parked = Parked()
        group.add(joining, parked)
        self.rebalances.expect_heartbeat(group, joining, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self.rebalances.begin(group, f"new member {joining.id}; client reason: {reason}")
        return parked

    def _update(self, group: ClassicGroup, member: Member, joining: Member) -> Parked:
        group.set_protocols(member, joining.protocols)
        member.rebalance_timeout_ms = joining.rebalance_timeout_ms
        member.session_timeout_ms = joining.session_timeout_ms
        # an older request of the same member: most likely its connection is gone
        group.answer_join(member, join_error(error_codes.REBALANCE_IN_PROGRESS, member.id))
        member.join_version = joining.join_version
        parked = Parked()
        group.await_join(member, parked)
        return parked

    def _replace_static(
        self, group: ClassicGroup, old_id: str, joining: Member, reason: str
    ) -> JoinGroupResponse | Parked:
        """Replace a static member that returned without its id (KIP-345)."""
        former_leader = group.leader
        assert joining.instance_id is not None
        before = group.members[old_id]
        member = group.replace_static(joining.instance_id, old_id, joining.id)
        self.rebalances.expect_heartbeat(group, member)
        parked = self._update(group, member, joining)
        if group.state == STABLE:
            if group.select_protocol() != group.protocol:
                self.rebalances.begin(group, f"static member {member.id} changes the group's protocol")
                return parked
            try:
                self._groups.write(group.id, [group_record(group, _assignments(group))])
            except BrokerError as error:
                group.set_protocols(member, before.protocols)
                group.take_join(member)
                restored = group.replace_static(joining.instance_id, joining.id, old_id)
                restored.rebalance_timeout_ms = before.rebalance_timeout_ms
                restored.session_timeout_ms = before.session_timeout_ms
                self.rebalances.expect_heartbeat(group, restored)
                return join_error(error.code.code, "")
            if joining.join_version >= SKIP_ASSIGNMENT_FROM:
                response = group.join_response(member, skip_assignment=group.leader == member.id)
            else:  # with another leader, so that this member does not compute an assignment
                response = group.join_response(member)
                response.leader, response.members = former_leader or "", []
            group.answer_join(member, response)
        elif group.state == COMPLETING_REBALANCE:
            # the leader may be assigning partitions to the old id at this moment
            self.rebalances.prepare(group, f"static member {member.id} replaces {old_id}; client reason: {reason}")
        else:
            self.rebalances.try_complete(group)
        return parked

    # SyncGroup

    def sync(self, request: SyncGroupRequest) -> SyncGroupResponse | Parked:
        """Return a member's assignment. The leader sends the assignments of all members."""
        group = self._groups.find_as(ClassicGroup, request.group_id)
        if group is None or group.state == EMPTY:
            raise error_for(error_codes.UNKNOWN_MEMBER_ID)
        member = group.check_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation:
            raise error_for(error_codes.ILLEGAL_GENERATION)
        if _differs(request.protocol_type, group.protocol_type) or _differs(request.protocol_name, group.protocol):
            raise error_for(error_codes.INCONSISTENT_GROUP_PROTOCOL)
        if group.state == PREPARING_REBALANCE:
            raise error_for(error_codes.REBALANCE_IN_PROGRESS)
        self.rebalances.synced(group, member)
        if group.state == STABLE:
            return sync_response(group, member)
        group.answer_sync(member, SyncGroupResponse(error_code=error_codes.REBALANCE_IN_PROGRESS))
        parked = member.awaiting_sync = Parked()
        if group.leader == member.id:
            given = {entry.member_id: bytes(entry.assignment) for entry in request.assignments}
            self.rebalances.take_assignment(
                group, {member_id: given.get(member_id, b"") for member_id in group.members}
            )
        return parked

    # Heartbeat

    def heartbeat(self, request: HeartbeatRequest) -> int:
        """Extend a member's session; returns the error code of the response."""
        group = self._groups.find_as(ClassicGroup, request.group_id)
        if group is None:
            raise error_for(error_codes.UNKNOWN_MEMBER_ID)
        member = group.check_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation:
            raise error_for(error_codes.ILLEGAL_GENERATION)
        self.rebalances.expect_heartbeat(group, member)
        return error_codes.REBALANCE_IN_PROGRESS if group.state == PREPARING_REBALANCE else error_codes.NONE

    # LeaveGroup

    def leave(self, group_id: str, identities: Collection[LeaveGroupRequest.MemberIdentity]) -> list[int]:
        """Remove members; returns an error code for each."""
        group = self._groups.find_as(ClassicGroup, group_id)
        if group is None:
            return [error_codes.UNKNOWN_MEMBER_ID] * len(identities)
        codes = [self._leave_one(group, each) for each in identities]
        left = [
            each.member_id or each.group_instance_id for each, code in zip(identities, codes, strict=True) if not code
        ]
        if left and group.state == PREPARING_REBALANCE:
            self.rebalances.try_complete(group)
        elif left:
            self.rebalances.after_removal(group, f"members {left} left")
        return codes

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
        group.answer_join(member, join_error(error_codes.UNKNOWN_MEMBER_ID, ""))
        group.answer_sync(member, SyncGroupResponse(error_code=error_codes.UNKNOWN_MEMBER_ID))
        group.remove(member_id)
        log.info("group %s: member %s leaves: %s", group.id, member_id, identity.reason or "not provided")
        return error_codes.NONE


def _assignments(group: ClassicGroup) -> dict[str, bytes]:
    return {member.id: member.assignment for member in group.members.values()}


def _differs(asked: str | None, own: str | None) -> bool:
    return asked is not None and own is not None and asked != own
