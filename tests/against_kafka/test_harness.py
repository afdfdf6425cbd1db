"""The harness itself: every cluster it offers runs, is what it says, and Kafka's own tools reach it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.against_kafka import jars
from tests.against_kafka.conftest import SETUPS
from tests.against_kafka.harness import SECURE, RealKafka, RealZooKeeper, eventually, registered_brokers
from tests.against_kafka.jars import NEWEST, Unavailable

TOPIC_COMMAND = {True: "org.apache.kafka.tools.TopicCommand", False: "kafka.admin.TopicCommand"}


def topic_tool(kafka: RealKafka, *arguments: object) -> subprocess.CompletedProcess[str]:
    """The release's own kafka-topics, through ZooKeeper where it knows no other way."""
    main = TOPIC_COMMAND[kafka.release >= "3.7"]
    if kafka.release >= "2.2":
        return kafka.tool(main, *arguments)
    assert kafka.zookeeper is not None
    return kafka.tool(main, "--zookeeper", kafka.zookeeper.connect, *arguments, connect=False)


def create(kafka: RealKafka) -> None:
    copies = min(3, kafka.setup.nodes)
    made = topic_tool(kafka, "--create", "--topic", "harness", "--partitions", 2, "--replication-factor", copies)
    assert made.returncode == 0, made


def listed(kafka: RealKafka) -> set[str]:
    return set(topic_tool(kafka, "--list").stdout.split())


@pytest.mark.parametrize("name", SETUPS)
def test_cluster_runs_and_its_own_tool_reaches_it(name: str, request: pytest.FixtureRequest) -> None:
    kafka: RealKafka = request.getfixturevalue(name)
    create(kafka)

    def is_there() -> None:
        # A KRaft node learns of a topic after the controller has answered.
        assert "harness" in listed(kafka)
        assert kafka.partition_dir("harness", 0).is_dir()

    eventually(is_there)
    for ports in kafka.listener_ports.values():
        assert registered_brokers(ports["PLAINTEXT"]) == kafka.setup.nodes


def test_secure_cluster_lets_in_who_has_the_password(kafka_new_secure: RealKafka, tmp_path: Path) -> None:
    main = TOPIC_COMMAND[True]
    for listener in SECURE:
        config = tmp_path / f"{listener}.properties"
        lines = kafka_new_secure.client_properties(listener)
        config.write_text("".join(f"{key}={value}\n" for key, value in lines.items()), encoding="utf-8")
        address = ("--bootstrap-server", kafka_new_secure.bootstrap(listener), "--command-config", config)
        done = kafka_new_secure.tool(main, *address, "--list", connect=False)
        assert done.returncode == 0, done


def test_node_of_three_stops_and_comes_back(kafka_new_three: RealKafka) -> None:
    kafka_new_three.stop_node(3, sharply=True)
    kafka_new_three.start_node(3)
    assert registered_brokers(kafka_new_three.listener_ports[3]["PLAINTEXT"]) == 3


def test_zookeeper_answers(zookeeper: RealZooKeeper) -> None:
    from kazoo.client import KazooClient

    client = KazooClient(hosts=zookeeper.address)
    client.start(timeout=60)
    try:
        client.create("/harness", b"value")
        assert client.get("/harness")[0] == b"value"
    finally:
        client.stop()
        client.close()


def test_tools_of_a_release_run_without_a_cluster(java_tool: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = java_tool(NEWEST, "kafka.tools.StorageTool", "random-uuid")
    assert done.returncode == 0
    assert len(done.stdout.strip()) == 22


@pytest.mark.parametrize(
    ("main", "arguments", "stdin"),
    [
        (TOPIC_COMMAND[True], ["--list"], None),
        (TOPIC_COMMAND[True], ["--describe", "--topic", "absent"], None),
        (TOPIC_COMMAND[True], ["--no-such-option"], None),
        (TOPIC_COMMAND[True], ["--help"], None),
        (TOPIC_COMMAND[True], ["--create", "--topic", "in valid", "--partitions", "0"], None),
        ("kafka.admin.ConfigCommand", ["--describe", "--entity-type", "brokers"], None),
        ("kafka.admin.ConfigCommand", ["--alter", "--entity-type", "topics"], None),
        ("org.apache.kafka.tools.ClusterTool", [], None),
        ("org.apache.kafka.tools.ConsoleProducer", ["--topic", "harness-lines"], "one\ntwo\n"),
    ],
)  # fmt: skip
def test_a_warm_jvm_prints_and_exits_as_a_fresh_one_does(
    kafka_new: RealKafka, main: str, arguments: list[str], stdin: str | None
) -> None:
    connect = main != "org.apache.kafka.tools.ClusterTool"
    warm, again, fresh = (
        kafka_new.tool(main, *arguments, stdin=stdin, connect=connect, fresh=fresh) for fresh in (False, False, True)
    )
    assert told(warm) == told(fresh)
    assert told(again) == told(fresh)


def told(done: subprocess.CompletedProcess[str]) -> tuple[int, str, list[str]]:
    """What a tool said; frames of stack traces and the start of logging are the JVM's and not the tool's."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("\tat ")]
    return done.returncode, done.stdout, [line for line in lines if "Reconfiguration failed" not in line]


def test_a_tool_that_never_ends_is_ended(kafka_new: RealKafka) -> None:
    arguments = ["--topic", "harness-nothing-comes"]
    with pytest.raises(subprocess.TimeoutExpired):
        kafka_new.tool("org.apache.kafka.tools.consumer.ConsoleConsumer", *arguments, timeout_s=3)
    assert kafka_new.tool(TOPIC_COMMAND[True], "--list").returncode == 0


def test_missing_maven_and_java_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"PATH": str(tmp_path), "KAFKA_TOOLS_JARS": str(tmp_path), "HOME": os.environ["HOME"]}
    monkeypatch.setattr(jars, "ENVIRONMENT", environment)
    with pytest.raises(Unavailable, match="Maven"):
        jars.library.__wrapped__(NEWEST)
    with pytest.raises(Unavailable, match="java of Java 17"):
        jars.java.__wrapped__()
    with pytest.raises(Unavailable, match="javac of Java 17"):
        jars.java.__wrapped__(compiler=True)


@pytest.mark.parametrize(("required", "word"), [("", "skipped"), ("1", "failed")])
def test_where_kafka_is_missing_its_tests_are_skipped_or_fail_with_the_reason(
    repository: Path, tmp_path: Path, required: str, word: str
) -> None:
    """Whether a fixture or the test itself meets what is missing."""
    environment = {name: text for name, text in os.environ.items() if name != "JAVA_HOME"}
    environment |= {"PATH": "/nowhere", "KAFKA_TOOLS_JARS": str(tmp_path), "KAFKA_TOOLS_REQUIRE_REAL": required}
    tests = ["test_options.py::test_subcommands_are_found_on_the_help_page_of_transactions", "test_java_words.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "run"),
         *(str(repository / "tests" / "against_kafka" / test) for test in tests)],
        cwd=repository, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    summary = done.stdout.splitlines()[-1]
    assert summary.split()[1].rstrip(",") == word and "passed" not in summary, done.stdout
    assert not required or ("ERROR" in done.stdout and "FAILED" in done.stdout)
    assert "of Java 17 or later is neither in JAVA_HOME nor on PATH" in done.stdout
