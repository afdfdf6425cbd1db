"""What producers may get wrong, sent to real Kafka and to the bundled broker; the generator is produced_batches.py.

Batches of magic 2 go to 4.3.1. Messages of magic 0 and 1 go to 3.9.2: Kafka 4 does not serve Produce v0 to v2 any more.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from tests.against_kafka import fetched_comparison
from tests.against_kafka.harness import RealKafka
from tests.against_kafka.produced_batches import TOPICS, cases, old_messages
from tests.against_kafka.produced_comparison import Comparison, consumed

Tool = Callable[..., "subprocess.CompletedProcess[str]"]
CASES = 500
OLD_CASES = 160
"""Every kind of ``old_messages`` ten times."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(data_dir=tmp_path_factory.mktemp("produced") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def compared(kafka_43: RealKafka, broker: EmbeddedBroker) -> Comparison:
    comparison = Comparison(kafka_43.bootstrap_servers, broker.bootstrap_servers)
    comparison.compare(cases(seed=4_3_1, count=CASES))
    return comparison


def test_both_brokers_take_and_refuse_the_same_batches_and_store_the_same(compared: Comparison) -> None:
    assert not compared.differences, "\n".join(compared.differences)
    assert compared.counts["alike"] > CASES * 4 // 5, compared.counts


def test_messages_of_old_producers_are_taken_and_refused_alike_and_stored_the_same(
    kafka_39: RealKafka, broker: EmbeddedBroker
) -> None:
    comparison = Comparison(kafka_39.bootstrap_servers, broker.bootstrap_servers)
    comparison.compare(old_messages(seed=3_9_2, count=OLD_CASES))
    assert not comparison.differences, "\n".join(comparison.differences)
    assert comparison.counts["alike"] > OLD_CASES * 3 // 4, comparison.counts


def test_old_consumers_are_given_the_same_records(kafka_39: RealKafka, broker: EmbeddedBroker) -> None:
    found, count, equal = fetched_comparison.differences(kafka_39.bootstrap_servers, broker.bootstrap_servers)
    assert not found, "\n".join(found)
    assert equal > count * 9 // 10, f"{equal} of {count}"


@pytest.mark.parametrize("name", TOPICS)
def test_what_was_taken_is_read_by_librdkafka_and_by_kafkas_consumer(
    compared: Comparison, broker: EmbeddedBroker, java_tool: Tool, name: str
) -> None:
    topic = compared.ours.topic(name)
    stored = compared.ours.stored(name)
    end = max(view.last_offset for view in stored.values()) + 1
    assert consumed(broker.bootstrap_servers, topic, end) == end
    got = java_tool(
        "4.3.1", "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", broker.bootstrap_servers,
        "--topic", topic, "--partition", 0, "--offset", "earliest", "--max-messages", end, "--timeout-ms", 60_000,
        "--formatter-property", "print.value=false", "--formatter-property", "print.offset=true",
    )  # fmt: skip
    assert [int(line.removeprefix("Offset:")) for line in got.stdout.split()] == list(range(end)), got.stderr


def test_the_record_with_the_newest_timestamp_is_found_alike(compared: Comparison) -> None:
    for name in ("plain", "compact"):
        time, offset = compared.ours.offset_of_newest(name)
        assert time == compared.real.offset_of_newest(name)[0]
        assert offset >= 0
