"""Encoding and decoding: round trips of everything, and what hostile bytes lead to."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import struct
import subprocess
import sys
import tracemalloc
import uuid
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

import kafka_tools.protocol.stored as stored_package
from kafka_tools.errors import DecodeError, EncodeError, UnsupportedVersion
from kafka_tools.protocol import registry
from kafka_tools.protocol.codec import (
    decode,
    decode_counted,
    decode_prefix,
    decode_versioned,
    encode,
    encode_versioned,
    encoder,
    source_of,
)
from kafka_tools.protocol.headers import RequestHeader
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_tools.protocol.primitives import read_varint, read_varlong
from kafka_tools.protocol.schema import (
    Message,
    Stored,
    array,
    boolean,
    bytes_,
    int8,
    int16,
    int32,
    int64,
    string,
    uint32,
)
from kafka_tools.protocol.schema import records as records_field
from kafka_tools.protocol.stored.cluster_metadata import ConfigRecord
from kafka_tools.protocol.stored.offset_commit import KEYS, OffsetCommitKey, OffsetCommitValue
from kafka_tools.protocol.types import DESCRIPTIONS, type_text, types_table

_spec = importlib.util.spec_from_file_location("protocol_generate", Path(__file__).with_name("generate.py"))
generate = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(generate)


def all_messages() -> Iterator[type[Message]]:
    for row in registry.rows():
        api = registry.api(row.key)
        yield api.request
        yield api.response
    for module in iter_modules(stored_package.__path__):
        for value in vars(import_module(f"{stored_package.__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Stored) and value is not Stored:
                yield value
    yield RequestHeader


MESSAGES = list(dict.fromkeys(all_messages()))


@pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__name__)
def test_what_is_encoded_decodes_to_the_same_message_in_every_version(cls: type[Message]) -> None:
    for version in range(cls.MIN_VERSION, cls.MAX_VERSION + 1):
        messages = [generate.message(cls, version, seed) for seed in range(5)]
        for original in messages + generate.edge_messages(cls, version)[1:]:
            data = encode(original, version)
            copy = decode(cls, version, data)
            assert copy == original
            assert encode(copy, version) == data
            assert decode(cls, version, memoryview(data)) == original


@pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__name__)
def test_input_cut_at_any_byte_is_a_decode_error_with_position_and_field(cls: type[Message]) -> None:
    for version in range(cls.MIN_VERSION, cls.MAX_VERSION + 1):
        data = encode(generate.message(cls, version, "cut"), version)[:200]
        for length in range(len(data)):
            try:
                decode(cls, version, data[:length])
            except DecodeError as error:
                assert error.position is not None
                assert 0 <= error.position <= length
                assert error.field is not None
                assert error.version == version
            # A cut can leave a whole shorter message only where the first byte of a length is 0.


@pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__name__)
def test_hostile_bytes_give_a_message_or_a_decode_error_with_position_and_field(cls: type[Message]) -> None:
    for version in {cls.MIN_VERSION, (cls.MIN_VERSION + cls.MAX_VERSION) // 2, cls.MAX_VERSION}:
        data = encode(generate.message(cls, version, "hostile"), version)[:120]
        for position in range(len(data)):
            for hostile in (b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff" * 8):
                changed = data[:position] + hostile + data[position + len(hostile) :]
                try:
                    decode(cls, version, changed)
                except DecodeError as error:
                    assert error.position is not None
                    assert error.field is not None


def test_hostile_counts_and_lengths_cost_no_memory() -> None:
    data = bytearray(encode(generate.message(MetadataResponse, 13, "memory"), 13))
    tracemalloc.start()
    try:
        for position in range(len(data)):
            for hostile in (b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff"):
                with contextlib.suppress(DecodeError):
                    decode(MetadataResponse, 13, bytes(data[:position]) + hostile + bytes(data[position:]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1024 * 1024


def test_a_decode_error_names_the_field_by_its_path_and_the_byte() -> None:
    Topic = CreateTopicsRequest.CreatableTopic
    Config = Topic.CreatableTopicConfig
    configs = [Config(name="k1", value="v1"), Config(name="k2", value="v2")]
    data = encode(CreateTopicsRequest(topics=[Topic(name="a"), Topic(name="b", configs=configs)]), 1)
    position = data.rindex(b"\x00\x02v2")
    with pytest.raises(DecodeError) as caught:
        decode(CreateTopicsRequest, 1, data[:position] + b"\x7f" + data[position + 1 :])
    assert caught.value.field == "topics[1].configs[1].value"
    assert caught.value.position == position + 2
    assert "topics[1].configs[1].value" in str(caught.value)


@pytest.mark.parametrize("count", [2**31 - 1, 1000])
def test_an_array_count_beyond_the_bytes_left_is_refused_before_anything_is_allocated(count: int) -> None:
    with pytest.raises(DecodeError, match=f"claims {count} items") as caught:
        decode(DeleteRecordsRequest, 0, struct.pack(">i", count) + b"\0" * 8)
    assert caught.value.field == "topics"


@pytest.mark.req("PROTO-13")
@pytest.mark.parametrize("length", [-1, -2, -32768])
def test_a_string_that_must_not_be_null_refuses_a_negative_length(length: int) -> None:
    with pytest.raises(DecodeError, match="null or has a negative length"):
        decode(DeleteRecordsRequest, 0, struct.pack(">ih", 1, length) + b"\0" * 8)


@pytest.mark.req("PROTO-14")
def test_the_length_of_a_string_counts_bytes_of_utf_8() -> None:
    data = encode(MetadataRequest(topics=[MetadataRequest.RequestTopic(name="é日")]), 1)
    assert data == struct.pack(">ih", 1, 5) + "é日".encode()


@pytest.mark.req("PROTO-13")
def test_any_byte_but_zero_reads_as_true_and_true_is_written_as_one() -> None:
    data = encode(MetadataRequest(topics=None, allow_auto_topic_creation=True), 4)
    assert data[-1] == 1
    for byte in (1, 2, 0x80, 0xFF):
        assert decode(MetadataRequest, 4, data[:-1] + bytes([byte])).allow_auto_topic_creation is True


class EveryType(Stored, versions="0"):
    """A field of each type."""

    a_boolean = boolean()
    an_int8 = int8()
    an_int16 = int16()
    an_int32 = int32()
    an_int64 = int64()
    a_uint32 = uint32()
    a_string = string()
    a_nullable_string = string(nullable="0")
    some_bytes = bytes_()
    nullable_bytes = bytes_(nullable="0")
    some_records = records_field(nullable="0")
    an_array = array(int32())
    a_nullable_array = array(int32(), nullable="0")


SET: dict[str, Any] = {
    "a_boolean": True, "an_int8": -2, "an_int16": -3, "an_int32": -4, "an_int64": -5, "a_uint32": 0xFFFFFFFE,
    "a_string": "é", "a_nullable_string": "n", "some_bytes": b"b", "nullable_bytes": b"nb", "some_records": b"rec",
    "an_array": [1, -1], "a_nullable_array": [7],
}  # fmt: skip
SET_BYTES = [
    "01", "fe", "fffd", "fffffffc", "fffffffffffffffb", "fffffffe", "0002c3a9", "00016e", "0000000162",
    "000000026e62", "00000003726563", "0000000200000001ffffffff", "0000000100000007",
]  # fmt: skip
NULLS = {"a_nullable_string": "ffff", "nullable_bytes": "ffffffff", "some_records": "ffffffff",
         "a_nullable_array": "ffffffff"}  # fmt: skip


@pytest.mark.req("PROTO-13")
def test_each_type_is_on_the_wire_as_the_guide_says() -> None:
    data = bytes.fromhex("".join(SET_BYTES))
    assert encode(EveryType(**SET), 0) == data
    assert decode(EveryType, 0, data) == EveryType(**SET)


@pytest.mark.req("PROTO-13")
@pytest.mark.parametrize("name", SET)
def test_null_is_the_length_minus_one_where_it_is_allowed_and_other_negative_lengths_are_refused(name: str) -> None:
    at = list(SET).index(name)
    if name in NULLS:
        parts = [*SET_BYTES[:at], NULLS[name], *SET_BYTES[at + 1 :]]
        data = bytes.fromhex("".join(parts))
        assert encode(EveryType(**{**SET, name: None}), 0) == data
        assert decode(EveryType, 0, data) == EveryType(**{**SET, name: None})
    elif isinstance(SET[name], int):
        return  # no length
    width = 2 if isinstance(SET[name], str) else 4
    for length in (-1, -2, -(2 ** (8 * width - 1))):
        if name in NULLS and length == -1:
            continue
        wrong = length.to_bytes(width, "big", signed=True).hex()
        with pytest.raises(DecodeError):
            decode(EveryType, 0, bytes.fromhex("".join([*SET_BYTES[:at], wrong, *SET_BYTES[at + 1 :]])))


@pytest.mark.req("PROTO-13")
@pytest.mark.parametrize(
    ("value", "data"), [(0, "00"), (-1, "01"), (1, "02"), (-64, "7f"), (64, "8001"), (2**31 - 1, "feffffff0f")]
)
def test_varints_are_zig_zag_lowest_first(value: int, data: str) -> None:
    raw = bytes.fromhex(data)
    assert read_varint(raw, 0) == read_varlong(raw, 0) == (value, len(raw))


@pytest.mark.req("PROTO-K3")
def test_metadata_v0_asks_for_all_topics_with_an_empty_list_and_later_versions_with_null() -> None:
    assert encode(MetadataRequest(topics=[]), 0) == b"\0\0\0\0"
    assert encode(MetadataRequest(topics=None), 1) == b"\xff\xff\xff\xff"
    with pytest.raises(EncodeError, match="topics: must not be null"):
        encode(MetadataRequest(topics=None), 0)


def test_a_field_that_a_version_lacks_must_keep_its_default_unless_it_may_be_ignored() -> None:
    with pytest.raises(EncodeError, match="allow_auto_topic_creation: is set, but version 3 has no such field"):
        encode(MetadataRequest(allow_auto_topic_creation=False), 3)
    with pytest.raises(EncodeError, match="validate_only"):
        encode(CreateTopicsRequest(validate_only=True), 0)
    assert decode(FetchRequest, 2, encode(FetchRequest(max_bytes=17), 2)).max_bytes == 2**31 - 1


def test_absent_fields_read_as_their_default() -> None:
    request = decode(FetchRequest, 0, encode(FetchRequest(topics=[FetchRequest.Topic(topic="t")]), 0))
    assert request.session_epoch == -1
    assert request.topics[0].topic_id == uuid.UUID(int=0)


@pytest.mark.req("PROTO-22")
def test_a_version_that_a_message_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(
        UnsupportedVersion, match=r"^Version 3 is not valid\. Valid versions for DeleteRecordsRequest are 0 to 2$"
    ):
        encode(DeleteRecordsRequest(), 3)
    with pytest.raises(UnsupportedVersion, match="Version -1 is not valid"):
        decode(DeleteRecordsRequest, -1, b"")


def test_unknown_tagged_fields_survive_a_round_trip() -> None:
    data = encode(DeleteRecordsRequest(timeout_ms=5), 2)
    assert data.endswith(b"\0")
    with_tag = data[:-1] + b"\x02\x05\x01a\x07\x02bc"
    request = decode(DeleteRecordsRequest, 2, with_tag)
    assert request.unknown_tags == {5: b"a", 7: b"bc"}
    assert encode(request, 2) == with_tag


@pytest.mark.parametrize(
    ("tags", "complaint"),
    [
        (b"\x02\x07\x00\x05\x00", "tag 5 follows tag 7"),
        (b"\x02\x07\x00\x07\x00", "tag 7 follows tag 7"),
        (b"\x01\x05\x7f", "tag 5 claims 127 bytes, but 0 are left"),
        (b"\xff\xff\xff\xff\x0f", "claims"),
        (b"\xff\xff\xff\xff\xff\x0f", "varint is longer than 5 bytes"),
    ],
)
def test_wrong_tags_are_a_decode_error(tags: bytes, complaint: str) -> None:
    data = encode(DeleteRecordsRequest(), 2)[:-1]
    with pytest.raises(DecodeError, match=complaint):
        decode(DeleteRecordsRequest, 2, data + tags)


def test_a_known_tag_must_use_exactly_its_bytes() -> None:
    data = encode(FetchRequest(cluster_id="abc"), 12)
    position = data.index(b"\x04abc")
    assert data[position - 1] == 4  # the tag's size
    with pytest.raises(DecodeError, match="cluster_id"):
        decode(FetchRequest, 12, data[: position - 1] + b"\x05" + data[position:] + b"\0")
    with pytest.raises(DecodeError, match=r"cluster_id.*claims 3 bytes, but 2 are left"):
        decode(FetchRequest, 12, data[: position - 1] + b"\x03" + data[position:])


def test_left_over_bytes_are_a_decode_error_unless_a_prefix_is_wanted() -> None:
    data = encode(DeleteRecordsResponse(), 0)
    with pytest.raises(DecodeError, match="1 bytes left over at position 8"):
        decode(DeleteRecordsResponse, 0, data + b"x")
    assert decode_prefix(DeleteRecordsResponse, 0, b"??" + data + b"x", 2)[1] == len(data) + 2


@pytest.mark.req("PROTO-16")
@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, "5", 1.5])
def test_a_value_that_the_type_cannot_hold_is_an_encode_error_that_names_value_and_type(value: object) -> None:
    with pytest.raises(EncodeError, match=re.escape(f"timeout_ms: expected an INT32, not {value!r}")):
        encode(DeleteRecordsRequest(timeout_ms=value), 0)


@pytest.mark.req("PROTO-16")
def test_the_field_of_the_wrong_type_is_found_inside_lists_and_runs_of_fields() -> None:
    Topic = DeleteRecordsRequest.Topic
    wrong = Topic.Partition(partition_index=1, offset="latest")
    with pytest.raises(EncodeError, match=re.escape("topics[0].partitions[1].offset: expected an INT64, not 'latest'")):
        encode(DeleteRecordsRequest(topics=[Topic(name="t", partitions=[Topic.Partition(), wrong])]), 0)
    with pytest.raises(EncodeError, match=re.escape("topics[0].name: expected a STRING, not 3")):
        encode(DeleteRecordsRequest(topics=[Topic(name=3)]), 0)
    with pytest.raises(EncodeError, match=re.escape("groups_names[1]: expected a STRING, not 7")):
        encode(DeleteGroupsRequest(groups_names=["a", 7]), 0)
    with pytest.raises(EncodeError, match=re.escape("topics: expected an ARRAY, not 5")):
        encode(MetadataRequest(topics=5), 1)


def test_a_secret_value_of_the_wrong_type_is_not_repeated() -> None:
    with pytest.raises(EncodeError) as caught:
        encode(SaslAuthenticateRequest(auth_bytes="hunter2"), 0)
    assert "hunter2" not in str(caught.value)


@pytest.mark.req("PROTO-15")
def test_types_have_names_descriptions_and_a_table() -> None:
    names = {f.name: type_text(f, 1) for f in MetadataRequest.FIELDS}
    assert names["topics"] == "ARRAY(STRUCT)"
    assert type_text(MetadataRequest.RequestTopic.FIELDS[1], 10) == "NULLABLE_STRING"
    assert type_text(DeleteGroupsRequest.FIELDS[0], 0) == "ARRAY(STRING)"
    assert type_text(DeleteGroupsRequest.FIELDS[0], 2, flexible=True) == "COMPACT_ARRAY(COMPACT_STRING)"
    guide = (
        "BOOLEAN INT8 INT16 INT32 INT64 UINT32 VARINT VARLONG STRING NULLABLE_STRING BYTES NULLABLE_BYTES RECORDS ARRAY"
    )
    for name in guide.split():
        assert f"| `{name}` | {DESCRIPTIONS[name]} |" in types_table()


def test_a_string_beyond_32767_bytes_is_neither_sent_nor_taken_from_strangers() -> None:
    """As in Kafka, whose compact strings are no longer than the others."""
    longest, longer = (DeleteRecordsRequest(topics=[DeleteRecordsRequest.Topic(name="x" * n)]) for n in (32767, 32768))
    for version in (1, 2):
        assert decode_counted(DeleteRecordsRequest, version, encode(longest, version), most=1)[0] == longest
        with pytest.raises(EncodeError, match=r"topics\[0\].name: is longer than 32767 bytes"):
            encode(longer, version)
    sent = bytearray()
    encoder(DeleteRecordsRequest, 2, True, False)(longer, sent)
    with pytest.raises(DecodeError, match=r"topics\[0\].name at position \d+: claims 32768 bytes, more than 32767"):
        decode_counted(DeleteRecordsRequest, 2, sent, most=1)
    token = SaslAuthenticateRequest(auth_bytes=b"x" * 40_000)
    assert decode_counted(SaslAuthenticateRequest, 2, encode(token, 2), most=1)[0] == token


def test_a_longer_string_that_was_stored_is_read() -> None:
    """Nothing that an older broker has written may keep this one from its start."""
    record = ConfigRecord(resource_type=2, resource_name="t", name="a", value="x" * 40_000)
    assert decode(ConfigRecord, 0, encode(record, 0)) == record


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 40])
def test_arrays_of_numbers_are_read_whole_whatever_their_length(count: int) -> None:
    Partition = MetadataResponse.ResponseTopic.ResponsePartition
    row = Partition(replica_nodes=list(range(count)), isr_nodes=[-1] * count, offline_replicas=[2**31 - 1] * count)
    sent = MetadataResponse(topics=[MetadataResponse.ResponseTopic(name="t", partitions=[row])])
    assert decode(MetadataResponse, 12, encode(sent, 12)) == sent


def test_decoding_does_not_share_lists_between_messages() -> None:
    first, second = DeleteRecordsRequest(), DeleteRecordsRequest()
    first.topics.append(DeleteRecordsRequest.Topic())
    assert second.topics == []
    one, two = (decode(MetadataResponse, 0, encode(MetadataResponse(), 0)) for _ in range(2))
    one.brokers.append(MetadataResponse.ResponseBroker())
    assert two.brokers == []


def test_an_unknown_field_name_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="offsett"):
        DeleteRecordsRequest.Topic.Partition(offsett=1)


def test_the_stored_form_has_the_version_before_a_value_and_the_type_before_a_key() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=3)
    data = encode_versioned(key, 0)
    assert data == b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x03"
    assert decode_versioned(KEYS, data) == (1, key)
    value = OffsetCommitValue(offset=7, metadata="m", commit_timestamp=9)
    stored = encode_versioned(value, 3)
    assert stored[:2] == b"\x00\x03"
    assert decode_versioned({3: OffsetCommitValue}, stored) == (3, value)
    with pytest.raises(UnsupportedVersion):
        decode_versioned(KEYS, b"\x00\x63")
    with pytest.raises(DecodeError):
        decode_versioned(KEYS, b"\x00")


def test_generated_sources_can_be_read() -> None:
    text = source_of(DeleteRecordsRequest, 2)
    assert "def encode(m, out):" in text
    assert "def decode(buf, pos, end):" in text


def test_importing_one_api_imports_no_other() -> None:
    code = (
        "import sys; from kafka_tools.protocol import registry; registry.rows(); registry.api('delete_records');"
        "print([m for m in sys.modules if m.startswith('kafka_tools.protocol.messages.')])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert output.strip() == "['kafka_tools.protocol.messages.delete_records']"


@pytest.mark.req("REC-18")
@pytest.mark.parametrize("version", [3, 8])
def test_records_are_nullable_bytes(version: int) -> None:
    Topic = ProduceRequest.TopicProduceData
    for records, wire in ((None, b"\xff\xff\xff\xff"), (b"", bytes(4)), (b"abc", b"\0\0\0\x03abc")):
        partition = Topic.PartitionProduceData(index=7, records=records)
        message = ProduceRequest(acks=1, timeout_ms=5, topic_data=[Topic(name="t", partition_data=[partition])])
        data = encode(message, version)
        assert data.endswith(b"\0\0\0\x07" + wire)
        found = decode(ProduceRequest, version, data).topic_data[0].partition_data[0].records
        assert (found if found is None else bytes(found)) == records


@pytest.mark.parametrize("version", [1, 2])
def test_an_array_of_more_than_a_million_items_is_refused_before_it_is_made(version: int) -> None:
    """As by Kafka 4.4, whoever sent or stored it."""
    most = encode(DeleteGroupsRequest(groups_names=[""] * 1_000_000), version)
    assert len(decode(DeleteGroupsRequest, version, most).groups_names) == 1_000_000
    more = encode(DeleteGroupsRequest(groups_names=[""] * 1_000_001), version)
    wanted = "field groups_names at position .: claims 1000001 items, more than the maximum of 1000000"
    for decoding in (
        lambda: decode(DeleteGroupsRequest, version, more),
        lambda: decode_counted(DeleteGroupsRequest, version, more, most=2_000_000),
    ):
        tracemalloc.start()
        try:
            with pytest.raises(DecodeError, match=wanted):
                decoding()
            assert tracemalloc.get_traced_memory()[1] < 1_000_000
        finally:
            tracemalloc.stop()


def test_more_than_ten_thousand_tagged_fields_are_refused_before_they_are_read() -> None:
    """As by Kafka 4.4: at the end of a message, of a struct in it, and of a header."""
    most = DeleteGroupsRequest()
    most.unknown_tags = dict.fromkeys(range(10_000), b"")
    assert decode(DeleteGroupsRequest, 2, encode(most, 2)) == most
    wanted = "tags at position .*: claims 10001 fields, more than the maximum of 10000"
    more = dict.fromkeys(range(10_001), b"")
    topic = DeleteRecordsRequest.Topic(name="x")
    header = RequestHeader(request_api_key=42, request_api_version=2, correlation_id=1, client_id="")
    for owner, message, version in (
        (most, most, 2),
        (topic, DeleteRecordsRequest(topics=[topic]), 2),
        (header, header, 2),
    ):
        owner.unknown_tags = more
        with pytest.raises(DecodeError, match=wanted):
            decode(type(message), version, encode(message, version))
