"""Incremental fetch sessions (KIP-227), as ``FetchSessionTest`` and ``FetchRequestTest`` of Kafka."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from tests.broker_embedded.disk_broker import DiskBroker

Topic = FetchRequest.Topic


@pytest.fixture
def broker(tmp_path: Path) -> DiskBroker:
    made = DiskBroker(tmp_path, {"max.incremental.fetch.session.cache.slots": "2"})
    made.create("t", 3)
    return made


def fetch(
    broker: DiskBroker,
    session: int,
    epoch: int,
    partitions: dict[int, int] | None = None,
    forgotten: list[int] | None = None,
    *,
    version: int = 12,
    **fields: Any,
) -> Any:
    topic_id = broker.core.cluster.topics["t"].id
    named: dict[str, Any] = {"topic_id": topic_id} if version >= 13 else {"topic": "t"}
    request = FetchRequest(max_wait_ms=0, min_bytes=1, session_id=session, session_epoch=epoch, **fields)
    if partitions:
        wanted = [
            Topic.Partition(partition=number, fetch_offset=offset, partition_max_bytes=1 << 20)
            for number, offset in partitions.items()
        ]
        request.topics = [Topic(partitions=wanted, **named)]
    if forgotten:
        request.forgotten_topics_data = [FetchRequest.ForgottenTopic(partitions=forgotten, **named)]
    return broker.call(request, version)


def told(response: Any) -> list[int]:
    return [partition.partition_index for topic in response.responses for partition in topic.partitions]


@pytest.mark.req("FS-1")
@pytest.mark.parametrize("version", [7, 11, 12, 13, 16])
def test_an_incremental_answer_holds_only_what_changed(broker: DiskBroker, version: int) -> None:
    first = fetch(broker, 0, 0, {0: 0, 1: 0, 2: 0}, version=version)
    assert first.session_id > 0
    assert told(first) == [0, 1, 2]
    assert told(fetch(broker, first.session_id, 1, version=version)) == []
    broker.produce("t", broker.batch(b"x"), partition=1)
    answer = fetch(broker, first.session_id, 2, version=version)
    assert (told(answer), answer.session_id) == ([1], first.session_id)
    moved = fetch(broker, first.session_id, 3, {1: 1}, version=version)
    assert told(moved) == []
    assert told(fetch(broker, first.session_id, 4, version=version)) == []


def test_partitions_are_added_and_forgotten(broker: DiskBroker) -> None:
    session = fetch(broker, 0, 0, {0: 0}).session_id
    assert told(fetch(broker, session, 1, {2: 0})) == [2]
    broker.produce("t", broker.batch(b"x"), partition=0)
    assert told(fetch(broker, session, 2, forgotten=[0])) == []
    end = fetch(broker, session, 3, forgotten=[2])
    assert end.session_id == 0
    assert fetch(broker, session, 4).error_code == codes.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("version", [12, 13, 16])
def test_a_partition_of_a_deleted_topic_is_forgotten_as_any_other(broker: DiskBroker, version: int) -> None:
    broker.create("goes")
    ids = {name: broker.core.cluster.topics[name].id for name in ("t", "goes")}

    def named(name: str) -> dict[str, Any]:
        return {"topic_id": ids[name]} if version >= 13 else {"topic": name}

    wanted = [Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)]
    begin = FetchRequest(max_wait_ms=0, min_bytes=1, session_epoch=0)
    begin.topics = [Topic(partitions=wanted, **named(name)) for name in ids]
    session = broker.call(begin, version).session_id
    broker.call(DeleteTopicsRequest(topic_names=["goes"], timeout_ms=1000), 5)
    (gone,) = broker.call(FetchRequest(min_bytes=1, session_id=session, session_epoch=1), version).responses
    # The session knows its name, whatever the request names it by.
    assert [each.error_code for each in gone.partitions] == [codes.UNKNOWN_TOPIC_OR_PARTITION]
    again = FetchRequest(min_bytes=1, session_id=session, session_epoch=2)
    again.topics = [Topic(partitions=wanted, **named("goes"))]
    assert told(broker.call(again, version)) == [0]  # no second one beside it
    forget = FetchRequest(max_wait_ms=0, session_id=session, session_epoch=3)
    forget.forgotten_topics_data = [FetchRequest.ForgottenTopic(partitions=[0], **named("goes"))]
    assert told(broker.call(forget, version)) == []
    waiting = broker.send(FetchRequest(max_wait_ms=500, min_bytes=1, session_id=session, session_epoch=4), version)
    assert waiting.response is None
    broker.produce("t", broker.batch(b"x"))
    assert told(waiting.response) == [0]


@pytest.mark.req("FS-2")
def test_unknown_sessions_and_wrong_epochs(broker: DiskBroker) -> None:
    assert fetch(broker, 12345, 1).error_code == codes.FETCH_SESSION_ID_NOT_FOUND == 70
    session = fetch(broker, 0, 0, {0: 0}).session_id
    assert fetch(broker, session, 2).error_code == codes.INVALID_FETCH_SESSION_EPOCH == 71
    assert fetch(broker, session, 1).error_code == 0
    assert fetch(broker, session, 2, version=13).error_code == codes.FETCH_SESSION_TOPIC_ID_ERROR


def test_epoch_minus_one_ends_a_session(broker: DiskBroker) -> None:
    session = fetch(broker, 0, 0, {0: 0}).session_id
    last = fetch(broker, session, -1, {0: 0})
    assert (last.session_id, told(last)) == (0, [0])
    assert fetch(broker, session, 1).error_code == codes.FETCH_SESSION_ID_NOT_FOUND


def test_a_full_request_begins_anew(broker: DiskBroker) -> None:
    old = fetch(broker, 0, 0, {0: 0}).session_id
    new = fetch(broker, old, 0, {0: 0}).session_id
    assert new not in (0, old)
    assert fetch(broker, old, 1).error_code == codes.FETCH_SESSION_ID_NOT_FOUND


def test_the_session_used_least_recently_makes_room(broker: DiskBroker) -> None:
    first, second = (fetch(broker, 0, 0, {0: 0}).session_id for _ in range(2))
    fetch(broker, first, 1)
    third = fetch(broker, 0, 0, {0: 0}).session_id
    assert fetch(broker, second, 1).error_code == codes.FETCH_SESSION_ID_NOT_FOUND
    assert fetch(broker, first, 2).error_code == fetch(broker, third, 1).error_code == 0


def test_no_partition_starves_under_a_size_limit(broker: DiskBroker) -> None:
    for number in range(3):
        broker.produce("t", broker.batch(b"x" * 1000), partition=number)
    first = fetch(broker, 0, 0, {0: 0, 1: 0, 2: 0}, max_bytes=1100)
    served = [[p.partition_index for t in first.responses for p in t.partitions if p.records]]
    for epoch in (1, 2):
        answer = fetch(broker, first.session_id, epoch, max_bytes=1100)
        served.append([p.partition_index for t in answer.responses for p in t.partitions if p.records])
    assert served == [[0], [1], [2]]


def test_an_error_is_told_again_until_it_is_gone(broker: DiskBroker) -> None:
    session = fetch(broker, 0, 0, {0: 5}).session_id
    for epoch in (1, 2):
        (partition,) = fetch(broker, session, epoch).responses[0].partitions
        assert partition.error_code == codes.OFFSET_OUT_OF_RANGE
    (partition,) = fetch(broker, session, 3, {0: 0}).responses[0].partitions
    assert (partition.error_code, partition.high_watermark) == (0, 0)


@pytest.mark.parametrize("version", [7, 12, 13])
def test_a_fetch_that_waits_while_another_goes_on_with_its_session_gets_nothing_of_it(
    broker: DiskBroker, version: int
) -> None:
    session = fetch(broker, 0, 0, {0: 0}, version=version).session_id
    request = FetchRequest(max_wait_ms=500, min_bytes=1, session_id=session, session_epoch=1)
    waiting = broker.send(request, version)
    assert waiting.response is None
    assert told(fetch(broker, session, 2, version=version)) == []
    broker.produce("t", broker.batch(b"x"))
    answer = waiting.response
    assert (answer.error_code, answer.session_id, told(answer)) == (codes.INVALID_FETCH_SESSION_EPOCH, session, [])
    assert told(fetch(broker, session, 3, version=version)) == [0]
