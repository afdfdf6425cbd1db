"""Members that leave a consumer group, or are put out of it because a deadline is over."""

from __future__ import annotations

import logging
from collections.abc import Collection
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
from kafka_tools.broker_embedded.coordinators.group_records import response_code_of_group_append
from kafka_tools.broker_embedded.refusals import refuse
from kafka_tools.errors import BrokerError

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.classic.group import ClassicGroup
    from kafka_tools.broker_embedded.coordinators.classic.rebalances import Rebalances
    from kafka_tools.broker_embedded.coordinators.consumer.group_topics import GroupTopics
    from kafka_tools.broker_embedded.coordinators.consumer.migration import Migration
    from kafka_tools.broker_embedded.coordinators.group_store import GroupStore
    from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord
    from kafka_tools.broker_embedded.timers import Timers

log = logging.getLogger(__name__)


class Fencing:
    """``fence`` takes members out of a group; ``expect_...`` start the deadlines that end in it."""

    def __init__(
        self, store: GroupStore, topics: GroupTopics, migration: Migration, rebalances: Rebalances, timers: Timers
    ) -> None:
        self._store = store
        self._topics = topics
        self._migration = migration
        self._rebalances = rebalances
        self._clock = timers.clock
        self.deadlines = MemberTimers(timers)

    def fence(self, group: ConsumerGroup, members: Collection[ConsumerMember]) -> None:
        """These members are out; the others get another target with their next heartbeats. BrokerError if not written.

        The group becomes a classic one if only classic members are left and it may.
        """
        if not members:
            return
        if self._migration.downgrades_without(group, members):
            classic, records = self._migration.downgraded(group, members, None, self._clock.now_ms())
            self.become_classic(group, classic, records)
            self._rebalances.prepare(classic, "the last member of the consumer protocol left")
            return
        leaving: dict[str, int] = {}
        records = []
        for member in members:
            records += member_tombstones(group.id, member.id)
            if member.regex:
                leaving[member.regex] = leaving.get(member.regex, 0) + 1
        unused = [regex for regex, count in leaving.items() if group.expression_members[regex] == count]
        records += [expression_tombstone(group.id, regex) for regex in unused]
        metadata_hash = self._topics.hash_of(group.topics_without(members, unused))
        records.append(epoch_record(group.id, group.epoch + 1, metadata_hash))
        self._store.commit(group.id, records)
        for member in members:
            self.deadlines.cancel(group.id, member.id)

    def become_classic(self, group: ConsumerGroup, classic: ClassicGroup, records: list[CoordinatorRecord]) -> None:
        """Write that a consumer group is a classic one from now on, and make it so."""
        try:
            self._store.write(group.id, records)
        except BrokerError as error:
            raise refuse(response_code_of_group_append(error), error.broker_message) from error
        log.info("group %s: only classic members are left, it is a classic group again", group.id)
        self._store.groups[group.id] = classic
        for member_id in group.members:
            self.deadlines.cancel(group.id, member_id)
        for member in classic.members.values():
            self._rebalances.expect_heartbeat(classic, member)

    # deadlines

    def expect_heartbeat(self, group_id: str, member_id: str, after_ms: int) -> None:
        """Start the member's session timeout."""
        self.deadlines.start(
            group_id, member_id, SESSION, after_ms, lambda: self._missed(group_id, member_id, "its session is over")
        )

    def expect_revocation(self, group_id: str, member: ConsumerMember) -> None:
        """Start the deadline by which the member has to revoke partitions, or to be at another epoch."""
        self.deadlines.start(
            group_id,
            member.id,
            REBALANCE,
            member.rebalance_timeout_ms,
            lambda: self._missed(group_id, member.id, "it did not give up its partitions in time", member.epoch),
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

    def _missed(self, group_id: str, member_id: str, reason: str, epoch: int | None = None) -> None:
        group = self._store.groups.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if isinstance(group, ConsumerGroup) and isinstance(member, ConsumerMember) and epoch in (None, member.epoch):
            log.info("group %s: member %s is out: %s", group_id, member_id, reason)
            self.fence(group, [member])
