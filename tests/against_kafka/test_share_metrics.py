"""``kafka-share-consumer-perf-test --print-metrics`` beside Kafka's tool, on a real broker."""

from __future__ import annotations

import re

from kafka_tools.clients import Producer
from tests.against_kafka.harness import RealKafka
from tests.against_kafka.side_by_side import done, fresh, ours

LINE = re.compile(r"([a-z-]+):([a-z0-9.-]+):\{(.*)\} +: (.+)")


def printed(text: str) -> dict[tuple[str, str], str]:
    """(group, name) -> value of the metrics that only have the client id."""
    found = {}
    for match in map(LINE.fullmatch, text.splitlines()):
        if match is not None and match[3] == "client-id=measured":
            found[match[1], match[2]] = match[4]
    return found


def test_metrics_have_the_names_of_kafkas_tool_and_its_numbers(kafka_new: RealKafka) -> None:
    topic = fresh("measured")
    done(ours(kafka_new, "topics", "--create", "--topic", topic, "--partitions", 1))
    with Producer(kafka_new.bootstrap_servers) as producer:
        producer.send_many(topic, [b"x" * 100] * 1000)
    answers = []
    for run in ("ours", "theirs"):
        group = fresh("share")
        reset = ("--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
        done(ours(kafka_new, "share-groups", *reset))
        line = ("--topic", topic, "--num-records", 1000, "--group", group, "--print-metrics", "--timeout", 60_000)
        settings = ("--command-property", "client.id=measured")
        if run == "ours":
            ended = done(ours(kafka_new, "share-consumer-perf-test", *line, *settings))
        else:
            main = "org.apache.kafka.tools.ShareConsumerPerformance"
            ended = done(kafka_new.tool(main, *line, *settings))
        answers.append(printed(ended))
    own, theirs = answers
    assert len(own) >= 20
    assert own.keys() - theirs.keys() == set()
    fetch = "consumer-share-fetch-manager-metrics"
    for name in ("records-consumed-total", "acknowledgements-error-total"):
        assert own[fetch, name] == theirs[fetch, name]
