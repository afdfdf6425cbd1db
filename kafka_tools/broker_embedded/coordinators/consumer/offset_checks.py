"""Which members of a consumer group may commit and fetch offsets (Kafka's ``ConsumerGroup.validateOffsetCommit``).

A member that missed an answer commits with an older epoch: for partitions that it has had since then that is right
(KIP-1251). Each check raises BrokerError, which refuses all of a request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.consumer.member import ConsumerMember
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.group_records import OffsetCommit

MEMBER_EPOCHS_FROM = 9
"""Version of OffsetCommit that knows epochs of members."""


def check_commit(
    group: ConsumerGroup,
    member_id: str,
    epoch: int,
    offsets: Sequence[tuple[TopicPartition, OffsetCommit]],
    version: int,
) -> None:
    """Whether a member may commit; nobody else may while there are members."""
    if epoch < 0 and group.is_empty:
        return
    member = group.member(member_id)
    if member.classic is None and version < MEMBER_EPOCHS_FROM:
        raise error_for(
            error_codes.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members using the consumer group protocol",
        )
    _check_epochs(member, epoch, offsets)


def check_commit_in_transaction(
    group: ConsumerGroup,
    member_id: str,
    instance_id: str | None,
    epoch: int,
    offsets: Sequence[tuple[TopicPartition, OffsetCommit]],
) -> None:
    """Whether a producer may commit for a member. One that knows no members always may."""
    if epoch < 0 and group.is_empty:
        return
    if epoch == -1 and not member_id and instance_id is None:
        return
    try:
        _check_epochs(group.member(member_id), epoch, offsets)
    except BrokerError as error:
        if error.code.code == error_codes.STALE_MEMBER_EPOCH:
            raise error_for(error_codes.ILLEGAL_GENERATION) from error
        raise


def _check_epochs(
    member: ConsumerMember,
    epoch: int,
    offsets: Sequence[tuple[TopicPartition, OffsetCommit]],
) -> None:
    """STALE_MEMBER_EPOCH, or ILLEGAL_GENERATION for a classic member."""
    if epoch == member.epoch:
        return
    if epoch > member.epoch:
        raise _stale(member, f"Received {_word(member)} {epoch} is newer than current member epoch {member.epoch}.")
    for at, committed in offsets:
        since = member.assignment_epoch(committed.topic_id, at.partition)
        if since is None:
            raise _stale(member, f"Partition {at} is not assigned or pending revocation for member.")
        if epoch < since:
            raise _stale(
                member, f"Received {_word(member)} {epoch} is older than assignment epoch {since} for partition {at}."
            )


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> None:
    """Whether a member may fetch offsets; an administrator, who names none, always may."""
    if member_id is None and epoch < 0:
        return
    member = group.member(member_id or "")
    if epoch != member.epoch:
        raise _stale(
            member, f"The received {_word(member)} {epoch} does not match the expected member epoch {member.epoch}."
        )


def _word(member: ConsumerMember) -> str:
    return "member epoch" if member.classic is None else "generation id"


def _stale(member: ConsumerMember, problem: str) -> BrokerError:
    code = error_codes.STALE_MEMBER_EPOCH if member.classic is None else error_codes.ILLEGAL_GENERATION
    return error_for(code, problem)
