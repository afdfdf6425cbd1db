"""What producers may get wrong, sent to Kafka and to the bundled broker; the generator is produced_batches.py."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from tests.against_kafka.harness import RealKafka
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.produced_batches import TOPICS, cases
from tests.against_kafka.produced_comparison import Comparison, consumed

Tool = Callable[..., "subprocess.CompletedProcess[str]"]
CASES = 500


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(data_dir=tmp_path_factory.mktemp("produced") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def compared(kafka_new: RealKafka, broker: EmbeddedBroker) -> Comparison:
    comparison = Comparison(kafka_new.bootstrap_servers, broker.bootstrap_servers)
    comparison.compare(cases(seed=4_3_1, count=CASES))
    return comparison


def test_both_brokers_take_and_refuse_the_same_batches_and_store_the_same(compared: Comparison) -> None:
    assert not compared.differences, "\n".join(compared.differences)
    assert compared.counts["alike"] > CASES * 4 // 5, compared.counts


@pytest.mark.parametrize("name", TOPICS)
def test_what_was_taken_is_read_by_librdkafka_and_by_kafkas_consumer(
    compared: Comparison, broker: EmbeddedBroker, java_tool: Tool, name: str
) -> None:
    topic = compared.ours.topic(name)
    stored = compared.ours.stored(name)
    end = max(view.last_offset for view in stored.values()) + 1
    assert consumed(broker.bootstrap_servers, topic, end) == end
    got = java_tool(
        NEWEST, "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", broker.bootstrap_servers,
        "--topic", topic, "--partition", 0, "--offset", "earliest", "--max-messages", end, "--timeout-ms", 60_000,
        "--formatter-property", "print.value=false", "--formatter-property", "print.offset=true",
    )  # fmt: skip
    assert [int(line.removeprefix("Offset:")) for line in got.stdout.split()] == list(range(end)), got.stderr


def test_the_record_with_the_newest_timestamp_is_found_alike(compared: Comparison) -> None:
    for name in ("plain", "compact"):
        time, offset = compared.ours.offset_of_newest(name)
        assert time == compared.real.offset_of_newest(name)[0]
        assert offset >= 0
