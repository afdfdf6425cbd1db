"""Groups that are deleted, and offsets and groups whose time is over.

Tombstones of very many offsets are made in slices, and written if nothing has changed meanwhile: an offset that was
committed after they were begun must outlive them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.classic.group import DEAD, EMPTY, ClassicGroup
from kafka_tools.broker_embedded.coordinators.consumer.consumer_records import consumer_group_tombstones
from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.group_records import group_tombstone, offset_tombstone
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, whole
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.coordinators.group_store import GroupStore
    from kafka_tools.broker_embedded.coordinators.offsets import Offsets
    from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord
    from kafka_tools.broker_embedded.slices import Slices
    from kafka_tools.broker_embedded.timers import Timers
    from kafka_tools.values import TopicPartition

log = logging.getLogger(__name__)

Group = ClassicGroup | ConsumerGroup


class Removal:
    """``delete`` is a request's; ``schedule`` starts the sweeps, each some time after the one before has ended."""

    def __init__(
        self, store: GroupStore, offsets: Offsets, configs: ConfigStore, timers: Timers, slices: Slices
    ) -> None:
        self._store = store
        self._offsets = offsets
        self._configs = configs
        self._timers = timers
        self._slices = slices

    # DeleteGroups

    def delete(self, group_id: str) -> Work[None]:
        """Forget a group without members, its offsets too. BrokerError if it has members, or does not exist."""
        group = self._deletable(group_id)
        seen, partitions = self._seen(group), self._partitions(group_id)
        batch = yield from self._store.batch_of(self._tombstones(group, partitions))
        now = self._deletable(group_id)
        if now is group and self._seen(group) == seen and self._partitions(group_id) == partitions:
            self._write_end(group, batch)
        else:
            self._write_end(now, whole(self._store.batch_of(self._tombstones(now, self._partitions(group_id)))))

    def _deletable(self, group_id: str) -> Group:
        group = self._store.find(group_id)
        if group is None:
            raise error_for(error_codes.GROUP_ID_NOT_FOUND)
        if group.state != EMPTY:
            raise error_for(error_codes.NON_EMPTY_GROUP)
        return group

    def _partitions(self, group_id: str) -> set[TopicPartition]:
        return {*self._offsets.of(group_id), *self._offsets.open.of(group_id)}

    # offsets and groups whose time is over

    def schedule(self) -> None:
        """Look for what has expired after offsets.retention.check.interval.ms, again and again."""
        interval_ms = self._configs.broker.integer("offsets.retention.check.interval.ms")
        self._timers.call_later(interval_ms, self._sweep)

    def _sweep(self) -> None:
        self._slices.later(self._expire(), self._swept)

    def _swept(self, _: None, error: BaseException | None) -> None:
        if error is not None:
            log.error("cannot delete expired offsets yet", exc_info=error)
        self.schedule()

    def _expire(self) -> Work[None]:
        """Remove offsets whose time is over, and groups that are left with nothing."""
        now_ms = self._timers.clock.now_ms()
        for group in list(self._store.groups.values()):
            yield
            if not self._store.holds(group) or not self._store.loading.serves(group.id):
                continue
            try:
                yield from self._expire_group(group, now_ms)
            except BrokerError as error:  # the next sweep tries again
                log.warning("cannot delete expired offsets of group %s yet: %s", group.id, error)

    def _expire_group(self, group: Group, now_ms: int) -> Work[None]:
        """What changed while it was looked at is left to the next sweep.

        Tombstones that do not fit into one batch are written in several, the end of the group in the last, as in Kafka.
        """
        known, seen = dict(self._offsets.of(group.id)), self._seen(group)
        gone = yield from self._offsets.expired(group, now_ms)
        joining = isinstance(group, ClassicGroup) and bool(group.pending_join)
        idle = group.state == EMPTY and not joining and not self._offsets.open.is_open(group.id)
        ends = idle and len(gone) == len(known)
        if not gone and not ends:
            return
        changes: list[TopicPartition | None] = [*gone, None] if ends else [*gone]

        def tombstones(of: TopicPartition | None) -> Iterable[CoordinatorRecord]:
            return self._tombstones(group, ()) if of is None else (offset_tombstone(group.id, of),)

        for run in (yield from self._store.log.in_batches(changes, tombstones)):
            batch = yield from self._store.log.batch_of(record for each in run for record in tombstones(each))
            is_same = self._store.holds(group) and self._seen(group) == seen and self._offsets.of(group.id) == known
            if not is_same or any(self._offsets.open.is_open(group.id, each) for each in gone):
                return
            expired = [each for each in run if each is not None]
            if len(expired) == len(run):
                self._store.write_batch(group.id, batch)
                self._offsets.table.forget(group.id, expired)
            elif not self._offsets.open.is_open(group.id):
                self._write_end(group, batch)
            for each in expired:
                del known[each]

    # the end of a group

    def _seen(self, group: Group) -> tuple[object, ...]:
        """A value that changes with the group, but for its offsets."""
        if isinstance(group, ConsumerGroup):
            return (group.version,)
        return group.state, group.generation, list(group.members.values()), list(group.pending_join)

    def _tombstones(self, group: Group, partitions: Collection[TopicPartition]) -> Iterator[CoordinatorRecord]:
        yield from (offset_tombstone(group.id, partition) for partition in list(partitions))
        if isinstance(group, ConsumerGroup):
            yield from consumer_group_tombstones(group)
        else:
            yield group_tombstone(group.id)

    def _write_end(self, group: Group, batch: bytes) -> None:
        self._store.write_batch(group.id, batch)
        if isinstance(group, ClassicGroup):
            for member_id in list(group.pending_join):
                group.forget_pending(member_id)
            group.to(DEAD, self._timers.clock.now_ms())
        del self._store.groups[group.id]
        self._offsets.table.drop(group.id)
