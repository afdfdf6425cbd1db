"""Committed offsets of groups: checks of commits, also in transactions, retention and expiry (KIP-211).

Follows Kafka 4's ``OffsetMetadataManager``. Reading the request's shapes is the handlers' work.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.broker_embedded.coordinators.classic.group import COMPLETING_REBALANCE, EMPTY, STABLE, ClassicGroup
from kafka_tools.broker_embedded.coordinators.committed_offsets import CommittedOffsets
from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.consumer.offset_checks import (
    check_commit,
    check_commit_in_transaction,
    check_fetch,
)
from kafka_tools.broker_embedded.coordinators.group_records import (
    OffsetCommit,
    offset_record,
    offset_tombstone,
    response_code_of_offset_append,
)
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, whole
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_PROTOCOL_TYPE
from kafka_tools.values import ZERO_UUID, TopicPartition

if TYPE_CHECKING:
    import uuid

    from kafka_tools.broker_embedded.cluster.metadata import Cluster
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.coordinators.classic.rebalances import Rebalances
    from kafka_tools.broker_embedded.coordinators.group_store import GroupStore
    from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord

log = logging.getLogger(__name__)

GROUP_ID_NOT_FOUND_FROM = 9
"""Version of OffsetCommit that tells an unknown group from an old generation (KIP-848)."""


Writer = tuple[int, int] | None
"""Id and epoch of the producer in whose transaction something is written."""


class PreparedCommit(NamedTuple):
    """A commit before the group's checks. ``codes``: one per offset; ``accepted``: the offsets to be written."""

    codes: list[int]
    accepted: list[tuple[TopicPartition, OffsetCommit]]
    batch: bytes | None
    """None: there is nothing to write, or ``failed`` says why it cannot be."""
    failed: int


class Offsets:
    """Offsets by group and partition. ``groups`` holds the groups and writes the records."""

    def __init__(self, groups: GroupStore, rebalances: Rebalances, cluster: Cluster, configs: ConfigStore) -> None:
        self._groups = groups
        self._rebalances = rebalances
        self._cluster = cluster
        self._configs = configs
        self.table = CommittedOffsets()
        self.open = self.table.open
        """The offsets committed by transactions that are still open."""

    def of(self, group_id: str) -> Mapping[TopicPartition, OffsetCommit]:
        """Everything a group has committed."""
        return self.table.by_group.get(group_id, {})

    def committed(self, group_id: str) -> Mapping[TopicPartition, OffsetCommit]:
        """Everything a group has committed. BrokerError while its part of the log is not read, or cannot be."""
        self._groups.loading.check(group_id)
        return self.of(group_id)

    def committed_for(
        self, group_id: str, member_id: str | None, member_epoch: int
    ) -> Mapping[TopicPartition, OffsetCommit]:
        """As ``committed``, for a member of a consumer group. BrokerError if it is none, or at another epoch."""
        group = self._groups.find(group_id)
        if isinstance(group, ConsumerGroup):
            check_fetch(group, member_id, member_epoch)
        return self.of(group_id)

    def is_unstable(self, group_id: str, at: TopicPartition) -> bool:
        """Whether a transaction that is open may change what the group has committed for a partition."""
        return self.open.is_open(group_id, at)

    def prepare(
        self, group_id: str, offsets: Iterable[tuple[TopicPartition, OffsetCommit]], producer: Writer = None
    ) -> Work[PreparedCommit]:
        """The batch that ``commit`` writes, made in slices; for ``commit_in_transaction`` with its ``producer``.

        Offsets whose metadata is too long are left out. Of a partition that is named twice the last offset counts.
        """
        longest = self._configs.broker.integer("offset.metadata.max.bytes")
        codes, accepted = [], []
        for each in offsets:
            yield
            too_long = _utf16_length(each[1].metadata) > longest
            codes.append(error_codes.OFFSET_METADATA_TOO_LARGE if too_long else error_codes.NONE)
            if not too_long:
                accepted.append(each)
        batch, failed = None, error_codes.NONE
        if accepted:
            try:
                batch = yield from self._groups.batch_of(
                    (offset_record(group_id, *each) for each in accepted), producer
                )
            except BrokerError as error:
                failed = response_code_of_offset_append(error)
        return PreparedCommit(codes, accepted, batch, failed)

    def commit(
        self,
        group_id: str,
        generation: int,
        member_id: str,
        instance_id: str | None,
        prepared: PreparedCommit,
        version: int,
    ) -> list[int]:
        """Commit; returns the error code of each. BrokerError if the group does not let the caller commit.

        A generation of -1 is a commit by assignment or by an administrator: the group must be empty.
        """
        group = self._groups.find(group_id)
        created = None
        if group is None:
            if generation >= 0:
                late = error_codes.ILLEGAL_GENERATION
                raise error_for(error_codes.GROUP_ID_NOT_FOUND if version >= GROUP_ID_NOT_FOUND_FROM else late)
            created = self._groups.create_simple(group_id)
        elif isinstance(group, ConsumerGroup):
            check_commit(group, member_id, generation, prepared.accepted, version)
        else:
            _check_commit(group, generation, member_id, instance_id)
            self._rebalances.keep_alive(group, member_id)
        failed = self._written(group_id, prepared)
        if not failed:
            self.table.commit(group_id, prepared.accepted)
        if created is not None and not self.of(group_id):
            # Kafka keeps such a group in memory only, where some of its requests see it until the broker restarts
            self._groups.forget(created)
        return [code or failed for code in prepared.codes]

    def commit_in_transaction(
        self,
        group_id: str,
        generation: int,
        member_id: str,
        instance_id: str | None,
        prepared: PreparedCommit,
        producer: tuple[int, int],
    ) -> list[int]:
        """Commit as part of the transaction of ``producer`` (id, epoch): it holds once that is committed (KIP-447).

        As ``commit``; a generation of -1 without a member is a producer that knows no members, and may always.
        """
        group = self._groups.find(group_id)
        created = None
        if group is None:
            if generation >= 0:
                raise error_for(error_codes.ILLEGAL_GENERATION)
            created = self._groups.create_simple(group_id)
        elif isinstance(group, ConsumerGroup):
            check_commit_in_transaction(group, member_id, instance_id, generation, prepared.accepted)
        else:
            _check_member(group, generation, member_id, instance_id)
        failed = self._written(group_id, prepared, producer)
        if not failed:
            partition = self._groups.partition(group_id)
            for at, committed in prepared.accepted:
                self.open.add(partition, producer[0], group_id, at, committed)
        if created is not None and not self.open.is_open(group_id):
            self._groups.forget(created)
        return [code or failed for code in prepared.codes]

    def _written(self, group_id: str, prepared: PreparedCommit, producer: Writer = None) -> int:
        """Append the batch, if there is one; returns an error code.

        A topic may have been deleted since it was asked for, and with it what was committed for it: a commit that came
        after would hold for a new topic of its name. Who is told to ask again is told then which topic that is.
        """
        if prepared.batch is None:
            return prepared.failed
        topics = self._cluster.topics_by_id
        if not all(committed.topic_id in topics for _, committed in prepared.accepted):
            return error_codes.COORDINATOR_LOAD_IN_PROGRESS
        try:
            self._groups.write_batch(group_id, prepared.batch, producer=producer)
        except BrokerError as error:
            return response_code_of_offset_append(error)
        return error_codes.NONE

    def delete(self, group_id: str, partitions: Sequence[TopicPartition]) -> Work[dict[TopicPartition, int]]:
        """Forget offsets that no member of the group reads; returns the error code per partition."""
        yield from self._read_subscriptions(group_id)
        _, gone = self._deletable(group_id, partitions)
        batch = yield from self._groups.batch_of(offset_tombstone(group_id, at) for at in gone)
        yield from self._read_subscriptions(group_id)
        codes, now = self._deletable(group_id, partitions)
        if now != gone:  # the group has changed meanwhile
            batch = whole(self._groups.batch_of(offset_tombstone(group_id, at) for at in now))
        if now:
            self._groups.write_batch(group_id, batch)
            self.table.forget(group_id, now)
        return codes

    def _read_subscriptions(self, group_id: str) -> Work[None]:
        group = self._groups.find(group_id)
        if isinstance(group, ClassicGroup):
            yield from group.read_subscriptions()

    def _deletable(
        self, group_id: str, partitions: Sequence[TopicPartition]
    ) -> tuple[dict[TopicPartition, int], list[TopicPartition]]:
        """The error code of each partition, and what is to be forgotten. BrokerError if the group lets none go."""
        group = self._groups.find(group_id)
        if group is None:
            raise error_for(error_codes.GROUP_ID_NOT_FOUND)
        if group.state != EMPTY and group.protocol_type != CONSUMER_PROTOCOL_TYPE:
            raise error_for(error_codes.NON_EMPTY_GROUP)
        codes = dict.fromkeys(partitions, error_codes.NONE)
        if group.state != EMPTY:
            for at in codes:
                if group.is_subscribed(at.topic):
                    codes[at] = error_codes.GROUP_SUBSCRIBED_TO_TOPIC
        known = {*self.of(group_id), *self.open.of(group_id)}
        return codes, [at for at, code in codes.items() if not code and at in known]

    def forget_topic(self, topic: str, topic_id: uuid.UUID, group_ids: Collection[str] | None = None) -> Work[None]:
        """A topic was deleted: so are the offsets that these groups, or all that are served, committed for it.

        Those for a new one of its name stay.
        """
        known_as = (topic_id, ZERO_UUID)
        for group_id in list(self.table.groups() if group_ids is None else group_ids):
            yield
            if not self._groups.loading.serves(group_id):
                continue
            try:
                yield from self._forget_of(group_id, topic, known_as)
            except BrokerError as error:
                log.warning("cannot delete the offsets of deleted topic %s in group %s yet: %s", topic, group_id, error)

    def _forget_of(self, group_id: str, topic: str, topic_ids: Collection[uuid.UUID]) -> Work[None]:
        def tombstone(at: TopicPartition) -> list[CoordinatorRecord]:
            return [offset_tombstone(group_id, at)]

        known = {*self.of(group_id), *self.open.of(group_id)}
        gone = [at for at in known if at.topic == topic and self._is_of(group_id, at, topic_ids)]
        for run in (yield from self._groups.log.in_batches(gone, tombstone)):
            now = [at for at in run if self._is_of(group_id, at, topic_ids)]  # the topic may be there anew
            if now:
                self._groups.write(group_id, [offset_tombstone(group_id, at) for at in now])
                self.table.forget(group_id, now)
            yield

    def _is_of(self, group_id: str, at: TopicPartition, topic_ids: Collection[uuid.UUID]) -> bool:
        """Whether what is committed for a partition, in transactions too, is for a topic of one of these ids."""
        committed = self.of(group_id).get(at)
        offsets = [*self.open.offsets(group_id, at), *(() if committed is None else (committed,))]
        return all(each.topic_id in topic_ids for each in offsets)

    def expired(self, group: ClassicGroup | ConsumerGroup, now_ms: int) -> Work[list[TopicPartition]]:
        """The offsets whose time is over.

        It counts from the commit for simple groups, for consumer groups and for topics that a stable group no longer
        reads, and from the moment the last member left for classic groups that have none. Offsets of topics that are
        gone expire at once.
        """
        found = []
        if isinstance(group, ClassicGroup):
            yield from group.read_subscriptions()
        for at, committed in list(self.of(group.id).items()):
            yield
            is_gone = self._cluster.topic(at.topic) is None
            if not self.open.is_open(group.id, at) and (is_gone or self._is_expired(group, at, committed, now_ms)):
                found.append(at)
        return found

    def _is_expired(
        self, group: ClassicGroup | ConsumerGroup, at: TopicPartition, committed: OffsetCommit, now_ms: int
    ) -> bool:
        since_ms = committed.commit_ms
        if isinstance(group, ConsumerGroup):
            if group.is_subscribed(at.topic):
                return False
        elif group.protocol_type is not None:
            if group.state == EMPTY:
                since_ms = group.state_since_ms if group.state_since_ms >= 0 else committed.commit_ms
            elif group.state != STABLE or group.subscribed_topics is None or group.is_subscribed(at.topic):
                return False
        if committed.expire_ms != -1:
            return now_ms >= committed.expire_ms
        retention_ms = self._configs.broker.integer("offsets.retention.minutes") * 60_000
        return now_ms - since_ms >= retention_ms


def _check_commit(group: ClassicGroup, generation: int, member_id: str, instance_id: str | None) -> None:
    if generation < 0 and group.state == EMPTY:
        return
    if not _check_member(group, generation, member_id, instance_id) and group.state != EMPTY:
        raise error_for(error_codes.UNKNOWN_MEMBER_ID)
    if group.state == COMPLETING_REBALANCE:
        raise error_for(error_codes.REBALANCE_IN_PROGRESS)


def _check_member(group: ClassicGroup, generation: int, member_id: str, instance_id: str | None) -> bool:
    """Whether it is a member that commits; BrokerError if it is not one of this generation."""
    if generation < 0 and (group.state == EMPTY or not (member_id or instance_id is not None)):
        return False
    group.check_member(member_id, instance_id)
    if generation != group.generation:
        raise error_for(error_codes.ILLEGAL_GENERATION)
    return True


def _utf16_length(text: str) -> int:
    """The length that Java's String has."""
    return len(text) + sum(character > "\uffff" for character in text)
