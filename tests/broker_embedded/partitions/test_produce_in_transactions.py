"""Produce requests of transactions: many partitions at once, and a transaction that ends while batches are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded.coordinators.transactions.decisions import Transaction
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.enums import TRANSACTION_STATE
from kafka_tools.protocol.messages.produce import ProduceRequest
from tests.broker_embedded.disk_broker import DiskBroker
from tests.broker_embedded.transactional_client import Client, read

FEW = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
MANY = 40
LONG = b"x" * 3_000_000
"""Batches of this size are judged on another thread."""
Data = ProduceRequest.TopicProduceData


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[DiskBroker]:
    made = DiskBroker(tmp_path / "data", FEW)
    made.create("t", MANY, **{"max.message.bytes": "4000000"})
    yield made
    made.core.close()


def request_of(client: Client, partitions: range, *values: bytes) -> ProduceRequest:
    parts = [Data.PartitionProduceData(index=at, records=client.batch(*values, partition=at)) for at in partitions]
    return ProduceRequest(
        transactional_id=client.id, acks=-1, timeout_ms=1000, topic_data=[Data(name="t", partition_data=parts)]
    )


def codes_of(answer: Any) -> list[int]:
    return [each.error_code for topic in answer.responses for each in topic.partition_responses]


def states_written(broker: DiskBroker) -> int:
    return broker.core.partitions.led(TRANSACTION_STATE, 0).log.log_end_offset


def transaction(broker: DiskBroker) -> Transaction:
    return broker.core.transactions.describe("tx")


class Held:
    """What goes to another thread waits until the test lets it go."""

    def __init__(self, broker: DiskBroker) -> None:
        self.waiting: list[Callable[[], None]] = []
        broker.core.slices.offload = self._hold

    def _hold(self, function: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
        self.waiting.append(lambda: done(function(), None))

    def let_go(self) -> None:
        assert self.waiting
        while self.waiting:
            self.waiting.pop()()


def test_a_request_adds_all_its_partitions_with_one_change_of_the_transaction(broker: DiskBroker) -> None:
    client = Client(broker, bumps=True)
    client.init()
    before = states_written(broker)
    answer = broker.call(request_of(client, range(MANY), b"v"), 12)
    assert codes_of(answer) == [codes.NONE] * MANY
    assert states_written(broker) == before + 1
    assert len(transaction(broker).partitions) == MANY
    client.end(commit=True)
    assert [read(broker, at) for at in (0, MANY - 1)] == [[b"v"], [b"v"]]


def test_partitions_that_were_not_added_are_refused_each_alone(broker: DiskBroker) -> None:
    client = Client(broker)
    client.init()
    client.add(0, 2)
    answer = broker.call(request_of(client, range(4), b"v"), 11)
    assert codes_of(answer) == [codes.NONE, codes.TRANSACTION_ABORTABLE, codes.NONE, codes.TRANSACTION_ABORTABLE]


def test_of_two_producers_in_one_request_neither_writes(broker: DiskBroker) -> None:
    client, other = Client(broker), Client(broker, "other")
    client.init()
    other.init()
    client.add(0, 1)
    request = request_of(client, range(1), b"v")
    request.topic_data[0].partition_data += request_of(other, range(1, 2), b"v").topic_data[0].partition_data
    answer = broker.call(request, 11)
    assert codes_of(answer) == [codes.INVALID_PRODUCER_ID_MAPPING] * 2
    assert read(broker, 0, committed=False) == []


@pytest.mark.parametrize("bumps", [False, True])
def test_a_batch_that_is_still_judged_when_its_transaction_ends_does_not_hang_behind_the_marker(
    broker: DiskBroker, bumps: bool
) -> None:
    client = Client(broker, bumps=bumps)
    client.init()
    if not bumps:
        client.add(0)
    held = Held(broker)
    pending = broker.send(request_of(client, range(1), LONG), 12 if bumps else 11)
    broker.advance(0)
    assert client.end(commit=True) == codes.NONE
    held.let_go()
    broker.advance(0)
    (answer,) = pending.response.responses[0].partition_responses
    assert (answer.error_code, answer.base_offset) == (codes.INVALID_TXN_STATE, -1)
    assert answer.error_message == "Record was not part of an ongoing transaction"
    log = broker.core.partitions.led("t", 0).log
    assert log.last_stable_offset == log.log_end_offset == 1


def test_a_batch_that_is_judged_while_its_transaction_is_open_is_written(broker: DiskBroker) -> None:
    client = Client(broker, bumps=True)
    client.init()
    held = Held(broker)
    pending = broker.send(request_of(client, range(1), LONG), 12)
    broker.advance(0)
    assert pending.response is None
    held.let_go()
    broker.advance(0)
    assert codes_of(pending.response) == [codes.NONE]
    client.end(commit=True)
    assert read(broker) == [LONG]


class Ending:
    """Markers that the disk refuses while the test wants it: the transaction is decided and not over."""

    def __init__(self, broker: DiskBroker, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = 0
        self._patch = monkeypatch
        monkeypatch.setattr(type(broker.core.markers), "write", lambda *_: int(codes.KAFKA_STORAGE_ERROR))
        add = type(broker.core.transactions).add_partitions

        def counted(*arguments: Any) -> Any:
            self.asked += 1
            return add(*arguments)

        monkeypatch.setattr(type(broker.core.transactions), "add_partitions", counted)

    def may_end(self) -> None:
        self._patch.undo()


def begun_again(broker: DiskBroker, monkeypatch: pytest.MonkeyPatch) -> tuple[Client, Ending]:
    client = Client(broker, bumps=True)
    client.init()
    client.produce(b"a", version=12)
    ending = Ending(broker, monkeypatch)
    assert client.end(commit=True) == codes.NONE
    return client, ending


def test_a_produce_waits_for_the_end_of_the_last_transaction(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, ending = begun_again(broker, monkeypatch)
    pending = broker.send(request_of(client, range(2), b"b"), 12)
    pass_ms(broker, 55)
    assert pending.response is None
    assert ending.asked == 3, "at once, and two times after 20 ms"
    ending.may_end()
    pass_ms(broker, 50)
    assert codes_of(pending.response) == [codes.NONE] * 2
    assert client.end(commit=True) == codes.NONE
    assert read(broker, 1) == [b"b"]


def test_a_produce_is_told_that_the_last_transaction_does_not_end(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, ending = begun_again(broker, monkeypatch)
    pending = broker.send(request_of(client, range(2), b"b"), 12)
    pass_ms(broker, 95)
    assert pending.response is None
    pass_ms(broker, 25)
    assert codes_of(pending.response) == [codes.CONCURRENT_TRANSACTIONS] * 2
    assert ending.asked == 6, "until 100 ms are over"
    ending.may_end()
    broker.advance(5)
    assert read(broker) == [b"a"]


def test_older_clients_are_told_at_once(broker: DiskBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(broker)
    client.init()
    client.add(0)
    client.produce(b"a")
    ending = Ending(broker, monkeypatch)
    assert client.end(commit=True) == codes.NONE
    answer = broker.call(request_of(client, range(1, 2), b"b"), 11)
    assert codes_of(answer) == [codes.NOT_ENOUGH_REPLICAS]
    ending.may_end()


def pass_ms(broker: DiskBroker, ms: int) -> None:
    """Time passes bit by bit, so that what is due twice within it comes twice."""
    for _ in range(ms):
        broker.advance(0.001)


def test_no_batch_is_written_before_one_that_was_refused_for_the_moment(broker: DiskBroker) -> None:
    """Of five in flight the first once came back behind the second, and was out of order for ever."""
    client = Client(broker)
    client.init()
    assert client.produce(b"a").error_code == codes.INVALID_TXN_STATE
    client.add(0)
    assert client.produce(b"b").error_code == codes.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert client.produce(b"b", transactional=False).error_code == codes.OUT_OF_ORDER_SEQUENCE_NUMBER
    client.sequences.clear()
    assert [client.produce(value).error_code for value in (b"a", b"b")] == [codes.NONE] * 2
    assert client.end(True) == codes.NONE
    assert read(broker) == [b"a", b"b"]
    assert client.produce(b"not added").error_code == codes.INVALID_TXN_STATE
    broker.advance(2 * 24 * 3600)
    client.add(0)
    assert client.produce(b"d").error_code == codes.NONE, "what nobody came back for is forgotten"
