"""Deletes groups on request, and expired offsets and groups regularly.

Tombstones of very many offsets are built in slices. They are written only if nothing has changed meanwhile, so that
they do not delete an offset that was committed after the work began.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.offset_records import offset_tombstone
from kafka_tools.broker_embedded.coordinators.runtime import undisturbed
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import GroupState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from kafka_tools.broker_embedded.coordinators.group import Group
    from kafka_tools.broker_embedded.coordinators.group_store import GroupStore
    from kafka_tools.broker_embedded.coordinators.offsets import Offsets
    from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord
    from kafka_tools.values import TopicPartition

log = logging.getLogger(__name__)


class Removal:
    """``delete`` serves DeleteGroups; ``schedule`` starts the regular sweeps for expired offsets and groups."""

    def __init__(self, store: GroupStore, offsets: Offsets) -> None:
        self._store = store
        self._offsets = offsets

    # DeleteGroups

    def delete(self, group_id: str) -> Work[None]:
        """Delete a group without members, and its offsets. BrokerError if it has members or does not exist."""

        def tombstones() -> Work[bytes]:
            return self._store.batch_of(self._tombstones(self._deletable(group_id), self._offsets.known(group_id)))

        batch = yield from undisturbed(lambda: (self._store.seen(group_id), self._offsets.known(group_id)), tombstones)
        self._write_end(self._deletable(group_id), batch)

    def _deletable(self, group_id: str) -> Group:
        group = self._store.find(group_id)
        if group is None:
            raise error_for(error_codes.GROUP_ID_NOT_FOUND)
        if group.state != GroupState.EMPTY:
            raise error_for(error_codes.NON_EMPTY_GROUP)
        return group

    # expired offsets and groups

    def schedule(self) -> None:
        """Delete expired offsets and groups repeatedly, after each offsets.retention.check.interval.ms."""
        interval, failed = "offsets.retention.check.interval.ms", "cannot delete expired offsets yet"
        self._store.runtime.repeat(interval, self._expire, failed)

    def _expire(self) -> Work[None]:
        """Delete expired offsets, and abandoned groups without offsets."""
        now_ms = self._store.runtime.now_ms()
        for group in list(self._store.groups.values()):
            yield
            if not self._store.holds(group) or not self._store.loading.serves(group.id):
                continue
            try:
                yield from self._expire_group(group, now_ms)
            except BrokerError as error:  # the next sweep tries again
                log.warning("cannot delete expired offsets of group %s yet: %s", group.id, error)

    def _expire_group(self, group: Group, now_ms: int) -> Work[None]:
        """Delete a group's expired offsets, and the group if nothing remains. The next sweep retries after a change.

        Tombstones that do not fit into one batch are written in several. The last one deletes the group, as in Kafka.
        """
        known, seen = dict(self._offsets.of(group.id)), group.stamp
        gone = yield from self._offsets.expired(group, now_ms)
        is_idle = group.is_abandoned and not self._offsets.open.is_open(group.id)
        ends = is_idle and len(gone) == len(known)
        if not gone and not ends:
            return
        changes: list[TopicPartition | None] = [*gone, None] if ends else [*gone]

        def tombstones(of: TopicPartition | None) -> Iterable[CoordinatorRecord]:
            return self._tombstones(group, ()) if of is None else (offset_tombstone(group.id, of),)

        for run in (yield from self._store.log.in_batches(changes, tombstones)):
            batch = yield from self._store.log.batch_of(record for each in run for record in tombstones(each))
            is_same = self._store.holds(group) and group.stamp == seen and self._offsets.of(group.id) == known
            if not is_same or any(self._offsets.open.is_open(group.id, each) for each in gone):
                return
            expired = [each for each in run if each is not None]
            if len(expired) == len(run):
                self._store.write_batch(group.id, batch)
                self._offsets.table.forget(group.id, expired)
            elif not self._offsets.open.is_open(group.id):
                self._write_end(group, batch)
            self._store.runtime.counts.groups.expirations += len(expired)
            for each in expired:
                del known[each]

    # deletion of a group

    def _tombstones(self, group: Group, partitions: Collection[TopicPartition]) -> Iterator[CoordinatorRecord]:
        yield from (offset_tombstone(group.id, partition) for partition in list(partitions))
        yield from group.tombstones()

    def _write_end(self, group: Group, batch: bytes) -> None:
        self._store.write_batch(group.id, batch)
        self._store.members[group.type].ended(group)
        del self._store.groups[group.id]
        self._offsets.table.drop(group.id)
