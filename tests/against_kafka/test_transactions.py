"""Transactions in every state and in wrong order, beside Kafka; the generator is transaction_walks.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from tests.against_kafka.harness import RealKafka
from tests.against_kafka.transaction_walks import differences

WALKS = 12
STEPS = 40


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as running:
        yield running


@pytest.mark.req("TX-23")
@pytest.mark.parametrize("seed", range(4300, 4300 + WALKS))
def test_both_brokers_give_the_same_answers_and_store_the_same(
    kafka_new: RealKafka, broker: EmbeddedBroker, seed: int
) -> None:
    assert list(differences((kafka_new.bootstrap_servers, broker.bootstrap_servers), seed, STEPS)) == []
