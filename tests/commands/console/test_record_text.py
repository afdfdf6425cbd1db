"""Records as text: the layout of Kafka's DefaultMessageFormatter, and the internal topics."""

from __future__ import annotations

import struct

import pytest

from kafka_tools.clients.fetched_data import ConsumedRecord
from kafka_tools.commands.console.record_text import make_formatter
from kafka_tools.errors import InputError, UsageError
from kafka_tools.protocol.codec import encode_versioned
from kafka_tools.protocol.stored.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from kafka_tools.protocol.stored.offset_commit import OffsetCommitKey, OffsetCommitValue

RECORD = ConsumedRecord("t", 2, 7, 1234, 0, b"k", b"v", (("a", b"1"), ("b", None)), 5)
ALL = {f"print.{name}": "true" for name in ("timestamp", "partition", "offset", "delivery", "epoch", "headers", "key")}


def text(record: ConsumedRecord, properties: dict[str, str], formatter: str = "DefaultMessageFormatter") -> bytes:
    return make_formatter(formatter, properties)(record)


def test_only_the_value_by_default() -> None:
    assert text(RECORD, {}) == b"v\n"
    assert text(RECORD._replace(value=None), {}) == b"null\n"
    assert text(RECORD._replace(value=b"\xff"), {}) == b"\xff\n"


def test_every_column_in_kafkas_order() -> None:
    assert (
        text(RECORD, ALL)
        == b"CreateTime:1234\tPartition:2\tOffset:7\tDelivery:NOT_PRESENT\tEpoch:5\ta:1,b:null\tk\tv\n"
    )


def test_what_a_record_lacks() -> None:
    bare = RECORD._replace(timestamp_type=-1, key=None, headers=(), leader_epoch=-1)
    assert (
        text(bare, ALL)
        == b"NO_TIMESTAMP\tPartition:2\tOffset:7\tDelivery:NOT_PRESENT\tEpoch:NOT_PRESENT\tNO_HEADERS\tnull\tv\n"
    )
    assert text(RECORD._replace(timestamp_type=1), {"print.timestamp": "true"}) == b"LogAppendTime:1234\tv\n"


def test_separators_and_null_literal() -> None:
    properties = {
        "print.key": "true",
        "print.headers": "true",
        "key.separator": " | ",
        "line.separator": ";",
        "headers.separator": "&",
        "null.literal": "-",
    }
    assert text(RECORD._replace(key=None), properties) == b"a:1&b:- | - | v;"


def test_without_value_the_line_still_ends() -> None:
    assert text(RECORD, {"print.key": " True", "print.value": "false"}) == b"k\n"
    assert text(RECORD, {"print.value": "false"}) == b""


@pytest.mark.parametrize(
    ("name", "data", "shown"),
    [
        ("LongDeserializer", struct.pack(">q", -5), b"-5"),
        ("IntegerDeserializer", struct.pack(">i", 7), b"7"),
        ("ShortDeserializer", struct.pack(">h", 7), b"7"),
        ("DoubleDeserializer", struct.pack(">d", 1.0), b"1.0"),
        ("DoubleDeserializer", struct.pack(">d", 1e7), b"1.0E7"),
        ("DoubleDeserializer", struct.pack(">d", 123456.5), b"123456.5"),
        ("DoubleDeserializer", struct.pack(">d", 0.001), b"0.001"),
        ("DoubleDeserializer", struct.pack(">d", -1.5e-4), b"-1.5E-4"),
        ("DoubleDeserializer", struct.pack(">d", 0.1), b"0.1"),
        ("DoubleDeserializer", struct.pack(">d", 100.0), b"100.0"),
        ("DoubleDeserializer", struct.pack(">d", float("-inf")), b"-Infinity"),
        ("DoubleDeserializer", struct.pack(">d", -0.0), b"-0.0"),
        ("FloatDeserializer", struct.pack(">f", 0.1), b"0.1"),
        ("DoubleDeserializer", struct.pack(">d", 1e23), b"1.0E23"),
        ("DoubleDeserializer", struct.pack(">d", 5e-324), b"4.9E-324"),
        ("DoubleDeserializer", struct.pack(">d", 1.7976931348623157e308), b"1.7976931348623157E308"),
        ("FloatDeserializer", struct.pack(">f", 3.4e38), b"3.4E38"),
        ("FloatDeserializer", struct.pack(">f", 3.4028234663852886e38), b"3.4028235E38"),
        ("FloatDeserializer", struct.pack(">f", -1.4e-45), b"-1.4E-45"),
        ("BooleanDeserializer", b"\x01", b"true"),
        ("StringDeserializer", b"a\xff", "a\ufffd".encode()),
        ("UUIDDeserializer", b"F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6", b"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
    ],
)
def test_deserializers_of_kafka(name: str, data: bytes, shown: bytes) -> None:
    for spelled in (name, f"org.apache.kafka.common.serialization.{name}"):
        assert text(RECORD._replace(value=data), {"value.deserializer": spelled}) == shown + b"\n"


@pytest.mark.req("SYS-2")
def test_texts_have_the_encoding_of_their_role_or_of_both() -> None:
    record = RECORD._replace(key="ä".encode("latin-1"), value="ä".encode("utf-16-be"), headers=[])
    both = {"print.key": "true", "key.separator": "=", "key.deserializer": "StringDeserializer"}
    both |= {"value.deserializer": "org.apache.kafka.common.serialization.StringDeserializer"}
    encodings = {
        "key.deserializer.deserializer.encoding": "UTF-16",
        "key.deserializer.key.deserializer.encoding": "ISO-8859-1",
        "value.deserializer.deserializer.encoding": "UTF-16",
        "value.deserializer.key.deserializer.encoding": "ISO-8859-1",
    }
    assert text(record, both | encodings) == "ä=ä\n".encode()
    assert text(record, both | {"key.deserializer.key.deserializer.encoding": ""})[:3] == "\ufffd".encode()
    for none in ("KOI-9", "idna", "undefined", "base64"):
        with pytest.raises(UsageError, match=f"unknown encoding '{none}'"):
            text(record, both | {"value.deserializer.deserializer.encoding": none})


def test_data_of_the_wrong_size_is_an_error() -> None:
    with pytest.raises(InputError, match="Size of data received by LongDeserializer is not 8: it is 1"):
        text(RECORD, {"key.deserializer": "LongDeserializer", "print.key": "true"})


def test_null_is_not_deserialized() -> None:
    assert text(RECORD._replace(value=None), {"value.deserializer": "LongDeserializer"}) == b"null\n"


@pytest.mark.parametrize(
    "properties",
    [
        {"print.kye": "true"},
        {"value.deserializer": "MyDeserializer"},
        {"key_separator": ","},
        {"value.deserializer.encoding": "UTF-16"},
    ],
)
def test_unknown_property_or_class_is_refused(properties: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="unknown"):
        text(RECORD, properties)


def test_unknown_formatter_is_refused() -> None:
    with pytest.raises(UsageError, match=r"unknown --formatter 'com\.example\.Mine'"):
        make_formatter("com.example.Mine", {})


def test_no_op_formatter_prints_nothing() -> None:
    assert text(RECORD, {}, "org.apache.kafka.tools.consumer.NoOpMessageFormatter") == b""


# Internal topics

OFFSET_KEY = encode_versioned(OffsetCommitKey(group="g", topic="t", partition=3), 0)
OFFSET_VALUE = encode_versioned(OffsetCommitValue(offset=5, leader_epoch=2, metadata="m", commit_timestamp=99), 3)
GROUP_KEY = encode_versioned(GroupMetadataKey(group="g"), 0)
MEMBER = MemberMetadata(
    member_id="m1", client_id="cid", client_host="/127.0.0.1", rebalance_timeout=60000, session_timeout=30000
)
GROUP_VALUE = encode_versioned(
    GroupMetadataValue(protocol_type="consumer", generation=7, protocol="range", leader="m1", members=[MEMBER]), 3
)
OLD = "kafka.coordinator.group.GroupMetadataManager$"


def internal(key: bytes | None, value: bytes | None) -> ConsumedRecord:
    return ConsumedRecord("__consumer_offsets", 0, 0, 0, 0, key, value, (), 0)


def test_offsets_as_json() -> None:
    name = "org.apache.kafka.tools.consumer.OffsetsMessageFormatter"
    assert text(internal(OFFSET_KEY, OFFSET_VALUE), {}, name) == (
        b'{"key":{"type":1,"data":{"group":"g","topic":"t","partition":3}},"value":{"version":3,"data":'
        b'{"offset":5,"leaderEpoch":2,"metadata":"m","commitTimestamp":99}}}'
    )
    assert text(internal(OFFSET_KEY, None), {}, name).endswith(b'"value":null}')
    assert text(internal(GROUP_KEY, GROUP_VALUE), {}, name) == b""


@pytest.mark.req("DL-7")
def test_old_offsets_formatter_writes_lines() -> None:
    name = f"{OLD}OffsetsMessageFormatter"
    assert text(internal(OFFSET_KEY, OFFSET_VALUE), {}, name) == (
        b"[g,t,3]::OffsetAndMetadata(offset=5, leaderEpoch=Optional[2], metadata=m, commitTimestamp=99, "
        b"expireTimestamp=None)\n"
    )
    assert text(internal(OFFSET_KEY, None), {}, name) == b"[g,t,3]::NULL\n"
    assert text(internal(GROUP_KEY, GROUP_VALUE), {}, name) == b""


@pytest.mark.req("DL-8")
def test_old_group_formatter_writes_lines() -> None:
    name = f"{OLD}GroupMetadataMessageFormatter"
    # The text of Kafka 3.9.2's own classes for the same value.
    assert text(internal(GROUP_KEY, GROUP_VALUE), {}, name) == (
        b"g::GroupMetadata(groupId=g, generation=7, protocolType=Some(consumer), currentState=Stable, "
        b"members=HashMap(m1 -> MemberMetadata(memberId=m1, groupInstanceId=None, clientId=cid, "
        b"clientHost=/127.0.0.1, sessionTimeoutMs=30000, rebalanceTimeoutMs=60000, "
        b"supportedProtocols=List(range))))\n"
    )
    assert text(internal(GROUP_KEY, None), {}, name) == b"g::NULL\n"
    assert text(internal(OFFSET_KEY, OFFSET_VALUE), {}, name) == b""


@pytest.mark.req("DL-9")
@pytest.mark.parametrize("name", ["OffsetsMessageFormatter", "GroupMetadataMessageFormatter"])
def test_record_without_key_prints_nothing_and_its_timestamp_never(name: str) -> None:
    assert text(internal(None, OFFSET_VALUE), {}, OLD + name) == b""
    assert text(internal(None, OFFSET_VALUE), {}, name) == b""
    record = internal(OFFSET_KEY, OFFSET_VALUE)
    assert text(record, {}, OLD + name) == text(record._replace(timestamp_ms=5), {}, OLD + name)


def test_damaged_internal_record_is_an_error_with_its_place() -> None:
    with pytest.raises(InputError, match="Could not read record at __consumer_offsets-0 at offset 0"):
        text(internal(OFFSET_KEY, OFFSET_VALUE[:9]), {}, "OffsetsMessageFormatter")
