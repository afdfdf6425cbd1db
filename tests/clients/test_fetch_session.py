"""A fetch session request by request, and what ends it."""

from __future__ import annotations

import uuid

import pytest

from kafka_tools.clients.fetching.session import AskedPartition, FetchSession
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_tools.values import TopicPartition

T, U = uuid.UUID(int=1), uuid.UUID(int=2)
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def asked(offset: int, topic_id: uuid.UUID = T) -> AskedPartition:
    return AskedPartition(topic_id, offset, 3, 2)


def request(session: FetchSession, wanted: dict[TopicPartition, AskedPartition]) -> FetchRequest:
    found = FetchRequest()
    session.fill(found, wanted, 1000)
    return found


def offsets(found: FetchRequest) -> dict[int, int]:
    return {row.partition: row.fetch_offset for topic in found.topics for row in topic.partitions}


def begun() -> FetchSession:
    session = FetchSession()
    first = request(session, {T0: asked(0), T1: asked(5)})
    assert (first.session_id, first.session_epoch, offsets(first)) == (0, 0, {0: 0, 1: 5})
    session.answered(FetchResponse(session_id=77))
    return session


def test_later_requests_name_only_what_changed() -> None:
    session = begun()
    second = request(session, {T0: asked(3), T1: asked(5)})
    assert (second.session_id, second.session_epoch, offsets(second)) == (77, 1, {0: 3})
    row = second.topics[0].partitions[0]
    assert (row.current_leader_epoch, row.last_fetched_epoch, row.partition_max_bytes) == (3, 2, 1000)
    session.answered(FetchResponse(session_id=77))
    third = request(session, {T0: asked(3)})
    assert (third.session_epoch, offsets(third)) == (2, {})
    assert [(each.topic, each.topic_id, each.partitions) for each in third.forgotten_topics_data] == [("t", T, [1])]


def test_topic_that_was_created_again_is_replaced() -> None:
    session = begun()
    second = request(session, {T0: asked(0, U), T1: asked(5)})
    assert [(each.topic_id, offsets(second)) for each in second.topics] == [(U, {0: 0})]
    assert [(each.topic_id, each.partitions) for each in second.forgotten_topics_data] == [(T, [0])]


def test_broker_without_room_for_sessions_gets_everything_each_time() -> None:
    session = FetchSession()
    for _ in range(2):
        found = request(session, {T0: asked(0)})
        assert (found.session_id, found.session_epoch, offsets(found)) == (0, 0, {0: 0})
        session.answered(FetchResponse(session_id=0))


@pytest.mark.parametrize(
    ("code", "id_"),
    [
        (error_codes.FETCH_SESSION_ID_NOT_FOUND, 0),
        (error_codes.INVALID_FETCH_SESSION_EPOCH, 77),
        (error_codes.FETCH_SESSION_TOPIC_ID_ERROR, 77),
    ],
)
def test_lost_session_begins_again_with_everything(code: int, id_: int) -> None:
    session = begun()
    request(session, {T0: asked(3), T1: asked(5)})
    session.answered(FetchResponse(error_code=code))
    found = request(session, {T0: asked(3), T1: asked(5)})
    assert (found.session_id, found.session_epoch, offsets(found)) == (id_, 0, {0: 3, 1: 5})
    assert found.forgotten_topics_data == []


def test_request_without_response_closes_the_session() -> None:
    session = begun()
    request(session, {T0: asked(3), T1: asked(5)})
    session.lost()
    found = request(session, {T0: asked(3)})
    assert (found.session_id, found.session_epoch, offsets(found)) == (77, 0, {0: 3})
