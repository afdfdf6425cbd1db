"""The records of consumer groups in ``__consumer_offsets``, in Kafka's formats (``GroupCoordinatorRecordHelpers``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kafka_tools.broker_embedded.coordinators.consumer.member import (
    ConsumerMember,
    Epochs,
    Partitions,
    ResolvedExpression,
)
from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord
from kafka_tools.broker_embedded.slices import Work, to_thread
from kafka_tools.protocol.stored import consumer_group as stored

_MOST_AT_ONCE = 200
"""A record with more topics is created on another thread."""
_CLASSIC = stored.ConsumerGroupMemberMetadataValue.ClassicMemberMetadata
_MEMBER_KEYS = (
    stored.ConsumerGroupCurrentMemberAssignmentKey,
    stored.ConsumerGroupTargetAssignmentMemberKey,
    stored.ConsumerGroupMemberMetadataKey,
)
"""The keys of a member's records, in the order of their tombstones."""


def member_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """The record of a member: its identity and its subscription."""
    classic = member.classic
    value = stored.ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
        classic_member_metadata=None
        if classic is None
        else _CLASSIC(
            session_timeout_ms=classic.session_timeout_ms,
            supported_protocols=[
                _CLASSIC.ClassicProtocol(name=name, metadata=metadata) for name, metadata in classic.protocols
            ],
        ),
    )
    key = stored.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.id)
    return CoordinatorRecord(key, value, elements=len(member.topics))


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """The record of a group's epoch and the hash of its topics."""
    value = stored.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return CoordinatorRecord(stored.ConsumerGroupMetadataKey(group_id=group_id), value)


def target_record(group_id: str, member_id: str, partitions: Partitions) -> CoordinatorRecord:
    """The record of a member's target assignment."""
    kind = stored.ConsumerGroupTargetAssignmentMemberValue
    topics = [
        kind.TopicPartition(topic_id=topic_id, partitions=sorted(numbers)) for topic_id, numbers in partitions.items()
    ]
    key = stored.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return CoordinatorRecord(key, kind(topic_partitions=topics), elements=len(topics), read=partitions)


def target_epoch_record(group_id: str, epoch: int, computed_ms: int) -> CoordinatorRecord:
    """The record that marks the target assignments of an epoch as complete."""
    value = stored.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=computed_ms)
    return CoordinatorRecord(stored.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def current_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """The record of a member's current assignment and epoch."""
    value = stored.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=_topics_of_epochs(member.assigned),
        partitions_pending_revocation=_topics_of_epochs(member.revoking),
    )
    key = stored.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.id)
    epochs = (member.assigned, member.revoking)
    return CoordinatorRecord(key, value, elements=sum(map(len, epochs)), read=epochs)


def expression_record(group_id: str, regex: str, resolved: ResolvedExpression) -> CoordinatorRecord:
    """The record of the topics that an expression matches."""
    value = stored.ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.resolved_ms
    )
    key = stored.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    return CoordinatorRecord(key, value, elements=len(resolved.topics), read=resolved)


def expression_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    """The tombstone of an expression that no member uses any more."""
    key = stored.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    return CoordinatorRecord(key, None)


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """The tombstone of the topics that Kafka before 4.1 stored. The hash replaces them."""
    return CoordinatorRecord(stored.ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """The tombstones of a member."""
    return [CoordinatorRecord(key(group_id=group_id, member_id=member_id), None) for key in _MEMBER_KEYS]


def group_tombstones(group_id: str, member_ids: Sequence[str], regexes: Sequence[str]) -> Iterator[CoordinatorRecord]:
    """The tombstones of a group with these members and resolved expressions."""
    current, target, member = _MEMBER_KEYS
    yield from (CoordinatorRecord(current(group_id=group_id, member_id=each), None) for each in member_ids)
    yield from (CoordinatorRecord(target(group_id=group_id, member_id=each), None) for each in member_ids)
    yield CoordinatorRecord(stored.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None)
    yield from (CoordinatorRecord(member(group_id=group_id, member_id=each), None) for each in member_ids)
    yield from (expression_tombstone(group_id, regex) for regex in regexes)
    yield partition_metadata_tombstone(group_id)
    yield CoordinatorRecord(stored.ConsumerGroupMetadataKey(group_id=group_id), None)


def long_record(make: Callable[[], CoordinatorRecord], topics: int) -> Work[CoordinatorRecord]:
    """Create a record, on another thread if it has very many topics. ``make`` must only read immutable data."""
    return (yield from to_thread(make)) if topics > _MOST_AT_ONCE else make()


def _topics_of_epochs(epochs: Epochs) -> list[stored.TopicPartitions]:
    return [
        stored.TopicPartitions(
            topic_id=topic_id, partitions=sorted(numbers), assignment_epochs=[numbers[each] for each in sorted(numbers)]
        )
        for topic_id, numbers in epochs.items()
    ]
