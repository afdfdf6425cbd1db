"""kafka-configs and kafka-scram over ZooKeeper, with its nodes in a dict; tests/against_kafka has real servers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.commands import _run
from kafka_tools.zookeeper.configs import SessionLost, ZooKeeperConfigs
from kafka_tools.zookeeper.nodes import encode_configs
from tests.zookeeper.memory_store import MemoryStore


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def store() -> MemoryStore:
    found = MemoryStore()
    for topic in ("a", "b", "c"):
        found.put(f"/brokers/topics/{topic}", b"{}")
    found.put("/brokers/ids/1", b"{}")
    return found


@pytest.fixture
def run(store: MemoryStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    @contextmanager
    def opened(*_: object) -> Iterator[ZooKeeperConfigs]:
        yield ZooKeeperConfigs(store)

    def ended(*arguments: object, command: str = "configs") -> Ended:
        monkeypatch.setattr(f"kafka_tools.commands.{command}.open_configs", opened)
        words = ["--zookeeper", "zk:2181", *map(str, arguments)]
        status = _run.run(cli.load(command), words, f"kafka-{command}")
        out, err = capsys.readouterr()
        return Ended(status, out, err)

    return ended


def told(store: MemoryStore) -> list[str]:
    """The entities that brokers were told of."""
    paths = sorted(path for path in store.nodes if path.startswith("/config/changes/"))
    return [json.loads(store.nodes[path].data)["entity_path"] for path in paths]


@pytest.mark.req("CFG-24")
def test_zookeeper_is_deprecated_and_says_so_on_stderr(run: Run) -> None:
    described = run("--describe", "--topic", "a")
    assert (described.status, described.out) == (0, "Dynamic configs for topic a are:\n")
    assert "--zookeeper is deprecated and will be removed" in described.err
    assert "deprecated" not in run("--describe", command="scram").err


def test_lists_are_changed_as_brokers_would(run: Run, store: MemoryStore) -> None:
    topic = ("--topic", "a")
    dry = run("--alter", *topic, "--append-config", "cleanup.policy=compact", "--dry-run")
    assert dry.out == (
        "Would update config for topic a:\n  cleanup.policy: delete (default config) -> delete,compact\n"
    )
    assert told(store) == []
    run("--alter", *topic, "--append-config", "cleanup.policy=compact,delete")
    assert store.nodes["/config/topics/a"].data == encode_configs({"cleanup.policy": "delete,compact"})
    run("--alter", *topic, "--add-config", "cleanup.policy-=delete,flush.ms=9")
    assert store.nodes["/config/topics/a"].data == encode_configs({"cleanup.policy": "compact", "flush.ms": "9"})
    for change, said in (
        ("cleanup.policy+=sometimes", "String must be one of: compact, delete"),
        ("flush.ms+=9", "its type is not LIST"),
        ("flush.massages=9", "did you mean flush.messages?"),
    ):
        refused = run("--alter", *topic, "--add-config", change)
        assert refused.status == 1 and said in refused.err
    assert told(store) == ["topics/a", "topics/a"]


def test_a_list_that_somebody_changes_meanwhile_keeps_both_changes(run: Run, store: MemoryStore) -> None:
    def somebody() -> None:
        store.meanwhile = lambda: None
        store.put("/config/topics/a", encode_configs({"leader.replication.throttled.replicas": "0:1"}))

    store.meanwhile = somebody
    run("--alter", "--topic", "a", "--append-config", "leader.replication.throttled.replicas=1:1")
    assert store.nodes["/config/topics/a"].data == encode_configs({"leader.replication.throttled.replicas": "0:1,1:1"})


def test_what_fails_for_one_does_not_keep_the_others(run: Run, store: MemoryStore) -> None:
    partly = run("--alter", "--topic", "a", "--topic", "missing", "--topic", "b", "--add-config", "flush.ms=9")
    assert partly.status == 1
    assert partly.out == "Completed updating config for topic a.\nCompleted updating config for topic b.\n"
    assert "kafka-configs: topic 'missing': topic 'missing' does not exist" in partly.err


def test_a_lost_session_says_what_was_done_and_what_was_not_tried(run: Run, store: MemoryStore) -> None:
    def lose() -> None:
        if told(store):
            raise SessionLost("the session was lost", hint="look at what is stored before you try again")

    store.meanwhile = lose
    partly = run("--alter", "--topic", "a", "--topic", "b", "--topic", "c", "--add-config", "flush.ms=9")
    assert (partly.status, partly.out) == (1, "Completed updating config for topic a.\n")
    assert "topic 'b': the session was lost (look at what is stored before you try again)" in partly.err
    assert "topic 'c': not tried" in partly.err
    assert "/config/topics/b" not in store.nodes


def test_dry_runs_of_users_and_brokers(run: Run, store: MemoryStore) -> None:
    store.put("/config/users/alice", encode_configs({"producer_byte_rate": "1024"}))
    dry = run("--alter", "--user", "alice", "--add-config", "producer_byte_rate=2048", "--dry-run")
    assert dry.out == "Would update config for user alice:\n  producer_byte_rate: 1024.0 -> 2048.0\n"
    secret = run("--alter", "--user", "alice", "--add-config", "SCRAM-SHA-256=[password=hunter2]", "--dry-run")
    assert secret.out.endswith("SCRAM-SHA-256: (not set) -> iterations=4096,password=[hidden]\n")
    assert "hunter2" not in secret.out + secret.err
    missing = run("--alter", "--user", "alice", "--delete-config", "consumer_byte_rate", "--dry-run")
    assert missing.status == 1 and "Invalid config(s): consumer_byte_rate" in missing.err
    stopped = run("--alter", "--broker", 2, "--add-config", "log.cleaner.threads=2", "--dry-run")
    assert stopped.out.endswith("log.cleaner.threads: 1 (default config) -> 2\n")
    running = run("--alter", "--broker", 1, "--add-config", "log.cleaner.threads=2", "--dry-run")
    assert running.status == 1 and "broker 1 is running" in running.err
    assert told(store) == []


@pytest.mark.req("QT-21")
def test_explain_reads_the_nodes_of_all_levels(run: Run, store: MemoryStore) -> None:
    nodes = (
        "clients/<default>", "clients/c", "users/<default>", "users/<default>/clients/<default>",
        "users/<default>/clients/c", "users/u%20v", "users/u%20v/clients/<default>", "users/u%20v/clients/c",
    )  # fmt: skip
    for level, node in zip(range(8, 0, -1), nodes, strict=True):
        store.put(f"/config/{node}", encode_configs({"consumer_byte_rate": str(level), "SCRAM-SHA-256": "x"}))
        text = run("--describe", "--explain", "--user", "u v", "--client", "c").out
        assert f"  consumer_byte_rate={level}.0 from level {level}, " in text
    assert "from level 2, default client of user" in run("--describe", "--explain", "--user", "u v").out


@pytest.mark.req("SC-1", "SC-5", "SC-11")
def test_credentials_of_several_users(run: Run, store: MemoryStore) -> None:
    both = "SCRAM-SHA-256=[iterations=4096,password=p],SCRAM-SHA-512=[password=p]"
    added = run("--add", both, "--username", "u", "--username", "v", command="scram")
    assert added.out == "Completed updating config for user u.\nCompleted updating config for user v.\n"
    assert told(store) == ["users/u", "users/v"]
    assert run("--delete", "SCRAM-SHA-256", "--username", "u", command="scram").status == 0
    listed = json.loads(run("--describe", "-o", "json", command="scram").out)["data"]
    assert [(row["user"], row["mechanism"]) for row in listed] == [
        ("u", "SCRAM-SHA-512"),
        ("v", "SCRAM-SHA-256"),
        ("v", "SCRAM-SHA-512"),
    ]
