"""Removes members of consumer groups that leave or miss a deadline."""

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
from kafka_tools.broker_embedded.coordinators.consumer.member_timers import REASONS, REBALANCE, MemberTimers
from kafka_tools.broker_embedded.coordinators.group import of_type
from kafka_tools.broker_embedded.slices import Work, shielded
from kafka_tools.errors import BrokerError, WireError

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.classic.group import ClassicGroup
    from kafka_tools.broker_embedded.coordinators.classic.rebalances import Rebalances
    from kafka_tools.broker_embedded.coordinators.consumer.group_topics import GroupTopics
    from kafka_tools.broker_embedded.coordinators.consumer.migration import Migration
    from kafka_tools.broker_embedded.coordinators.group_store import GroupStore

log = logging.getLogger(__name__)

Leaving = tuple[ConsumerGroup, Collection[ConsumerMember]] | None
"""A group and its members to remove; None if there is nothing to do any more."""


class Fencing:
    """``fence`` removes members from a group; ``expect`` starts deadlines after which it removes them."""

    def __init__(self, store: GroupStore, topics: GroupTopics, migration: Migration, rebalances: Rebalances) -> None:
        self._store = store
        self._runtime = store.runtime
        self._topics = topics
        self._migration = migration
        self._rebalances = rebalances
        self.deadlines = MemberTimers(store.runtime)

    @shielded
    def fence(self, group_id: str, leaving: Callable[[], Leaving]) -> Work[None]:
        """Remove members; the others get another target with their next heartbeats. BrokerError if the write fails.

        If only classic members are left, the group becomes a classic group, if configs allow it and the records fit.
        This is done in slices: ``leaving`` is called again if the group changes meanwhile.
        """
        converted, out = yield from self._topics.undisturbed(group_id, lambda: self._converted(leaving))
        if converted is not None:
            yield from self.become_classic(*converted, "the last member of the consumer protocol left")
        elif out is not None and out[1]:
            self._put_out(*out)

    def _converted(
        self, leaving: Callable[[], Leaving]
    ) -> Work[tuple[tuple[ConsumerGroup, ClassicGroup, bytes | None] | None, Leaving]]:
        """The remaining classic group with the batch of its conversion, or None if it stays a consumer group."""
        out = leaving()
        if out is None or not out[1] or not self._migration.downgrades_without(*out):
            return None, out
        group, members = out
        try:
            classic, records = yield from self._migration.downgraded(group, members, None, self._runtime.now_ms())
            return (group, classic, (yield from self._store.change_of(records))), out
        except (BrokerError, WireError) as error:  # too large for a record or a batch
            log.warning("group %s stays a consumer group: cannot convert it to a classic group: %s", group.id, error)
            return None, out

    def _put_out(self, group: ConsumerGroup, members: Collection[ConsumerMember]) -> None:
        leaving: dict[str, int] = {}
        records = []
        for member in members:
            records += member_tombstones(group.id, member.id)
            if member.regex:
                leaving[member.regex] = leaving.get(member.regex, 0) + 1
        # Only expressions with records need tombstones. An older broker accepted expressions too long for both.
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
        """Write the conversion to a classic group and apply it. ``rebalances``: the reason for a rebalance, or None.

        The group changes immediately; only the sessions of its members start in slices.
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

    def expect(
        self,
        deadline: str,
        group_id: str,
        member_id: str,
        after_ms: int,
        *,
        at_epoch: int | None = None,
        once: bool = False,
    ) -> None:
        """Start a deadline of a member, after which it is removed. ``REASONS`` has the reasons for the log.

        ``at_epoch``: only if the member is still at this epoch. ``once``: keep a deadline that is already running.
        """
        self.deadlines.start(
            group_id, member_id, deadline, after_ms,
            lambda: self._missed(group_id, member_id, REASONS[deadline], at_epoch), once=once,
        )  # fmt: skip

    def expect_revocation(self, group_id: str, member: ConsumerMember) -> None:
        """Expect the member to revoke partitions, or reach another epoch, in time."""
        self.expect(REBALANCE, group_id, member.id, member.rebalance_timeout_ms, at_epoch=member.epoch)

    def _missed(self, group_id: str, member_id: str, reason: str, epoch: int | None) -> Work[None]:
        def leaving() -> Leaving:
            group = of_type(self._store.groups.get(group_id), ConsumerGroup)
            member = None if group is None else group.members.get(member_id)
            if group is None or member is None or epoch not in (None, member.epoch):
                return None
            log.info("group %s: removing member %s: %s", group_id, member_id, reason)
            return group, [member]

        return self.fence(group_id, leaving)
