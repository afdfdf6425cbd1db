"""Lag in time on real Kafka, beside what a consumer reads: a group at every offset of logs of three kinds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka_tools.admin.client import AdminClient, CommittedOffset, NewTopic
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.producer import Producer
from kafka_tools.values import TopicPartition
from tests.against_kafka.harness import RealKafka
from tests.against_kafka.side_by_side import done, fresh, ours

START_MS = 1_700_000_000_000


def written(kafka: RealKafka, topic: str) -> None:
    """Records an hour apart, a committed and an aborted transaction, and an open one at the end."""
    with Producer(kafka.bootstrap_servers, linger_ms=0) as producer:
        for number in range(4):
            producer.wait_for(producer.send(topic, b"v", partition=0, timestamp_ms=START_MS + number * 3_600_000))
    producer = Producer(kafka.bootstrap_servers, transactional_id=fresh("lagging"))
    producer.init_transactions()
    for ends in ("commit", "abort", None):
        producer.begin_transaction()
        for number in range(2):
            producer.send(topic, b"v", partition=0, timestamp_ms=START_MS + number)
        producer.flush()
        if ends is not None:
            producer.commit_transaction() if ends == "commit" else producer.abort_transaction()
    OPEN.append(producer)


OPEN: list[Producer] = []


def read(kafka: RealKafka, key: TopicPartition) -> tuple[dict[int, int], int, int]:
    """Offset -> timestamp of what a consumer reads, then the start and the end of the log."""
    found: dict[int, int] = {}
    with Consumer(kafka.bootstrap_servers, isolation_level="read_uncommitted") as consumer:
        consumer.assign([key])
        consumer.seek_to_beginning([key])
        (start,) = consumer.beginning_offsets([key]).values()
        (end,) = consumer.end_offsets([key]).values()
        while consumer.position(key) < end:
            found |= {record.offset: record.timestamp_ms for record in consumer.poll(1.0)}
    return found, start, end


@pytest.mark.parametrize("kind", ["created", "appended", "deleted"])
@pytest.mark.parametrize("name", ["kafka_new", "kafka_28", "kafka_11"])
def test_the_oldest_unread_record_is_the_one_that_a_consumer_reads(
    name: str, kind: str, request: pytest.FixtureRequest
) -> None:
    kafka: RealKafka = request.getfixturevalue(name)
    topic = fresh(f"lag-{kind}")
    key = TopicPartition(topic, 0)
    configs = {"message.timestamp.type": "LogAppendTime"} if kind == "appended" else {}
    with AdminClient(kafka.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(topic, 1, 1, configs=configs)]).raise_any()
        written(kafka, topic)
        if kind == "deleted":
            admin.delete_records({key: 3}).raise_any()
        times, start, end = read(kafka, key)
        for offset in range(end + 1):
            admin.alter_group_offsets(f"{topic}-{offset:02}", {key: CommittedOffset(offset)}).raise_any()
    document = json.loads(
        done(ours(kafka, "consumer-groups", "--describe", "--topic", topic, "--sort", "name", "-o", "json"))
    )
    rows: list[dict[str, Any]] = document["data"]
    assert [row["current_offset"] for row in rows] == list(range(end + 1))
    stable = end - 2
    for row in rows:
        offset = row["current_offset"]
        later = [each for each in sorted(times) if each >= offset]
        assert row["lag"] == end - offset
        assert row["blocked"] == (end - max(offset, stable) if offset < end else 0)
        if offset < start:
            assert row["age_ms"] is None and f"record {offset} was deleted: the log starts at {start}" in row["note"]
        elif later:
            assert (row["oldest_unread_ms"], row["age_ms"]) == (
                times[later[0]], row["looked_at_ms"] - times[later[0]],
            )  # fmt: skip
        else:
            assert (row["oldest_unread_ms"], row["age_ms"]) == (None, 0)
