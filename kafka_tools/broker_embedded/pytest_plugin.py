"""The ``kafka_broker`` fixture: a real broker for integration tests, one per test session.

>>> def test_round_trip(kafka_broker):
...     config = {"bootstrap.servers": kafka_broker.bootstrap_servers}

Override ``kafka_broker_config`` (session scope) to set configs, as in server.properties. ``kafka_faults`` adds faults
to that broker for one test.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.broker import EmbeddedBroker
    from kafka_tools.broker_embedded.faults.vocabulary import Faults


@pytest.fixture(scope="session")
def kafka_broker_config() -> dict[str, object]:
    """Configs of the broker behind ``kafka_broker``; override it in a conftest.py."""
    return {}


@pytest.fixture(scope="session")
def kafka_broker(kafka_broker_config: dict[str, object]) -> Iterator[EmbeddedBroker]:
    """A running broker with ``bootstrap_servers``; its data is deleted when the session ends."""
    from kafka_tools.broker_embedded.broker import EmbeddedBroker

    with EmbeddedBroker(config=kafka_broker_config) as broker:
        yield broker


@pytest.fixture
def kafka_faults(kafka_broker: EmbeddedBroker) -> Iterator[Faults]:
    """The faults of ``kafka_broker`` for one test: ``kafka_faults.error("produce", "NOT_LEADER_OR_FOLLOWER")``.

    After the test, every fault ends, held requests continue, and the broker accepts connections.
    """
    yield kafka_broker.faults
    kafka_broker.faults.clear()
