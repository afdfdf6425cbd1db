"""A bundled broker with topics and records in them, and commands that run on it in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.producer import Producer
from kafka_tools.commands import running
from kafka_tools.net.config import ClientConfig

ORDERS = {0: 3, 2: 5, 10: 7}
"""Partition of the topic orders, which has 12 -> how many records of 100 bytes it holds."""


class Ended(NamedTuple):
    """What a command left: exit status and both streams."""

    status: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        config = ClientConfig.load(broker.bootstrap_servers)
        with AdminClient(config) as admin, Producer(config) as producer:
            admin.create_topics([NewTopic("orders", 12, 1), NewTopic("other", 1, 1)]).raise_any()
            for number, count in ORDERS.items():
                for _ in range(count):
                    producer.send("orders", b"v" * 100, partition=number)
            producer.flush()
        yield broker


@pytest.fixture
def run(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> Run:
    """``run("get-offsets", "--topic", "orders")``: the command, connected to the broker."""

    def ended(name: str, *arguments: object) -> Ended:
        words = [*map(str, arguments), "--bootstrap-server", broker.bootstrap_servers]
        return Ended(running.run(cli.load(name), words, f"kafka-{name}"), *capsys.readouterr())

    return ended
