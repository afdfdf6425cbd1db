"""A consumer group, built from its records: members, their targets, the owner of each partition (KIP-848).

It contains only state, as in ``ConsumerGroup`` and ``ModernGroup`` of Kafka. Only ``replay`` changes it, live and at a
start. Other modules of this folder decide the changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from kafka_tools.broker_embedded.coordinators.consumer import consumer_records
from kafka_tools.broker_embedded.coordinators.consumer.member import (
    UNRELEASED_PARTITIONS,
    ConsumerMember,
    Epochs,
    MemberTarget,
    Partitions,
    ResolvedExpression,
)
from kafka_tools.broker_embedded.coordinators.group import Commits, Committer, Group
from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_PROTOCOL_TYPE, CoordinatorGroupType, GroupState

NO_EPOCH = -1
_MEMBER_EPOCHS_FROM = 9
"""Version of OffsetCommit that knows epochs of members."""
_NOBODY = Committer("", None, NO_EPOCH)
_NO_TOPICS: frozenset[str] = frozenset()
_ASSIGNORS_IN_ORDER = ("uniform", "range")
"""The order among assignors that equally many members prefer: that of Java's hash map."""


class Subscriptions(NamedTuple):
    """Subscriptions: subscribers per topic name, expressions in use that match each name, users of each expression."""

    by_name: Counter[str]
    by_expression: Counter[str]
    users: Counter[str]

    @property
    def topics(self) -> set[str]:
        """The names of all topics that are read, whether they exist or not."""
        return {*self.by_name, *self.by_expression}

    def is_alike(self, members: int) -> bool:
        """Whether all members have the same subscription, by the rules of Kafka's ``subscriptionType``."""
        if not self.users:
            return all(count == members for count in self.by_name.values())
        if next(iter(self.users.values())) != members:
            return False
        return not self.by_name and all(count == 1 for count in self.by_expression.values())


class ConsumerGroup(Group):
    """One group. ``targets`` are by member; ``target_ms`` is when they were computed, 0 if that does not matter."""

    type = CoordinatorGroupType.CONSUMER
    protocol_type = CONSUMER_PROTOCOL_TYPE

    def __init__(self, group_id: str) -> None:
        self.id = group_id
        self.epoch = 1
        self.metadata_hash = 0
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}
        self.targets: dict[str, Partitions] = {}
        self.target_epoch = 1
        self.target_ms = 0
        self.expressions: dict[str, ResolvedExpression] = {}
        self.has_partition_metadata = False
        """Whether the log contains the group's topics in the form of Kafka before 4.1."""
        self.refreshed_at = -1
        """The last change of topics for which the group's hash is known to be valid; not in the log."""
        self.refreshed_epoch = 0
        self.version = 0
        """The number of changes since the group was created or loaded."""
        self.expression_members: Counter[str] = Counter()
        self.protocol_members: Counter[str] = Counter()
        """The number of classic members per supported embedded protocol."""
        self.classic_count = 0
        self._by_name: Counter[str] = Counter()
        self._by_expression: Counter[str] = Counter()
        self._assignors: Counter[str] = Counter()
        self._partition_epochs: dict[UUID, dict[int, int]] = {}

    # queries

    @property
    def is_empty(self) -> bool:
        return not self.members

    is_abandoned = is_empty

    @property
    def stamp(self) -> object:
        return self.version

    @property
    def state(self) -> str:
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        reconciled = all(member.is_reconciled(self.target_epoch) for member in self.members.values())
        return GroupState.STABLE if reconciled else GroupState.RECONCILING

    def member(self, member_id: str) -> ConsumerMember:
        """A member; BrokerError UNKNOWN_MEMBER_ID."""
        found = self.members.get(member_id)
        if found is None:
            raise error_for(error_codes.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.id}.")
        return found

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        """The member that has this instance id."""
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def target_of(self, member: ConsumerMember) -> MemberTarget:
        """The target of a member; one that replaces a static member has that member's target."""
        member_id: str | None = member.id
        if member.instance_id is not None:
            member_id = self.static_members.get(member.instance_id)
        return MemberTarget(self.target_epoch, self.targets.get(member_id or "", {}))

    def partition_epoch(self, topic_id: UUID, partition: int) -> int:
        """The epoch of the member that owns or revokes a partition; -1 if no member does."""
        return self._partition_epochs.get(topic_id, {}).get(partition, NO_EPOCH)

    def is_subscribed(self, topic: str) -> bool:
        """Whether a member reads the topic."""
        return topic in self._by_name or topic in self._by_expression

    @property
    def reading(self) -> Subscriptions:
        """The subscriptions of all members."""
        return Subscriptions(self._by_name, self._by_expression, self.expression_members)

    def reading_with(self, old: ConsumerMember | None, new: ConsumerMember) -> Subscriptions:
        """The subscriptions after a change of a member."""
        by_name, by_expression = Counter(self._by_name), self._by_expression
        users = Counter(self.expression_members)
        if old is None:
            _add(by_name, new.topics, 1)
        else:
            _add(by_name, old.topics - new.topics, -1)
            _add(by_name, new.topics - old.topics, 1)
            if old.regex and old.regex != new.regex:
                _add(users, (old.regex,), -1)
                if old.regex not in users:
                    by_expression = self._without((old.regex,))
        if new.regex and (old is None or old.regex != new.regex):
            users[new.regex] += 1
        return Subscriptions(by_name, by_expression, users)

    def topics_without(self, removed: Iterable[ConsumerMember], expressions: Iterable[str]) -> set[str]:
        """The subscribed topics without these members and expressions."""
        leaving: Counter[str] = Counter()
        for member in removed:
            leaving.update(member.topics)
        unread = {name for name, count in leaving.items() if count == self._by_name[name]}
        return (self._by_name.keys() - unread) | self._without(expressions).keys()

    def topics_resolved(self, resolved: Mapping[str, ResolvedExpression]) -> set[str]:
        """The subscribed topics after expressions are resolved again."""
        by_expression = self._without(resolved)
        for found in resolved.values():
            _add(by_expression, found.topics, 1)
        return {*self._by_name, *by_expression}

    def _without(self, expressions: Iterable[str]) -> Counter[str]:
        left = Counter(self._by_expression)
        for regex in expressions:
            if regex in self.expressions:
                _add(left, self.expressions[regex].topics, -1)
        return left

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """The subscription of one member, by name and by expression."""
        found = self.expressions.get(member.regex or "")
        return member.topics if found is None else member.topics | found.topics

    def preferred_assignor(self, old: ConsumerMember | None, new: ConsumerMember | None) -> str | None:
        """The assignor that most members prefer after a change of one member; None if no member has a preference."""
        counts = Counter(self._assignors)
        counts.subtract([each.assignor for each in (old,) if each is not None and each.assignor is not None])
        counts.update([each.assignor for each in (new,) if each is not None and each.assignor is not None])
        asked = [name for name in (*_ASSIGNORS_IN_ORDER, *counts) if counts[name] > 0]
        return max(asked, key=lambda name: counts[name], default=None)

    # records

    def records(self) -> Iterator[CoordinatorRecord]:
        """The records that create the present group."""
        members = self.members.values()
        yield from (consumer_records.member_record(self.id, member) for member in members)
        yield consumer_records.epoch_record(self.id, self.epoch, self.metadata_hash)
        yield from (consumer_records.target_record(self.id, each.id, self.targets.get(each.id, {})) for each in members)
        yield consumer_records.target_epoch_record(self.id, self.target_epoch, self.target_ms)
        yield from (consumer_records.current_record(self.id, member) for member in members)

    def tombstones(self, renamed: Mapping[str, str] | None = None) -> Iterator[CoordinatorRecord]:
        """``renamed``: ids of members that were replaced in the same change, old -> new."""
        ids = [(renamed or {}).get(member_id, member_id) for member_id in self.members]
        return consumer_records.group_tombstones(self.id, ids, list(self.expressions))

    # offsets

    def unused_since(self, topic: str, commit_ms: int) -> int | None:
        return None if self.is_subscribed(topic) else commit_ms

    def check_commit(self, by: Committer, offsets: Commits, version: int) -> None:
        """While the group has members, only they may commit."""
        if by.epoch < 0 and self.is_empty:
            return
        member = self.member(by.member_id)
        if member.classic is None and version < _MEMBER_EPOCHS_FROM:
            raise error_for(
                error_codes.UNSUPPORTED_VERSION,
                "OffsetCommit version 9 or above must be used by members using the consumer group protocol",
            )
        member.check_commit_epoch(by.epoch, offsets)

    def check_commit_in_transaction(self, by: Committer, offsets: Commits) -> None:
        if by == _NOBODY or (by.epoch < 0 and self.is_empty):
            return
        try:
            self.member(by.member_id).check_commit_epoch(by.epoch, offsets)
        except BrokerError as error:
            if error.code.code == error_codes.STALE_MEMBER_EPOCH:
                raise error_for(error_codes.ILLEGAL_GENERATION) from error
            raise

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """A client that names no member, such as an administrator, always may."""
        if member_id is not None or epoch >= 0:
            self.member(member_id or "").check_fetch_epoch(epoch)

    # classic members

    def supports(self, protocol_type: str, protocols: Collection[str]) -> bool:
        """Whether a classic member with these protocols may join."""
        if protocol_type != CONSUMER_PROTOCOL_TYPE:
            return False
        if self.is_empty:
            return bool(protocols)
        return any(self.protocol_members[name] == self.classic_count for name in protocols)

    def all_classic_but(self, leaving: Collection[ConsumerMember]) -> bool:
        """Whether all remaining members speak the classic protocol."""
        staying = self.classic_count - sum(member.classic is not None for member in leaving)
        return staying == len(self.members) - len(leaving)

    def waits_for_release(self, member: ConsumerMember) -> bool:
        """Whether a partition of the member's target is still owned by another member."""
        return member.state == UNRELEASED_PARTITIONS and any(
            number not in member.assigned.get(topic_id, {}) and self.partition_epoch(topic_id, number) != NO_EPOCH
            for topic_id, numbers in self.targets.get(member.id, {}).items()
            for number in numbers
        )

    # changes, only by records

    def put(self, member: ConsumerMember) -> None:
        """Add or replace a member. Its old instance id is released if it changed, as in Kafka since 4.4."""
        old = self.members.get(member.id)
        self._recount(old, member)
        self.members[member.id] = member
        if old is not None and old.instance_id != member.instance_id:
            self._release_instance_id(old)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.id

    def remove(self, member_id: str) -> None:
        """Remove a member."""
        member = self.members.pop(member_id, None)
        self._recount(member, None)
        if member is not None:
            self._release_instance_id(member)

    def _release_instance_id(self, member: ConsumerMember) -> None:
        """Release a member's instance id, unless another member has taken it over."""
        if member.instance_id is not None and self.static_members.get(member.instance_id) == member.id:
            del self.static_members[member.instance_id]

    def resolve(self, regex: str, resolved: ResolvedExpression | None) -> None:
        """Set the topics that an expression matches; None removes the expression."""
        old = self.expressions.pop(regex, None)
        if old is not None:
            _add(self._by_expression, old.topics, -1)
        if resolved is not None:
            self.expressions[regex] = resolved
            _add(self._by_expression, resolved.topics, 1)

    def _recount(self, old: ConsumerMember | None, new: ConsumerMember | None) -> None:
        """Update the counts after a change of a member. Equal parts of both are skipped."""
        before, after = _NO_TOPICS if old is None else old.topics, _NO_TOPICS if new is None else new.topics
        if before is not after:
            _add(self._by_name, before - after, -1)
            _add(self._by_name, after - before, 1)
        moves = old is None or new is None or not _has_the_same(old, new)
        self._count(old, -1, moves)
        self._count(new, 1, moves)

    def _count(self, member: ConsumerMember | None, by: int, partitions: bool) -> None:
        if member is None:
            return
        _add(self.expression_members, (member.regex,) if member.regex else (), by)
        _add(self._assignors, () if member.assignor is None else (member.assignor,), by)
        if member.classic is not None:
            self.classic_count += by
            _add(self.protocol_members, {name for name, _ in member.classic.protocols}, by)
        for epochs in (member.assigned, member.revoking) if partitions else ():
            if by > 0:
                self._take(epochs, member.epoch)
            else:
                self._release(epochs, member.epoch)

    def _take(self, epochs: Epochs, member_epoch: int) -> None:
        for topic_id, numbers in epochs.items():
            own = dict.fromkeys(numbers, member_epoch)
            taken = self._partition_epochs.setdefault(topic_id, own)
            if taken is not own:
                for number in own:
                    taken[number] = max(member_epoch, taken.get(number, member_epoch))

    def _release(self, epochs: Epochs, member_epoch: int) -> None:
        for topic_id, numbers in epochs.items():
            taken = self._partition_epochs.pop(topic_id, None)
            if not taken or taken == dict.fromkeys(numbers, member_epoch):
                continue
            left = {number: epoch for number, epoch in taken.items() if epoch != member_epoch or number not in numbers}
            if left:
                self._partition_epochs[topic_id] = left


def _add(counts: Counter[str], names: Iterable[str], by: int) -> None:
    """Add 1 to counts, or subtract 1 and remove those that reach 0."""
    if by > 0:
        counts.update(names)
        return
    for name in names:
        left = counts[name] - 1
        if left > 0:
            counts[name] = left
        else:
            counts.pop(name, None)


def _has_the_same(old: ConsumerMember, new: ConsumerMember) -> bool:
    """Whether a member owns the same partitions at the same epoch."""
    return old.epoch == new.epoch and old.assigned is new.assigned and old.revoking is new.revoking
