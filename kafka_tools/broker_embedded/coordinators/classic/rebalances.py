"""Rebalances and sessions of classic groups: what follows when members join or leave and when timers expire.

A rebalance collects the members (joins are parked), begins a generation and answers them, then waits for the
leader's assignment (syncs are parked) and stores it. The order of things is that of the classic part of Kafka 4's
``GroupMetadataManager``; requests are ``membership``'s, what a group is stands in ``group``.
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
"""How long the sessions of static members are waited for before it is looked again, however short a rebalance may be:
the timeout is what clients say, 0 and less included."""


class Rebalances:
    """``begin`` starts a rebalance; ``groups`` holds the groups and writes their records."""

    def __init__(self, groups: GroupStore) -> None:
        self._groups = groups
        self._runtime = groups.runtime
        self._timers = groups.runtime.timers
        groups.members[ClassicGroup.type] = self

    def begin(self, group: ClassicGroup, reason: str) -> None:
        """Members changed: start a rebalance, or see whether the one under way can go on."""
        if group.state == PREPARING_REBALANCE:
            self.try_complete(group)
        else:
            self.prepare(group, reason)

    def prepare(self, group: ClassicGroup, reason: str) -> None:
        """Start to collect the members anew; syncs that wait are sent back to join."""
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
        """End the wait early when everybody is there; the first rebalance of a group waits its delay out."""
        if group.state == PREPARING_REBALANCE and group.previous_state != EMPTY and group.all_joined:
            self._complete_join(group)

    def _wait_for_first(self, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        """Collect the members of a new group (KIP-134): each delay in which one came is followed by another."""

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
        """The wait is over: drop dynamic members that did not come, begin the next generation, answer the joins."""
        stop(group.join_timer)
        for member in list(group.members.values()):
            if member.awaiting_join is None and member.instance_id is None:
                log.info("group %s: member %s did not rejoin in time", group.id, member.id)
                group.remove(member.id)
        if group.members and not group.elect_joined_leader():
            # static members only, none of them back: wait until their sessions end
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
            # harmless: after a restart the older generation comes back, and its members time out
            log.warning("group %s: cannot write empty generation %d: %s", group.id, group.generation, error)

    def synced(self, group: ClassicGroup, member: Member) -> None:
        """A member asked for its assignment: it is alive in this generation."""
        group.pending_sync.discard(member.id)
        if not group.pending_sync:
            stop(group.sync_timer)

    def take_assignment(self, group: ClassicGroup, assignment: dict[str, bytes]) -> None:
        """Store the leader's assignment (member id -> bytes, all members), then give it out."""
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
        """Members that joined but never synced are out (KAFKA-10787)."""
        if not self._groups.holds(group) or group.generation != generation or not group.pending_sync:
            return
        if group.state in (COMPLETING_REBALANCE, STABLE):
            late = sorted(group.pending_sync)
            for member_id in late:
                group.remove(member_id)
            self.prepare(group, f"members {late} did not sync in time")

    def expect_heartbeat(self, group: ClassicGroup, member: Member, timeout_ms: int | None = None) -> None:
        """Give the member its session timeout, or ``timeout_ms``, from now on."""
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
        """A member was given an id and has to join with it."""
        group.pending_join[member_id] = self._timers.call_later(
            timeout_ms, lambda: self._expire_pending(group, member_id)
        )

    def _expire_pending(self, group: ClassicGroup, member_id: str) -> None:
        if self._groups.holds(group) and member_id in group.pending_join:
            group.remove(member_id)
            if group.state == PREPARING_REBALANCE and group.all_joined:
                self._complete_join(group)

    def after_removal(self, group: ClassicGroup, reason: str) -> None:
        """A member is out: the others rebalance, or need not wait for it any longer."""
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
        """After a start every stored member has one session to come back."""
        for member in group.members.values():
            self.expect_heartbeat(group, member)
        if len(group.members) > self._runtime.integer("group.max.size"):
            self.prepare(group, "group.max.size is below the number of members")

    def ended(self, group: ClassicGroup) -> None:
        """Answer the parked requests of a group that is deleted or unloaded, and stop its timers."""
        whole(self._end(group, error_codes.NOT_COORDINATOR))

    def converted(self, group: ClassicGroup) -> Work[None]:
        """The group is a consumer group from now on: members with parked requests have to join that."""
        return self._end(group, error_codes.REBALANCE_IN_PROGRESS)

    def _end(self, group: ClassicGroup, code: int) -> Work[None]:
        """It has ended for everybody already, but for those who wait."""
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
    """A join that failed: no generation, no protocol, the id that the client shall use from now on."""
    return JoinGroupResponse(error_code=code, member_id=member_id, protocol_name=None)


def sync_response(group: ClassicGroup, member: Member) -> SyncGroupResponse:
    """A member's assignment in the current generation."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=member.assignment
    )
