"""The metrics of clients: Kafka's names and groups, and what ``--print-metrics`` shows."""

from __future__ import annotations

from kafka_tools.clients import metrics as module
from kafka_tools.clients.metrics import ClientMetrics, ConsumerMetrics, ProducerMetrics, printed
from kafka_tools.clock import ManualClock


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


def test_a_producer_counts_by_topic_and_node() -> None:
    clock = ManualClock()
    metrics = producer_metrics(clock)
    metrics.sent(1, [("orders", 10, 500, 0.005), ("other", 2, 100, 0.015)])
    clock.advance(0.03)
    metrics.answered(1, 0.03, 7)
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
    assert found["producer-metrics request-latency-avg"] == 30
    assert found["producer-metrics produce-throttle-time-max"] == 7
    assert found["producer-metrics buffer-available-bytes"] == 700
    assert found["producer-metrics requests-in-flight"] == 2
    assert found["producer-topic-metrics record-send-total topic=orders"] == 10
    assert found["producer-topic-metrics byte-total topic=other"] == 100
    assert found["producer-topic-metrics record-error-total topic=other"] == 2
    assert found["producer-node-metrics request-total node-id=node-1"] == 1
    assert found["producer-node-metrics request-latency-max node-id=node-1"] == 30


def test_a_consumer_counts_fetches_records_and_commits() -> None:
    clock = ManualClock()
    metrics = ConsumerMetrics(clock, "app", assigned=lambda: 3)
    metrics.polled()
    clock.advance(0.2)
    metrics.polled()
    metrics.fetched(0.05, 0, 4096)
    metrics.consumed("orders", 0, 20, 2048, 5)
    metrics.consumed("orders", 1, 10, 2048, 9)
    metrics.committed(0.004)
    found = shown(metrics)
    assert found["consumer-fetch-manager-metrics records-consumed-total"] == 30
    assert found["consumer-fetch-manager-metrics records-consumed-total topic=orders"] == 30
    assert found["consumer-fetch-manager-metrics bytes-consumed-total"] == 4096
    assert found["consumer-fetch-manager-metrics fetch-latency-avg"] == 50
    assert found["consumer-fetch-manager-metrics records-lag-max"] == 9
    assert found["consumer-fetch-manager-metrics records-lag-max topic=orders partition=0"] == 5
    assert found["consumer-coordinator-metrics commit-total"] == 1
    assert found["consumer-coordinator-metrics assigned-partitions"] == 3
    assert found["consumer-metrics time-between-poll-max"] == 200


def test_labels_are_bounded(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(module, "MOST_LABELS", 2)
    metrics = producer_metrics(ManualClock())
    for number in range(5):
        metrics.sent(number, [(f"t{number}", 1, 10, 0.0)])
    found = shown(metrics)
    assert found["producer-metrics record-send-total"] == 5
    assert [name for name in found if "record-send-total topic" in name] == [
        "producer-topic-metrics record-send-total topic=t0",
        "producer-topic-metrics record-send-total topic=t1",
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
