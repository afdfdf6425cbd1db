"""kafka-topics: a topic like another one, names that are no patterns, misspelt configs, brokers without a port."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands import running
from tests.net.virtual import VirtualNetwork, VirtualNode


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config={"log.retention.hours": "3"}) as broker:
        yield broker


@pytest.fixture
def run(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(*arguments: object) -> Ended:
        words = [*map(str, arguments), "-b", broker.bootstrap_servers]
        return Ended(running.run(cli.load("topics"), words, "kafka-topics"), *capsys.readouterr())

    return ended


def described(run: Run, name: str) -> tuple[int, dict[str, str]]:
    """Number of partitions, and the configs that are not the brokers' defaults."""
    (row,) = json.loads(run("--describe", "--topic", name, "-o", "json").out)["data"]
    return row["partition_count"], row["configs"]


def test_a_topic_is_made_like_another_one(run: Run) -> None:
    configs = ("--config", "cleanup.policy=compact", "--config", "segment.ms=60000")
    throttle = ("--config", "leader.replication.throttled.replicas=0:1")
    assert run("--create", "--topic", "source", "--partitions", 5, *configs, *throttle).status == 0
    made = run("--create", "--topic", "same", "--clone-from", "source")
    assert made == (
        0,
        "Created topic same.\n",
        "copied from source: 5 partitions, replication factor 1, cleanup.policy=compact, segment.ms=60000\n",
    )
    count, set_on_it = described(run, "same")
    assert count == 5
    assert {"cleanup.policy", "segment.ms"} <= set_on_it.keys()
    assert "leader.replication.throttled.replicas" not in set_on_it
    other = ("--partitions", 2, "--config", "segment.ms=70000", "--config", "flush.ms=5")
    assert run("--create", "--topic", "other", "--clone-from", "source", *other).status == 0
    count, set_on_it = described(run, "other")
    assert (count, set_on_it["segment.ms"], set_on_it["flush.ms"]) == (2, "70000", "5")
    assert set_on_it["cleanup.policy"] == "compact"
    placed = run("--create", "--topic", "placed", "--clone-from", "source", "--replica-assignment", "1,1,1")
    assert placed.err == "copied from source: cleanup.policy=compact, segment.ms=60000\n"
    assert described(run, "placed")[0] == 3


def test_what_the_brokers_give_every_topic_is_not_set_on_the_new_one(run: Run) -> None:
    assert run("--create", "--topic", "plain").status == 0
    made = run("--create", "--topic", "plain-too", "--clone-from", "plain")
    assert made.err == "copied from plain: 1 partitions, replication factor 1, no configs\n"


def test_a_topic_to_clone_that_does_not_exist_is_a_failure(run: Run) -> None:
    made = run("--create", "--topic", "orphan", "--clone-from", "no-such-topic")
    assert (made.status, made.out) == (1, "")
    assert made.err.startswith("kafka-topics: cannot clone topic 'no-such-topic': UNKNOWN_TOPIC_OR_PARTITION")
    document = json.loads(run("--create", "--topic", "orphan", "--clone-from", "no-such-topic", "-o", "json").out)
    assert document["errors"][0]["item"] == "no-such-topic"
    assert run("--list", "--clone-from", "source").status == 2


def test_a_literal_name_is_no_pattern(run: Run) -> None:
    for name in ("a.b", "a-b", "axb"):
        assert run("--create", "--topic", name).status == 0
    assert run("--list", "--topic", "a.b").out == "a-b\na.b\naxb\n"
    assert run("--list", "--topic", "a.b", "--literal").out == "a.b\n"
    assert run("--list", "--topic", "a.", "--literal").out == "\n"
    assert run("--describe", "--topic", "a.b", "--literal").out.count("PartitionCount") == 1
    assert run("--describe", "--topic", "a.*", "--literal").err == (
        "kafka-topics: Topic 'a.*' does not exist as expected\n"
    )
    assert run("--alter", "--topic", "a.b", "--literal", "--partitions", 2).status == 0
    assert described(run, "a-b")[0] == 1
    assert run("--delete", "--topic", "a.b", "--literal").status == 0
    assert run("--delete", "--topic", "a.b", "--literal") == (
        1, "", "kafka-topics: Topic 'a.b' does not exist as expected\n",
    )  # fmt: skip
    assert run("--delete", "--topic", "a.b", "--literal", "--if-exists").status == 0
    assert run("--list", "--topic", "a.*").out == "a-b\naxb\n"
    assert run("--list", "--literal").status == 2


def test_a_config_is_given_once(run: Run) -> None:
    made = run("--create", "--topic", "twice", "--config", "retention.ms=1d", "--config", "retention.ms=7d")
    assert (made.status, made.out) == (2, "")
    assert "--config: retention.ms is given twice." in made.err
    assert run("--list", "--topic", "twice").out == "\n"


def test_a_misspelt_config_is_answered_with_the_nearest_one(run: Run) -> None:
    made = run("--create", "--topic", "typo", "--config", "retention_ms=1000", "--config", "flush.ms=1")
    assert (made.status, made.out) == (1, "")
    complaint, hint = made.err.splitlines()
    assert "retention_ms" in complaint
    assert hint.strip() == "did you mean retention.ms?"
    assert len(run("--create", "--topic", "typo", "--config", "zzz=1").err.splitlines()) == 1


def test_a_broker_without_a_port_is_at_9092_and_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [VirtualNode(number, lambda *_: None) for number in range(3)]
    for node, host in zip(nodes, ("127.0.0.254", "127.0.0.253", "::1"), strict=True):
        node.host, node.refuses = host, lambda: True
    words = ["--list", "--bootstrap-server", "127.0.0.254,127.0.0.253:1,[::1]"]
    with VirtualNetwork(nodes).in_use():
        assert running.run(cli.load("topics"), words, "kafka-topics") == 1
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first == "127.0.0.254, [::1]: no port given, using 9092"
    assert "127.0.0.254:9092" in second
    for text, said in (("9092", "port"), ("host:x", "port"), ("host:99999", "port"), ("::1", "brackets")):
        assert running.run(cli.load("topics"), ["--list", "-b", text], "kafka-topics") == 2
        assert said in capsys.readouterr().err
    words = ["--list", "--bootstrap-controller", "kafka1"]
    assert running.run(cli.load("client-metrics"), words, "kafka-client-metrics") == 2


def test_brokers_with_ports_are_taken_without_a_word(broker: EmbeddedBroker, run: Run) -> None:
    assert run("--list", "--topic", "none").err == ""


def test_settings_of_a_new_topic_may_have_units(run: Run) -> None:
    made = run("--create", "--topic", "units", "--config", "retention.ms=2 days", "--config", "segment.bytes=10MiB")
    assert made == (
        0,
        "Created topic units.\n",
        "retention.ms=2 days is 172800000 ms\nsegment.bytes=10MiB is 10485760 bytes\n",
    )
    _count, configs = described(run, "units")
    assert (configs["retention.ms"], configs["segment.bytes"]) == ("172800000", "10485760")
    refused = run("--create", "--topic", "refused", "--config", "segment.bytes=10M")
    assert (refused.status, refused.out) == (2, "")
    assert "invalid unit of bytes 'M'" in refused.err


def test_one_topic_is_described_without_a_list_of_all(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("alone", "with.point"):
        assert run("--create", "--topic", name).status == 0
    listed: list[str] = []
    list_topics = AdminClient.list_topics
    monkeypatch.setattr(
        AdminClient, "list_topics", lambda *given, **more: listed.append("") or list_topics(*given, **more)
    )
    assert run("--describe", "--topic", "alone").out.startswith("Topic: alone\t")
    assert run("--describe", "--topic", "with.point", "--literal").out.startswith("Topic: with.point\t")
    assert not listed
    assert run("--describe", "--topic", "gone") == (1, "", "kafka-topics: Topic 'gone' does not exist as expected\n")
    assert run("--describe", "--topic", "gone", "--if-exists") == (0, "", "")
    assert run("--describe", "--topic", "with.point").out.startswith("Topic: with.point\t")
    assert len(listed) == 3
