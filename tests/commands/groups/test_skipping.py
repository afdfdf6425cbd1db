"""kafka-consumer-groups --skip: once, only the next record of the group, saved before the commit."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, CommittedOffset, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.producer import Producer
from kafka_tools.commands import running
from kafka_tools.values import TopicPartition
from tests.live_members import LASTING, poll_until_assigned

KEY = TopicPartition("orders", 0)


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    """Offset 1 is the marker of a transaction, 3 a record that is not text, 4 a tombstone."""
    with EmbeddedBroker(config={"group.initial.rebalance.delay.ms": "0"}) as broker:
        address = broker.bootstrap_servers
        with AdminClient(address) as admin:
            admin.create_topics([NewTopic("orders", 1, 1)]).raise_any()
        with Producer(address, transactional_id="once") as producer:
            producer.init_transactions()
            with producer.transaction():
                producer.send("orders", b"first", partition=0)
        with Producer(address) as producer:
            producer.send(
                "orders", b"text \xc3\xa9", b"key", [("a", b"b")], partition=0, timestamp_ms=1_700_000_000_000
            )
            producer.send("orders", b"\xff\x00", partition=0)
            producer.send("orders", None, b"gone", partition=0)
            producer.flush()
        yield broker


@pytest.fixture
def run(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(*words: str) -> Ended:
        capsys.readouterr()
        line = [*words, "-b", broker.bootstrap_servers]
        return Ended(running.run(cli.load("consumer-groups"), line, "kafka-consumer-groups"), *capsys.readouterr())

    return ended


def commit(broker: EmbeddedBroker, group: str, offset: int) -> None:
    with AdminClient(broker.bootstrap_servers) as admin:
        admin.alter_group_offsets(group, {KEY: CommittedOffset(offset, "mine")}).raise_any()


def committed(broker: EmbeddedBroker, group: str) -> CommittedOffset | None:
    with AdminClient(broker.bootstrap_servers) as admin:
        return admin.list_group_offsets(group)[KEY].get()


def test_a_record_is_saved_and_skipped_once(run: Run, broker: EmbeddedBroker, tmp_path: Path) -> None:
    commit(broker, "once", 2)
    file = tmp_path / "bad.jsonl"
    ended = run("--group", "once", "--skip", "orders:0@2", "--save", str(file))
    assert ended == Ended(0, f"once: skipped orders-0@2, next offset 3; record saved in {file}\n", "")
    assert committed(broker, "once") == CommittedOffset(3, "mine")
    assert json.loads(file.read_text()) == {
        "topic": "orders", "partition": 0, "offset": 2, "timestamp_ms": 1_700_000_000_000, "key": "key",
        "value": "text é", "headers": [{"name": "a", "value": "b"}],
    }  # fmt: skip
    again = run("--group", "once", "--skip", "orders:0@2", "--save", str(file))
    assert again.status == 1
    assert "cannot skip orders-0@2: the next record of group 'once' is at offset 3 (committed offset 3)" in again.err
    assert committed(broker, "once") == CommittedOffset(3, "mine")
    assert len(file.read_text().splitlines()) == 1
    assert run("--group", "once", "--skip", "orders:0@3", "--save", str(file)).status == 0
    assert run("--group", "once", "--skip", "orders:0@4", "--save", str(file)).status == 0
    _, binary, tombstone = map(json.loads, file.read_text().splitlines())
    assert base64.b64decode(binary["value_base64"]) == b"\xff\x00" and binary["key"] is None
    assert (tombstone["key"], tombstone["value"]) == ("gone", None)
    over = run("--group", "once", "--skip", "orders:0@5")
    assert over.status == 1 and "has read everything: its committed offset is 5" in over.err


def test_the_next_record_counts_and_not_the_marker_at_the_offset(run: Run, broker: EmbeddedBroker) -> None:
    commit(broker, "marker", 1)
    ended = run("--group", "marker", "--skip", "orders:0@1")
    assert ended.status == 1 and "is at offset 2 (committed offset 1)" in ended.err
    assert run("--group", "marker", "--skip", "orders:0@2").status == 0


def test_a_dry_run_changes_and_saves_nothing(run: Run, broker: EmbeddedBroker, tmp_path: Path) -> None:
    commit(broker, "dry", 2)
    file = tmp_path / "bad.jsonl"
    ended = run("--group", "dry", "--skip", "orders:0@2", "--save", str(file), "--dry-run")
    assert ended == Ended(0, "dry: would skip orders-0@2, next offset 3\n", "")
    assert not file.exists() and committed(broker, "dry") == CommittedOffset(2, "mine")


def test_a_record_that_cannot_be_saved_is_not_skipped(run: Run, broker: EmbeddedBroker, tmp_path: Path) -> None:
    commit(broker, "full", 2)
    ended = run("--group", "full", "--skip", "orders:0@2", "--save", str(tmp_path / "none" / "bad.jsonl"))
    assert ended.status == 1 and "No such file or directory" in ended.err
    assert committed(broker, "full") == CommittedOffset(2, "mine")


def test_a_group_with_members_is_refused_and_they_are_named(run: Run, broker: EmbeddedBroker) -> None:
    commit(broker, "busy", 2)
    settings = {"group.id": "busy", "client.id": "app", **LASTING}
    with Consumer({"bootstrap.servers": broker.bootstrap_servers, **settings}) as consumer:
        consumer.subscribe(["orders"])
        poll_until_assigned(consumer)
        ended = run("--group", "busy", "--skip", "orders:0@2")
    assert ended.status == 1 and "Members: app at /127.0.0.1." in ended.err


@pytest.mark.parametrize(
    "place", ["orders", "orders:0", "orders@5", "orders:x@5", ":0@5", "orders:0@-1", "a:0@9" + "9" * 18]
)
def test_places_that_are_none(place: str, run: Run) -> None:
    ended = run("--group", "g", "--skip", place)
    assert ended.status == 2 and f"invalid --skip '{place}'" in ended.err


def test_a_group_without_an_offset_and_several_groups(run: Run) -> None:
    ended = run("--group", "nobody", "--skip", "orders:0@2")
    assert ended.status == 1 and "group 'nobody' has no committed offset for this partition" in ended.err
    assert run("--group", "a", "--group", "b", "--skip", "orders:0@2").status == 2
