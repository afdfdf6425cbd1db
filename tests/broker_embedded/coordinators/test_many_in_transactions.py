"""Very many partitions in one transaction, very many ids: no piece of work grows with them, others go on meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.enums import TRANSACTION_STATE
from kafka_tools.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, Topic
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.describe_producers import DescribeProducersRequest
from kafka_tools.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_tools.protocol.messages.end_txn import EndTxnRequest
from kafka_tools.protocol.messages.list_transactions import ListTransactionsRequest
from kafka_tools.protocol.schema import Request
from kafka_tools.storage.producer_state import ProducerEntry
from tests.broker_embedded.coordinators.pieces import counted
from tests.broker_embedded.disk_broker import DiskBroker
from tests.broker_embedded.transactional_client import Client, read

COUNT = 2_000
MANY = list(range(201))
"""Partitions of which the record is made on another thread."""
MOST_STEPS = 8_000
"""Of the interpreter in one piece, which the marker of one partition nearly has; a few for each of them are more."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[DiskBroker]:
    few = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
    made = DiskBroker(tmp_path / "data", few)
    made.create("t", len(MANY) + 1)
    yield made
    made.core.close()


def add(client: Client, partitions: list[int], *, verify_only: bool | None = None) -> tuple[Request, int]:
    """As a client asks, or with ``verify_only`` as a broker does."""
    topics = [Topic(name="t", partitions=partitions)]
    if verify_only is None:
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=client.id, v3_and_below_producer_id=client.producer_id,
            v3_and_below_producer_epoch=client.epoch, v3_and_below_topics=topics,
        ), 3  # fmt: skip
    transaction = AddPartitionsToTxnRequest.Transaction(
        transactional_id=client.id, producer_id=client.producer_id, producer_epoch=client.epoch,
        verify_only=verify_only, topics=topics,
    )  # fmt: skip
    return AddPartitionsToTxnRequest(transactions=[transaction]), 4


def end(client: Client) -> tuple[Request, int]:
    return EndTxnRequest(
        transactional_id=client.id, producer_id=client.producer_id, producer_epoch=client.epoch, committed=True
    ), 4


def test_no_piece_has_much_to_do_with_each_partition_or_id(broker: DiskBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = broker.core.cluster
    one = cluster.partition("t", 0)
    monkeypatch.setattr(cluster, "partition", lambda topic, number: one, raising=False)
    clients = [Client(broker, f"id-{number:04}") for number in range(COUNT)]
    for client in clients:
        client.init()
    first = clients[0]
    Asked = DescribeProducersRequest.TopicRequest
    producers = DescribeProducersRequest(topics=[Asked(name="t", partition_indexes=[0])])
    known = broker.core.partitions.led("t", 0).log.producers
    for number in range(COUNT):
        known.add(number, ProducerEntry(0))
    asked: list[Callable[[list[int]], tuple[Request, int]]] = [
        lambda partitions: add(first, partitions),
        lambda partitions: add(first, partitions, verify_only=True),
        lambda partitions: (DescribeTransactionsRequest(transactional_ids=[first.id]), 0),
        lambda partitions: end(first),
        lambda partitions: (producers, 0),
        lambda partitions: (ListTransactionsRequest(state_filters=["Ongoing"]), 2),
    ]
    for make in asked:
        broker.call(*make([0]))  # which makes encoders and decoders
    for make in asked:
        with counted(monkeypatch) as pieces:
            answered = broker.send(*make(list(range(COUNT))))
            while answered.response is None:
                broker.step()
        assert pieces.longest < MOST_STEPS, make([])
    listed = broker.call(ListTransactionsRequest(state_filters=["Empty"]), 2).transaction_states
    assert [each.transactional_id for each in listed] == [client.id for client in clients[1:]]


class Elsewhere:
    """The other thread, at work for as long as the test wants."""

    def __init__(self, broker: DiskBroker) -> None:
        self.waiting: list[tuple[Callable[[], Any], Callable[[Any, BaseException | None], None]]] = []
        broker.core.slices.offload = lambda run, done: self.waiting.append((run, done))

    def go_on(self, broker: DiskBroker) -> None:
        broker.step()
        while self.waiting:
            run, done = self.waiting.pop()
            done(run(), None)
            broker.step()


def test_an_id_whose_many_partitions_are_being_written_is_changed_by_nobody_else(broker: DiskBroker) -> None:
    client, other = Client(broker), Client(broker, "other")
    client.init()
    other.init()
    elsewhere = Elsewhere(broker)
    pending = broker.send(*add(client, MANY))
    broker.step()
    assert (pending.response, len(elsewhere.waiting)) == (None, 1)
    assert client.state().transaction_state == "Empty", "it does not hold before it is written"
    assert client.add(len(MANY)) == [codes.CONCURRENT_TRANSACTIONS]
    assert Client(broker).init() == codes.CONCURRENT_TRANSACTIONS
    assert other.add(0) == [codes.NONE], "others go on"
    elsewhere.go_on(broker)
    (answer,) = pending.response.results_by_topic_v3_and_below
    assert {each.partition_error_code for each in answer.results_by_partition} == {codes.NONE}
    client.produce(b"a", partition=2)
    ended = broker.send(*end(client))
    broker.step()
    broker.advance(120)
    assert client.state().transaction_state == "Ongoing", "nor is it aborted while its end is being written"
    elsewhere.go_on(broker)
    assert ended.response.error_code == codes.NONE
    assert client.state().transaction_state == "CompleteCommit"
    assert read(broker, 2) == [b"a"]
    broker.restart(kill=True)
    assert client.state().transaction_state == "CompleteCommit"


def test_what_is_being_written_when_the_log_of_transactions_is_deleted_does_not_hold(broker: DiskBroker) -> None:
    client = Client(broker)
    client.init()
    elsewhere = Elsewhere(broker)
    pending = broker.send(*add(client, MANY))
    broker.step()
    broker.send(DeleteTopicsRequest(topic_names=[TRANSACTION_STATE], timeout_ms=1000), 4)
    elsewhere.go_on(broker)
    (answer,) = pending.response.results_by_topic_v3_and_below
    assert {each.partition_error_code for each in answer.results_by_partition} == {codes.NOT_COORDINATOR}
