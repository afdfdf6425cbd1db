"""Members that leave a consumer group, or are put out of it because a deadline is over."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.consumer.consumer_records import (
    epoch_record,
    expression_tombstone,
    member_tombstones,
)
from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.consumer.member import ConsumerMember
from kafka_tools.broker_embedded.coordinators.consumer.member_timers import (
    JOIN,
    REBALANCE,
    SESSION,
    SYNC,
    MemberTimers,
)
from kafka_tools.broker_embedded.slices import Work, shielded, whole
from kafka_tools.errors import BrokerError, WireError

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.classic.group import ClassicGroup
    from kafka_tools.broker_embedded.coordinators.classic.rebalances import Rebalances
    from kafka_tools.broker_embedded.coordinators.consumer.group_topics import GroupTopics
    from kafka_tools.broker_embedded.coordinators.consumer.migration import Migration
    from kafka_tools.broker_embedded.coordinators.group_store import GroupStore
    from kafka_tools.broker_embedded.slices import Slices
    from kafka_tools.broker_embedded.timers import Timers

log = logging.getLogger(__name__)

_MOST_TRIES = 3
"""How often a group is made classic in slices for nothing, because it changed meanwhile, before it is at once."""
Leaving = tuple[ConsumerGroup, Collection[ConsumerMember]] | None
"""A group and members of it that have to go; None if there is nothing to do any more."""


class Fencing:
    """``fence`` takes members out of a group; ``expect_...`` start the deadlines that end in it."""

    def __init__(
        self,
        store: GroupStore,
        topics: GroupTopics,
        migration: Migration,
        rebalances: Rebalances,
        timers: Timers,
        slices: Slices,
    ) -> None:
        self._store = store
        self._topics = topics
        self._migration = migration
        self._rebalances = rebalances
        self._clock = timers.clock
        self.deadlines = MemberTimers(timers, slices)

    @shielded
    def fence(self, leaving: Callable[[], Leaving]) -> Work[None]:
        """These members are out; the others get another target with their next heartbeats. BrokerError if not written.

        The group becomes a classic one if only classic members are left and it may, and can. That is made in slices,
        though whoever asked for it has gone: ``leaving`` is asked again if the group changes meanwhile.
        """
        for number in range(_MOST_TRIES):
            out = leaving()
            if out is None:
                return
            group, members = out
            if not members:
                return
            if not self._migration.downgrades_without(group, members):
                self._put_out(group, members)
                return
            seen = group.version, self._topics.serial
            converting = self._converted(group, members)
            try:
                classic, batch = whole(converting) if number == _MOST_TRIES - 1 else (yield from converting)
            except (BrokerError, WireError) as error:  # too much for one record, or for any
                log.warning(
                    "group %s stays a consumer group: cannot convert it to a classic group: %s", group.id, error
                )
                out = leaving()
                if out is not None and out[1]:
                    self._put_out(*out)
                return
            if self._store.holds(group) and seen == (group.version, self._topics.serial):
                yield from self.become_classic(group, classic, batch, "the last member of the consumer protocol left")
                return

    def _converted(
        self, group: ConsumerGroup, members: Collection[ConsumerMember]
    ) -> Work[tuple[ClassicGroup, bytes | None]]:
        classic, records = yield from self._migration.downgraded(group, members, None, self._clock.now_ms())
        return classic, (yield from self._store.change_of(records))

    def _put_out(self, group: ConsumerGroup, members: Collection[ConsumerMember]) -> None:
        leaving: dict[str, int] = {}
        records = []
        for member in members:
            records += member_tombstones(group.id, member.id)
            if member.regex:
                leaving[member.regex] = leaving.get(member.regex, 0) + 1
        # What has no record needs no tombstone. An older broker took expressions that fit into neither.
        unused = [
            regex
            for regex, count in leaving.items()
            if group.expression_members[regex] == count and regex in group.expressions
        ]
        records += [expression_tombstone(group.id, regex) for regex in unused]
        metadata_hash = self._topics.hash_of(group.topics_without(members, unused))
        records.append(epoch_record(group.id, group.epoch + 1, metadata_hash))
        self._store.commit(group.id, records)
        for member in members:
            self.deadlines.cancel(group.id, member.id)

    @shielded
    def become_classic(
        self, group: ConsumerGroup, classic: ClassicGroup, batch: bytes | None, rebalances: str | None
    ) -> Work[None]:
        """Write that a consumer group is a classic one from now on, and make it so. ``rebalances``: why, if it does.

        It is one at once, but that the sessions of its members begin in slices.
        """
        assert batch is not None
        self._store.write_change(group.id, batch)
        log.info("group %s: only classic members are left, converting it to a classic group", group.id)
        self._store.groups[group.id] = classic
        self.deadlines.cancel_group(group.id)
        if rebalances is not None:
            self._rebalances.prepare(classic, rebalances)
        for member in list(classic.members.values()):
            yield
            if self._store.holds(classic) and classic.members.get(member.id) is member and member.heartbeat is None:
                self._rebalances.expect_heartbeat(classic, member)

    # deadlines

    def expect_heartbeat(self, group_id: str, member_id: str, after_ms: int) -> None:
        """Start the member's session timeout."""
        self.deadlines.start(group_id, member_id, SESSION, after_ms, lambda: self._session_over(group_id, member_id))

    def expect_first_heartbeat(self, group_id: str, member_id: str, after_ms: int) -> None:
        """As ``expect_heartbeat``, for a member that may have sent one already."""
        self.deadlines.start_once(
            group_id, member_id, SESSION, after_ms, lambda: self._session_over(group_id, member_id)
        )

    def expect_revocation(self, group_id: str, member: ConsumerMember) -> None:
        """Start the deadline by which the member has to revoke partitions, or to be at another epoch."""
        self.deadlines.start(
            group_id,
            member.id,
            REBALANCE,
            member.rebalance_timeout_ms,
            lambda: self._missed(group_id, member.id, "it did not revoke its partitions in time", member.epoch),
        )

    def expect_join(self, group_id: str, member: ConsumerMember) -> None:
        """Start the deadline by which a classic member that was told to join again has to do so."""
        self.deadlines.start_once(
            group_id,
            member.id,
            JOIN,
            member.rebalance_timeout_ms,
            lambda: self._missed(group_id, member.id, "it did not join in time"),
        )

    def expect_sync(self, group_id: str, member_id: str, after_ms: int) -> None:
        """Start the deadline by which a classic member that joined has to sync."""
        self.deadlines.start(
            group_id, member_id, SYNC, after_ms, lambda: self._missed(group_id, member_id, "it did not sync in time")
        )

    def _session_over(self, group_id: str, member_id: str) -> Work[None]:
        return self._missed(group_id, member_id, "its session expired")

    def _missed(self, group_id: str, member_id: str, reason: str, epoch: int | None = None) -> Work[None]:
        def leaving() -> Leaving:
            group = self._store.groups.get(group_id)
            member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
            if not isinstance(group, ConsumerGroup) or not isinstance(member, ConsumerMember):
                return None
            if epoch not in (None, member.epoch):
                return None
            log.info("group %s: removing member %s: %s", group_id, member_id, reason)
            return group, [member]

        return self.fence(leaving)
