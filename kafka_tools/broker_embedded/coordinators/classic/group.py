"""One group of the classic protocol: members, states, generation, the choice of a protocol.

It contains only the state and its rules (``org.apache.kafka.coordinator.group.classic.ClassicGroup`` of Kafka 4).
``membership`` and ``rebalances`` have timers, log and responses.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.classic.member import Member, Protocols, stop
from kafka_tools.broker_embedded.coordinators.group import Commits, Committer, Group
from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, to_thread
from kafka_tools.errors import WireError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.codec import decode_prefix
from kafka_tools.protocol.enums import CONSUMER_PROTOCOL_TYPE, CoordinatorGroupType, GroupState
from kafka_tools.protocol.messages.join_group import JoinGroupResponse
from kafka_tools.protocol.messages.sync_group import SyncGroupResponse
from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolSubscription
from kafka_tools.protocol.stored.group_metadata import GroupMetadataKey

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.purgatory import Parked
    from kafka_tools.broker_embedded.timers import Timer

log = logging.getLogger(__name__)

_MOST_BYTES_AT_ONCE = 16 * 1024
"""Subscriptions with more bytes are decoded on another thread."""

EMPTY, STABLE, DEAD = GroupState.EMPTY, GroupState.STABLE, GroupState.DEAD
PREPARING_REBALANCE, COMPLETING_REBALANCE = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
"""States, with the names in DescribeGroups."""


_FROM = {
    EMPTY: (PREPARING_REBALANCE,),
    PREPARING_REBALANCE: (STABLE, COMPLETING_REBALANCE, EMPTY),
    COMPLETING_REBALANCE: (PREPARING_REBALANCE,),
    STABLE: (COMPLETING_REBALANCE,),
    DEAD: (STABLE, PREPARING_REBALANCE, COMPLETING_REBALANCE, EMPTY, DEAD),
}


class ClassicGroup(Group):
    """A group. ``members`` are in the order in which they joined; ``protocol_type`` None marks a simple group."""

    type = CoordinatorGroupType.CLASSIC
    state = EMPTY

    def __init__(self, group_id: str, now_ms: int) -> None:
        self.id = group_id
        self.previous_state = DEAD
        self.state_since_ms = now_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        self.pending_join: dict[str, Timer] = {}
        self.pending_sync: set[str] = set()
        self._joining: set[str] = set()
        """The members with a parked join."""
        self._supported: Counter[str] = Counter()
        """The number of members per protocol. Every join needs it, in groups of any size."""
        self.new_member_added = False
        self._subscriptions: list[bytes] | None = None
        self._subscribed_topics: frozenset[str] | None = None
        self.join_timer: Timer | None = None
        self.sync_timer: Timer | None = None

    def to(self, state: str, now_ms: int) -> None:
        """Change the state."""
        assert self.state in _FROM[state], f"group {self.id} goes from {self.state} to {state}"
        self.previous_state, self.state, self.state_since_ms = self.state, state, now_ms

    @property
    def is_abandoned(self) -> bool:
        return self.state == EMPTY and not self.pending_join

    @property
    def stamp(self) -> object:
        return self.state, self.generation, list(self.members.values()), list(self.pending_join)

    def tombstones(self) -> Iterator[CoordinatorRecord]:
        yield CoordinatorRecord(GroupMetadataKey(group=self.id), None)

    # members

    def add(self, member: Member, parked: Parked | None = None) -> None:
        """Add a member. The first one sets the protocol type and is the leader."""
        if member.instance_id is not None:
            assert member.instance_id not in self.static_members, (
                f"two members have the instance id {member.instance_id}"
            )
            self.static_members[member.instance_id] = member.id
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader is None:
            self.leader = member.id
        self.members[member.id] = member
        self._count(member.protocols, 1)
        if parked is not None:
            self.await_join(member, parked)
        self.forget_pending(member.id)

    def remove(self, member_id: str) -> None:
        """Remove a joined or pending member. If it was the leader, the next member becomes the leader."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._joining.discard(member_id)
            self._count(member.protocols, -1)
            stop(member.heartbeat)
            if member.instance_id is not None and self.static_members.get(member.instance_id) == member_id:
                del self.static_members[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.forget_pending(member_id)
        self.pending_sync.discard(member_id)

    def forget_pending(self, member_id: str) -> None:
        stop(self.pending_join.pop(member_id, None))

    def replace_static(self, instance_id: str, old_id: str, new_id: str) -> Member:
        """Give a static member a new id (KIP-345). Parked requests with the old id are fenced."""
        old = self.members.pop(old_id)
        fenced = error_codes.FENCED_INSTANCE_ID
        self.answer_join(old, JoinGroupResponse(error_code=fenced, member_id=old_id, protocol_name=None))
        self.answer_sync(old, SyncGroupResponse(error_code=fenced))
        stop(old.heartbeat)
        member = old.renamed(new_id)
        self.members[new_id] = member
        self.static_members[instance_id] = new_id
        self.pending_sync.discard(old_id)
        if self.leader == old_id:
            self.leader = new_id
        return member

    def check_member(self, member_id: str, instance_id: str | None) -> Member:
        """The member; BrokerError UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID if a newer one took its instance id."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                raise error_for(error_codes.UNKNOWN_MEMBER_ID)
            if current != member_id:
                raise error_for(error_codes.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise error_for(error_codes.UNKNOWN_MEMBER_ID)
        return self.members[member_id]

    @property
    def all_joined(self) -> bool:
        return not self.pending_join and len(self._joining) == len(self.members)

    @property
    def awaiting_join_count(self) -> int:
        return len(self._joining)

    @property
    def rebalance_timeout_ms(self) -> int:
        """The maximum rebalance timeout of all members, in ms."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it rejoined, otherwise elect another member that did; False if no member did."""
        if self.leader is None:
            return False
        if self.members[self.leader].awaiting_join:
            return True
        joined = next((member.id for member in self.members.values() if member.awaiting_join), None)
        if joined is None:
            return False
        self.leader = joined
        return True

    # protocols

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether a member with these protocols may join: an empty group accepts any, others need a common one."""
        if self.state == EMPTY:
            return bool(protocol_type) and bool(protocols)
        if protocol_type != self.protocol_type:
            return False
        if not self.members:
            return True
        return any(self._supported[name] == len(self.members) for name, _ in protocols)

    def set_protocols(self, member: Member, protocols: Protocols) -> None:
        """Set other protocols of a member of the group."""
        self._count(member.protocols, -1)
        member.protocols = protocols
        self._count(protocols, 1)

    def _count(self, protocols: Protocols, by: int) -> None:
        for name in {name for name, _ in protocols}:
            self._supported[name] += by
            if not self._supported[name]:
                del self._supported[name]

    def select_protocol(self) -> str:
        """The common protocol that most members prefer; of equals the one with the first vote."""
        candidates = {name for name, count in self._supported.items() if count == len(self.members)}
        alike: dict[tuple[str, ...], list[Member]] = {}  # even in large groups, few members differ in their protocols
        for member in self.members.values():
            alike.setdefault(tuple([name for name, _ in member.protocols]), []).append(member)
        votes: dict[str, int] = {}
        for members in alike.values():
            choice = members[0].vote(candidates)
            votes[choice] = votes.get(choice, 0) + len(members)
        return max(votes, key=lambda name: votes[name])

    def next_generation(self, now_ms: int) -> None:
        """Begin a generation. A group with members waits for the leader's assignment; without members it is empty."""
        self.generation += 1
        self.protocol = self.select_protocol() if self.members else None
        self.refresh_subscriptions()
        self.to(COMPLETING_REBALANCE if self.members else EMPTY, now_ms)
        self.pending_sync.clear()

    def refresh_subscriptions(self) -> None:
        """Store the subscriptions of the members of a consumer group. They are decoded when they are needed."""
        self._subscribed_topics = None if self.members or self.protocol_type != CONSUMER_PROTOCOL_TYPE else frozenset()
        self._subscriptions = None
        if self.members and self.protocol_type == CONSUMER_PROTOCOL_TYPE and self.protocol is not None:
            self._subscriptions = [member.metadata(self.protocol) for member in self.members.values()]

    @property
    def subscribed_topics(self) -> frozenset[str] | None:
        """The topics that a consumer group subscribes to; None if they are unknown."""
        unread, self._subscriptions = self._subscriptions, None
        if unread is not None:
            self._subscribed_topics = _topics_of(unread, self.id)
        return self._subscribed_topics

    def read_subscriptions(self) -> Work[None]:
        """Decode long subscriptions on another thread, for ``subscribed_topics``."""
        unread = self._subscriptions
        if unread is None or sum(map(len, unread)) <= _MOST_BYTES_AT_ONCE:
            return
        found = yield from to_thread(partial(_topics_of, unread, self.id))
        if self._subscriptions is unread:
            self._subscriptions, self._subscribed_topics = None, found

    def is_subscribed(self, topic: str) -> bool:
        """Whether offsets of the topic are in use. Unknown subscriptions of a consumer group count as all topics."""
        topics = self.subscribed_topics
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE if topics is None else topic in topics

    # offsets

    def unused_since(self, topic: str, commit_ms: int) -> int | None:
        """The time of the commit for simple groups; the time when the last member left for groups without members."""
        if self.protocol_type is None:
            return commit_ms
        if self.state == EMPTY:
            return self.state_since_ms if self.state_since_ms >= 0 else commit_ms
        in_use = self.state != STABLE or self.subscribed_topics is None or self.is_subscribed(topic)
        return None if in_use else commit_ms

    def check_commit(self, by: Committer, offsets: Commits, version: int) -> None:
        if by.epoch < 0 and self.state == EMPTY:
            return
        if not self._is_member(by) and self.state != EMPTY:
            raise error_for(error_codes.UNKNOWN_MEMBER_ID)
        if self.state == COMPLETING_REBALANCE:
            raise error_for(error_codes.REBALANCE_IN_PROGRESS)

    def check_commit_in_transaction(self, by: Committer, offsets: Commits) -> None:
        self._is_member(by)

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Every client may fetch, as in Kafka."""

    def _is_member(self, by: Committer) -> bool:
        """Whether a member commits. BrokerError if it is not a member of this generation."""
        if by.epoch < 0 and (self.state == EMPTY or not (by.member_id or by.instance_id is not None)):
            return False
        self.check_member(by.member_id, by.instance_id)
        if by.epoch != self.generation:
            raise error_for(error_codes.ILLEGAL_GENERATION)
        return True

    # answers

    def join_response(self, member: Member, *, skip_assignment: bool = False) -> JoinGroupResponse:
        """The response to a member of the current generation. Only the leader gets the members."""
        protocol = self.protocol or ""
        shown = self.members.values() if self.leader == member.id else ()
        members = [
            JoinGroupResponse.ResponseMember(
                member_id=each.id, group_instance_id=each.instance_id, metadata=each.metadata(protocol)
            )
            for each in shown
        ]
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol,
            leader=self.leader or "",
            skip_assignment=skip_assignment,
            member_id=member.id,
            members=members,
        )

    def await_join(self, member: Member, parked: Parked) -> None:
        """Park a member's join."""
        member.awaiting_join = parked
        self._joining.add(member.id)

    def take_join(self, member: Member) -> Parked | None:
        """Remove and return the parked join of a member, if any. The caller answers it."""
        self._joining.discard(member.id)
        parked, member.awaiting_join = member.awaiting_join, None
        return parked

    def answer_join(self, member: Member, response: JoinGroupResponse) -> None:
        """Answer a parked join, if there is one."""
        parked = self.take_join(member)
        if parked is not None:
            parked.complete(in_join_version(response, member.join_version))

    def answer_sync(self, member: Member, response: SyncGroupResponse) -> bool:
        """Answer a parked sync; False if there was none."""
        parked, member.awaiting_sync = member.awaiting_sync, None
        if parked is None:
            return False
        parked.complete(response)
        return True


def in_join_version(response: JoinGroupResponse, version: int) -> JoinGroupResponse:
    """Before version 7, an empty name means "no protocol"."""
    if version < 7 and response.protocol_name is None:
        response.protocol_name = ""
    return response


def _topics_of(subscriptions: Collection[bytes], group_id: str) -> frozenset[str] | None:
    """The topics in members' subscriptions, of which many are equal; None if one cannot be decoded."""
    topics: set[str] = set()
    try:
        for metadata in dict.fromkeys(subscriptions):
            # after the int16 version; every later version begins with the fields of version 0
            topics.update(decode_prefix(ConsumerProtocolSubscription, 0, metadata, 2)[0].topics)
    except WireError as error:
        log.warning("cannot read the subscriptions of group %s: %s", group_id, error)
        return None
    return frozenset(topics)
