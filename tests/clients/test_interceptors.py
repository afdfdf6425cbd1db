"""Interceptors of producers and consumers (KIP-42): their order, what they see, and that they break nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients import ConsumerInterceptor, OutgoingRecord, ProducerInterceptor, RecordsFailed
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.fetched_data import ConsumedRecord
from kafka_tools.clients.group import OffsetAndMetadata
from kafka_tools.clients.producer import Producer, RecordTooLarge
from kafka_tools.clients.producing.batch import Header
from kafka_tools.clients.producing.delivery import RecordMetadata
from kafka_tools.errors import BrokerError, InputError, KafkaToolsError
from kafka_tools.protocol import error_codes
from kafka_tools.values import TopicPartition
from tests.clients.test_send_many import NOW_MS, Peer


class Seen(ProducerInterceptor):
    """Adds a header to each record, and keeps what it sees in ``events``, which several may share."""

    def __init__(self, name: str, events: list[Any]) -> None:
        self.name = name
        self.events = events

    def on_send(self, record: OutgoingRecord) -> OutgoingRecord:
        self.events.append((self.name, "send", record.value, len(record.headers)))
        return record._replace(headers=[*record.headers, (self.name, b"")])

    def on_acknowledgement(self, metadata: RecordMetadata, error: Exception | None, headers: Sequence[Header]) -> None:
        self.events.append((self.name, metadata, type(error), [name for name, _ in headers]))

    def close(self) -> None:
        self.events.append((self.name, "close"))


class Broken(ProducerInterceptor, ConsumerInterceptor):
    """Fails in every method."""

    def on_send(self, record: OutgoingRecord) -> OutgoingRecord:
        raise ValueError("broken on_send")

    def on_acknowledgement(self, metadata: RecordMetadata, error: Exception | None, headers: Sequence[Header]) -> None:
        raise ValueError("broken on_acknowledgement")

    def on_consume(self, records: list[ConsumedRecord]) -> list[ConsumedRecord]:
        raise ValueError("broken on_consume")

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        raise ValueError("broken on_commit")

    def close(self) -> None:
        raise ValueError("broken close")


def test_each_interceptor_gets_the_record_of_the_one_before() -> None:
    events: list[Any] = []
    peer = Peer(interceptors=[Seen("a", events), Seen("b", events)])
    peer.producer.send("t", b"1", headers=[("own", b"")], on_delivery=lambda *about: events.append(about))
    peer.producer.send("t", b"2")
    peer.producer.close()
    one, two = RecordMetadata("t", 0, 0, NOW_MS), RecordMetadata("t", 0, 1, NOW_MS)
    assert events == [
        ("a", "send", b"1", 1),
        ("b", "send", b"1", 2),
        ("a", "send", b"2", 0),
        ("b", "send", b"2", 1),
        ("a", one, type(None), ["own", "a", "b"]),
        ("b", one, type(None), ["own", "a", "b"]),
        (one, None),
        ("a", two, type(None), ["a", "b"]),
        ("b", two, type(None), ["a", "b"]),
        ("a", "close"),
        ("b", "close"),
    ]
    ((_, batch),) = peer.log.batches
    assert [record.headers for record in batch.records()] == [
        (("own", b""), ("a", b""), ("b", b"")),
        (("a", b""), ("b", b"")),
    ]


def test_an_interceptor_changes_everything_of_a_record() -> None:
    class Changes(ProducerInterceptor):
        def on_send(self, record: OutgoingRecord) -> OutgoingRecord:
            return OutgoingRecord("other", b"value", b"key", [("h", None)], 1, 7)

    peer = Peer(interceptors=[Changes()])
    peer.cluster.topic("other", 2)
    assert peer.producer.send("t", b"1").result() == ("other", 1, 0, 7)
    ((place, batch),) = peer.log.batches
    (record,) = batch.records()
    assert (place, record.key, record.value, record.headers) == (("other", 1), b"key", b"value", (("h", None),))


def test_exceptions_are_logged_and_change_nothing(caplog: pytest.LogCaptureFixture) -> None:
    events: list[Any] = []
    peer = Peer(interceptors=[Seen("a", events), Broken(), Seen("b", events)])
    delivered: list[Any] = []
    peer.producer.send("t", b"1", on_delivery=lambda *about: delivered.append(about))
    peer.producer.close()
    metadata = RecordMetadata("t", 0, 0, NOW_MS)
    assert delivered == [(metadata, None)]
    assert events == [
        ("a", "send", b"1", 0),
        ("b", "send", b"1", 1),
        ("a", metadata, type(None), ["a", "b"]),
        ("b", metadata, type(None), ["a", "b"]),
        ("a", "close"),
        ("b", "close"),
    ]
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == [
        "broken on_send",
        "broken on_acknowledgement",
        "broken close",
    ]


def test_a_result_that_is_no_record_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    class Forgets(ProducerInterceptor):
        def on_send(self, record: OutgoingRecord) -> Any:
            return None

    peer = Peer(interceptors=[Forgets()])
    peer.producer.send("t", b"1").result()
    assert peer.log.values() == [b"1"]
    assert caplog.messages == ["an interceptor returned NoneType from on_send"]


def test_records_that_fail_are_acknowledged_with_their_error() -> None:
    events: list[Any] = []
    peer = Peer(interceptors=[Seen("a", events)])
    peer.log.codes = [error_codes.INVALID_RECORD]
    with pytest.raises(BrokerError):
        peer.producer.send("t", b"1").result()
    assert events[1:] == [("a", ("t", 0, -1, -1), BrokerError, ["a"])]


def test_records_that_send_refuses_are_acknowledged_with_their_error() -> None:
    events: list[Any] = []
    peer = Peer(interceptors=[Seen("a", events)], max_request_size=1000)
    calls: list[tuple[type[Exception], dict[str, Any]]] = [
        (InputError, {"topic": "t", "value": "text"}),
        (InputError, {"topic": "t", "value": b"", "partition": 5}),
        (RecordTooLarge, {"topic": "t", "value": b"1" * 1000, "partition": 0}),
    ]
    for kind, arguments in calls:
        with pytest.raises(kind):
            peer.producer.send(**arguments)
    peer.producer.close()
    with pytest.raises(KafkaToolsError):
        peer.producer.send("t", b"1")
    assert [event for event in events if event[1] not in ("send", "close")] == [
        ("a", ("t", -1, -1, -1), InputError, ["a"]),
        ("a", ("t", 5, -1, -1), InputError, ["a"]),
        ("a", ("t", 0, -1, -1), RecordTooLarge, ["a"]),
    ]


def test_each_record_of_send_many_is_intercepted() -> None:
    class Refuses(ProducerInterceptor):
        def on_send(self, record: OutgoingRecord) -> OutgoingRecord:
            return record._replace(partition=9) if record.value == b"2" else record

    events: list[Any] = []
    told: list[Any] = []
    peer = Peer(interceptors=[Seen("a", events), Refuses()])
    records = [(b"k", b"1"), (None, b"2"), (b"k", b"3")]
    deliveries = peer.producer.send_many("t", records, [("own", b"")], on_delivery=told.append)
    with pytest.raises(RecordsFailed, match=r"1 of 3 records failed, records\[1\]: Invalid partition 9"):
        deliveries.result()
    peer.producer.close()
    assert [event[2] for event in events if event[1] == "send"] == [b"1", b"2", b"3"]
    assert [list(run.indexes) for run in deliveries.delivered()] == [[0], [2]]
    assert [(*event[1:3], event[3]) for event in events if isinstance(event[1], RecordMetadata)] == [
        (("t", 9, -1, -1), InputError, ["own", "a"]),
        (("t", 0, 0, NOW_MS), type(None), ["own", "a"]),
        (("t", 0, 1, NOW_MS), type(None), ["own", "a"]),
    ]
    assert told == [deliveries]


def test_close_closes_interceptors_once_also_if_records_are_lost() -> None:
    events: list[Any] = []
    peer = Peer(interceptors=[Seen("a", events)])
    peer.log.codes = [error_codes.INVALID_RECORD]
    peer.producer.send("t", b"1")
    with pytest.raises(KafkaToolsError):
        peer.producer.close()
    peer.producer.close()
    assert events.count(("a", "close")) == 1


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([object()], r"invalid interceptors\[0\]: expected an object with .*close, not object"),
        ([Seen], r"invalid interceptors\[0\]: .*not a class"),
        (Seen("a", []), "invalid interceptors: expected a list"),
    ],
)
def test_other_objects_are_refused(given: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        Producer("localhost:1", interceptors=given)


# Consumers


class Reader(ConsumerInterceptor):
    """Keeps what it sees, and returns the records whose value is not ``without``."""

    def __init__(self, events: list[Any], without: bytes = b"") -> None:
        self.events = events
        self.without = without

    def on_consume(self, records: list[ConsumedRecord]) -> list[ConsumedRecord]:
        self.events.append([record.value for record in records])
        return [record for record in records if record.value != self.without]

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self.events.append({partition: position.offset for partition, position in offsets.items()})

    def close(self) -> None:
        self.events.append("close")


PARTITION = TopicPartition("t", 0)


@pytest.fixture(scope="module")
def served() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        with Producer(broker.bootstrap_servers) as producer:
            producer.send_many("t", [b"1", b"2", b"3"]).result()
        yield broker


@pytest.fixture
def address(served: EmbeddedBroker) -> Iterator[str]:
    yield served.bootstrap_servers
    served.faults.clear()


def reading(address: str, *chain: ConsumerInterceptor, **settings: str) -> Consumer:
    consumer = Consumer(address, group_id="g", interceptors=chain, **settings)
    consumer.assign([PARTITION])
    consumer.seek_to_beginning()
    return consumer


def test_records_go_through_the_chain_and_positions_move_past_all_of_them(address: str) -> None:
    events: list[Any] = []
    with reading(address, Reader(events, b"1"), Reader(events, b"3"), enable_auto_commit="false") as consumer:
        assert [record.value for record in consumer.poll(30.0)] == [b"2"]
        assert consumer.position(PARTITION) == 3
        assert consumer.poll(0.0) == []
    assert events == [[b"1", b"2", b"3"], [b"2", b"3"], "close", "close"]


def test_commits_of_every_kind_are_told(address: str) -> None:
    events: list[Any] = []
    done: list[Any] = []
    with reading(address, Reader(events), enable_auto_commit="false") as consumer:
        consumer.commit({PARTITION: OffsetAndMetadata(1)})
        consumer.commit_async({PARTITION: OffsetAndMetadata(2)}, lambda error: done.append((error, list(events))))
        while not done:
            consumer.poll(0.01)
    expected = [{PARTITION: 1}, {PARTITION: 2}]
    assert [event for event in events if isinstance(event, dict)] == expected
    assert done[0][0] is None
    assert [event for event in done[0][1] if isinstance(event, dict)] == expected
    events.clear()
    with Consumer(address, group_id="auto", auto_offset_reset="earliest", interceptors=[Reader(events)]) as consumer:
        consumer.subscribe(["t"])
        while not consumer.poll(1.0):
            pass
    assert events == [[b"1", b"2", b"3"], {PARTITION: 3}, "close"]


def test_a_commit_that_fails_is_not_told(served: EmbeddedBroker, address: str) -> None:
    events: list[Any] = []
    with reading(address, Reader(events), enable_auto_commit="false") as consumer:
        served.faults.error("offset_commit", "GROUP_AUTHORIZATION_FAILED", group="g")
        with pytest.raises(BrokerError):
            consumer.commit({PARTITION: OffsetAndMetadata(1)})
    assert events == ["close"]


def test_exceptions_of_a_consumers_interceptor_are_logged(address: str, caplog: pytest.LogCaptureFixture) -> None:
    events: list[Any] = []
    consumer = reading(address, Broken(), Reader(events), enable_auto_commit="false")
    assert len(consumer.poll(30.0)) == 3
    consumer.commit()
    consumer.close()
    assert events == [[b"1", b"2", b"3"], {PARTITION: 3}, "close"]
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == [
        "broken on_consume",
        "broken on_commit",
        "broken close",
    ]


def test_an_interceptor_may_call_its_consumer(address: str) -> None:
    class Asks(ConsumerInterceptor):
        def on_consume(self, records: list[ConsumedRecord]) -> list[ConsumedRecord]:
            found.append(consumer.position(PARTITION))
            return records

    found: list[int] = []
    with reading(address, Asks(), enable_auto_commit="false") as consumer:
        assert len(consumer.poll(30.0)) == 3
    assert found == [3]


def test_columns_have_no_records_for_interceptors(address: str) -> None:
    with reading(address, Reader([])) as consumer, pytest.raises(InputError, match="poll_columns"):
        consumer.poll_columns(0.0)
