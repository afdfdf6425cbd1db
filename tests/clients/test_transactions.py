"""Transactions: against the bundled broker with both versions of the protocol, and a scripted one for each error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from kafka_tools.admin import AdminClient
from kafka_tools.admin.calls.features import FeatureUpdate
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.group import OffsetAndMetadata
from kafka_tools.clients.producer import Producer
from kafka_tools.clients.transactions.steps import ProducerFenced
from kafka_tools.clock import ManualClock
from kafka_tools.errors import BrokerError, ConfigError, DeadlineExceeded, KafkaToolsError
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import FeatureUpgradeType
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_tools.values import TopicPartition
from tests.clients.fake_cluster import NEVER, FakeCluster

PATIENCE_S = 60.0


@pytest.fixture(scope="module", params=[2, 1], ids=["protocol 2", "protocol 1"])
def served(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    config = {"group.initial.rebalance.delay.ms": 0, "transaction.max.timeout.ms": 100_000}
    with EmbeddedBroker(config=config) as broker:
        with AdminClient(broker.bootstrap_servers) as admin:
            if request.param == 1:
                admin.update_features({"transaction.version": FeatureUpdate(1, FeatureUpgradeType.SAFE_DOWNGRADE)})
        yield broker


@pytest.fixture
def broker(served: EmbeddedBroker) -> Iterator[EmbeddedBroker]:
    yield served
    served.faults.clear()


@pytest.fixture
def make(broker: EmbeddedBroker, request: pytest.FixtureRequest) -> Iterator[Callable[..., Producer]]:
    made: list[Producer] = []

    def make(name: str = "", **settings: Any) -> Producer:
        settings = {"transactional_id": name or request.node.name[:200], "retry_backoff_ms": 5, **settings}
        producer = Producer(broker.bootstrap_servers, on_failure=lambda *_: None, **settings)
        made.append(producer)
        return producer

    yield make
    for producer in made:
        producer.close(1.0)


def committed(broker: EmbeddedBroker, topic: str) -> list[bytes | None]:
    """What a consumer of committed records finds, up to the end."""
    with Consumer(broker.bootstrap_servers, isolation_level="read_committed") as consumer:
        partitions = [TopicPartition(topic, number) for number in consumer.partitions_for(topic).partitions]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(partitions)
        found: list[bytes | None] = []
        while any(consumer.position(each) < ends[each] for each in partitions):
            found += [record.value for record in consumer.poll(0.2)]
    return found


def test_only_records_of_committed_transactions_are_read(broker: EmbeddedBroker, make: Callable[..., Producer]) -> None:
    producer = make()
    topic = f"only-{id(broker)}"
    producer.init_transactions()
    for number, commit in enumerate([True, False, True, True, False]):
        producer.begin_transaction()
        producer.send(topic, b"%d" % number)
        if number % 2:
            producer.flush()
        if commit:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    assert committed(broker, topic) == [b"0", b"2", b"3"]


def test_offsets_are_committed_with_the_transaction(broker: EmbeddedBroker, make: Callable[..., Producer]) -> None:
    producer = make()
    topic, group = f"offsets-{id(broker)}", f"group-{id(broker)}"
    source = TopicPartition(topic, 0)
    producer.init_transactions()
    with Consumer(broker.bootstrap_servers, group_id=group) as consumer:
        for offset, commit in [(5, True), (7, False)]:
            producer.begin_transaction()
            producer.send(topic, b"1")
            producer.send_offsets_to_transaction({source: OffsetAndMetadata(offset)}, group)
            if commit:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
        assert consumer.committed([source])[source] == OffsetAndMetadata(5)


def test_offsets_of_a_member_that_left_are_refused(broker: EmbeddedBroker, make: Callable[..., Producer]) -> None:
    """KIP-447: the group checks who the consumer is."""
    producer = make()
    topic, group = f"member-{id(broker)}", f"member-{id(broker)}"
    source = TopicPartition(topic, 0)
    producer.init_transactions()
    with producer.transaction():
        producer.send(topic, b"1")
    with Consumer(broker.bootstrap_servers, group_id=group) as consumer:
        consumer.subscribe([topic])
        while not consumer.assignment():
            consumer.poll(0.1)
        member = consumer.group_metadata()
        with producer.transaction():
            producer.send_offsets_to_transaction({source: OffsetAndMetadata(1)}, member)
        assert consumer.committed([source])[source] == OffsetAndMetadata(1)
    with pytest.raises(BrokerError, match="UNKNOWN_MEMBER_ID"), producer.transaction():
        producer.send_offsets_to_transaction({source: OffsetAndMetadata(2)}, member)


def test_an_empty_transaction_ends_without_a_request(broker: EmbeddedBroker, make: Callable[..., Producer]) -> None:
    producer = make()
    producer.init_transactions()
    with broker.faults.record("end_txn") as ends:
        for end in (producer.commit_transaction, producer.abort_transaction):
            producer.begin_transaction()
            end()
    assert len(ends) == 0


def test_a_second_producer_fences_the_first(broker: EmbeddedBroker, make: Callable[..., Producer]) -> None:
    topic = f"fenced-{id(broker)}"
    first, second = make(), make()
    first.init_transactions()
    first.begin_transaction()
    first.send(topic, b"lost")
    first.flush()
    second.init_transactions()
    with pytest.raises(ProducerFenced, match="a newer producer uses the transactional id"):
        first.commit_transaction()
    with pytest.raises(ProducerFenced):
        first.begin_transaction()
    with second.transaction():
        second.send(topic, b"1")
    assert committed(broker, topic) == [b"1"]


def test_close_does_not_raise_what_the_commit_has_raised(broker: EmbeddedBroker, make: Callable[..., Producer]) -> None:
    id = f"closed-{uuid4()}"
    with Producer(broker.bootstrap_servers, transactional_id=id) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        make(id).init_transactions()
        producer.send("closed", b"late")
        with pytest.raises(KafkaToolsError, match=r"INVALID_PRODUCER_EPOCH|PRODUCER_FENCED"):
            producer.commit_transaction()


STEPS = [
    "find_coordinator",
    "init_producer_id",
    "add_partitions_to_txn",
    "add_offsets_to_txn",
    "txn_offset_commit",
    "end_txn",
]


@pytest.mark.parametrize("api", STEPS)
def test_each_step_is_tried_again(broker: EmbeddedBroker, make: Callable[..., Producer], api: str) -> None:
    """After errors of the moment, a moved coordinator, and a response that was lost though the broker did the work."""
    topic = f"again-{api}-{id(broker)}"
    producer = make(f"again-{api}")
    errors = (
        ["COORDINATOR_NOT_AVAILABLE"] if api == "find_coordinator" else ["NOT_COORDINATOR", "CONCURRENT_TRANSACTIONS"]
    )
    if api in ("txn_offset_commit",):
        errors = {
            "find_coordinator": ["COORDINATOR_NOT_AVAILABLE"],
            "txn_offset_commit": ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"],
        }.get(api, ["NOT_COORDINATOR", "CONCURRENT_TRANSACTIONS"])
    for error in errors:
        broker.faults.error(api, error)
    broker.faults.disconnect(api, served=True)
    producer.init_transactions()
    with producer.transaction():
        producer.send(topic, b"1")
        producer.send_offsets_to_transaction({TopicPartition(topic, 0): OffsetAndMetadata(1)}, f"{topic}-group")
    with producer.transaction():
        producer.send(topic, b"2")
    assert committed(broker, topic) == [b"1", b"2"]


def test_a_record_that_fails_makes_an_abort_necessary_and_the_next_transaction_works(
    broker: EmbeddedBroker, make: Callable[..., Producer]
) -> None:
    topic = f"fails-{id(broker)}"
    producer = make()
    producer.init_transactions()
    with producer.transaction():
        producer.send(topic, b"0", partition=0)
    broker.faults.error("produce", "INVALID_RECORD", topic=topic, partition=0)
    producer.begin_transaction()
    producer.send(topic, b"1", partition=0)
    with pytest.raises(BrokerError, match="INVALID_RECORD"):
        producer.commit_transaction()
    with pytest.raises(KafkaToolsError, match="the transaction failed and must be aborted"):
        producer.send(topic, b"2")
    producer.abort_transaction()
    for value in (b"3", b"4"):
        with producer.transaction():
            producer.send(topic, value, partition=0)
    assert committed(broker, topic) == [b"0", b"3", b"4"]


def test_an_abortable_error_of_offsets_is_followed_by_an_abort(
    broker: EmbeddedBroker, make: Callable[..., Producer]
) -> None:
    topic = f"abortable-{id(broker)}"
    producer = make()
    producer.init_transactions()
    broker.faults.error("txn_offset_commit", "ILLEGAL_GENERATION")
    with pytest.raises(BrokerError, match="ILLEGAL_GENERATION"), producer.transaction():
        producer.send(topic, b"1")
        producer.send_offsets_to_transaction({TopicPartition(topic, 0): OffsetAndMetadata(1)}, "g")
    with producer.transaction():
        producer.send(topic, b"2")
    assert committed(broker, topic) == [b"2"]


def test_order_within_transactions_survives_faults(broker: EmbeddedBroker, make: Callable[..., Producer]) -> None:
    topic = f"order-{id(broker)}"
    producer = make(batch_size=60, linger_ms=0)
    producer.init_transactions()
    sent = 0
    for _ in range(4):
        broker.faults.error("produce", "NOT_LEADER_OR_FOLLOWER", skip=2, topic=topic, partition=0)
        broker.faults.disconnect("produce", skip=4, served=True)
        with producer.transaction():
            for _ in range(20):
                producer.send(topic, b"%d" % sent, partition=0)
                sent += 1
    assert committed(broker, topic) == [b"%d" % number for number in range(sent)]


def test_the_version_of_the_protocol_decides_who_adds_partitions_and_when_the_epoch_rises(
    broker: EmbeddedBroker, make: Callable[..., Producer], request: pytest.FixtureRequest
) -> None:
    is_v2 = "protocol 2" in request.node.name
    topic = f"protocol-{id(broker)}"
    producer = make()
    producer.init_transactions()
    names = ("add_partitions_to_txn", "add_offsets_to_txn", "txn_offset_commit", "end_txn", "produce")
    seen = {name: broker.faults.record(name) for name in names}
    for _ in range(2):
        with producer.transaction():
            producer.send(topic, b"1")
            producer.send_offsets_to_transaction({TopicPartition(topic, 0): OffsetAndMetadata(1)}, f"{topic}-group")
    assert [len(seen[name]) for name in names[:2]] == ([0, 0] if is_v2 else [2, 2])
    epochs = [each.request.producer_epoch for each in seen["end_txn"]]
    assert epochs == ([epochs[0], epochs[0] + 1] if is_v2 else [epochs[0]] * 2)
    assert all((each.version >= 12) == is_v2 for each in seen["produce"])
    assert all((each.version >= 5) == is_v2 for each in seen["txn_offset_commit"])
    for recording in seen.values():
        recording.stop()


def test_an_older_protocol_raises_the_epoch_after_an_error(
    broker: EmbeddedBroker, make: Callable[..., Producer], request: pytest.FixtureRequest
) -> None:
    producer = make()
    producer.init_transactions()
    before = producer._sender.transactions.identity if producer._sender.transactions else None
    broker.faults.error("produce", "INVALID_RECORD", topic="raises", partition=0)
    with broker.faults.record("init_producer_id") as asked:
        with pytest.raises(BrokerError), producer.transaction():
            producer.send("raises", b"1", partition=0)
        assert [(each.request.producer_id, each.request.producer_epoch) for each in asked] == (
            [] if "protocol 2" in request.node.name else [before]
        )
    with producer.transaction():
        producer.send("raises", b"2", partition=0)


def test_the_example_of_the_page_copies_every_record_once(broker: EmbeddedBroker) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    with Producer(broker.bootstrap_servers) as producer:
        for number in range(2):
            producer.send("orders", b"%d" % number, partition=0)
    exec(example.replace("localhost:9092", broker.bootstrap_servers), {})
    assert committed(broker, "copies") == [b"0", b"1"]


# A scripted broker, in virtual time


@pytest.fixture
def scripted(cluster: FakeCluster, clock: ManualClock) -> Callable[..., Producer]:
    def scripted(**settings: str) -> Producer:
        values = {"bootstrap.servers": "one:9092", "transactional.id": "x", "max.block.ms": "1000"} | settings
        exchange: Any = cluster
        return Producer(ClientConfig(values), exchange=exchange, clock=clock)

    return scripted


@pytest.mark.req("PROD-1")
@pytest.mark.req("PROD-2")
def test_init_goes_on_after_a_timeout(scripted: Callable[..., Producer], cluster: FakeCluster) -> None:
    producer = scripted()
    cluster.answers[InitProducerIdRequest] = lambda *_: NEVER
    for _ in range(3):
        with pytest.raises(DeadlineExceeded) as caught:
            producer.init_transactions()
        assert str(caught.value) == "Timeout expired while initializing transactional state in 1000ms."
    assert len(cluster.requests(InitProducerIdRequest)) == 1
    cluster.answers[InitProducerIdRequest] = lambda *_: InitProducerIdResponse(producer_id=7, producer_epoch=3)
    producer.init_transactions()
    assert len(cluster.requests(InitProducerIdRequest)) == 1
    producer.begin_transaction()


@pytest.mark.req("PROD-4")
def test_the_stored_error_of_an_operation_is_raised(scripted: Callable[..., Producer], cluster: FakeCluster) -> None:
    producer = scripted()
    code = error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    cluster.answers[InitProducerIdRequest] = lambda *_: InitProducerIdResponse(error_code=code)
    for _ in range(2):
        with pytest.raises(BrokerError, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
            producer.init_transactions()
    assert len(cluster.requests(InitProducerIdRequest)) == 1


@pytest.mark.req("PROD-7")
def test_a_forced_close_ends_the_retries(scripted: Callable[..., Producer], cluster: FakeCluster) -> None:
    producer = scripted(**{"max.block.ms": "1000000"})
    code = error_codes.COORDINATOR_LOAD_IN_PROGRESS

    def answer(*_: object) -> InitProducerIdResponse:
        if len(cluster.requests(InitProducerIdRequest)) == 5:
            producer._sender.close()  # what another thread's close does while this one waits
        return InitProducerIdResponse(error_code=code)

    cluster.answers[InitProducerIdRequest] = answer
    with pytest.raises(KafkaToolsError, match="closed while this call was in progress"):
        producer.init_transactions()
    assert len(cluster.requests(InitProducerIdRequest)) == 5


def test_calls_in_the_wrong_state_are_refused(scripted: Callable[..., Producer], cluster: FakeCluster) -> None:
    cluster.topic("t")
    producer = scripted()
    for call in (producer.begin_transaction, producer.commit_transaction, producer.abort_transaction):
        with pytest.raises(KafkaToolsError, match="the producer is before init_transactions"):
            call()
    producer.init_transactions()
    with pytest.raises(KafkaToolsError, match="init_transactions: the producer is between two transactions"):
        producer.init_transactions()
    with pytest.raises(KafkaToolsError, match="cannot call send: the producer is between two transactions"):
        producer.send("t", b"1")


def test_transactions_need_an_id_and_idempotence() -> None:
    producer = Producer("localhost:1")
    with pytest.raises(ConfigError, match=r"this producer has no transactions: set transactional\.id"):
        producer.init_transactions()
    producer.close()
    with pytest.raises(ConfigError, match=r"transactional\.id: transactions need enable\.idempotence"):
        Producer("localhost:1", transactional_id="x", enable_idempotence="false")
