"""The metrics of clients: Kafka's names and groups, and what ``--print-metrics`` shows."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.fetching.metrics import ConsumerMetrics
from kafka_tools.clients.producer import Producer
from kafka_tools.clients.producing.metrics import ProducerMetrics
from kafka_tools.clock import ManualClock
from kafka_tools.metrics.clients import MOST_LABELS, ClientMetrics, printed
from kafka_tools.metrics.names import MetricName
from kafka_tools.protocol.messages.produce import ProduceResponse
from kafka_tools.values import TopicPartition


def shown(metrics: ClientMetrics) -> dict[str, object]:
    """``group name tag=value`` -> value, without the client id."""
    found = {}
    for name, value in metrics.values().items():
        tags = [f"{tag}={text}" for tag, text in name.tags.items() if tag != "client-id"]
        assert name.tags["client-id"] == "app"
        found[" ".join([name.group, name.name, *tags])] = value
    return found


def producer_metrics(clock: ManualClock) -> ProducerMetrics:
    return ProducerMetrics(clock, "app", buffer_bytes=1000, buffered=lambda: 300, in_flight=lambda: 2)


def batch(topic: str, records: int, size_bytes: int, created_s: float = 0.0) -> Any:
    """As much of a batch as metrics read."""
    return SimpleNamespace(
        topic_partition=TopicPartition(topic, 0),
        records=[None] * records,
        encoded=b"x" * size_bytes,
        created_s=created_s,
    )


def test_a_producer_counts_by_topic_and_node() -> None:
    clock = ManualClock()
    clock.advance(0.015)
    metrics = producer_metrics(clock)
    metrics.sent(1, [batch("orders", 10, 500, 0.01), batch("other", 2, 100)])
    clock.advance(0.03)
    metrics.answered(1, clock.monotonic_s() - 0.03, ProduceResponse(throttle_time_ms=7))
    metrics.retried("orders", 10)
    metrics.failed("other", 2)
    metrics.split()
    found = shown(metrics)
    assert found["producer-metrics record-send-total"] == 12
    assert found["producer-metrics record-error-total"] == 2
    assert found["producer-metrics record-retry-total"] == 10
    assert found["producer-metrics batch-split-total"] == 1
    assert (found["producer-metrics batch-size-avg"], found["producer-metrics batch-size-max"]) == (300, 500)
    assert found["producer-metrics record-queue-time-max"] == 15
    assert found["producer-metrics records-per-request-avg"] == 12
    assert found["producer-metrics request-latency-avg"] == pytest.approx(30)
    assert found["producer-metrics produce-throttle-time-max"] == 7
    assert found["producer-metrics buffer-available-bytes"] == 700
    assert found["producer-metrics requests-in-flight"] == 2
    assert found["producer-topic-metrics record-send-total topic=orders"] == 10
    assert found["producer-topic-metrics byte-total topic=other"] == 100
    assert found["producer-topic-metrics record-error-total topic=other"] == 2
    assert found["producer-node-metrics request-total node-id=node-1"] == 1
    assert found["producer-node-metrics request-latency-max node-id=node-1"] == pytest.approx(30)


def test_a_consumer_counts_polls_records_and_commits() -> None:
    clock = ManualClock()
    metrics = ConsumerMetrics(clock, "app", assigned=lambda: 3)
    metrics.polled()
    clock.advance(0.2)
    metrics.polled()
    metrics.consumed(TopicPartition("orders", 0), 20, 5)
    metrics.consumed(TopicPartition("orders", 1), 10, 9)
    metrics.commit_begins()()
    found = shown(metrics)
    assert found["consumer-fetch-manager-metrics records-consumed-total"] == 30
    assert found["consumer-fetch-manager-metrics records-consumed-total topic=orders"] == 30
    assert found["consumer-fetch-manager-metrics records-lag-max"] == 9
    assert found["consumer-fetch-manager-metrics records-lag-max topic=orders partition=0"] == 5
    assert found["consumer-coordinator-metrics commit-total"] == 1
    assert found["consumer-coordinator-metrics assigned-partitions"] == 3
    assert found["consumer-metrics time-between-poll-max"] == 200


def test_clients_measure_what_they_send_and_read_from_the_first_question_on() -> None:
    with EmbeddedBroker(config={"auto.create.topics.enable": "true"}) as broker:
        config = {"bootstrap.servers": broker.bootstrap_servers, "client.id": "app"}
        with Producer(config) as producer:
            producer.send("orders", b"before")
            producer.flush()
            assert total(producer.metrics(), "record-send-total") == 0
            for _ in range(10):
                producer.send("orders", b"x" * 100)
            producer.flush()
            sent = producer.metrics()
        with Consumer({**config, "group.id": "g", "auto.offset.reset": "earliest"}) as consumer:
            consumer.metrics()
            consumer.subscribe(["orders"])
            records = 0
            while records < 11:
                records += len(consumer.poll(10))
            consumer.commit()
            read = consumer.metrics()
        assert total(sent, "record-send-total") == total(sent, "record-send-total", topic="orders") == 10
        assert total(sent, "request-latency-max") > 0
        assert total(read, "records-consumed-total") == total(read, "records-consumed-total", topic="orders") == 11
        written = broker.metrics()["kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec,topic=orders"]["Count"]
        assert total(read, "bytes-consumed-total") == written
        assert total(read, "commit-total") == 1


def total(metrics: Mapping[MetricName, Any], name: str, **tags: str) -> float:
    """The value of the metric with this name and these tags."""
    (found,) = (
        value for each, value in metrics.items() if each.name == name and each.tags == {"client-id": "app", **tags}
    )
    return float(found)


def test_labels_are_bounded() -> None:
    metrics = producer_metrics(ManualClock())
    assert all(metrics.labelled("topic", f"t{number}") for number in range(MOST_LABELS))
    metrics.sent(1, [batch("one more", 3, 10)])
    metrics.sent(1, [batch("t0", 1, 10)])
    found = shown(metrics)
    assert found["producer-metrics record-send-total"] == 4
    assert [name for name in found if "record-send-total topic" in name] == [
        "producer-topic-metrics record-send-total topic=t0"
    ]


def test_metrics_are_printed_as_by_kafkas_tools() -> None:
    metrics = ConsumerMetrics(ManualClock(), "app", assigned=lambda: 3)
    text = printed(metrics.values())
    lines = text.splitlines()
    assert lines[0] == ""
    assert lines[1].split() == ["Metric", "Name", "Value"]
    assert "consumer-coordinator-metrics:assigned-partitions:{client-id=app}" in text
    assert lines[2:] == sorted(lines[2:])
    assert [line.rpartition(" : ")[2] for line in lines if "assigned-partitions" in line] == ["3.000"]
    assert [line.rpartition(" : ")[2] for line in lines if "commit-latency-avg" in line] == ["NaN"]
    assert printed({}) == ""
