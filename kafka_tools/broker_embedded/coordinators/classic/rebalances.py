"""Rebalances and sessions of classic groups: the consequences of joins, leaves and expired timers.

A rebalance collects the members (joins are parked), begins a generation and answers them, then waits for the
leader's assignment (syncs are parked) and stores it. The order is that of the classic part of Kafka 4's
``GroupMetadataManager``. ``membership`` serves the requests, ``group`` has the state of a group.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.classic.classic_records import group_record
from kafka_tools.broker_embedded.coordinators.classic.group import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    ClassicGroup,
)
from kafka_tools.broker_embedded.coordinators.classic.member import Member, stop
from kafka_tools.broker_embedded.slices import Work, whole
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.join_group import JoinGroupResponse
from kafka_tools.protocol.messages.sync_group import SyncGroupResponse

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.group_store import GroupStore

log = logging.getLogger(__name__)

_SHORTEST_WAIT_MS = 1000
"""The minimum time between two checks whether static members have rejoined. Clients choose the rebalance timeout, which
may be 0 or less."""


class Rebalances:
    """``begin`` starts a rebalance. ``groups`` contains the groups and writes their records."""

    def __init__(self, groups: GroupStore) -> None:
        self._groups = groups
        self._runtime = groups.runtime
        self._timers = groups.runtime.timers
        groups.members[ClassicGroup.type] = self

    def begin(self, group: ClassicGroup, reason: str) -> None:
        """Start a rebalance after members changed, or check whether the rebalance in progress can complete."""
        if group.state == PREPARING_REBALANCE:
            self.try_complete(group)
        else:
            self.prepare(group, reason)

    def prepare(self, group: ClassicGroup, reason: str) -> None:
        """Start to collect the members again. Members with parked syncs must rejoin."""
        if group.state == COMPLETING_REBALANCE:
            self._answer_syncs(group, error_codes.REBALANCE_IN_PROGRESS)
        group.pending_sync.clear()
        stop(group.sync_timer)
        initial = group.state == EMPTY
        group.to(PREPARING_REBALANCE, self._runtime.now_ms())
        log.info("group %s prepares to rebalance, old generation %d: %s", group.id, group.generation, reason)
        if initial:
            delay_ms = self._runtime.integer("group.initial.rebalance.delay.ms")
            self._wait_for_first(group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        elif group.all_joined:
            self._complete_join(group)
        else:
            self._start_join_timer(group, group.rebalance_timeout_ms, self._complete_join)

    def try_complete(self, group: ClassicGroup) -> None:
        """Complete the join phase if all members have joined. The first rebalance of a group keeps its full delay."""
        if group.state == PREPARING_REBALANCE and group.previous_state != EMPTY and group.all_joined:
            self._complete_join(group)

    def _wait_for_first(self, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        """Collect the members of a new group (KIP-134). If a member joins during a delay, another delay follows."""

        def over(group: ClassicGroup) -> None:
            if group.new_member_added and remaining_ms:
                group.new_member_added = False
                step_ms = min(self._runtime.integer("group.initial.rebalance.delay.ms"), remaining_ms)
                self._wait_for_first(group, step_ms, max(remaining_ms - delay_ms, 0))
            else:
                self._complete_join(group)

        self._start_join_timer(group, delay_ms, over)

    def _start_join_timer(self, group: ClassicGroup, delay_ms: int, over: Callable[[ClassicGroup], None]) -> None:
        stop(group.join_timer)
        group.join_timer = self._timers.call_later(delay_ms, lambda: over(group) if self._groups.holds(group) else None)

    def _complete_join(self, group: ClassicGroup) -> None:
        """Remove dynamic members that did not rejoin, begin the next generation, answer the joins."""
        stop(group.join_timer)
        for member in list(group.members.values()):
            if member.awaiting_join is None and member.instance_id is None:
                log.info("group %s: member %s did not rejoin in time", group.id, member.id)
                group.remove(member.id)
        if group.members and not group.elect_joined_leader():
            # only static members are left, and none has rejoined: wait until their sessions expire
            wait_ms = max(group.rebalance_timeout_ms, _SHORTEST_WAIT_MS)
            self._start_join_timer(group, wait_ms, self._complete_join)
            return
        group.next_generation(self._runtime.now_ms())
        if group.state == EMPTY:
            self._write_empty(group)
            return
        for member in list(group.members.values()):
            response = group.join_response(member)
            group.answer_join(member, response)
            self.expect_heartbeat(group, member)
            member.is_new = False
            group.pending_sync.add(member.id)
        generation = group.generation
        group.sync_timer = self._timers.call_later(
            group.rebalance_timeout_ms, lambda: self._expire_syncs(group, generation)
        )

    def _write_empty(self, group: ClassicGroup) -> None:
        try:
            self._groups.write(group.id, [group_record(group, {})])
        except BrokerError as error:
            # harmless: a restart loads the older generation, and its members time out
            log.warning("group %s: cannot write empty generation %d: %s", group.id, group.generation, error)

    def synced(self, group: ClassicGroup, member: Member) -> None:
        """Record that a member has sent SyncGroup in this generation."""
        group.pending_sync.discard(member.id)
        if not group.pending_sync:
            stop(group.sync_timer)

    def take_assignment(self, group: ClassicGroup, assignment: dict[str, bytes]) -> None:
        """Store the leader's assignment (member id -> bytes, all members), then send it to the members."""
        try:
            self._groups.write(group.id, [group_record(group, assignment)])
        except BrokerError as error:
            self._answer_syncs(group, error.code.code)
            self.begin(group, f"cannot store the assignment: {error}")
            return
        for member in group.members.values():
            member.assignment = assignment[member.id]
        self._answer_syncs(group, error_codes.NONE)
        group.to(STABLE, self._runtime.now_ms())
        self._runtime.counts.groups.classic_rebalances += 1

    def _answer_syncs(self, group: ClassicGroup, code: int) -> None:
        for member in group.members.values():
            if code:
                member.assignment = b""
                response = SyncGroupResponse(error_code=code)
            else:
                response = sync_response(group, member)
            if group.answer_sync(member, response):
                self.expect_heartbeat(group, member)

    def _expire_syncs(self, group: ClassicGroup, generation: int) -> None:
        """Remove members that joined but did not sync (KAFKA-10787)."""
        if not self._groups.holds(group) or group.generation != generation or not group.pending_sync:
            return
        if group.state in (COMPLETING_REBALANCE, STABLE):
            late = sorted(group.pending_sync)
            for member_id in late:
                group.remove(member_id)
            self.prepare(group, f"members {late} did not sync in time")

    def expect_heartbeat(self, group: ClassicGroup, member: Member, timeout_ms: int | None = None) -> None:
        """Restart the member's session timer, with its session timeout or ``timeout_ms``."""
        stop(member.heartbeat)
        after_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        member.heartbeat = self._timers.call_later(after_ms, lambda: self._expire_session(group, member))

    def _expire_session(self, group: ClassicGroup, member: Member) -> None:
        if not self._groups.holds(group) or group.members.get(member.id) is not member or member.outlives_session:
            return
        log.info("group %s: the session of member %s expired", group.id, member.id)
        group.answer_join(member, join_error(error_codes.UNKNOWN_MEMBER_ID, ""))
        group.answer_sync(member, SyncGroupResponse(error_code=error_codes.UNKNOWN_MEMBER_ID))
        group.remove(member.id)
        self.after_removal(group, f"session of member {member.id} expired")

    def expect_join(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        """Expect a member to join with its new id before a timeout."""
        group.pending_join[member_id] = self._timers.call_later(
            timeout_ms, lambda: self._expire_pending(group, member_id)
        )

    def _expire_pending(self, group: ClassicGroup, member_id: str) -> None:
        if self._groups.holds(group) and member_id in group.pending_join:
            group.remove(member_id)
            if group.state == PREPARING_REBALANCE and group.all_joined:
                self._complete_join(group)

    def after_removal(self, group: ClassicGroup, reason: str) -> None:
        """After the removal of a member: start a rebalance, or complete one that waited only for this member."""
        if group.state in (STABLE, COMPLETING_REBALANCE):
            self.prepare(group, reason)
        elif group.state == PREPARING_REBALANCE and group.all_joined:
            self._complete_join(group)

    def committed(self, group: ClassicGroup, member_id: str) -> None:
        """An offset commit counts as a heartbeat in a stable or rebalancing group."""
        member = group.members.get(member_id)
        if member is not None and group.state in (STABLE, PREPARING_REBALANCE):
            self.expect_heartbeat(group, member)

    def loaded(self, group: ClassicGroup) -> None:
        """After a start, every stored member has one session timeout to return."""
        for member in group.members.values():
            self.expect_heartbeat(group, member)
        if len(group.members) > self._runtime.integer("group.max.size"):
            self.prepare(group, "group.max.size is below the number of members")

    def ended(self, group: ClassicGroup) -> None:
        """Answer the parked requests of a group that is deleted or unloaded, and stop its timers."""
        whole(self._end(group, error_codes.NOT_COORDINATOR))

    def converted(self, group: ClassicGroup) -> Work[None]:
        """The group was converted to a consumer group: members with parked requests must rejoin."""
        return self._end(group, error_codes.REBALANCE_IN_PROGRESS)

    def _end(self, group: ClassicGroup, code: int) -> Work[None]:
        """Answer the parked requests of a dead group, and stop its timers."""
        group.to(DEAD, self._runtime.now_ms())
        stop(group.join_timer, group.sync_timer)
        for member in list(group.members.values()):
            yield
            group.answer_join(member, join_error(code, member.id))
            group.answer_sync(member, SyncGroupResponse(error_code=code))
            group.remove(member.id)
        for member_id in list(group.pending_join):
            group.forget_pending(member_id)


def join_error(code: int, member_id: str) -> JoinGroupResponse:
    """The response to a failed join, with the member id that the client must use."""
    return JoinGroupResponse(error_code=code, member_id=member_id, protocol_name=None)


def sync_response(group: ClassicGroup, member: Member) -> SyncGroupResponse:
    """A member's assignment in the current generation."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=member.assignment
    )
