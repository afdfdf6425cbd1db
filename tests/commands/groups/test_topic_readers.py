"""kafka-consumer-groups --describe --topic: who consumes a topic."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, CommittedOffset, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.commands import running
from kafka_tools.net.config import ClientConfig
from kafka_tools.values import TopicPartition
from tests.live_members import LASTING, poll_until_assigned


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    """Groups: live reads orders with a member, nightly has offsets of orders and other, elsewhere of other alone."""
    with EmbeddedBroker(config={"group.initial.rebalance.delay.ms": "0"}) as broker:
        address = broker.bootstrap_servers
        with AdminClient(ClientConfig.load(address)) as admin:
            topics = {"orders": 3, "other": 1, "unread": 1}
            admin.create_topics([NewTopic(*each, 1) for each in topics.items()]).raise_any()
            zero = CommittedOffset(0)
            keys = {TopicPartition("orders", 2): zero, TopicPartition("other", 0): zero}
            admin.alter_group_offsets("nightly", keys).raise_any()
            admin.alter_group_offsets("elsewhere", {TopicPartition("other", 0): zero}).raise_any()
        with Consumer(ClientConfig.load(address, properties={"group.id": "live", **LASTING})) as consumer:
            consumer.subscribe(["orders"])
            poll_until_assigned(consumer)
            yield broker


@pytest.fixture
def run(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(*arguments: str) -> Ended:
        words = ["--describe", *arguments, "-b", broker.bootstrap_servers]
        return Ended(running.run(cli.load("consumer-groups"), words, "kafka-consumer-groups"), *capsys.readouterr())

    return ended


def shown(ended: Ended) -> set[tuple[str, str, int]]:
    assert ended.status == 0
    return {(row["group"], row["topic"], row["partition"]) for row in json.loads(ended.out)["data"]}


def test_every_group_that_consumes_the_topic_is_shown_with_that_topic_alone(run: Run) -> None:
    of_orders = {("live", "orders", number) for number in range(3)} | {("nightly", "orders", 2)}
    assert shown(run("--topic", "orders", "-o", "json")) == of_orders
    assert shown(run("--topic", "orders:2", "-o", "json")) == {("live", "orders", 2), ("nightly", "orders", 2)}
    assert shown(run("--topic", "other", "-o", "json")) == {("nightly", "other", 0), ("elsewhere", "other", 0)}
    text = run("--topic", "orders").out
    assert text.count("GROUP ") == 2
    assert "elsewhere" not in text
    assert "other" not in text


def test_groups_may_be_named_as_well(run: Run) -> None:
    assert shown(run("--topic", "orders", "--group", "nightly", "-o", "json")) == {("nightly", "orders", 2)}
    assert shown(run("--topic", "orders", "--group", "elsewhere", "-o", "json")) == set()
    everything = run("--topic", "orders", "--topic", "other", "--all-groups", "-o", "json")
    assert {group for group, _, _ in shown(everything)} == {"live", "nightly", "elsewhere"}


def test_members_and_states_are_those_of_the_topic(run: Run) -> None:
    (member,) = json.loads(run("--topic", "orders", "--members", "-o", "json").out)["data"]
    assert (member["group"], member["assignment"]) == ("live", {"orders": [0, 1, 2]})
    (member,) = json.loads(run("--topic", "orders:1", "--members", "-o", "json").out)["data"]
    assert member["assignment"] == {"orders": [1]}
    states = json.loads(run("--topic", "orders", "--state", "-o", "json").out)["data"]
    assert [(row["group"], row["members"]) for row in states] == [("live", 1), ("nightly", 0)]


def test_nobody_is_an_answer(run: Run) -> None:
    assert run("--topic", "unread") == (0, "", "no group has members or offsets of unread\n")
    asked = run("--topic", "other", "--group", "live")
    assert asked == (0, "", "none of these groups has members or offsets of other\n")


def test_a_topic_that_does_not_exist_is_an_error(run: Run) -> None:
    asked = run("--topic", "misspelt", "--topic", "unread:0")
    assert (asked.status, asked.out) == (1, "")
    assert asked.err == (
        "kafka-consumer-groups: topic misspelt: UNKNOWN_TOPIC_OR_PARTITION: Topic misspelt not found.\n"
    )


def test_without_a_topic_groups_must_be_named(run: Run) -> None:
    asked = run()
    assert (asked.status, asked.err.splitlines()[0]) == (
        2, "kafka-consumer-groups: --describe needs --group or --all-groups.",
    )  # fmt: skip
