"""Producer and consumer over a broker that goes away and comes back: nothing acknowledged is lost or doubled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kafka_tools.broker_embedded.broker import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.producer import Delivery, Producer
from kafka_tools.net.config import ClientConfig

COUNT = 200


def test_records_arrive_once_and_in_order_over_a_restart(tmp_path: Path, free_port: Callable[[], int]) -> None:
    address = f"127.0.0.1:{free_port()}"
    settings = {"group.initial.rebalance.delay.ms": "0"}

    def broker() -> EmbeddedBroker:
        return EmbeddedBroker(data_dir=tmp_path / "data", listeners=[f"PLAINTEXT://{address}"], config=settings)

    client = {"bootstrap.servers": address, "linger.ms": "0", "batch.size": "100", "session.timeout.ms": "10000"}
    producer = Producer(ClientConfig(client))
    sent: list[Delivery] = []

    def send(count: int) -> None:
        for _ in range(count):
            sent.append(producer.send("t", b"%d" % len(sent), partition=0))

    with broker():
        send(COUNT)
        sent[0].result(60)
    # Some of the batches were written without the answer having come, some not; these come on top.
    send(COUNT)
    for _ in range(5):
        producer.poll(0.1)
    with broker():
        send(COUNT)
        producer.close(100)
        assert [delivery.error for delivery in sent] == [None] * len(sent)
        consumer = Consumer(ClientConfig({**client, "group.id": "g", "auto.offset.reset": "earliest"}))
        consumer.subscribe(["t"])
        found: list[bytes | None] = []
        while len(found) < len(sent):
            records = consumer.poll(60.0)
            assert records, f"only {len(found)} of {len(sent)} records are there"
            found += [record.value for record in records]
        assert found == [b"%d" % number for number in range(len(sent))]
        assert consumer.end_offsets(consumer.assignment()).popitem()[1] == len(sent)
    with broker():
        # The member finds its coordinator again and goes on where it was.
        assert consumer.poll(1.0) == []
        consumer.close()
