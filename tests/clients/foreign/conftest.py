"""One bundled broker for all foreign clients of a test process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from kafka_tools.broker_embedded.broker import EmbeddedBroker

_numbers = itertools.count()
PROMPT = {
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 100,
    "group.consumer.assignment.interval.ms": 0,
}
"""Members of consumer groups settle within a second, not within heartbeats of five."""


@pytest.fixture(scope="session")
def bundled() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=PROMPT) as broker:
        yield broker


@pytest.fixture
def servers(bundled: EmbeddedBroker) -> str:
    return bundled.bootstrap_servers


@pytest.fixture
def new_topic(servers: str) -> Callable[..., str]:
    """``new_topic(partitions)`` creates a topic and returns its name."""
    from kafka_tools.admin.client import AdminClient, NewTopic
    from kafka_tools.net.config import ClientConfig

    def create(partitions: int = 1) -> str:
        name = f"foreign-{next(_numbers)}"
        with AdminClient(ClientConfig({"bootstrap.servers": servers})) as admin:
            admin.create_topics([NewTopic(name, partitions=partitions, replication_factor=1)]).raise_any()
        return name

    return create
