"""Checks of records in internal topics, since authorized clients can write there too.

Each check raises UnfitRecord. The checks refuse only records that would cause failures later: duplicate members,
members without required fields, numbers without a successor. As in Kafka, other nonsense affects only its writer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import unpack_from

from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.group import Group, of_type
from kafka_tools.broker_embedded.coordinators.replaying import UnfitRecord
from kafka_tools.protocol.enums import TransactionState
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored import consumer_group as stored
from kafka_tools.protocol.stored.group_metadata import GroupMetadataValue
from kafka_tools.protocol.stored.transaction_log import TransactionLogValue

_LAST_EPOCH = 2**31 - 1 - 1_000_000
"""The highest accepted epoch or generation: a million below the maximum. A million changes a day take six years."""
_LEAST_MEMBER_EPOCH = -2
"""The epoch of a static member that left temporarily."""
_NEVER_WRITTEN = (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)


def check_classic_group(value: GroupMetadataValue) -> None:
    """Check a classic group: its members differ, one of them is the leader, and they have a protocol."""
    _check_epoch("generation", value.generation)
    if not value.members:
        return
    owners: dict[str, str] = {}
    ids: set[str] = set()
    for member in value.members:
        if not member.member_id:
            raise UnfitRecord("a member has no id")
        if member.member_id in ids:
            raise UnfitRecord(f"member {member.member_id} occurs twice in the group")
        ids.add(member.member_id)
        if member.group_instance_id is not None:
            _check_owner(
                member.group_instance_id,
                owners.setdefault(member.group_instance_id, member.member_id),
                member.member_id,
            )
    if value.leader not in ids:
        raise UnfitRecord(
            f"its leader {value.leader} is not a member" if value.leader else "its members have no leader"
        )
    if not value.protocol_type or value.protocol is None:
        raise UnfitRecord("its members have no protocol")


def check_consumer_group(groups: Mapping[str, Group], key: Stored, value: Stored) -> None:
    """Check a record of a consumer group against the group as it was before the record."""
    group = of_type(groups.get(key.group_id), ConsumerGroup)  # type: ignore[attr-defined]
    if isinstance(value, stored.ConsumerGroupMetadataValue):
        _check_epoch("group epoch", value.epoch)
    elif isinstance(value, stored.ConsumerGroupTargetAssignmentMetadataValue):
        _check_epoch("assignment epoch", value.assignment_epoch)
    elif isinstance(value, stored.ConsumerGroupCurrentMemberAssignmentValue):
        _check_epoch("member epoch", value.member_epoch, _LEAST_MEMBER_EPOCH)
    elif isinstance(value, stored.ConsumerGroupMemberMetadataValue):
        assert isinstance(key, stored.ConsumerGroupMemberMetadataKey)
        if not key.member_id:
            raise UnfitRecord("a member has no id")
        owner = None if group is None else group.static_member(value.instance_id)
        if value.instance_id is not None and owner is not None:
            _check_owner(value.instance_id, owner.id, key.member_id)
        if value.classic_member_metadata is not None:
            _check_classic_side(group, key.member_id, value.classic_member_metadata)


def check_transaction(
    transactional_id: str, value: TransactionLogValue, owners: Mapping[int, str], was_given: Callable[[int], bool]
) -> None:
    """Check the state of a transactional id. ``owners``: current and next producer ids -> their transactional ids."""
    if not transactional_id:
        raise UnfitRecord("its transactional id is empty")
    status = value.transaction_status
    if not 0 <= status < len(TransactionState.all) or TransactionState.all[status] in _NEVER_WRITTEN:
        raise UnfitRecord(f"unknown transaction state {status}")
    if value.producer_epoch < 0 or value.client_transaction_version < 0:
        raise UnfitRecord(
            f"producer epoch {value.producer_epoch} with transaction version {value.client_transaction_version}"
        )
    for name in ("producer_id", "previous_producer_id", "next_producer_id"):
        number = getattr(value, name)
        if number == -1 and name != "producer_id":
            continue
        if number < 0 or not was_given(number):
            raise UnfitRecord(f"{name.replace('_', ' ')} {number} was never allocated")
        owner = owners.get(number, transactional_id)
        if owner != transactional_id and name != "previous_producer_id":
            raise UnfitRecord(f"{name.replace('_', ' ')} {number} belongs to transactional id {owner}")


def _check_epoch(what: str, epoch: int, least: int = 0) -> None:
    if not least <= epoch <= _LAST_EPOCH:
        raise UnfitRecord(f"{what} {epoch} is not between {least} and {_LAST_EPOCH}")


def _check_owner(instance_id: str, owner: str, member_id: str) -> None:
    if owner != member_id:
        raise UnfitRecord(f"two members, {owner} and {member_id}, have the instance id {instance_id}")


def _check_classic_side(
    group: ConsumerGroup | None,
    member_id: str,
    value: stored.ConsumerGroupMemberMetadataValue.ClassicMemberMetadata,
) -> None:
    """Check the fields of a classic member that its group needs to become a classic group again."""
    names = {each.name for each in value.supported_protocols}
    if not names:
        raise UnfitRecord(f"classic member {member_id} has no protocol")
    for each in value.supported_protocols:
        if len(each.metadata) < 2 or unpack_from(">h", each.metadata)[0] < 0:
            raise UnfitRecord(f"the subscription of classic member {member_id} has no version")
    if group is None:
        return
    present = group.members.get(member_id)
    own = {name for name, _ in present.classic.protocols} if present is not None and present.classic else set()
    others = group.classic_count - (present is not None and present.classic is not None)
    if others and not any(group.protocol_members[name] - (name in own) == others for name in names):
        raise UnfitRecord(f"classic member {member_id} has no protocol in common with the other members of its group")
