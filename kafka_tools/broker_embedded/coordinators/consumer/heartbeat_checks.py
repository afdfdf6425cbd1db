"""The checks of a heartbeat of the consumer protocol and of its sender, in Kafka's order and words.

They are ``GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid`` and the checks of
``GroupMetadataManager``. Each raises BrokerError.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.consumer.member import (
    JOINING_EPOCH,
    LEAVING_EPOCH,
    STATIC_LEAVING_EPOCH,
    ConsumerMember,
    Partitions,
)
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

_OWN_ID_FROM = 1
"""First version in which members generate their own ids (KIP-1082)."""


def check_heartbeat(request: ConsumerGroupHeartbeatRequest, version: int, assignors: Sequence[str]) -> None:
    """INVALID_REQUEST or UNSUPPORTED_ASSIGNOR for a request that no group accepts."""
    epoch = request.member_epoch
    if version >= _OWN_ID_FROM or epoch > 0 or epoch == LEAVING_EPOCH:
        _check_text(request.member_id, "MemberId can't be empty.")
    _check_text(request.group_id, "GroupId can't be empty.")
    _check_text(request.instance_id, "InstanceId can't be empty.")
    _check_text(request.rack_id, "RackId can't be empty.")
    if epoch == JOINING_EPOCH:
        if request.rebalance_timeout_ms == -1:
            raise _invalid("RebalanceTimeoutMs must be provided in first request.")
        if request.topic_partitions is None or request.topic_partitions:
            raise _invalid("TopicPartitions must be empty when (re-)joining.")
        if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
            raise _invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
    elif epoch == STATIC_LEAVING_EPOCH:
        if request.instance_id is None:
            raise _invalid("InstanceId can't be null.")
    elif epoch < STATIC_LEAVING_EPOCH:
        raise _invalid("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise error_for(
            error_codes.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(assignors)}.",
        )


def _check_text(text: str | None, problem: str) -> None:
    if text is not None and not text.strip():
        raise _invalid(problem)


def _invalid(problem: str) -> Exception:
    return error_for(error_codes.INVALID_REQUEST, problem)


def check_room(group: ConsumerGroup, member_id: str, most: int) -> None:
    """GROUP_MAX_SIZE_REACHED for one member too many."""
    if len(group.members) >= most and (not member_id or member_id not in group.members):
        raise error_for(
            error_codes.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {most} members.",
        )


def check_epoch(member: ConsumerMember, epoch: int, owned: Partitions | None) -> None:
    """FENCED_MEMBER_EPOCH unless the epoch is the member's.

    A member that missed a response may send the previous epoch, if it owns only partitions that are assigned to it.
    """
    if epoch in (JOINING_EPOCH, member.epoch):
        return
    is_late = epoch == member.previous_epoch and owned is not None and _is_assigned(member, owned)
    if epoch > member.epoch or not is_late:
        word = "greater" if epoch > member.epoch else "smaller"
        raise error_for(
            error_codes.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {word} member epoch ({epoch}) than the one known by the group "
            f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
        )


def _is_assigned(member: ConsumerMember, owned: Partitions) -> bool:
    return all(
        topic_id in member.assigned and numbers <= member.assigned[topic_id].keys()
        for topic_id, numbers in owned.items()
    )


def check_released(present: ConsumerMember, member_id: str, instance_id: str) -> None:
    """UNRELEASED_INSTANCE_ID unless the static member with the instance id has left temporarily."""
    if present.epoch != STATIC_LEAVING_EPOCH:
        raise error_for(
            error_codes.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id "
            f"is owned by {present.id} member.",
        )


def check_instance(present: ConsumerMember | None, member_id: str, instance_id: str) -> ConsumerMember:
    """The static member; UNKNOWN_MEMBER_ID without one, FENCED_INSTANCE_ID if its member id differs."""
    if present is None:
        raise error_for(error_codes.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    check_same(present, member_id, instance_id)
    return present


def check_same(present: ConsumerMember, member_id: str, instance_id: str) -> None:
    """FENCED_INSTANCE_ID if another member has the instance id."""
    if present.id != member_id:
        raise error_for(
            error_codes.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {present.id}.",
        )
