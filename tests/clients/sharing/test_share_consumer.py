"""The share consumer against scripted brokers in virtual time: sessions, leaders, locks and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_tools.clients.polled_client import ConsumerWokenUp
from kafka_tools.clients.sharing.consumer import ShareConsumer
from kafka_tools.clients.sharing.held_records import AcknowledgeType
from kafka_tools.errors import (
    BrokerError,
    ConfigError,
    DeadlineExceeded,
    InputError,
    KafkaToolsError,
    UnsupportedVersion,
)
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from kafka_tools.protocol.messages.share_fetch import ShareFetchRequest
from kafka_tools.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafka_tools.values import TopicPartition
from tests.clients.sharing.scripted_broker import SharedTopic
from tests.net.peers import HANG_UP
from tests.net.virtual import without_chance

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
T0 = TopicPartition("t", 0)
Make = Callable[..., ShareConsumer]


@pytest.fixture
def topic() -> Iterator[SharedTopic]:
    found = SharedTopic(b"a", b"b", b"c")
    with found.network.in_use(), without_chance():
        yield found


@pytest.fixture
def make(topic: SharedTopic) -> Iterator[Make]:
    made = []

    def make(**settings: Any) -> ShareConsumer:
        consumer = ShareConsumer("kafka1:9092,kafka2:9092", group_id="g", **settings)
        made.append(consumer)
        consumer.subscribe(["t"])
        return consumer

    yield make
    for consumer in made:
        consumer.close(0.0)


def values(consumer: ShareConsumer, timeout_s: float = 5.0) -> list[bytes | None]:
    return [record.value for record in consumer.poll(timeout_s)]


def test_poll_accepts_what_the_poll_before_returned(make: Make, topic: SharedTopic) -> None:
    consumer = make(max_poll_records=2)
    assert values(consumer) == [b"a", b"b"]
    assert topic.final == {}
    assert values(consumer) == [b"c"]
    assert topic.final == {0: 1, 1: 1}
    assert topic.requests(ShareAcknowledgeRequest) == [], "the fetch carried the acknowledgements"
    assert consumer.commit() == {T0: None}
    assert topic.final == {0: 1, 1: 1, 2: 1}
    assert consumer.acquisition_lock_timeout_ms == 30_000


def test_metrics_count_fetches_records_and_acknowledgements(make: Make, topic: SharedTopic) -> None:
    consumer = make(client_id="app", max_poll_records=2)

    def measured() -> dict[str, object]:
        found = consumer.metrics()
        assert {tuple(name.tags.items()) for name in found} == {(("client-id", "app"),)}
        return {f"{name.group} {name.name}": value for name, value in found.items()}

    fetch = "consumer-share-fetch-manager-metrics"
    before = measured()
    assert (before[f"{fetch} fetch-total"], before["consumer-share-metrics last-poll-seconds-ago"]) == (0, -1)
    assert values(consumer) == [b"a", b"b"]
    topic.network.clock.advance(3.0)
    assert values(consumer) == [b"c"]
    consumer.commit()
    found = measured()
    assert found[f"{fetch} records-consumed-total"] == 3
    assert found[f"{fetch} records-per-request-max"] == 2
    assert found[f"{fetch} acknowledgements-send-total"] == 3
    assert found[f"{fetch} acknowledgements-error-total"] == 0
    fetches = topic.requests(ShareFetchRequest)
    assert found[f"{fetch} fetch-total"] == len(fetches)
    assert float(str(found[f"{fetch} bytes-consumed-total"])) > 100
    assert float(str(found["consumer-share-metrics time-between-poll-max"])) >= 3000
    assert 0 <= float(str(found["consumer-share-metrics poll-idle-ratio-avg"])) <= 1
    assert found["consumer-share-metrics last-poll-seconds-ago"] != -1


def test_metrics_count_acknowledgements_that_fail(make: Make, topic: SharedTopic) -> None:
    consumer = make()
    consumer.metrics()
    assert len(values(consumer)) == 3
    topic.row_codes = [error_codes.INVALID_RECORD_STATE]
    assert isinstance(consumer.commit()[T0], BrokerError)
    totals = {name.name: value for name, value in consumer.metrics().items() if name.name.endswith("-total")}
    assert (totals["acknowledgements-send-total"], totals["acknowledgements-error-total"]) == (3, 3)


def test_explicit_mode_wants_an_acknowledgement_for_each_record(make: Make, topic: SharedTopic) -> None:
    consumer = make(share_acknowledgement_mode="explicit")
    first, second, third = consumer.poll(5.0)
    consumer.acknowledge(first)
    consumer.acknowledge(second, REJECT)
    with pytest.raises(InputError, match="All records must be acknowledged in explicit acknowledgement mode"):
        consumer.poll(5.0)
    consumer.acknowledge(third, RELEASE)
    again = consumer.poll(5.0)
    assert [(record.value, record.delivery_count) for record in again] == [(b"c", 2)]
    assert topic.final == {0: 1, 1: 3}
    with pytest.raises(InputError, match="The record cannot be acknowledged: t-0 at offset 0"):
        consumer.acknowledge(first)


def test_implicit_mode_refuses_acknowledgements(make: Make) -> None:
    consumer = make()
    record = consumer.poll(5.0)[0]
    with pytest.raises(InputError, match="Implicit acknowledgement of delivery is being used"):
        consumer.acknowledge(record, RELEASE)


def test_renewed_record_is_returned_again_and_nothing_else_meanwhile(make: Make, topic: SharedTopic) -> None:
    consumer = make(share_acknowledgement_mode="explicit", max_poll_records=2)
    first, second = consumer.poll(5.0)
    topic.network.clock.advance(20.0)
    consumer.acknowledge(first, RENEW)
    consumer.acknowledge(second)
    again = consumer.poll(5.0)
    assert again == [first]
    assert topic.acquired[0] > topic.network.clock.monotonic_s() + 25
    assert [request.is_renew_ack for request in topic.requests(ShareAcknowledgeRequest)] == [True]
    consumer.acknowledge(first)
    assert [record.value for record in consumer.poll(5.0)] == [b"c"]
    assert topic.final == {0: 1, 1: 1}


def test_renewal_needs_brokers_that_know_it(make: Make, topic: SharedTopic) -> None:
    for node in topic.nodes:
        node.versions[ShareAcknowledgeRequest.API_KEY] = (1, 1)
    consumer = make(share_acknowledgement_mode="explicit")
    record = consumer.poll(5.0)[0]
    consumer.acknowledge(record, RENEW)
    with pytest.raises(UnsupportedVersion, match="cannot renew acquisition locks"):
        consumer.commit()


def test_session_that_the_broker_forgot_begins_again_and_its_acknowledgements_fail(
    make: Make, topic: SharedTopic
) -> None:
    told: list[tuple[Any, KafkaToolsError | None]] = []
    consumer = make(on_acknowledged=lambda offsets, error: told.append((offsets, error)))
    assert len(consumer.poll(5.0)) == 3
    topic.sessions.clear()
    assert values(consumer) == [b"a", b"b", b"c"], "the broker released them with the session"
    (offsets, error), *rest = told
    assert (offsets, rest) == ({T0: {0, 1, 2}}, [])
    assert isinstance(error, BrokerError) and error.code.code == error_codes.SHARE_SESSION_NOT_FOUND
    assert [request.share_session_epoch for request in topic.requests(ShareFetchRequest)] == [0, 1, 0]


def test_request_without_response_begins_a_new_session(make: Make, topic: SharedTopic) -> None:
    consumer = make(request_timeout_ms=1000)
    assert len(consumer.poll(5.0)) == 3
    refused = iter([True])
    real = topic.nodes[0].answer

    def hang_up_once(request: Any, version: int, node: Any) -> Any:
        return (
            HANG_UP if isinstance(request, ShareFetchRequest) and next(refused, False) else real(request, version, node)
        )

    topic.nodes[0].answer = hang_up_once
    assert values(consumer) == [b"a", b"b", b"c"]
    assert topic.requests(ShareFetchRequest)[-1].share_session_epoch == 0


def test_leader_that_moved_costs_its_acknowledgements_and_the_new_one_is_asked(make: Make, topic: SharedTopic) -> None:
    consumer = make()
    assert len(consumer.poll(5.0)) == 3
    topic.leader = 2
    topic.release()
    assert values(consumer) == [b"a", b"b", b"c"]
    assert [node_id for node_id, request in topic.sent if isinstance(request, ShareFetchRequest)] == [1, 1, 2]


def test_acknowledgement_is_tried_again_after_an_error_that_may_go_away(make: Make, topic: SharedTopic) -> None:
    consumer = make()
    assert len(consumer.poll(5.0)) == 3
    topic.row_codes = [error_codes.COORDINATOR_NOT_AVAILABLE, error_codes.COORDINATOR_LOAD_IN_PROGRESS]
    assert consumer.commit() == {T0: None}
    assert topic.final == {0: 1, 1: 1, 2: 1}


def test_commit_says_for_each_partition_why_it_failed(make: Make, topic: SharedTopic) -> None:
    consumer = make()
    assert len(consumer.poll(5.0)) == 3
    topic.release()
    (error,) = consumer.commit().values()
    assert isinstance(error, BrokerError)
    assert error.code.code == error_codes.INVALID_RECORD_STATE


def test_commit_ends_at_its_time_limit(make: Make, topic: SharedTopic) -> None:
    consumer = make()
    assert len(consumer.poll(5.0)) == 3
    topic.row_codes = [error_codes.COORDINATOR_NOT_AVAILABLE] * 1000
    with pytest.raises(DeadlineExceeded, match="Timeout of 2000ms expired before the acknowledgements were sent"):
        consumer.commit(timeout_s=2.0)


def test_commit_async_tells_later(make: Make, topic: SharedTopic) -> None:
    told: list[Any] = []
    consumer = make(on_acknowledged=lambda offsets, error: told.append((offsets, error)))
    assert len(consumer.poll(5.0)) == 3
    consumer.commit_async()
    assert told == []
    assert values(consumer, 1.0) == []
    assert told == [({T0: {0, 1, 2}}, None)]


def test_records_whose_lock_ended_while_they_waited_are_not_returned(make: Make, topic: SharedTopic) -> None:
    topic.values = [b"%d" % number for number in range(4)]
    consumer = make(max_poll_records=4)
    consumer.settings = consumer.settings._replace(consumer=consumer.settings.consumer._replace(max_poll_records=2))
    assert values(consumer) == [b"0", b"1"]
    topic.network.clock.advance(31.0)
    assert values(consumer) == [b"2", b"3"]
    assert topic.delivered[2] == 2, "acquired anew, not taken from what waited here"


def test_fenced_member_joins_again(make: Make, topic: SharedTopic) -> None:
    consumer = make()
    assert len(consumer.poll(5.0)) == 3
    topic.codes[ShareGroupHeartbeatRequest] = [error_codes.FENCED_MEMBER_EPOCH]
    topic.network.clock.advance(6.0)
    consumer.poll(6.0)
    topic.values.append(b"d")
    assert b"d" in values(consumer)
    assert [request.member_epoch for request in topic.requests(ShareGroupHeartbeatRequest)][:3] == [0, 1, 0]


def test_cluster_without_share_groups_is_named(make: Make, topic: SharedTopic) -> None:
    topic.codes[ShareGroupHeartbeatRequest] = [error_codes.UNSUPPORTED_VERSION]
    consumer = make()
    with pytest.raises(BrokerError, match="UNSUPPORTED_VERSION") as caught:
        consumer.poll(5.0)
    assert "share.version=1" in (caught.value.hint or "")
    with pytest.raises(BrokerError):
        consumer.poll(5.0)


def test_close_sends_acknowledgements_ends_the_session_and_leaves(make: Make, topic: SharedTopic) -> None:
    consumer = make(share_acknowledgement_mode="explicit")
    first, *_ = consumer.poll(5.0)
    consumer.acknowledge(first)
    consumer.close(5.0)
    assert topic.final == {0: 1}
    assert (topic.acquired, topic.sessions) == ({}, {})
    assert list(topic.epochs.values()) == [-1]
    with pytest.raises(KafkaToolsError, match="already been closed"):
        consumer.poll(0)


def test_wakeup_ends_a_poll(make: Make, topic: SharedTopic) -> None:
    consumer = make()
    consumer.wakeup()
    with pytest.raises(ConsumerWokenUp):
        consumer.poll(5.0)
    assert len(consumer.poll(5.0)) == 3


def test_settings_that_the_group_has_on_the_broker_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"^auto\.offset\.reset, enable\.auto\.commit cannot be set when using a share group\.$"
    ):
        ShareConsumer("kafka1:9092", group_id="g", auto_offset_reset="earliest", enable_auto_commit=False)
    with pytest.raises(ConfigError, match=r"You must provide a valid group\.id"):
        ShareConsumer("kafka1:9092")
    with pytest.raises(ConfigError, match=r"invalid share\.acknowledgement\.mode 'both': expected one of implicit, ex"):
        ShareConsumer("kafka1:9092", group_id="g", share_acknowledgement_mode="both")
