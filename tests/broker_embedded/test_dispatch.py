"""What every request goes through: versions, unknown keys, broken bytes, a handler's mistakes, authorisation."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.broker_embedded import serving
from kafka_tools.broker_embedded.call import CloseConnection
from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.handlers._table import load_handlers
from kafka_tools.broker_embedded.purgatory import Parked, Purgatory
from kafka_tools.broker_embedded.slices import sleep
from kafka_tools.broker_embedded.timers import Timers
from kafka_tools.clock import ManualClock
from kafka_tools.errors import WireError
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol import registry
from kafka_tools.protocol.enums import AclOperation, AclResourceType
from kafka_tools.protocol.headers import decode_response, encode_request
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_tools.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.releases import max_versions
from tests.broker_embedded.disk_broker import DiskBroker, fetch_request


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DiskBroker]:
    found = DiskBroker(tmp_path_factory.mktemp("broker"))
    yield found
    found.core.close()


def ranges(broker: DiskBroker, version: int = 3) -> dict[int, tuple[int, int]]:
    request = ApiVersionsRequest()
    if version >= 3:
        request.client_software_name, request.client_software_version = "test", "1.0"
    response = broker.call(request, version)
    assert response.error_code == 0
    return {key.api_key: (key.min_version, key.max_version) for key in response.api_keys}


def test_api_versions_lists_the_handlers_and_nothing_else(broker: DiskBroker) -> None:
    for version in range(6):
        assert ranges(broker, version) == {
            key: (handler.min_version, handler.max_version) for key, handler in load_handlers().items()
        }
    for key, (low, high) in ranges(broker).items():
        row = registry.row_by_key(key)
        assert row.min_version <= low <= high <= row.max_version - row.latest_unstable


def test_an_unknown_version_of_api_versions_is_answered_in_v0(broker: DiskBroker) -> None:
    """KIP-511: code 35 and the range of ApiVersions itself, so that the client can ask again."""
    frame = struct.pack(">hhih", 18, 99, 5, -1)
    answers: list[bytes | None] = []
    broker.dispatcher.handle_frame(broker.connection, frame, answers.append)
    correlation_id, response = decode_response(ApiVersionsResponse, 0, answers[0] or b"")
    assert (correlation_id, response.error_code) == (5, codes.UNSUPPORTED_VERSION)
    assert [(key.api_key, key.min_version) for key in response.api_keys] == [(18, 0)]


@pytest.mark.parametrize("name", ["", "-a", "a b", "a-", "a" + chr(0)])
def test_a_software_name_that_kafka_refuses_is_refused(broker: DiskBroker, name: str) -> None:
    request = ApiVersionsRequest(client_software_name=name, client_software_version="1")
    assert broker.call(request, 3).error_code == codes.INVALID_REQUEST


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "code"),
    [
        ("own", 1, codes.NONE),
        (None, -1, codes.NONE),
        ("own", 2, codes.REBOOTSTRAP_REQUIRED),
        ("another", 1, codes.REBOOTSTRAP_REQUIRED),
        ("", 1, codes.REBOOTSTRAP_REQUIRED),
        ("own", -1, codes.INVALID_REQUEST),
        (None, 1, codes.INVALID_REQUEST),
    ],
)
def test_a_client_that_means_another_cluster_or_node_is_told_so(
    broker: DiskBroker, cluster_id: str | None, node_id: int, code: int
) -> None:
    """KIP-1242, in the order of ``ApiVersionsRequest.isValid`` and ``KafkaApis``."""
    meant = broker.core.cluster.cluster_id if cluster_id == "own" else cluster_id
    request = ApiVersionsRequest(
        client_software_name="test", client_software_version="1", cluster_id=meant, node_id=node_id
    )
    answer = broker.call(request, 5)
    assert answer.error_code == code
    assert bool(answer.api_keys) == (code == codes.NONE)
    assert broker.call(request, 4).error_code == codes.NONE, "older versions do not tell it"


@pytest.mark.parametrize("release", ["1.1", "2.2", "2.8", "3.9", "4.3"])
def test_a_release_is_impersonated(tmp_path: Path, release: str) -> None:
    broker = DiskBroker(tmp_path, release=release)
    theirs = max_versions(release)
    ours = ranges(broker, 0)
    assert ours.keys() <= theirs.keys()
    for key, (low, high) in ours.items():
        assert theirs[key][0] <= low <= high <= theirs[key][1]
    assert {0, 1, 2, 3, 18, 19} <= ours.keys()
    with pytest.raises(WireError):
        broker.call(MetadataRequest(topics=[]), theirs[3][1] + 1)


@pytest.mark.parametrize(
    "frame", [b"", b"\0" * 7, struct.pack(">hhih", 999, 0, 1, -1), struct.pack(">hhih", 3, 99, 1, -1)]
)
def test_what_is_no_request_is_a_wire_error(broker: DiskBroker, frame: bytes) -> None:
    with pytest.raises(WireError):
        broker.dispatcher.handle_frame(broker.connection, frame, lambda payload: None)


@given(data=st.data())
def test_no_bytes_raise_anything_but_a_wire_error(broker: DiskBroker, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(broker.dispatcher.handlers)))
    handler = broker.dispatcher.handlers[key]
    version = data.draw(st.integers(handler.min_version, handler.max_version))
    frame = struct.pack(">hhih", key, version, 1, -1) + data.draw(st.binary(max_size=60))
    try:
        parked = broker.dispatcher.handle_frame(Connection("x", "PLAINTEXT", "h"), frame, lambda payload: None)
        if parked:
            parked.cancel()
    except (WireError, CloseConnection):
        pass


def test_bytes_after_a_request_are_ignored_as_kafka_does(broker: DiskBroker) -> None:
    """librdkafka's Metadata v12 has three bytes too many."""
    answers: list[bytes | None] = []
    frame = encode_request(MetadataRequest(topics=[]), 12, 1, "x") + b"\0\0\0"
    broker.dispatcher.handle_frame(broker.connection, frame, answers.append)
    assert answers[0]


def test_a_handlers_mistake_is_an_error_for_the_client_and_no_more(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = broker.dispatcher.handlers[60]

    def fails(call: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setitem(broker.dispatcher.handlers, 60, handler._replace(handle=fails))
    assert broker.call(DescribeClusterRequest(), 0).error_code == codes.UNKNOWN_SERVER_ERROR
    unwritable = handler.api.response(cluster_id=None)
    monkeypatch.setitem(broker.dispatcher.handlers, 60, handler._replace(handle=lambda call: unwritable))
    assert broker.call(DescribeClusterRequest(), 0).error_code == codes.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("error", [ZeroDivisionError(), WireError("a member's metadata")])
@pytest.mark.parametrize("later", [False, True])
def test_a_mistake_of_a_handler_in_slices_is_an_error_for_the_client_too(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch, error: Exception, later: bool
) -> None:
    def fails(call: Any) -> Any:
        if later:
            yield from sleep(0)
        yield
        raise error

    handler = broker.dispatcher.handlers[60]
    monkeypatch.setitem(broker.dispatcher.handlers, 60, handler._replace(handle=fails))
    sliced = broker.send(DescribeClusterRequest(), 0)
    broker.advance(1)
    assert sliced.response.error_code == codes.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("error", [WireError("it is damaged"), MemoryError()])
def test_a_large_request_that_cannot_be_decoded_closes_its_connection(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_: object, **__: object) -> Any:
        raise error

    monkeypatch.setattr(serving, "decode_counted", fails)
    topics = [MetadataRequest.RequestTopic(name="absent") for _ in range(12_000)]
    answers: list[bytes | None] = []
    frame = encode_request(MetadataRequest(topics=topics), 9, 1, "x")
    connection = Connection("large", "PLAINTEXT", "127.0.0.1")
    broker.dispatcher.handle_frame(connection, frame, answers.append)
    broker.advance(1)
    assert answers == [None]
    assert connection.close_after_reply


def test_an_authorizer_is_asked(broker: DiskBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def deny(*question: str | int) -> bool:
        asked.append(question)
        return False

    monkeypatch.setattr(broker.core, "authorizer", deny)
    assert broker.call(DescribeUserScramCredentialsRequest(), 0).error_code == codes.CLUSTER_AUTHORIZATION_FAILED
    assert asked == [("User:ANONYMOUS", "127.0.0.1", AclOperation.DESCRIBE, AclResourceType.CLUSTER, "kafka-cluster")]


def test_parked_calls_are_answered_once() -> None:
    clock = ManualClock()
    purgatory = Purgatory(Timers(clock))
    got: list[object] = []
    ready: list[Any] = []
    parked = Parked(100, lambda expired: ready[0] if ready else None, keys=["k"])
    purgatory.park(parked, got.append)
    purgatory.wake("k")
    assert not got and purgatory.waiting("k") == 1
    ready.append("soon")
    purgatory.wake("k")
    purgatory.wake("k")
    assert got == ["soon"] and purgatory.waiting("k") == 0
    assert not parked.complete("again")  # type: ignore[arg-type]
    cancelled: list[bool] = []
    gone = Parked(None, on_cancel=lambda: cancelled.append(True))
    purgatory.park(gone, got.append)
    gone.cancel()
    assert cancelled == [True] and not gone.complete("x")  # type: ignore[arg-type]
    assert got == ["soon"]


@pytest.mark.parametrize("struck", [False, True])
def test_what_a_parked_call_raises_is_its_own_answer_and_not_that_of_who_woke_it(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch, struck: bool
) -> None:
    """A produce once was told of the failure of a fetch that waited for it, although its records were written."""
    topic = f"woken-{struck}"
    broker.create(topic)
    held = broker.faults.hold("fetch", served=True) if struck else None
    fetches = [broker.send(fetch_request(topic, 0, max_wait_ms=wait_ms), 12) for wait_ms in (500, 60_000)]

    def failing(principal: str, host: str, operation: int, *_: object) -> bool:
        if operation == AclOperation.READ:
            raise ZeroDivisionError
        return True

    monkeypatch.setattr(broker.core, "authorizer", failing)
    broker.advance(1)
    assert broker.produce(topic, broker.batch(b"a")).error_code == codes.NONE
    if held is not None:
        held.release()
    assert [fetch.response.error_code for fetch in fetches] == 2 * [codes.UNKNOWN_SERVER_ERROR]


def test_a_mistake_in_counting_keeps_no_answer_from_the_client(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither from who asks, nor from who waited for that, nor from who was served in slices."""

    def fails(*_: object) -> Any:
        raise ZeroDivisionError

    def in_slices(call: Any) -> Any:
        yield from sleep(0)
        return handler.api.response()

    handler = broker.dispatcher.handlers[60]
    monkeypatch.setitem(broker.dispatcher.handlers, 60, handler._replace(handle=in_slices))
    broker.create("uncounted")
    waiting = broker.send(fetch_request("uncounted", 0, max_wait_ms=60_000), 12)
    monkeypatch.setattr(broker.core.throttling, "finish", fails)
    assert broker.produce("uncounted", broker.batch(b"a")).error_code == codes.NONE
    assert waiting.response.responses[0].partitions[0].records
    sliced = broker.send(DescribeClusterRequest(), 0)
    broker.advance(1)
    assert sliced.response.error_code == codes.NONE


def test_timers_run_in_order_and_a_failing_one_does_not_stop_the_rest() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    ran: list[str] = []
    timers.call_later(20, lambda: ran.append("b"))
    timers.call_later(10, lambda: ran.append("a"))
    timers.call_later(10, lambda: 1 // 0)
    timers.call_later(15, lambda: ran.append("never")).cancel()
    timers.call_later(30, lambda: ran.append("c"))
    clock.advance(0.025)
    timers.run_due()
    assert ran == ["a", "b"]
    assert timers.next_due_s() == pytest.approx(0.030)


def test_a_timer_that_sets_itself_again_at_once_or_earlier_holds_nobody_up() -> None:
    timers = Timers(ManualClock())
    ran: list[str] = []

    def again() -> None:
        ran.append("again")
        timers.call_later(-(2.0**31), again)

    timers.call_later(-5, again)
    timers.call_later(0, lambda: ran.append("other"))
    assert timers.run_due() == 2
    assert ran == ["again", "other"]
    assert timers.run_due() == 1
    assert timers.next_due_s() == 0.0, "nothing is due in the past"


def test_cancelled_timers_are_forgotten_long_before_they_would_have_been_due() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    ran: list[int] = []
    kept = [timers.call_later(1000 * number, partial(ran.append, number)) for number in range(700, 0, -1)]
    for _ in range(20_000):
        timers.call_later(2.0**31, lambda: ran.append(0)).cancel()
    assert len(timers._heap) < 1500
    for timer in kept[:300]:
        timer.cancel()
    list(timers.advance(clock, 700))
    assert ran == list(range(1, 401))
    for _ in range(20_000):
        timers.call_later(2.0**31, lambda: ran.append(0)).cancel()
    assert len(timers._heap) <= 1001
