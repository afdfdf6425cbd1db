"""kafka-delete-records, kafka-broker-api-versions and kafka-cluster beside Kafka's tools on real clusters."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.against_kafka.harness import SECURE, RealKafka
from tests.against_kafka.side_by_side import (
    PATIENT_PRODUCER,
    assert_equal,
    done,
    fresh,
    ours,
    produce,
    same,
    theirs,
    write,
)


def document(*entries: tuple[str, int, int]) -> str:
    listed = [{"topic": topic, "partition": partition, "offset": offset} for topic, partition, offset in entries]
    return json.dumps({"partitions": listed, "version": 1})


@pytest.mark.req("DR-1", "DR-13", "DR-14", "DR-16")
@pytest.mark.parametrize("name", ["kafka_new", "kafka_39", "kafka_22", "kafka_11"])
def test_records_are_deleted_and_reported_the_same(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    kafka: RealKafka = request.getfixturevalue(name)
    topic = fresh("trim")
    done(ours(kafka, "topics", "--create", "--topic", topic, "--partitions", 2, "--replication-factor", 1))
    if name == "kafka_11":
        main, lines = "kafka.tools.ConsoleProducer", "".join(f"{number}\n" for number in range(20))
        arguments = ("--broker-list", kafka.bootstrap_servers, "--topic", topic, *PATIENT_PRODUCER)
        assert kafka.tool(main, *arguments, stdin=lines, connect=False, fresh=True).returncode == 0
    else:
        produce(kafka, topic, 20)
    path = write(tmp_path, document((topic, 0, 2), (topic, 1, -1)))
    our = done(ours(kafka, "delete-records", "--offset-json-file", path))
    assert our.startswith("Executing records delete operation\nRecords delete operation completed:\n")
    assert f"partition: {topic}-0\tlow_watermark: 2\n" in our
    their = kafka.tool(
        "kafka.admin.DeleteRecordsCommand"
        if name in ("kafka_11", "kafka_22")
        else "org.apache.kafka.tools.DeleteRecordsCommand",
        *("--offset-json-file", path),
    )
    assert_equal(our, their.stdout, sort=True)


def test_a_partition_that_fails_is_named_and_exits_1(kafka_new: RealKafka, tmp_path: Path) -> None:
    topic = fresh("trim")
    done(ours(kafka_new, "topics", "--create", "--topic", topic, "--partitions", 2))
    path = write(tmp_path, document((topic, 0, 300), (topic, 1, 0)))
    our = ours(kafka_new, "delete-records", "--offset-json-file", path)
    assert our.returncode == 1
    assert f"partition: {topic}-1\tlow_watermark: 0\n" in our.stdout
    assert f"{topic}-0: OFFSET_OUT_OF_RANGE" in our.stderr
    reported = json.loads(ours(kafka_new, "delete-records", "--offset-json-file", path, "-o", "json").stdout)
    assert [(row["partition"], row["low_watermark"]) for row in reported["data"]] == [(1, 0)]
    assert reported["errors"][0]["error"] == "OFFSET_OUT_OF_RANGE"


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '{"version": 2}',
        '{"partitions": [{"topic": "a", "partition": 0, "offset": 1}, {"topic": "a", "partition": 0, "offset": 2}]}',
    ],
)
def test_a_wrong_document_is_refused_in_kafkas_words(kafka_new: RealKafka, tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    our = ours(kafka_new, "delete-records", "--offset-json-file", path)
    their = theirs(kafka_new, "delete-records", "--offset-json-file", path)
    assert (our.returncode, our.stdout) == (1, "")
    assert our.stderr.splitlines()[0] == f"kafka-tools: {their.stderr.splitlines()[0]}"


@pytest.mark.parametrize("name", ["kafka_new", "kafka_39"])
def test_api_versions_are_the_same(name: str, request: pytest.FixtureRequest) -> None:
    kafka: RealKafka = request.getfixturevalue(name)
    text = same(kafka, "broker-api-versions")
    assert same(kafka, "cluster", "api-versions") == text


def test_api_versions_of_an_old_broker_are_shown(kafka_11: RealKafka) -> None:
    text = done(ours(kafka_11, "broker-api-versions"))
    assert "\tProduce(0): 0 to 5 [usable: 5],\n" in text
    assert "\tDescribeCluster(60): UNSUPPORTED,\n" in text


def test_cluster_id_and_endpoints_are_the_same(kafka_new: RealKafka) -> None:
    assert same(kafka_new, "cluster", "cluster-id").startswith("Cluster ID: ")
    same(kafka_new, "cluster", "list-endpoints")
    same(kafka_new, "cluster", "list-endpoints", "--include-fenced-brokers")


def test_endpoints_of_three_brokers_are_the_same(kafka_new_three: RealKafka) -> None:
    same(kafka_new_three, "cluster", "list-endpoints")
    same(kafka_new_three, "broker-api-versions", sort=True)


def test_an_old_cluster_has_an_id(kafka_11: RealKafka) -> None:
    assert done(ours(kafka_11, "cluster", "cluster-id")).startswith("Cluster ID: ")


@pytest.mark.parametrize("subcommand", ["list-endpoints", "api-versions"])
def test_controllers_are_listed_by_asking_one(kafka_new_three: RealKafka, subcommand: str) -> None:
    arguments = (subcommand, "--bootstrap-controller", kafka_new_three.bootstrap_controllers)
    main = "org.apache.kafka.tools.ClusterTool"
    their = kafka_new_three.tool(main, *arguments, connect=False).stdout
    our = subprocess.run(
        [sys.executable, "-m", "kafka_tools", "cluster", *arguments], capture_output=True, encoding="utf-8", timeout=60
    )
    assert_equal(done(our), their, sort=True)
    assert len(our.stdout.splitlines()) > 3


def test_what_an_old_broker_lacks_is_named(kafka_11: RealKafka) -> None:
    for command, arguments in (
        ("configs", ("--describe", "--user", "alice")),
        ("configs", ("--alter", "--user", "alice", "--add-config", "producer_byte_rate=1")),
        ("configs", ("--alter", "--user", "alice", "--add-config", "SCRAM-SHA-256=[password=x]")),
        ("configs", ("--describe", "--broker-logger", 1)),
        ("consumer-groups", ("--list", "--state", "Stable")),
        ("topics", ("--create", "--topic", "without-numbers")),
    ):
        refused = ours(kafka_11, command, *arguments)
        assert (refused.returncode, refused.stdout) == (1, ""), refused
        assert any(words in refused.stderr for words in ("Kafka 2", "too old", "lacks")), refused
        assert "Traceback" not in refused.stderr


def test_commands_reach_every_secure_listener_with_the_java_clients_file(
    kafka_new_secure: RealKafka, tmp_path: Path
) -> None:
    for listener in SECURE:
        properties = kafka_new_secure.client_properties(listener)
        config = write(tmp_path, "".join(f"{key}={value}\n" for key, value in properties.items()))
        address = ["--bootstrap-server", kafka_new_secure.bootstrap(listener), "--command-config", str(config)]
        for command in (["topics", "--list", "--trace"], ["configs", "--describe", "--entity-type", "brokers"]):
            ended = subprocess.run(
                [sys.executable, "-m", "kafka_tools", *command, *address],
                capture_output=True,
                encoding="utf-8",
                timeout=60,
            )
            assert ended.returncode == 0, (listener, ended)
            for key, value in properties.items():
                if "password" in key:
                    assert value not in ended.stdout + ended.stderr
