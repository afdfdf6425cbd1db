"""Which members of a consumer group may commit and fetch offsets (Kafka's ``ConsumerGroup.validateOffsetCommit``).

A member that missed an answer commits with an older epoch: for partitions that it has had since then that is right
(KIP-1251). Each check raises BrokerError, which refuses all of a request.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.coordinators.consumer.member import ConsumerMember
from kafka_tools.broker_embedded.coordinators.group import Commits
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes

MEMBER_EPOCHS_FROM = 9
"""Version of OffsetCommit that knows epochs of members."""


def check_commit_epoch(member: ConsumerMember, epoch: int, offsets: Commits) -> None:
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


def check_fetch_epoch(member: ConsumerMember, epoch: int) -> None:
    """As ``check_commit_epoch``, for a member that fetches offsets."""
    if epoch != member.epoch:
        raise _stale(
            member, f"The received {_word(member)} {epoch} does not match the expected member epoch {member.epoch}."
        )


def _word(member: ConsumerMember) -> str:
    return "member epoch" if member.classic is None else "generation id"


def _stale(member: ConsumerMember, problem: str) -> BrokerError:
    code = error_codes.STALE_MEMBER_EPOCH if member.classic is None else error_codes.ILLEGAL_GENERATION
    return error_for(code, problem)
