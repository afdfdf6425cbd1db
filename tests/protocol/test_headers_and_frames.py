"""Headers, frames, error codes, releases, JSON form and error replies."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest

from kafka_tools import KAFKA_MINOR
from kafka_tools.errors import DecodeError, EncodeError, InputError, UnsupportedVersion
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.as_json import to_json
from kafka_tools.protocol.codec import decode, encode
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.frames import FrameReader, framed
from kafka_tools.protocol.headers import (
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
    request_header_version,
    response_header_version,
)
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_tools.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kafka_tools.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_tools.protocol.releases import guess_release, max_versions, releases


@pytest.mark.req("PROTO-2")
def test_the_request_header_holds_key_version_correlation_id_and_a_nullable_client_id() -> None:
    data = encode_request(DeleteRecordsRequest(), 1, 7, "me")
    assert data[:12] == struct.pack(">hhih2s", 21, 1, 7, 2, b"me")
    assert encode_request(DeleteRecordsRequest(), 1, 7, None)[8:10] == b"\xff\xff"
    header, position = decode_request_header(data)
    assert (header.request_api_key, header.request_api_version, header.correlation_id, header.client_id) == (
        21,
        1,
        7,
        "me",
    )
    assert position == 12


@pytest.mark.req("PROTO-2")
def test_a_response_brings_the_correlation_id_back_unchanged() -> None:
    data = encode_response(DeleteRecordsResponse(throttle_time_ms=3), 0, -5)
    assert data[:4] == b"\xff\xff\xff\xfb"
    assert decode_response(DeleteRecordsResponse, 0, data) == (-5, DeleteRecordsResponse(throttle_time_ms=3))
    with pytest.raises(DecodeError, match="left over"):
        decode_response(DeleteRecordsResponse, 0, data + b"?")


@pytest.mark.req("PROTO-3")
def test_controlled_shutdown_v0_has_no_client_id() -> None:
    assert request_header_version(ControlledShutdownRequest, 0) == 0
    data = encode_request(ControlledShutdownRequest(broker_id=9), 0, 1, "ignored")
    assert data == struct.pack(">hhii", 7, 0, 1, 9)
    header, position = decode_request_header(data)
    assert header.client_id == ""
    assert position == 8


def test_flexible_requests_keep_an_uncompact_client_id_and_add_tags() -> None:
    data = encode_request(DeleteRecordsRequest(), 2, 1, "ab")
    assert data[8:13] == b"\x00\x02ab\x00"


def test_the_response_of_api_versions_has_the_old_header_in_every_version() -> None:
    assert [response_header_version(ApiVersionsResponse, v) for v in range(5)] == [0] * 5
    assert [request_header_version(ApiVersionsRequest, v) for v in range(5)] == [1, 1, 1, 2, 2]


def test_the_header_of_an_unknown_api_can_be_read_for_the_reply() -> None:
    header, _ = decode_request_header(struct.pack(">hhih", 999, 3, 42, -1))
    assert (header.request_api_key, header.correlation_id, header.client_id) == (999, 42, None)
    with pytest.raises(DecodeError):
        decode_request_header(b"\0\1")


@pytest.mark.req("PROTO-1")
def test_a_frame_is_its_length_without_itself_then_the_payload() -> None:
    assert framed(b"abc") == b"\0\0\0\3abc"
    assert framed(b"ab", b"", b"c") == b"\0\0\0\3abc"


def test_frames_come_out_whole_however_the_bytes_arrive() -> None:
    stream = framed(b"one") + framed(b"") + framed(b"three")
    for step in range(1, len(stream) + 1):
        reader = FrameReader()
        frames = []
        for start in range(0, len(stream), step):
            frames += reader.feed(stream[start : start + step])
        assert frames == [b"one", b"", b"three"]
        assert reader.pending == b""


@pytest.mark.req("PROTO-5")
@pytest.mark.parametrize("length", [-1, 1025, 2**31 - 1])
def test_a_length_that_is_negative_or_above_the_limit_is_refused_at_once(length: int) -> None:
    with pytest.raises(DecodeError, match=f"invalid frame length {length}: expected 0 to 1024 bytes"):
        FrameReader(1024).feed(struct.pack(">i", length))


def test_a_reader_says_how_many_bytes_are_missing() -> None:
    reader = FrameReader()
    assert reader.needed() == 4
    reader.feed(b"\0\0\0\5ab")
    assert reader.needed() == 3


def test_an_unknown_error_code_keeps_its_number_and_is_not_retriable() -> None:
    row = error_codes.error(9999)
    assert (row.code, row.name, row.retriable) == (9999, "UNKNOWN_ERROR_CODE_9999", False)
    assert error_codes.NOT_LEADER_OR_FOLLOWER == error_codes.by_name("NOT_LEADER_FOR_PARTITION").code == 6
    assert f"newer than Kafka {KAFKA_MINOR}" in row.text


def test_releases_know_their_versions_and_an_answer_tells_its_release() -> None:
    assert releases()[0] == "0.8.0"
    assert releases()[-1] == KAFKA_MINOR
    assert max_versions("2.2.2") == max_versions("2.2")
    assert max_versions("4.3")[0] == (0, 13)
    assert max_versions("4.3")[1] == (4, 18)
    assert 4 not in max_versions("4.0")
    for release in releases():
        for key, (oldest, newest) in max_versions(release).items():
            row = registry.row_by_key(key)
            assert row.min_version <= oldest <= newest <= row.max_version
    for release in ("1.1", "2.2", "2.8", "3.9", "4.3", KAFKA_MINOR):
        assert guess_release(max_versions(release)) == release
    with pytest.raises(InputError, match=r"invalid release '5\.0': expected one of 0\.8\.0, "):
        max_versions("5.0")


def test_the_registry_refuses_what_kafka_does_not_have() -> None:
    with pytest.raises(UnsupportedVersion, match="no API has the key 9999"):
        registry.api(9999)
    with pytest.raises(UnsupportedVersion, match="no API is called frobnicate"):
        registry.api("frobnicate")


def test_the_json_form_uses_kafkas_names() -> None:
    Topic = DeleteRecordsRequest.Topic
    request = DeleteRecordsRequest(
        topics=[Topic(name="t", partitions=[Topic.Partition(partition_index=1, offset=5)])], timeout_ms=9
    )
    document = to_json(request, 2)
    assert document == {
        "topics": [{"name": "t", "partitions": [{"partitionIndex": 1, "offset": 5}]}],
        "timeoutMs": 9,
    }


def test_declared_secrets_are_masked_in_json_and_repr_unless_asked_for() -> None:
    request = SaslAuthenticateRequest(auth_bytes=b"\0user\0hunter2")
    assert to_json(request, 0) == {"authBytes": "***"}
    assert to_json(request, 0, reveal=True) == {"authBytes": "AHVzZXIAaHVudGVyMg=="}
    assert "hunter2" not in repr(request)


def test_a_field_that_the_version_lacks_cannot_go_to_json() -> None:
    with pytest.raises(EncodeError, match="allow_auto_topic_creation is set"):
        to_json(MetadataRequest(allow_auto_topic_creation=False), 1)


@pytest.mark.req("PROTO-22")
@pytest.mark.parametrize("row", registry.rows(), ids=lambda row: row.name)
def test_every_request_has_an_error_reply_in_each_of_its_versions(row: registry.Row) -> None:
    api = registry.api(row.key)
    for version in range(row.min_version, row.max_version + 1):
        reply = error_reply(api.request(), version, error_codes.UNSUPPORTED_VERSION, "no")
        assert isinstance(decode(api.response, version, encode(reply, version)), api.response)


def test_an_error_reply_repeats_every_key_of_the_request_with_the_code() -> None:
    Topic = DeleteRecordsRequest.Topic
    partitions = [Topic.Partition(partition_index=index) for index in (0, 3)]
    reply = error_reply(DeleteRecordsRequest(topics=[Topic(name="t", partitions=partitions)]), 2, 29)
    assert [(t.name, [(p.partition_index, p.error_code) for p in t.partitions]) for t in reply.topics] == [
        ("t", [(0, 29), (3, 29)])
    ]


def test_error_replies_that_kafka_shapes_differently() -> None:
    topics = [FetchRequest.Topic(topic="t", partitions=[FetchRequest.Topic.Partition(partition=1)])]
    old = error_reply(FetchRequest(topics=topics), 4, 6)
    assert [(r.topic, r.partitions[0].partition_index, r.partitions[0].error_code) for r in old.responses] == [
        ("t", 1, 6)
    ]
    assert old.responses[0].partitions[0].high_watermark == -1
    topics[0].topic_id = UUID(int=1)
    new = error_reply(FetchRequest(topics=topics, session_id=3), 13, 6)
    assert (new.error_code, new.session_id, new.responses) == (6, 3, [])
    one = error_reply(FindCoordinatorRequest(key="g"), 3, 15, "later")
    assert (one.error_code, one.error_message, one.node_id) == (15, "later", -1)
    many = error_reply(FindCoordinatorRequest(coordinator_keys=["a", "b"]), 4, 15)
    assert [(c.key, c.error_code) for c in many.coordinators] == [("a", 15), ("b", 15)]
