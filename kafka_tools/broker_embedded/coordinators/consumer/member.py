"""One member of a consumer group, and the changes of its assignment by heartbeats (KIP-848), without side effects.

``reconciled`` follows ``CurrentAssignmentBuilder``: a member first revokes partitions that are not in its target, then
moves to the target's epoch, then gets partitions that others have released.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from kafka_tools.broker_embedded.coordinators.group import Commits
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes

JOINING_EPOCH, LEAVING_EPOCH, STATIC_LEAVING_EPOCH = 0, -1, -2
"""Member epochs with a special meaning."""

STABLE, UNREVOKED_PARTITIONS, UNRELEASED_PARTITIONS, UNKNOWN_STATE = 0, 1, 2, 127
"""States of a member in records (``MemberState``)."""

Partitions = Mapping[UUID, frozenset[int]]
"""Partitions by topic id."""
Epochs = Mapping[UUID, Mapping[int, int]]
"""Partitions by topic id, each with the member epoch at which it was assigned."""


_NOTHING: Epochs = MappingProxyType({})


class ResolvedExpression(NamedTuple):
    """The topics that matched a regular expression at a version of the metadata. ``resolved_ms`` since 1970."""

    topics: frozenset[str]
    version: int = -1
    resolved_ms: int = -1


class ClassicSide(NamedTuple):
    """The state of a member that speaks the classic protocol. ``protocols``: (name, metadata), best first."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


class ConsumerMember(NamedTuple):
    """A member. ``assigned``: its partitions. ``revoking``: partitions that it must revoke and has not revoked yet.

    ``classic``: None for members of the consumer protocol. ``regex``: "" or None without a regular expression.
    """

    id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: int = STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    regex: str | None = ""
    assignor: str | None = None
    assigned: Epochs = _NOTHING
    revoking: Epochs = _NOTHING
    classic: ClassicSide | None = None

    def is_reconciled(self, target_epoch: int) -> bool:
        """Whether its assignment equals its target of this epoch."""
        return self.state == STABLE and self.epoch == target_epoch

    def assignment_epoch(self, topic_id: UUID, partition: int) -> int | None:
        """The epoch at which it got a partition that it owns or revokes; None for any other partition."""
        found = self.assigned.get(topic_id, {}).get(partition)
        return self.revoking.get(topic_id, {}).get(partition) if found is None else found

    def check_commit_epoch(self, epoch: int, offsets: Commits) -> None:
        """BrokerError STALE_MEMBER_EPOCH, or ILLEGAL_GENERATION for a classic member.

        A member that missed a response commits with an older epoch. This is allowed for partitions that it has owned
        since then (KIP-1251).
        """
        if epoch > self.epoch:
            raise self._stale(f"Received {self._word} {epoch} is newer than current member epoch {self.epoch}.")
        for at, committed in offsets if epoch < self.epoch else ():
            since = self.assignment_epoch(committed.topic_id, at.partition)
            if since is None:
                raise self._stale(f"Partition {at} is not assigned or pending revocation for member.")
            if epoch < since:
                older = f"is older than assignment epoch {since} for partition {at}."
                raise self._stale(f"Received {self._word} {epoch} {older}")

    def check_fetch_epoch(self, epoch: int) -> None:
        """Like ``check_commit_epoch``, for a member that fetches offsets, without older epochs."""
        if epoch != self.epoch:
            expected = f"does not match the expected member epoch {self.epoch}."
            raise self._stale(f"The received {self._word} {epoch} {expected}")

    @property
    def _word(self) -> str:
        return "member epoch" if self.classic is None else "generation id"

    def _stale(self, problem: str) -> BrokerError:
        code = error_codes.STALE_MEMBER_EPOCH if self.classic is None else error_codes.ILLEGAL_GENERATION
        return error_for(code, problem)

    def moved(self, epoch: int, **changes: object) -> ConsumerMember:
        """The member at another epoch."""
        return self._replace(previous_epoch=self.epoch, epoch=epoch, **changes)  # type: ignore[arg-type]


class MemberTarget(NamedTuple):
    """The target of a member, and the epoch of the group's target assignment."""

    epoch: int
    partitions: Partitions


class Subscribed(NamedTuple):
    """The topics that a member subscribes to: their names, and the ids of existing ones."""

    names: Collection[str]
    ids: Collection[UUID]


def reconciled(
    member: ConsumerMember,
    target: MemberTarget,
    owned: Partitions | None,
    subscribed: Subscribed,
    changed: bool,
    partition_epoch: Callable[[UUID, int], int],
) -> Work[ConsumerMember]:
    """The member after a heartbeat that reports the partitions ``owned`` (None: unchanged).

    ``changed``: whether its subscription changed. ``partition_epoch``: the member epoch of a partition's owner, -1
    without an owner. BrokerError FENCED_MEMBER_EPOCH for a member whose state is unknown, as from a newer release.
    """
    if not changed and member.is_reconciled(target.epoch):
        return member
    if member.state == UNKNOWN_STATE:
        if owned is None or owned:
            raise error_for(
                error_codes.FENCED_MEMBER_EPOCH,
                "The consumer group member is in a unknown state. The member must abandon all its partitions and "
                "rejoin.",
            )
        return (yield from _next(member, target.epoch, target, owned, subscribed, partition_epoch))
    if member.state == STABLE and member.epoch == target.epoch:
        return _unsubscribed(member, owned, subscribed)
    if member.state == UNREVOKED_PARTITIONS and _owns(owned, member.revoking):
        return _unsubscribed(member, owned, subscribed) if changed else member
    return (yield from _next(member, member.epoch, target, owned, subscribed, partition_epoch))


def _owns(owned: Partitions | None, revoking: Mapping[UUID, Collection[int]]) -> bool:
    """Whether the member may still own some of the partitions in ``revoking``."""
    if owned is None:
        return True
    return any(not numbers.isdisjoint(revoking.get(topic_id, ())) for topic_id, numbers in owned.items())


def _unsubscribed(member: ConsumerMember, owned: Partitions | None, subscribed: Subscribed) -> ConsumerMember:
    """The member without partitions of topics to which it no longer subscribes, at the same epoch."""
    kept = {topic_id: numbers for topic_id, numbers in member.assigned.items() if topic_id in subscribed.ids}
    gives_up_all = not subscribed.names and not member.revoking
    if len(kept) == len(member.assigned) and not gives_up_all:
        return member
    revoking = dict(member.revoking)
    for topic_id in member.assigned.keys() - kept.keys():
        revoking[topic_id] = {**revoking.get(topic_id, {}), **member.assigned[topic_id]}
    if _owns(owned, revoking):
        return member.moved(member.epoch, state=UNREVOKED_PARTITIONS, assigned=kept, revoking=revoking)
    return member.moved(member.epoch, assigned=kept)


def _next(
    member: ConsumerMember,
    epoch: int,
    target: MemberTarget,
    owned: Partitions | None,
    subscribed: Subscribed,
    partition_epoch: Callable[[UUID, int], int],
) -> Work[ConsumerMember]:
    """The member after the next step towards its target."""
    assigned: dict[UUID, dict[int, int]] = {}
    revoking: dict[UUID, dict[int, int]] = {}
    unreleased = False
    for topic_id in {**target.partitions, **member.assigned}:
        yield
        wanted = target.partitions.get(topic_id, frozenset()) if topic_id in subscribed.ids else frozenset()
        present = member.assigned.get(topic_id, {})
        kept = {number: at for number, at in present.items() if number in wanted}
        lost = {number: at for number, at in present.items() if number not in wanted}
        own = member.revoking.get(topic_id, {})
        new = [number for number in wanted if number not in kept]
        free = [number for number in new if number in own or partition_epoch(topic_id, number) == -1]
        unreleased = unreleased or len(free) < len(new)
        if lost:
            revoking[topic_id] = lost
        if kept or free:
            assigned[topic_id] = {**kept, **dict.fromkeys(free, target.epoch)}
    if revoking and _owns(owned, revoking):
        kept_only = {
            topic_id: {number: at for number, at in member.assigned[topic_id].items() if number in numbers}
            for topic_id, numbers in assigned.items()
            if topic_id in member.assigned
        }
        first = {topic_id: numbers for topic_id, numbers in kept_only.items() if numbers}
        return member.moved(epoch, state=UNREVOKED_PARTITIONS, assigned=first, revoking=revoking)
    state = UNRELEASED_PARTITIONS if unreleased else STABLE
    return member.moved(target.epoch, state=state, assigned=assigned, revoking={})
