"""Poison in internal topics: it costs whoever wrote it, is named once, and ``broker mend`` takes out what was named.

``python -m tests.broker_embedded.poisoned`` makes as many tries as one likes; a few of them run here.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded.coordinators import replaying
from kafka_tools.broker_embedded.coordinators.replaying import UnfitRecord
from kafka_tools.broker_embedded.coordinators.runtime import encode_key
from kafka_tools.broker_embedded.coordinators.transactions.loaded_transactions import ReadTransactions
from kafka_tools.protocol.codec import encode_versioned
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, TRANSACTION_STATE
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored import consumer_group as modern
from kafka_tools.protocol.stored.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from kafka_tools.protocol.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from kafka_tools.protocol.stored.transaction_log import TransactionLogKey, TransactionLogValue
from tests.broker_embedded.poisoned.records import KINDS, Poison, Raw
from tests.broker_embedded.poisoned.trial import Trial

LARGEST = 2**63 - 1


def raw(key: Stored, value: Stored | None, version: int = 0) -> Raw:
    return encode_key(key), None if value is None else encode_versioned(value, version)


def classic(**fields: Any) -> Raw:
    """A classic group's record, with a fault in it."""
    members = [MemberMetadata(member_id="a", group_instance_id="i"), MemberMetadata(member_id="b")]
    sound = {"protocol_type": "consumer", "generation": 1, "protocol": "range", "leader": "a", "members": members}
    return raw(GroupMetadataKey(group="own"), GroupMetadataValue(**{**sound, **fields}), 3)


def member(id: str, instance_id: str | None = None, *, protocols: list[tuple[str, bytes]] | None = None) -> Raw:
    """A member of a consumer group, a classic one where ``protocols`` are given."""
    Value = modern.ConsumerGroupMemberMetadataValue
    Classic = Value.ClassicMemberMetadata
    side = protocols and Classic(
        session_timeout_ms=1000,
        supported_protocols=[Classic.ClassicProtocol(name=name, metadata=metadata) for name, metadata in protocols],
    )
    if protocols == []:
        side = Classic(session_timeout_ms=1000, supported_protocols=[])
    return raw(
        modern.ConsumerGroupMemberMetadataKey(group_id="mine", member_id=id),
        Value(instance_id=instance_id, classic_member_metadata=side),
    )


def target(member_id: str, *partitions: int) -> Raw:
    """What a member of a consumer group shall have of a topic, whether it has that or not."""
    Value = modern.ConsumerGroupTargetAssignmentMemberValue
    topics = [Value.TopicPartition(topic_id=uuid.UUID(int=7), partitions=list(partitions))]
    key = modern.ConsumerGroupTargetAssignmentMemberKey(group_id="mine", member_id=member_id)
    return raw(key, Value(topic_partitions=topics))


def transaction(id: str = "own-tx", **fields: Any) -> Raw:
    """The record of a transactional id, with a fault in it. Producer id 0 is somebody else's, 1 to 999 were given."""
    sound = {"producer_id": 5, "producer_epoch": 0, "transaction_timeout_ms": 1000}
    return raw(TransactionLogKey(transactional_id=id), TransactionLogValue(**{**sound, **fields}), 1)


def members(*ids: str, instances: tuple[str | None, ...] = (None, None)) -> list[MemberMetadata]:
    return [
        MemberMetadata(member_id=id, group_instance_id=instance) for id, instance in zip(ids, instances, strict=True)
    ]


OFFSET = encode_key(OffsetCommitKey(group="own", topic="t", partition=0))
GROUP_EPOCH = modern.ConsumerGroupMetadataKey(group_id="mine")
NO_COMMON = "classic member m5 has no protocol in common with the other members of its group"
OF_GROUPS: list[tuple[Raw, str]] = [
    ((b"", b"\0\0"), "its key has no record type"),
    ((b"\0", b"\0\0"), "its key has no record type"),
    ((OFFSET, b"\0"), "its value has no version"),
    ((OFFSET, b"\0\x63"), "Version 99 is not valid. Valid versions for OffsetCommitValue are 0 to 4"),
    ((OFFSET[:-1], b"\0\0"), "OffsetCommitKey v0: field partition at position 8: needs more"),
    ((OFFSET, encode_versioned(OffsetCommitValue(), 3) + b"\0"), "OffsetCommitValue v3: 1 bytes left over"),
    (classic(generation=-1), "generation -1 is not between 0 and 2146483647"),
    (classic(generation=2**31 - 1), "generation 2147483647 is not between"),
    (classic(members=members("a", "")), "a member has no id"),
    (classic(members=members("a", "a")), "member a occurs twice in the group"),
    (classic(members=members("a", "b", instances=("i", "i"))), "two members, a and b, have the instance id i"),
    (classic(leader="c"), "its leader c is not a member"),
    (classic(leader="c\nFAKE"), "its leader c\\nFAKE is not a member"),
    (classic(leader=None), "its members have no leader"),
    (classic(protocol=None), "its members have no protocol"),
    (classic(protocol_type=""), "its members have no protocol"),
    (raw(GROUP_EPOCH, modern.ConsumerGroupMetadataValue(epoch=-1)), "group epoch -1 is not between"),
    (raw(GROUP_EPOCH, modern.ConsumerGroupMetadataValue(epoch=2**31 - 1)), "group epoch 2147483647 is not"),
    (
        raw(
            modern.ConsumerGroupTargetAssignmentMetadataKey(group_id="mine"),
            modern.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=-1),
        ),
        "assignment epoch -1 is not between",
    ),
    (
        raw(
            modern.ConsumerGroupCurrentMemberAssignmentKey(group_id="mine", member_id="m1"),
            modern.ConsumerGroupCurrentMemberAssignmentValue(member_epoch=-3),
        ),
        "member epoch -3 is not between -2 and",
    ),
    (raw(GroupMetadataKey(group="own"), GroupMetadataValue(leader="nobody", protocol="none"), 3), ""),
    (target("m1", 0, 9), ""),
    (target("m2", 0, -1), ""),
    (member("m1", "i"), ""),
    (member("m2", "i"), "two members, m1 and m2, have the instance id i"),
    (member("", "j"), "a member has no id"),
    (member("m3", protocols=[]), "classic member m3 has no protocol"),
    (member("m3", protocols=[("range", b"\0")]), "the subscription of classic member m3 has no version"),
    (member("m3", protocols=[("range", b"\xff\xff")]), "the subscription of classic member m3 has no version"),
    (member("m4", protocols=[("range", b"\0\0")]), ""),
    (member("m5", protocols=[("sticky", b"\0\0")]), NO_COMMON),
]
"""Records of ``__consumer_offsets`` in the order in which they are written -> why each is left out, "" if it is not."""
OF_TRANSACTIONS: list[tuple[Raw, str]] = [
    (transaction(""), "its transactional id is empty"),
    (transaction(transaction_status=-1), "unknown transaction state -1"),
    (transaction(transaction_status=6), "unknown transaction state 6"),
    (transaction(transaction_status=8), "unknown transaction state 8"),
    (transaction(producer_epoch=-1), "producer epoch -1"),
    (transaction(client_transaction_version=-1), "producer epoch 0 with transaction version -1"),
    (transaction(producer_id=-1), "producer id -1 was never allocated"),
    (transaction(producer_id=1000), "producer id 1000 was never allocated"),
    (transaction(producer_id=LARGEST), f"producer id {LARGEST} was never allocated"),
    (transaction(previous_producer_id=LARGEST), f"previous producer id {LARGEST} was never allocated"),
    (transaction(next_producer_id=-2), "next producer id -2 was never allocated"),
    (transaction(producer_id=0), "producer id 0 belongs to transactional id their-tx"),
    (transaction(next_producer_id=0), "next producer id 0 belongs to transactional id their-tx"),
    (transaction(next_producer_id=6), ""),
    (transaction("other", producer_id=6), "producer id 6 belongs to transactional id own-tx"),
    (transaction("other"), "producer id 5 belongs to transactional id own-tx"),
]


@pytest.mark.parametrize("first", range(0, max(len(OF_GROUPS), len(OF_TRANSACTIONS)), 20))
def test_each_kind_of_poison_is_left_out_for_its_reason(tmp_path: Path, first: int) -> None:
    """The log names twenty records of each partition."""
    trial = Trial(tmp_path, "by hand")
    listed_by_topic = {CONSUMER_OFFSETS: OF_GROUPS, TRANSACTION_STATE: OF_TRANSACTIONS}
    wanted = {topic: listed[first : first + 20] for topic, listed in listed_by_topic.items()}
    assert trial.run([(topic, [record for record, _ in listed]) for topic, listed in wanted.items()]) == []
    for topic, listed in wanted.items():
        found = [what.partition(" was skipped: ")[2] for at, what in trial.left_out if at == f"{topic}-0"]
        reasons = [reason for _, reason in listed if reason]
        assert len(found) == len(reasons), found
        assert [left_out[: len(reason)] for left_out, reason in zip(found, reasons, strict=True)] == reasons


@pytest.mark.parametrize("seed", range(6))
def test_poison_costs_nobody_else_anything_and_is_mended(tmp_path: Path, seed: int) -> None:
    assert Trial(tmp_path, seed).run() == []


def test_very_many_are_counted_and_not_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    trial = Trial(tmp_path, "many")
    assert trial.run([(CONSUMER_OFFSETS, [(OFFSET, b"")] * 500)]) == []
    assert len(trial.left_out) == replaying.MOST_NAMED
    assert "__consumer_offsets-0: 480 more records were skipped. Stop the broker and run" in caplog.text


def test_every_kind_of_record_is_made() -> None:
    poison = Poison(1, [uuid.UUID(int=3)])
    for topic, (keys, _) in KINDS.items():
        made = [key for _ in range(300) for key, _ in poison.batch(topic) if key is not None and len(key) > 1]
        assert keys.keys() <= {int.from_bytes(key[:2], "big") for key in made}


def test_a_record_of_a_transaction_is_no_state_of_a_transactional_id() -> None:
    with pytest.raises(UnfitRecord, match="it is part of a transaction"):
        ReadTransactions(lambda id: True).pending(1, TransactionLogKey(transactional_id="x"), None)
