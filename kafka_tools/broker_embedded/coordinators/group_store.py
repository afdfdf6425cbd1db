"""The groups of this broker, and the log that keeps them: the base of every part of the group coordinator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.classic.group import ClassicGroup
from kafka_tools.broker_embedded.coordinators.consumer.consumer_records import consumer_group_tombstones, replay
from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.group_records import group_record, response_code_of_group_append
from kafka_tools.broker_embedded.coordinators.loading import Loading
from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorLog, CoordinatorRecord, partition_for
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, whole
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes

if TYPE_CHECKING:
    from kafka_tools.clock import Clock


class GroupStore:
    """``groups`` by id. A group is written before it holds."""

    def __init__(self, log: CoordinatorLog, loading: Loading, clock: Clock) -> None:
        self.log = log
        self.loading = loading
        self._clock = clock
        self.groups: dict[str, ClassicGroup | ConsumerGroup] = {}

    def find(self, group_id: str) -> ClassicGroup | ConsumerGroup | None:
        """The group of this id, of either kind. BrokerError while its part of the log is not read, or cannot be."""
        self.loading.check(group_id)
        return self.groups.get(group_id)

    def classic(self, group_id: str) -> ClassicGroup | None:
        """As ``find``, if it is a classic group."""
        found = self.find(group_id)
        return found if isinstance(found, ClassicGroup) else None

    def consumer(self, group_id: str) -> ConsumerGroup | None:
        """As ``find``, if it is a consumer group."""
        found = self.find(group_id)
        return found if isinstance(found, ConsumerGroup) else None

    def holds(self, group: ClassicGroup | ConsumerGroup) -> bool:
        """Whether the group is still this coordinator's: timers ask before they act."""
        return self.groups.get(group.id) is group

    def create(self, group_id: str) -> ClassicGroup:
        """A new, empty group, in the log already, where a consumer group without members makes way for it.

        BrokerError if it cannot be written.
        """
        group = ClassicGroup(group_id, self._clock.now_ms())
        former = self.consumer(group_id)
        records = [] if former is None else list(consumer_group_tombstones(former))
        try:
            self.write(group_id, [*records, group_record(group, {})])
        except BrokerError as error:
            raise error_for(response_code_of_group_append(error)) from error
        self.groups[group_id] = group
        return group

    def create_simple(self, group_id: str) -> ClassicGroup:
        """A group that only commits: its offsets are all there is in the log."""
        group = self.groups[group_id] = ClassicGroup(group_id, self._clock.now_ms())
        return group

    def forget(self, group: ClassicGroup) -> None:
        """Undo ``create_simple`` when no offset could be committed."""
        self.groups.pop(group.id, None)

    def ensured(self) -> Work[None]:
        """Make the log if there is none. BrokerError with what a member is told if it cannot be made."""
        try:
            yield from self.log.ensured()
        except BrokerError as error:
            raise error_for(response_code_of_group_append(error), error.broker_message) from error

    def partition(self, group_id: str) -> int:
        """The partition of ``__consumer_offsets`` that holds the group."""
        return partition_for(group_id, self.log.partitions)

    def _there(self, group_id: str) -> int:
        """The partition of a group. BrokerError where the log has been deleted."""
        if not self.log.partitions:
            raise error_for(error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"{self.log.topic} does not exist")
        return self.partition(group_id)

    def write(
        self, group_id: str, records: Sequence[CoordinatorRecord], *, producer: tuple[int, int] | None = None
    ) -> None:
        """Append records of one group, as part of the transaction of ``producer`` (id, epoch) if one is given.

        BrokerError with the code of the failed append.
        """
        self.log.append(self._there(group_id), records, producer=producer)

    def batch_of(self, records: Iterable[CoordinatorRecord], producer: tuple[int, int] | None = None) -> Work[bytes]:
        """The batch of many records of one group, in slices, for ``write_batch``, and the log if there is none.

        BrokerError MESSAGE_TOO_LARGE, or why there is no log.
        """
        yield from self.log.ensured()
        return (yield from self.log.batch_of(records, producer))

    def write_batch(self, group_id: str, batch: bytes, *, producer: tuple[int, int] | None = None) -> None:
        """Append what ``batch_of`` has made; raises as ``write``."""
        self.log.append_batch(self._there(group_id), batch, producer=producer)

    def change_of(self, records: Sequence[CoordinatorRecord]) -> Work[bytes | None]:
        """The batch of a change of a consumer group, in slices, for ``commit``; None for none. Raises as it does."""
        if not records:
            return None
        try:
            return (yield from self.log.batch_of(records))
        except BrokerError as error:
            raise error_for(response_code_of_group_append(error), error.broker_message) from error

    def write_change(self, group_id: str, batch: bytes) -> None:
        """Append what ``change_of`` has made: who asks makes it hold. BrokerError with what a member is told."""
        try:
            self.write_batch(group_id, batch)
        except BrokerError as error:
            raise error_for(response_code_of_group_append(error), error.broker_message) from error

    def commit(self, group_id: str, records: Sequence[CoordinatorRecord], batch: bytes | None = None) -> None:
        """Write a change of a consumer group and make it hold. BrokerError with what a member is told: it does not.

        ``batch``: what ``change_of`` made of the records.
        """
        batch = whole(self.change_of(records)) if batch is None else batch
        if batch is None:
            return
        self.write_change(group_id, batch)
        for record in records:
            replay(self.groups, record.key, record.value, record.read)

    def group_of(self, group_id: str, records: Iterable[CoordinatorRecord]) -> Work[ConsumerGroup | None]:
        """The consumer group that records make from nothing, in slices: it holds once its maker has written them."""
        made: dict[str, ConsumerGroup] = {}
        for record in records:
            yield
            replay(made, record.key, record.value, record.read)
        return made.get(group_id)
