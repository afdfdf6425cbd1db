"""Our producer's transactions on real Kafka: protocol 2 (KIP-890), protocol 1, and an old release."""

from __future__ import annotations

import pytest

from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.group import OffsetAndMetadata
from kafka_tools.clients.producer import Producer
from kafka_tools.errors import KafkaToolsError
from kafka_tools.values import TopicPartition
from tests.against_kafka.harness import RealKafka, eventually
from tests.against_kafka.side_by_side import done, fresh, ours


def read(kafka: RealKafka, partition: TopicPartition, isolation_level: str) -> list[bytes | None]:
    """The values that a consumer of this isolation level gets."""
    found: list[bytes | None] = []
    with Consumer(kafka.bootstrap_servers, isolation_level=isolation_level) as consumer:
        consumer.assign([partition])
        consumer.seek_to_beginning([partition])
        (end,) = consumer.end_offsets([partition]).values()
        while consumer.position(partition) < end:
            found += [record.value for record in consumer.poll(1.0)]
    return found


@pytest.mark.parametrize("name", ["kafka_new", "kafka_28", "kafka_11"])
def test_committed_aborted_and_fenced(name: str, request: pytest.FixtureRequest) -> None:
    kafka: RealKafka = request.getfixturevalue(name)
    topic, group, id = fresh("written"), fresh("offsets"), fresh("producer")
    done(ours(kafka, "topics", "--create", "--topic", topic, "--partitions", 1, "--replication-factor", 1))
    partition = TopicPartition(topic, 0)
    with Producer(kafka.bootstrap_servers, transactional_id=id) as producer:
        producer.init_transactions()
        for text, commits in ((b"a", True), (b"b", False), (b"c", True), (b"d", False), (b"e", True)):
            producer.begin_transaction()
            for number in range(3):
                producer.send(topic, text + b"%d" % number)
            if commits:
                producer.send_offsets_to_transaction({partition: OffsetAndMetadata(text[0])}, group)
                producer.commit_transaction()
            else:
                producer.flush()
                producer.abort_transaction()
        with Producer(kafka.bootstrap_servers, transactional_id=id) as newer:
            newer.init_transactions()
            with pytest.raises(KafkaToolsError, match=r"(?i)fenced|newer producer"), producer.transaction():
                producer.send(topic, b"late")
            with newer.transaction():
                newer.send(topic, b"f0")
    committed = [text + b"%d" % number for text in (b"a", b"c", b"e") for number in range(3)]

    def all_is_committed() -> None:
        assert read(kafka, partition, "read_committed") == [*committed, b"f0"]

    eventually(all_is_committed)  # the coordinator answers a commit before its markers are in the partitions
    assert len(read(kafka, partition, "read_uncommitted")) == 16
    with Consumer(kafka.bootstrap_servers, group_id=group) as consumer:
        found = consumer.committed([partition])[partition]
        assert found is not None and found.offset == b"e"[0]
