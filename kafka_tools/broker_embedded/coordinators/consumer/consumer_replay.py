"""Applies the records of consumer groups, live and at a start. Only these records change a consumer group.

Records of Kafka before 4.1 are supported.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping

from kafka_tools.broker_embedded.coordinators.consumer.group import NO_EPOCH, ConsumerGroup
from kafka_tools.broker_embedded.coordinators.consumer.member import (
    STABLE,
    UNKNOWN_STATE,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    ClassicSide,
    ConsumerMember,
    Epochs,
    Partitions,
    ResolvedExpression,
)
from kafka_tools.broker_embedded.coordinators.group import Group, of_type
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored import consumer_group as stored

_MEMBER_STATES = (STABLE, UNREVOKED_PARTITIONS, UNRELEASED_PARTITIONS)


def replay(groups: MutableMapping[str, Group], key: Stored, value: Stored | None, read: object = None) -> None:
    """Apply one record of the log; other records than those of consumer groups change nothing.

    ``read``: see ``CoordinatorRecord``. The record creates its group if it is missing, and replaces a classic group
    that only had offsets.
    """
    apply = _REPLAY.get(type(key))
    if apply is None:
        return
    group_id: str = key.group_id  # type: ignore[attr-defined]
    group = of_type(groups.get(group_id), ConsumerGroup)
    if group is None and value is None:
        return
    if group is None:
        group = groups[group_id] = ConsumerGroup(group_id)
    if isinstance(key, stored.ConsumerGroupMetadataKey) and value is None:
        del groups[group_id]
        return
    apply(group, key, value, *(() if read is None or value is None else (read,)))
    group.version += 1


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
    """Epochs of partitions. Kafka before 4.2 did not write them; then they are the member's epoch."""
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
