"""Committed offsets of groups: checks of commits (also in transactions), retention and expiration (KIP-211).

Follows Kafka 4's ``OffsetMetadataManager``. The handlers convert requests and responses.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.broker_embedded.coordinators.committed_offsets import CommittedOffsets
from kafka_tools.broker_embedded.coordinators.group import Committer, Group
from kafka_tools.broker_embedded.coordinators.offset_records import OffsetCommit, offset_record, offset_tombstone
from kafka_tools.broker_embedded.coordinators.runtime import OFFSET_CODES, mapped_code, undisturbed
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_PROTOCOL_TYPE, GroupState
from kafka_tools.values import ZERO_UUID, TopicPartition

if TYPE_CHECKING:
    import uuid

    from kafka_tools.broker_embedded.coordinators.group_store import GroupStore
    from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord

log = logging.getLogger(__name__)

GROUP_ID_NOT_FOUND_FROM = 9
"""Version of OffsetCommit that distinguishes an unknown group from an old generation (KIP-848)."""


Writer = tuple[int, int] | None
"""Id and epoch of the producer of a transactional write; None for a plain write."""


class PreparedCommit(NamedTuple):
    """A commit before the group's checks. ``codes``: an error code per offset; ``accepted``: the offsets to write."""

    codes: list[int]
    accepted: list[tuple[TopicPartition, OffsetCommit]]
    batch: bytes | None
    """None if there is nothing to write, or if building it failed with the error code ``failed``."""
    failed: int


class Offsets:
    """Offsets by group and partition. ``groups`` contains the groups and writes the records."""

    def __init__(self, groups: GroupStore) -> None:
        self._groups = groups
        self._runtime = groups.runtime
        self.table = CommittedOffsets()
        self.open = self.table.open
        """The offsets committed by transactions that are still open."""

    def of(self, group_id: str) -> Mapping[TopicPartition, OffsetCommit]:
        """All committed offsets of a group."""
        return self.table.by_group.get(group_id, {})

    def committed(
        self, group_id: str, member_id: str | None = None, member_epoch: int = -1
    ) -> Mapping[TopicPartition, OffsetCommit]:
        """All committed offsets of a group, optionally with a check of the member that fetches them.

        BrokerError for an unknown member, for another epoch, and while the group is not loaded.
        """
        group = self._groups.find(group_id)
        if group is not None:
            group.check_fetch(member_id, member_epoch)
        return self.of(group_id)

    def prepare(
        self, group_id: str, offsets: Iterable[tuple[TopicPartition, OffsetCommit]], producer: Writer = None
    ) -> Work[PreparedCommit]:
        """Build the batch for ``commit``, in slices.

        Skips offsets whose metadata is too long. If a partition occurs twice, its last offset counts.
        """
        longest = self._runtime.integer("offset.metadata.max.bytes")
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
                failed = mapped_code(error, OFFSET_CODES)
        return PreparedCommit(codes, accepted, batch, failed)

    def commit(
        self, group_id: str, by: Committer, prepared: PreparedCommit, version: int, producer: Writer = None
    ) -> list[int]:
        """Commit; returns an error code per offset. BrokerError if the caller may not commit.

        With a ``producer``, the commit is part of its transaction and takes effect when the transaction commits
        (KIP-447). The epoch is -1 for manually assigned consumers, administrators, and producers that name no member.
        """
        group, created = self._groups.find(group_id), None
        if group is None:
            if by.epoch >= 0:
                knows_code = producer is None and version >= GROUP_ID_NOT_FOUND_FROM
                raise error_for(error_codes.GROUP_ID_NOT_FOUND if knows_code else error_codes.ILLEGAL_GENERATION)
            created = self._groups.create_simple(group_id)
        elif producer is not None:
            group.check_commit_in_transaction(by, prepared.accepted)
        else:
            group.check_commit(by, prepared.accepted, version)
            self._groups.members[group.type].committed(group, by.member_id)
        failed = self._written(group_id, prepared, producer)
        if not failed:
            self._runtime.counts.groups.commits += len(prepared.accepted)
        if failed:
            pass
        elif producer is None:
            self.table.commit(group_id, prepared.accepted)
        else:
            partition = self._groups.partition(group_id)
            for at, committed in prepared.accepted:
                self.open.add(partition, producer[0], group_id, at, committed)
        if created is not None and not self.of(group_id) and not self.open.is_open(group_id):
            # Kafka keeps such a group in memory only, where some of its requests see it until the broker restarts
            del self._groups.groups[group_id]
        return [code or failed for code in prepared.codes]

    def _written(self, group_id: str, prepared: PreparedCommit, producer: Writer = None) -> int:
        """Append the batch, if there is one; returns an error code.

        If a topic was deleted since the request began, its offsets may be deleted already. A commit after that would
        apply to a new topic of the same name. The retriable error makes the client look up the topic again.
        """
        if prepared.batch is None:
            return prepared.failed
        topics = self._runtime.cluster.topics_by_id
        if not all(committed.topic_id in topics for _, committed in prepared.accepted):
            return error_codes.COORDINATOR_LOAD_IN_PROGRESS
        try:
            self._groups.write_batch(group_id, prepared.batch, producer=producer)
        except BrokerError as error:
            return mapped_code(error, OFFSET_CODES)
        return error_codes.NONE

    def delete(self, group_id: str, partitions: Sequence[TopicPartition]) -> Work[dict[TopicPartition, int]]:
        """Delete offsets of topics that no member subscribes to; returns an error code per partition."""

        def made() -> Work[tuple[dict[TopicPartition, int], list[TopicPartition], bytes]]:
            group = self._groups.find(group_id)
            if group is not None:
                yield from group.read_subscriptions()
            codes, gone = self._deletable(group_id, partitions)
            batch = yield from self._groups.batch_of(offset_tombstone(group_id, at) for at in gone)
            return codes, gone, batch

        def seen() -> object:
            return self._groups.seen(group_id), self.known(group_id)

        codes, gone, batch = yield from undisturbed(seen, made)
        if gone:
            self._groups.write_batch(group_id, batch)
            self.table.forget(group_id, gone)
            self._runtime.counts.groups.deletions += len(gone)
        return codes

    def known(self, group_id: str) -> set[TopicPartition]:
        """The partitions with committed offsets, including offsets of open transactions."""
        return {*self.of(group_id), *self.open.of(group_id)}

    def _deletable(
        self, group_id: str, partitions: Sequence[TopicPartition]
    ) -> tuple[dict[TopicPartition, int], list[TopicPartition]]:
        """The error code of each partition, and the partitions to delete. BrokerError if none may be deleted."""
        group = self._groups.find(group_id)
        if group is None:
            raise error_for(error_codes.GROUP_ID_NOT_FOUND)
        if group.state != GroupState.EMPTY and group.protocol_type != CONSUMER_PROTOCOL_TYPE:
            raise error_for(error_codes.NON_EMPTY_GROUP)
        codes = dict.fromkeys(partitions, error_codes.NONE)
        if group.state != GroupState.EMPTY:
            for at in codes:
                if group.is_subscribed(at.topic):
                    codes[at] = error_codes.GROUP_SUBSCRIBED_TO_TOPIC
        known = self.known(group_id)
        return codes, [at for at, code in codes.items() if not code and at in known]

    def forget_topic(self, topic: str, topic_id: uuid.UUID, group_ids: Collection[str] | None = None) -> Work[None]:
        """Delete the offsets of a deleted topic in these groups, or in all served groups.

        Offsets of a new topic of the same name stay.
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

        known = self.known(group_id)
        gone = [at for at in known if at.topic == topic and self._is_of(group_id, at, topic_ids)]
        for run in (yield from self._groups.log.in_batches(gone, tombstone)):
            now = [at for at in run if self._is_of(group_id, at, topic_ids)]  # the topic may exist again
            if now:
                self._groups.write(group_id, [offset_tombstone(group_id, at) for at in now])
                self.table.forget(group_id, now)
            yield

    def _is_of(self, group_id: str, at: TopicPartition, topic_ids: Collection[uuid.UUID]) -> bool:
        """Whether all offsets committed for a partition, also in transactions, have one of these topic ids."""
        committed = self.of(group_id).get(at)
        offsets = [*self.open.offsets(group_id, at), *(() if committed is None else (committed,))]
        return all(each.topic_id in topic_ids for each in offsets)

    def expired(self, group: Group, now_ms: int) -> Work[list[TopicPartition]]:
        """The expired offsets of a group.

        The retention starts at the commit for simple groups, for consumer groups, and for topics that a stable group
        does not read. It starts when the last member left for empty classic groups. Offsets of deleted topics expire
        immediately.
        """
        found = []
        yield from group.read_subscriptions()
        for at, committed in list(self.of(group.id).items()):
            yield
            is_gone = self._runtime.cluster.topic(at.topic) is None
            if not self.open.is_open(group.id, at) and (is_gone or self._is_expired(group, at, committed, now_ms)):
                found.append(at)
        return found

    def _is_expired(self, group: Group, at: TopicPartition, committed: OffsetCommit, now_ms: int) -> bool:
        since_ms = group.unused_since(at.topic, committed.commit_ms)
        if since_ms is None:
            return False
        if committed.expire_ms != -1:
            return now_ms >= committed.expire_ms
        retention_ms = self._runtime.integer("offsets.retention.minutes") * 60_000
        return now_ms - since_ms >= retention_ms


def _utf16_length(text: str) -> int:
    """The length as Java's ``String.length`` returns it."""
    return len(text) + sum(character > "\uffff" for character in text)
