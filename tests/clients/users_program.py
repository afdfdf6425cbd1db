"""A program of a user, with every type written out: ``mypy --strict`` checks it together with the package."""

from __future__ import annotations

from kafka_tools import AdminClient, Consumer, EmbeddedBroker, Producer, ShareConsumer
from kafka_tools.admin.client import NewTopic
from kafka_tools.clients import ConsumedRecord, ConsumerInterceptor, Deliveries, OutgoingRecord, ProducerInterceptor
from kafka_tools.errors import KafkaToolsError
from kafka_tools.values import TopicPartition


class Traced(ProducerInterceptor):
    """Adds a header to each record."""

    def on_send(self, record: OutgoingRecord) -> OutgoingRecord:
        """The record with a header."""
        return record._replace(headers=[*record.headers, ("trace", b"1")])


class Counted(ConsumerInterceptor):
    """Counts records."""

    count = 0

    def on_consume(self, records: list[ConsumedRecord]) -> list[ConsumedRecord]:
        """The same records."""
        self.count += len(records)
        return records


def fill(address: str, values: list[bytes]) -> list[int]:
    """Create a topic and produce to it; returns the offsets."""
    failed: list[KafkaToolsError] = []
    with AdminClient(address) as admin:
        admin.create_topics([NewTopic("typed", 1, 1)])
    with Producer(address, linger_ms=1, interceptors=[Traced()]) as producer:
        deliveries = [producer.send("typed", value, key=b"k", headers=[("h", b"1")]) for value in values]
        producer.send("typed", None, on_delivery=lambda metadata, error: failed.append(error) if error else None)
        many: Deliveries = producer.send_many("typed", [(b"k", b"3"), (None, b"4")], on_delivery=print)
        assert [run.offset for run in many.result(60.0)] == [len(values) + 1]
        return [delivery.result(60.0).offset for delivery in deliveries]


def read(address: str) -> list[bytes | None]:
    """Everything in the topic's partition."""
    partition: TopicPartition = TopicPartition("typed", 0)
    found: list[bytes | None] = []
    counted = Counted()
    with Consumer({"bootstrap.servers": address}, interceptors=[counted]) as consumer:
        consumer.assign([partition])
        consumer.seek_to_beginning()
        end: int = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            found += [record.value for record in consumer.poll(1.0)]
    assert counted.count == len(found)
    return found


def main() -> list[bytes | None]:
    """Run it."""
    with EmbeddedBroker() as broker:
        address: str = broker.bootstrap_servers
        assert fill(address, [b"1", b"2"]) == [0, 1]
        shared: ShareConsumer = ShareConsumer(address, group_id="share")
        shared.close(0.0)
        return read(address)
