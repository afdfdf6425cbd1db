"""Decoders of internal topics where they meet what no broker means to write; the rest is compared with Kafka's tool."""

from __future__ import annotations

import pytest

from kafka_tools.dump import internal_decoders
from kafka_tools.dump.json import contents as json_contents
from kafka_tools.dump.json.lines import FIELDS
from kafka_tools.protocol.codec import encode, encode_versioned
from kafka_tools.protocol.stored.cluster_metadata import TopicRecord, UnregisterControllerRecord
from kafka_tools.protocol.stored.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from kafka_tools.protocol.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from kafka_tools.protocol.stored.transaction_log import TransactionLogKey, TransactionLogValue

NO_TEXT = b"a\xff\xed\xa0\x80\xc3"
SHOWN = "a\ufffd\ufffd\ufffd"


def spoilt(data: bytes) -> bytes:
    return data.replace(b"Q" * len(NO_TEXT), NO_TEXT)


def test_names_that_are_not_utf_8_are_shown_as_java_shows_them() -> None:
    """As Kafka reads every string; the record is not damage."""
    name = "Q" * len(NO_TEXT)
    key = b"\x00\x01" + spoilt(encode(OffsetCommitKey(group=name, topic="orders", partition=1), 0))
    value = spoilt(encode_versioned(OffsetCommitValue(offset=5, metadata=name, commit_timestamp=7), 3))
    assert internal_decoders.offsets()(0, key, value) == (
        f'{{"type":"1","data":{{"group":"{SHOWN}","topic":"orders","partition":1}}}}',
        f'{{"version":"3","data":{{"offset":5,"leaderEpoch":-1,"metadata":"{SHOWN}","commitTimestamp":7}}}}',
    )
    topic = b"\x01\x02\x00" + spoilt(encode(TopicRecord(name=name), 0))
    _, shown = internal_decoders.cluster_metadata()(0, None, topic)
    assert shown is not None
    assert f'"name":"{SHOWN}"' in shown


KEY = b"\x00\x01" + encode(OffsetCommitKey(group="g", topic="orders", partition=1), 0)
GROUP = b"\x00\x02" + encode(GroupMetadataKey(group="g"), 0)
COMMIT = encode_versioned(OffsetCommitValue(offset=5), 3)
STATE = encode_versioned(GroupMetadataValue(protocol_type="consumer", members=[MemberMetadata(member_id="m")]), 3)
WHY = [
    (KEY[:5] + b"\xff\xff" + KEY[7:], None, "key", 1, "non-nullable field topic was serialized as null"),
    (
        KEY[:5] + b"\x00\x63" + KEY[7:], None, "key", 1,
        "Error reading byte array of 99 byte(s): only 10 byte(s) available",
    ),
    (KEY[:-1], None, "key", 1, "null"),
    (KEY, COMMIT[:-1], "value", 3, "null"),
    (KEY, COMMIT[:14] + b"\xff\xff" + COMMIT[16:], "value", 3, "non-nullable field metadata was serialized as null"),
    (
        GROUP, STATE.replace(b"\x00\x00\x00\x01\x00\x01m", b"\x00\x00\x7f\x01\x00\x01m"), "value", 3,
        "Tried to allocate a collection of size 32513, but there are only 25 bytes remaining.",
    ),
    (
        GROUP, STATE.replace(b"\x00\x01m", b"\xff\xffm"), "value", 3,
        "non-nullable field memberId was serialized as null",
    ),
]  # fmt: skip
"""Damaged records, and what Kafka's generated classes say of them: (key, value, which of them, its number, why)."""


@pytest.mark.parametrize(("key", "value", "part", "number", "why"), WHY)
def test_what_is_wrong_with_a_record_is_said_as_kafka_says_it(
    key: bytes, value: bytes | None, part: str, number: int, why: str
) -> None:
    shown = (
        f"Error at offset 7, skipping. Could not read record with version {number} from {part}'s buffer due to: {why}."
    )
    assert internal_decoders.offsets()(7, key, value) == (shown, None)


@pytest.mark.parametrize(("number", "shown"), [(0, "Empty"), (7, "PrepareEpochFence"), (8, "8"), (-1, "-1")])
def test_the_state_of_a_transaction_is_shown_by_name_and_an_unknown_one_by_number(number: int, shown: str) -> None:
    key = b"\x00\x00" + encode(TransactionLogKey(transactional_id="x"), 0)
    value = TransactionLogValue(transaction_status=number, transaction_partitions=None)
    _, text = internal_decoders.transaction_log()(0, key, encode_versioned(value, 1))
    assert text is not None and f',"transactionStatus":"{shown}","transactionPartitions":null,' in text


def test_controllers_that_were_unregistered_are_shown() -> None:
    value = b"\x01\x1d\x00" + encode(UnregisterControllerRecord(controller_id=3), 0)
    shown = '{"type":"UNREGISTER_CONTROLLER_RECORD","version":0,"data":{"controllerId":3}}'
    assert internal_decoders.cluster_metadata()(0, None, value) == (None, shown)


def test_a_record_of_a_version_to_come_is_read_as_the_newest_one() -> None:
    value = b"\x01\x02\x09" + encode(TopicRecord(name="orders"), 0)
    shown = '{"type":"TOPIC_RECORD","version":9,"data":{"name":"orders","topicId":"AAAAAAAAAAAAAAAAAAAAAA"}}'
    assert internal_decoders.cluster_metadata()(0, None, value) == (None, shown)
    contents = json_contents.internal("cluster_metadata", FIELDS["auto"])
    assert contents(0, None, value) == f'"key":null,"value":{shown}'
