"""kafka-configs and kafka-scram over ZooKeeper, with its nodes in a dict; tests/against_kafka has real servers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands import running
from kafka_tools.net.config import ClientConfig
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
    def opened(*_: object, **__: object) -> Iterator[ZooKeeperConfigs]:
        yield ZooKeeperConfigs(store)

    def ended(*arguments: object, command: str = "configs") -> Ended:
        monkeypatch.setattr(f"{cli.COMMANDS[command].path}.open_configs", opened)
        words = ["--zookeeper", "zk:2181", *map(str, arguments)]
        status = running.run(cli.load(command), words, f"kafka-{command}")
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
            raise SessionLost("the session was lost", hint="check the stored values before you try again")

    store.meanwhile = lose
    partly = run("--alter", "--topic", "a", "--topic", "b", "--topic", "c", "--add-config", "flush.ms=9")
    assert (partly.status, partly.out) == (1, "Completed updating config for topic a.\n")
    assert "topic 'b': the session was lost (check the stored values before you try again)" in partly.err
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
    stopped = run(
        "--alter", "--broker", 2, "--add-config", "log.cleaner.threads=2", "--dry-run", "--zk-release", "2.8.1"
    )
    assert stopped.out.endswith("log.cleaner.threads: 1 (default config) -> 2\n")
    running = run("--alter", "--broker", 1, "--add-config", "log.cleaner.threads=2", "--dry-run")
    assert running.status == 1 and "cannot change the configs of broker 1 through ZooKeeper" in running.err
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


@pytest.mark.req("SC-1", "SC-5", "SC-11", "GAP-6")
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


@pytest.mark.parametrize(
    "entity, before, change, said",
    [
        ("7", {}, "log.cleaner.threads=1000", "=1000 with log.cleaner.dedupe.buffer.size=134217728 (Kafka's default)"),
        ("7", {}, "log.cleaner.threads=128", "each cleaner thread needs more than 1 MiB"),
        ("7", {}, "log.cleaner.threads=127", None),
        ("7", {}, "log.cleaner.threads=1000,log.cleaner.dedupe.buffer.size=2000000000", None),
        ("7", {}, "log.cleaner.threads=4,log.cleaner.dedupe.buffer.size=4194304", "threads=4 with"),
        ("7", {"7": "dedupe.buffer.size=2000000"}, "log.cleaner.threads=2", "log.cleaner.dedupe.buffer.size=2000000:"),
        ("7", {"<default>": "dedupe.buffer.size=2000000"}, "log.cleaner.threads=2", "threads=2 with"),
        ("7", {"7": "threads=9", "<default>": "threads=900"}, "log.cleaner.dedupe.buffer.size=20000000", None),
        (None, {"7": "threads=9"}, "log.cleaner.dedupe.buffer.size=9437184", "threads=9 with"),
        (None, {"7": "threads=9"}, "log.cleaner.dedupe.buffer.size=9437193", None),
        ("7", {"7": "threads=9"}, "background.threads=7", None),
    ],
)
def test_cleaner_threads_fit_the_memory_that_they_share(
    run: Run, store: MemoryStore, entity: str | None, before: dict[str, str], change: str, said: str | None
) -> None:
    """``KafkaConfig`` of every release: a broker that finds less starts without its dynamic configs."""
    for name, text in before.items():
        key, _, value = text.partition("=")
        store.put(f"/config/brokers/{name}", encode_configs({f"log.cleaner.{key}": value}))
    target = ("--broker", entity) if entity else ("--broker-defaults",)
    del store.nodes["/brokers/ids/1"]
    done = run("--alter", *target, "--add-config", change, "--zk-release", "2.8")
    assert done.status == (1 if said else 0), done.err
    assert (said or "") in done.err


def test_deleting_the_memory_that_cleaner_threads_need_is_refused(run: Run, store: MemoryStore) -> None:
    held = {"log.cleaner.threads": "1000", "log.cleaner.dedupe.buffer.size": "2000000000"}
    store.put("/config/brokers/7", encode_configs(held))
    refused = run("--alter", "--broker", "7", "--delete-config", "log.cleaner.dedupe.buffer.size")
    assert refused.status == 1 and "(Kafka's default)" in refused.err
    assert run("--alter", "--broker", "7", "--delete-config", "log.cleaner.threads").status == 0


ANY = "every release of Kafka 1.1 to 3.9"


@pytest.mark.parametrize(
    "entity, change, said",
    [
        (("--topic", "a"), "compression.type=zstd", "snappy, lz4, gzip, producer (Kafka 1.1, 2.0)"),
        (("--topic", "a"), "message.format.version=9.9", "Version `9.9` is not a valid version (Kafka 1.1 to 3.9)"),
        (("--topic", "a"), "message.format.version=2.0", "Version `2.0` is not a valid version (Kafka 1.1)"),
        (("--topic", "a"), "remote.storage.enable=true", "Unknown topic config name: remote.storage.enable"),
        (("--topic", "a"), "max.compaction.lag.ms=9", "(Kafka 1.1 to 2.2)"),
        (("--topic", "a"), "retention.ms=-5", "Value must be at least -1 (Kafka 2.2 to 3.9)"),
        (("--topic", "a"), "segment.ms=0", "Value must be at least 1 (Kafka 2.0 to 3.9)"),
        (("--topic", "a"), "cleanup.policy=", "cannot set an empty value (Kafka 1.1)"),
        (("--user", "u"), "producer_byte_rate=1.5", "Not a number of type LONG (Kafka 1.1 to 3.9)"),
        (("--client", "c"), "consumer_byte_rate=9223372036854775808", "Not a number of type LONG"),
        (("--user", "u", "--client", "c"), "controller_mutation_rate=1", "(Kafka 1.1 to 2.6)"),
        (("--ip", "127.0.0.1"), "connection_creation_rate=5", "(Kafka 1.1 to 2.7)"),
        (("--broker", "7"), "log.cleaner.threads=2", "(Kafka 1.1)"),
        (("--broker", "7"), "broker.id=2", "Kafka 1.1 to 3.9"),
    ],
)  # fmt: skip
def test_where_no_broker_is_up_only_what_every_release_takes_is_stored(
    run: Run, store: MemoryStore, entity: tuple[str, ...], change: str, said: str
) -> None:
    del store.nodes["/brokers/ids/1"]
    refused = run("--alter", *entity, "--add-config", change)
    assert (refused.status, refused.out) == (1, "")
    assert f"no broker is registered: validated against {ANY}" in refused.err
    assert said in refused.err
    assert told(store) == []


@pytest.mark.parametrize(
    "entity, change, release",
    [
        (("--topic", "a"), "segment.bytes=100", None),
        (("--topic", "a"), "retention.ms=-5", "2.1"),
        (("--topic", "a"), "segment.ms=0", "1.1.1"),
        (("--topic", "a"), "segment.index.bytes=2", "2.8"),
        (("--topic", "a"), "compression.type=zstd", "2.1"),
        (("--topic", "a"), "message.format.version=2.0.1", "2.0"),
        (("--ip", "127.0.0.1"), "connection_creation_rate=5", "2.8"),
        (("--user", "u"), "producer_byte_rate=9223372036854775807", None),
        (("--user-defaults", ""), "request_percentage=0.5", None),
        (("--broker", "1"), "leader.replication.throttled.rate=7", None),
        (("--broker", "7"), "log.cleaner.threads=2", "2.0"),
    ],
)  # fmt: skip
def test_what_the_release_takes_is_stored_as_it_was_given(
    run: Run, store: MemoryStore, entity: tuple[str, str], change: str, release: str | None
) -> None:
    del store.nodes["/brokers/ids/1"]
    stated = ("--zk-release", release) if release else ()
    changed = run("--alter", *(word for word in entity if word), "--add-config", change, *stated)
    assert (changed.status, len(told(store))) == (0, 1), changed
    if release:
        assert f"validated against Kafka {'.'.join(release.split('.')[:2])}, as --zk-release says" in changed.err
    name, _, value = change.partition("=")
    assert store.nodes[f"/config/{told(store)[0]}"].data == encode_configs({name: value})


def test_configs_of_a_topic_that_exclude_each_other_are_refused(run: Run, store: MemoryStore) -> None:
    del store.nodes["/brokers/ids/1"]
    store.put("/config/topics/a", encode_configs({"min.compaction.lag.ms": "9"}))
    newer = ("--zk-release", "3.8")
    refused = run("--alter", "--topic", "a", "--add-config", "max.compaction.lag.ms=8", *newer)
    assert "conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (8)" in refused.err
    remote = run("--alter", "--topic", "a", "--add-config", "remote.storage.enable=true", *newer)
    assert remote.status == 1 and "only a broker" in remote.err
    assert run("--alter", "--topic", "a", "--add-config", "max.compaction.lag.ms=9", *newer).status == 0


@pytest.mark.parametrize(
    "entity, said",
    [
        (("--topic", "a/partitions"), "topic 'a/partitions' does not exist"),
        (("--topic", ".."), "topic '..' does not exist"),
        (("--topic", "a\n"), "does not exist"),
        (("--broker", "01"), "invalid broker id '01': brokers write it as 1"),
        (("--ip", "a/b"), "a/b is not a valid IP or resolvable host."),
    ],
)
def test_names_that_would_be_other_nodes_are_refused(
    run: Run, store: MemoryStore, entity: tuple[str, str], said: str
) -> None:
    store.put("/brokers/topics/a/partitions", b"")
    change = {"--topic": "flush.ms=9", "--broker": "log.cleaner.threads=2", "--ip": "connection_creation_rate=5"}
    refused = run("--alter", *entity, "--add-config", change[entity[0]], "--zk-release", "2.8")
    assert refused.status == 1 and said in refused.err
    assert told(store) == []


def test_a_wrong_release_is_a_wrong_command_line(run: Run) -> None:
    refused = run("--alter", "--topic", "a", "--add-config", "flush.ms=9", "--zk-release", "4.0")
    assert refused.status == 2 and "invalid --zk-release '4.0': expected a release with ZooKeeper" in refused.err


@pytest.mark.parametrize("words", [
    ["--zk-release", "2.8"], ["--zk-new-chroot"], ["--zk-digest-file", "f"], ["--zk-tls-config-file", "f"],
])  # fmt: skip
def test_what_is_zookeepers_goes_with_it_alone(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for command, asked in (("configs", ["--describe", "--topic", "a"]), ("scram", ["--describe"])):
        if command == "scram" and words[0] == "--zk-release":
            continue
        line = ["--bootstrap-server", "127.0.0.1:1", *asked, *words]
        assert running.run(cli.load(command), line, f"kafka-{command}") == 2
        assert capsys.readouterr().err.startswith(f"kafka-{command}: {words[0]} can only be used with --zookeeper\n")


def test_names_of_metrics_subscriptions_do_not_go_with_their_list(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["--bootstrap-server", "127.0.0.1:1", "--list", "--name", "slow"]
    assert running.run(cli.load("client-metrics"), line, "kafka-client-metrics") == 2
    assert "--name can only be used with --describe or --alter or --delete." in capsys.readouterr().err


def registration(broker: EmbeddedBroker, version: int = 4, protocol: str = "PLAINTEXT") -> bytes:
    document = {
        "listener_security_protocol_map": {"INSIDE": protocol},
        "endpoints": [f"INSIDE://{broker.bootstrap_servers}"],
        "version": version,
    }
    return json.dumps(document).encode()


def test_a_broker_that_runs_tells_its_release_and_judges(run: Run, store: MemoryStore) -> None:
    with EmbeddedBroker(release="2.2") as broker:
        with AdminClient(ClientConfig.load(broker.bootstrap_servers)) as admin:
            admin.create_topics([NewTopic("a", 1, 1)]).raise_any()
        store.put("/brokers/ids/1", registration(broker))
        topic = ("--alter", "--topic", "a", "--add-config")
        taken = run(*topic, "compression.type=zstd")
        assert taken.status == 0 and "validated by running brokers (Kafka 2.2, validate only)" in taken.err
        unknown = run(*topic, "max.compaction.lag.ms=9")
        assert unknown.status == 1 and "(Kafka 2.2)" in unknown.err
        # right for the release's definitions, but the broker, which is asked with the whole node, has the last word
        refused = run(*topic, "segment.bytes=100")
        assert refused.status == 1 and "INVALID_CONFIG" in refused.err
        store.put("/config/topics/a", encode_configs({"segment.bytes": "100"}))
        assert run(*topic, "flush.ms=9").status == 1
        assert run(*topic, "flush.ms=9", "--delete-config", "segment.bytes").status == 0
        mixed = registration(broker, version=5).replace(broker.bootstrap_servers.encode(), b"127.0.0.1:1")
        store.put("/brokers/ids/2", mixed)
        both = run(*topic, "max.compaction.lag.ms=9")
        assert both.status == 1 and "validated by running brokers (Kafka 2.2, 2.7, 2.8, 3.0" in both.err


@pytest.mark.parametrize(
    "version, protocol, said",
    [
        (4, "PLAINTEXT", "Kafka 1.1 to 3.9"),
        (5, "PLAINTEXT", "Kafka 2.7 to 3.9"),
        (5, "SASL_SSL", "no broker has a listener for security.protocol=PLAINTEXT"),
    ],
)
def test_where_no_broker_answers_the_registration_tells_the_releases(
    run: Run, store: MemoryStore, version: int, protocol: str, said: str
) -> None:
    with EmbeddedBroker() as broker:
        stopped = registration(broker, version, protocol)
    store.put("/brokers/ids/1", stopped)
    zstd = run("--alter", "--topic", "a", "--add-config", "compression.type=zstd", "--timeout", "5s")
    assert "no broker can be reached (" in zstd.err and said in zstd.err
    assert zstd.status == (1 if version == 4 else 0)


def test_configs_of_brokers_that_run_are_left_to_them(run: Run, store: MemoryStore) -> None:
    store.put("/brokers/ids/2", b"{}")
    before = dict(store.nodes)
    for target, refusal in {
        ("--broker", "1"): "of broker 1 through ZooKeeper while it is running",
        ("--broker-defaults",): "of all brokers through ZooKeeper while some are running: 1, 2",
    }.items():
        refused = run("--alter", *target, "--add-config", "log.cleaner.threads=2")
        assert refused.status == 1
        assert f"cannot change the configs {refusal} (use --bootstrap-server" in refused.err
    assert store.nodes == before


def test_credentials_ask_no_broker(run: Run, store: MemoryStore) -> None:
    stored = run("--alter", "--user", "u", "--add-config", "SCRAM-SHA-256=[password=p]")
    assert stored.status == 0 and "judged" not in stored.err
