"""Consumer groups as records of ``__consumer_offsets``, in Kafka's formats (``GroupCoordinatorRecordHelpers``).

``replay`` is the only way in which such a group changes. Records that a Kafka before 4.1 wrote are understood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import TypeVar

from kafka_tools.broker_embedded.coordinators.consumer.group import NO_EPOCH, ConsumerGroup, ResolvedExpression
from kafka_tools.broker_embedded.coordinators.consumer.member import (
    STABLE,
    UNKNOWN_STATE,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    ClassicSide,
    ConsumerMember,
    Epochs,
    Partitions,
)
from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord
from kafka_tools.broker_embedded.slices import Work, to_thread
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored import consumer_group as stored

G = TypeVar("G")

_MOST_AT_ONCE = 200
"""A record of more topics is made on another thread."""
_CLASSIC = stored.ConsumerGroupMemberMetadataValue.ClassicMemberMetadata
_MEMBER_KEYS = (
    stored.ConsumerGroupCurrentMemberAssignmentKey,
    stored.ConsumerGroupTargetAssignmentMemberKey,
    stored.ConsumerGroupMemberMetadataKey,
)
"""What there is of each member, in the order in which it ends."""
_MEMBER_STATES = (STABLE, UNREVOKED_PARTITIONS, UNRELEASED_PARTITIONS)


# writing


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
    """The epoch of a group, and the hash of what it reads."""
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
    """The record that says that the target assignments of an epoch are complete."""
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
    """The topics that an expression matches."""
    value = stored.ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.resolved_ms
    )
    key = stored.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    return CoordinatorRecord(key, value, elements=len(resolved.topics), read=resolved)


def expression_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    """No member uses an expression any longer."""
    key = stored.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    return CoordinatorRecord(key, None)


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """What a Kafka before 4.1 kept of the topics is not needed: the hash stands for it."""
    return CoordinatorRecord(stored.ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """A member is gone."""
    return [CoordinatorRecord(key(group_id=group_id, member_id=member_id), None) for key in _MEMBER_KEYS]


def consumer_group_tombstones(
    group: ConsumerGroup, renamed: Mapping[str, str] | None = None
) -> Iterator[CoordinatorRecord]:
    """The group is gone. ``renamed``: ids of members that were replaced in the same change, old -> new."""
    ids = [(renamed or {}).get(member_id, member_id) for member_id in group.members]
    current, target, member = _MEMBER_KEYS
    yield from (CoordinatorRecord(current(group_id=group.id, member_id=each), None) for each in ids)
    yield from (CoordinatorRecord(target(group_id=group.id, member_id=each), None) for each in ids)
    yield CoordinatorRecord(stored.ConsumerGroupTargetAssignmentMetadataKey(group_id=group.id), None)
    yield from (CoordinatorRecord(member(group_id=group.id, member_id=each), None) for each in ids)
    yield from [expression_tombstone(group.id, regex) for regex in group.expressions]
    yield partition_metadata_tombstone(group.id)
    yield CoordinatorRecord(stored.ConsumerGroupMetadataKey(group_id=group.id), None)


def consumer_group_records(group: ConsumerGroup) -> Iterator[CoordinatorRecord]:
    """A group as it is, from nothing."""
    members = group.members.values()
    yield from (member_record(group.id, member) for member in members)
    yield epoch_record(group.id, group.epoch, group.metadata_hash)
    yield from (target_record(group.id, member.id, group.targets.get(member.id, {})) for member in members)
    yield target_epoch_record(group.id, group.target_epoch, group.target_ms)
    yield from (current_record(group.id, member) for member in members)


def long_record(make: Callable[[], CoordinatorRecord], topics: int) -> Work[CoordinatorRecord]:
    """A record of so many topics, made on another thread if they are very many: ``make`` reads what never changes."""
    return (yield from to_thread(make)) if topics > _MOST_AT_ONCE else make()


def _topics_of_epochs(epochs: Epochs) -> list[stored.TopicPartitions]:
    return [
        stored.TopicPartitions(
            topic_id=topic_id, partitions=sorted(numbers), assignment_epochs=[numbers[each] for each in sorted(numbers)]
        )
        for topic_id, numbers in epochs.items()
    ]


# reading


def replay(
    groups: MutableMapping[str, G | ConsumerGroup], key: Stored, value: Stored | None, read: object = None
) -> bool:
    """One record of the log; whether it is one of a consumer group. ``read``: what its maker knows it to say.

    A record makes the group that it is about; a classic group that only had offsets is one no longer.
    """
    if type(key) not in _REPLAY:
        return False
    group_id: str = key.group_id  # type: ignore[attr-defined]
    found = groups.get(group_id)
    if isinstance(found, ConsumerGroup):
        group = found
    elif value is None:
        return True
    else:
        group = groups[group_id] = ConsumerGroup(group_id)
    if isinstance(key, stored.ConsumerGroupMetadataKey) and value is None:
        del groups[group_id]
    else:
        if read is None or value is None:
            _REPLAY[type(key)](group, key, value)
        else:
            _REPLAY[type(key)](group, key, value, read)
        group.version += 1
    return True


def _replay_epoch(group: ConsumerGroup, key: object, value: stored.ConsumerGroupMetadataValue) -> None:
    group.epoch, group.metadata_hash = value.epoch, value.metadata_hash


def _replay_partition_metadata(group: ConsumerGroup, key: object, value: object | None) -> None:
    group.has_partition_metadata = value is not None


def _replay_member(
    group: ConsumerGroup,
    key: stored.ConsumerGroupMemberMetadataKey,
    value: stored.ConsumerGroupMemberMetadataValue | None,
) -> None:
    if value is None:
        group.remove(key.member_id)
        return
    classic = value.classic_member_metadata
    group.put(
        group.members.get(key.member_id, ConsumerMember(key.member_id))._replace(
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topics=frozenset(value.subscribed_topic_names),
            regex=value.subscribed_topic_regex,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            assignor=value.server_assignor,
            classic=None
            if classic is None
            else ClassicSide(
                classic.session_timeout_ms,
                tuple((each.name, bytes(each.metadata)) for each in classic.supported_protocols),
            ),
        )
    )


def _replay_target_epoch(
    group: ConsumerGroup, key: object, value: stored.ConsumerGroupTargetAssignmentMetadataValue | None
) -> None:
    group.target_epoch = NO_EPOCH if value is None else value.assignment_epoch
    group.target_ms = 0 if value is None else value.assignment_timestamp


def _replay_target(
    group: ConsumerGroup,
    key: stored.ConsumerGroupTargetAssignmentMemberKey,
    value: stored.ConsumerGroupTargetAssignmentMemberValue | None,
    read: Partitions | None = None,
) -> None:
    if value is None:
        group.targets.pop(key.member_id, None)
    elif read is not None:
        group.targets[key.member_id] = read
    else:
        group.targets[key.member_id] = {each.topic_id: frozenset(each.partitions) for each in value.topic_partitions}


def _replay_current(
    group: ConsumerGroup,
    key: stored.ConsumerGroupCurrentMemberAssignmentKey,
    value: stored.ConsumerGroupCurrentMemberAssignmentValue | None,
    read: tuple[Epochs, Epochs] | None = None,
) -> None:
    member = group.members.get(key.member_id)
    if value is not None:
        assigned, revoking = read or (
            _epochs(value.assigned_partitions, value.member_epoch),
            _epochs(value.partitions_pending_revocation, value.member_epoch),
        )
        group.put(
            (member or ConsumerMember(key.member_id))._replace(
                epoch=value.member_epoch,
                previous_epoch=value.previous_member_epoch,
                state=value.state if value.state in _MEMBER_STATES else UNKNOWN_STATE,
                assigned=assigned,
                revoking=revoking,
            )
        )
    elif member is not None:
        group.put(member._replace(epoch=-1, previous_epoch=-1, assigned={}, revoking={}))


def _epochs(topics: list[stored.TopicPartitions], member_epoch: int) -> Epochs:
    """Epochs of partitions; those of Kafka before 4.2, which did not write them, are the member's."""
    found = {}
    for each in topics:
        epochs, numbers = each.assignment_epochs, each.partitions
        if epochs is None or len(epochs) != len(numbers):
            epochs = [max(member_epoch, 0)] * len(numbers)
        found[each.topic_id] = dict(zip(numbers, epochs, strict=True))
    return found


def _replay_expression(
    group: ConsumerGroup,
    key: stored.ConsumerGroupRegularExpressionKey,
    value: stored.ConsumerGroupRegularExpressionValue | None,
    read: ResolvedExpression | None = None,
) -> None:
    resolved = read
    if value is not None and resolved is None:
        resolved = ResolvedExpression(frozenset(value.topics), value.version, value.timestamp)
    group.resolve(key.regular_expression, resolved)


_REPLAY: dict[type[Stored], Callable[..., None]] = {
    stored.ConsumerGroupMetadataKey: _replay_epoch,
    stored.ConsumerGroupPartitionMetadataKey: _replay_partition_metadata,
    stored.ConsumerGroupMemberMetadataKey: _replay_member,
    stored.ConsumerGroupTargetAssignmentMetadataKey: _replay_target_epoch,
    stored.ConsumerGroupTargetAssignmentMemberKey: _replay_target,
    stored.ConsumerGroupCurrentMemberAssignmentKey: _replay_current,
    stored.ConsumerGroupRegularExpressionKey: _replay_expression,
}
