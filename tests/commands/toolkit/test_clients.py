"""kafka-tools clients: members, producers and transactions in one list."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.producer import Producer
from kafka_tools.commands import running
from tests.live_members import LASTING, poll_until_assigned

MOMENT_MS = 1_700_000_000_000


class Ended(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.out)["data"]
        return found


Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    """A consumer of orders, an idempotent producer of both topics, and a transaction that is open on payments."""
    with EmbeddedBroker(config={"group.initial.rebalance.delay.ms": "0"}) as broker:
        address = broker.bootstrap_servers
        with AdminClient(address) as admin:
            admin.create_topics([NewTopic("orders", 2, 1), NewTopic("payments", 1, 1)]).raise_any()
        settings = {"group.id": "billing", "client.id": "app", "bootstrap.servers": address, **LASTING}
        with (
            Consumer(settings) as consumer,
            Producer(address, enable_idempotence=True) as plain,
            Producer(address, transactional_id="pay") as open_,
        ):
            for topic in ("orders", "payments"):
                plain.send(topic, b"v", partition=0, timestamp_ms=MOMENT_MS)
            plain.flush()
            open_.init_transactions()
            open_.begin_transaction()
            open_.send("payments", b"v")
            open_.flush()
            consumer.subscribe(["orders"])
            poll_until_assigned(consumer)
            yield broker
            open_.abort_transaction()


@pytest.fixture
def run(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(*words: str) -> Ended:
        capsys.readouterr()
        line = [*words, "-b", broker.bootstrap_servers]
        return Ended(running.run(cli.load("clients"), line, "kafka-tools clients"), *capsys.readouterr())

    return ended


def test_members_producers_and_transactions_are_in_one_list(run: Run) -> None:
    member, plain, transactional = run("-o", "json").rows
    assert (member["role"], member["client_id"], member["group"], member["partitions"], member["topics"]) == (
        "consumer", "app", "billing", 2, ["orders"],
    )  # fmt: skip
    assert member["host"] and member["member_id"] and member["state"] == "Stable"
    assert (plain["role"], plain["transactional_id"], plain["partitions"], plain["state"]) == (
        "producer",
        None,
        2,
        None,
    )
    assert plain["topics"] == ["orders", "payments"] and plain["last_write_ms"] is not None
    assert (transactional["transactional_id"], transactional["topics"]) == ("pay", ["payments"])
    assert transactional["state"] == "Ongoing" and transactional["producer_id"] != plain["producer_id"]


def test_only_the_clients_of_a_topic(run: Run) -> None:
    assert [row["role"] for row in run("--topic", "payments", "-o", "json").rows] == ["producer", "producer"]
    assert [row["role"] for row in run("--topic", "orders", "-o", "json").rows] == ["consumer", "producer"]
    ended = run("--topic", "nowhere", "-o", "json")
    assert ended.status == 1 and ended.rows == [] and "topic nowhere" in ended.err


def test_the_table_says_that_versions_are_unknown(run: Run) -> None:
    ended = run()
    assert ended.out.split("\n", 1)[0].split()[:4] == ["ROLE", "CLIENT-ID", "HOST", "GROUP"]
    assert ended.err.startswith("no API of Kafka returns the versions of clients")
