"""Groups of both protocols in every state and in wrong order, beside Kafka 4.3.1; the generator is group_walks.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from tests.against_kafka.group_walks import PROPERTIES, differences
from tests.against_kafka.harness import RealKafka, Setup

WALKS = 12
STEPS = 40


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=PROPERTIES) as running:
        yield running


@pytest.mark.parametrize("seed", range(8480, 8480 + WALKS))
def test_both_brokers_give_the_same_answers_and_write_the_same_records(
    real_kafka: Callable[[Setup], RealKafka], broker: EmbeddedBroker, seed: int
) -> None:
    kafka = real_kafka(Setup("4.3.1", properties=tuple(PROPERTIES.items())))
    assert list(differences((kafka.bootstrap_servers, broker.bootstrap_servers), seed, STEPS)) == []
