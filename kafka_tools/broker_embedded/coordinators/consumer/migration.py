"""Converts groups with members from one protocol to the other (KIP-848's online migration).

A classic group becomes a consumer group when a member of the consumer protocol joins. It becomes a classic group again
when only classic members are left. Follows Kafka's ``GroupMetadataManager``,
``ConsumerGroup.fromClassicGroup`` and ``ClassicGroup.fromConsumerGroup``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from struct import unpack_from
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from kafka_tools.broker_embedded.coordinators.classic.classic_records import group_record
from kafka_tools.broker_embedded.coordinators.classic.group import EMPTY, STABLE, ClassicGroup
from kafka_tools.broker_embedded.coordinators.classic.member import Member
from kafka_tools.broker_embedded.coordinators.consumer.consumer_records import long_record
from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.consumer.member import ClassicSide, ConsumerMember, Partitions
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, to_thread
from kafka_tools.errors import WireError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.codec import decode_prefix, encode_versioned
from kafka_tools.protocol.enums import CONSUMER_PROTOCOL_TYPE
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.consumer.group_topics import GroupTopics
    from kafka_tools.broker_embedded.coordinators.consumer.settings import ConsumerGroupSettings
    from kafka_tools.broker_embedded.coordinators.group_store import GroupStore
    from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord

log = logging.getLogger(__name__)

_MOST_AT_ONCE = 200
"""The assignment of a member with more topics is encoded on another thread."""
_MOST_BYTES_AT_ONCE = 8 * 1024
"""Longer metadata of a classic member is decoded on another thread."""
S = TypeVar("S", bound=Stored)
_NamedPartitions = ConsumerProtocolAssignment.TopicPartition | ConsumerProtocolSubscription.TopicPartition

_NEWEST = 3
"""The newest version of the embedded protocol; newer ones are read as this one, as clients do (KIP-429)."""


class Migration:
    """Converts a group to the other protocol, and creates the records of the conversion."""

    def __init__(self, store: GroupStore, topics: GroupTopics, settings: ConsumerGroupSettings) -> None:
        self._store = store
        self._topics = topics
        self._settings = settings
        self._to_consumer: dict[str, Callable[[Any, list[CoordinatorRecord]], Work[ConsumerGroup]]] = {
            ClassicGroup.type: self._upgraded
        }
        """The types of groups that become consumer groups when a member of the consumer protocol joins."""

    def group_for(self, group_id: str, joins: bool, records: list[CoordinatorRecord]) -> Work[ConsumerGroup]:
        """The consumer group of a heartbeat. Records of a conversion are added to ``records``.

        If the member ``joins``, a missing group is created, an empty classic group is replaced, and a classic group
        with members is converted. BrokerError GROUP_ID_NOT_FOUND.
        """
        present = self._store.find_as(ConsumerGroup, group_id)
        if present is not None:
            return present
        found = self._store.find(group_id)
        if found is None and joins:
            return ConsumerGroup(group_id)
        convert = self._to_consumer.get(found.type) if found is not None and joins else None
        if convert is None:
            unknown = f"Consumer group {group_id} not found."
            problem = unknown if found is None else f"Group {group_id} is not a consumer group."
            raise error_for(error_codes.GROUP_ID_NOT_FOUND, problem)
        return (yield from convert(found, records))

    # from classic

    def _upgraded(self, classic: ClassicGroup, records: list[CoordinatorRecord]) -> Work[ConsumerGroup]:
        group = ConsumerGroup(classic.id)
        if classic.state == EMPTY:
            records += classic.tombstones()
            return group
        if not self._settings.may_migrate("upgrade"):
            raise _not_upgraded(classic, "online upgrade is disabled")
        if classic.protocol_type != CONSUMER_PROTOCOL_TYPE:
            raise _not_upgraded(classic, "the group does not use the consumer embedded protocol")
        if len(classic.members) > self._store.runtime.integer("group.consumer.max.size"):
            raise _not_upgraded(classic, "the group size exceeds the consumer group maximum size")
        group.epoch = group.target_epoch = classic.generation
        try:
            for member in list(classic.members.values()):
                yield from self._add_classic(group, classic, member)
        except (WireError, ValueError) as error:
            log.warning("group %s stays classic: cannot read the subscription of a member: %s", classic.id, error)
            raise _not_upgraded(classic, "the embedded consumer protocol is malformed") from error
        for name in group.reading.topics:
            yield
            self._topics.prepare(name)
        group.metadata_hash = self._topics.hash_of(group.reading.topics)
        records += classic.tombstones()
        for record in group.records():
            yield
            records.append(record)
        return group

    def _add_classic(self, group: ConsumerGroup, classic: ClassicGroup, member: Member) -> Work[None]:
        partitions: Partitions = {}
        if member.assignment:
            assignment = yield from decoded(ConsumerProtocolAssignment, member.assignment)
            if assignment.user_data:
                raise _not_upgraded(
                    classic,
                    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a "
                    "default assignor before re-attempting the upgrade",
                )
            partitions = yield from self.partitions_of(assignment.assigned_partitions)
        metadata = member.metadata(classic.protocol or "")
        subscription = yield from decoded(ConsumerProtocolSubscription, metadata)
        group.targets[member.id] = partitions
        yield
        group.put(
            ConsumerMember(
                member.id,
                epoch=classic.generation,
                previous_epoch=classic.generation,
                instance_id=member.instance_id,
                rack_id=subscription.rack_id or None,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                client_id=member.client_id,
                client_host=member.client_host,
                topics=frozenset(subscription.topics),
                assigned={
                    topic_id: dict.fromkeys(numbers, classic.generation) for topic_id, numbers in partitions.items()
                },
                classic=ClassicSide(member.session_timeout_ms, tuple(member.protocols)),
            )
        )

    def partitions_of(self, topics: Iterable[_NamedPartitions]) -> Work[dict[UUID, frozenset[int]]]:
        """Partitions in the embedded protocol, converted to topic ids, without deleted topics."""
        found = {}
        for each in topics:
            yield
            topic = self._topics.cluster.topic(each.topic)
            if topic is not None:
                found[topic.id] = frozenset(each.partitions)
        return found

    # to classic

    def downgrades_without(self, group: ConsumerGroup, leaving: Collection[ConsumerMember]) -> bool:
        """Whether the group becomes classic without these members."""
        staying = len(group.members) - len(leaving)
        if not staying or not group.all_classic_but(leaving):
            return False
        return self._may_downgrade(group, staying)

    def downgrades_with(self, group: ConsumerGroup, replaced: ConsumerMember) -> bool:
        """Whether the group becomes classic when a classic member replaces this member."""
        if replaced.classic is not None or not group.all_classic_but([replaced]):
            return False
        return self._may_downgrade(group, len(group.members))

    def _may_downgrade(self, group: ConsumerGroup, members: int) -> bool:
        if self._settings.may_migrate("downgrade") and members <= self._store.runtime.integer("group.max.size"):
            return True
        log.info(
            "group %s stays a consumer group: conversion to classic is disabled, or the group is too large", group.id
        )
        return False

    def downgraded(
        self, group: ConsumerGroup, leaving: Collection[ConsumerMember], joining: ConsumerMember | None, now_ms: int
    ) -> Work[tuple[ClassicGroup, list[CoordinatorRecord]]]:
        """The classic group of the remaining members, and the records of the conversion.

        ``joining`` replaces a static member, whose tombstones the caller has already added.
        """
        replaced = None if joining is None else group.static_member(joining.instance_id)
        renamed = {} if joining is None or replaced is None else {replaced.id: joining.id}
        gone = {member.id for member in leaving} | renamed.keys()
        staying = [member for member in group.members.values() if member.id not in gone]  # the group may change
        targets = dict(group.targets)
        records = []
        for record in group.tombstones(renamed):
            yield
            records.append(record)
        classic = ClassicGroup(group.id, now_ms)
        classic.generation = group.epoch
        classic.state = STABLE
        for member in (*staying, *(() if joining is None else (joining,))):
            yield
            classic.add(_classic_member(member))
        yield
        classic.protocol = classic.select_protocol()
        yield
        classic.refresh_subscriptions()
        for each in classic.members.values():
            of = replaced.id if replaced is not None and joining is not None and each.id == joining.id else each.id
            has = targets.get(of, {})
            yield
            each.assignment = yield from self.assignment_bytes(has, each.metadata(classic.protocol))
        made = partial(group_record, classic, {each.id: each.assignment for each in classic.members.values()})
        records.append((yield from long_record(made, len(classic.members))))
        return classic, records

    def assignment_bytes(self, partitions: Mapping[UUID, Collection[int]], subscription: bytes) -> Work[bytes]:
        """Partitions in the embedded protocol, in the version of the member's subscription."""
        topics = []
        for topic_id, numbers in partitions.items():
            yield
            name = self._topics.name(topic_id)
            if name is not None:
                topics.append(ConsumerProtocolAssignment.TopicPartition(topic=name, partitions=sorted(numbers)))
        version = min(unpack_from(">h", subscription)[0], _NEWEST)
        assignment = ConsumerProtocolAssignment(assigned_partitions=topics)
        if len(topics) <= _MOST_AT_ONCE:
            return encode_versioned(assignment, version)
        return (yield from to_thread(lambda: encode_versioned(assignment, version)))


def _classic_member(member: ConsumerMember) -> Member:
    assert member.classic is not None
    return Member(
        member.id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocols=list(member.classic.protocols),
    )


def decoded(kind: type[S], metadata: bytes) -> Work[S]:
    """A struct of the embedded protocol. WireError or ValueError for bytes that are not one."""
    if len(metadata) <= _MOST_BYTES_AT_ONCE:
        return _decode(kind, metadata)
    return (yield from to_thread(lambda: _decode(kind, metadata)))


def _decode(kind: type[S], metadata: bytes) -> S:
    if len(metadata) < 2:
        raise ValueError("it has no version")
    version: int = unpack_from(">h", metadata)[0]
    if version < 0:
        raise ValueError(f"it has the version {version}")
    return decode_prefix(kind, min(version, _NEWEST), metadata, 2)[0]


def _not_upgraded(group: ClassicGroup, reason: str) -> Exception:
    return error_for(
        error_codes.GROUP_ID_NOT_FOUND, f"Cannot upgrade classic group {group.id} to consumer group because {reason}."
    )
