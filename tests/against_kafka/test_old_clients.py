"""Producers and consumers of magic 0 and 1 on releases that convert for them: a seeded part of ``old_clients``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from tests.against_kafka.harness import RealKafka
from tests.against_kafka.old_clients import OldComparison, compare_reading
from tests.against_kafka.produced_batches import OLD_KINDS, old_messages

SENT = 8 * len(OLD_KINDS)
FILLED = 6
"""Batches of each topic that is read."""
CONVERTING = ("kafka_39", "kafka_28", "kafka_22", "kafka_11")


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> RealKafka:
    found: RealKafka = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def ours() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as running:
        yield running


@pytest.mark.parametrize("kafka", CONVERTING, indirect=True)
def test_messages_of_old_producers_are_taken_and_refused_alike_and_stored_the_same(
    kafka: RealKafka, ours: EmbeddedBroker
) -> None:
    comparison = OldComparison(kafka.bootstrap_servers, ours.bootstrap_servers, kafka.release)
    comparison.compare(old_messages(seed=392, count=SENT))
    assert not comparison.differences, "\n".join(comparison.differences)
    assert comparison.counts["alike"] > SENT // 2, comparison.counts


@pytest.mark.parametrize("kafka", CONVERTING, indirect=True)
def test_old_consumers_are_given_the_same_messages_to_the_byte(kafka: RealKafka, tmp_path: Path) -> None:
    found, counts = compare_reading(kafka, tmp_path, seed=392, count=FILLED, step=37)
    assert not found, "\n".join(found[:20])
    assert counts["equal"] > counts.total() // 3, counts
