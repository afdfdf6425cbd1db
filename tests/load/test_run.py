"""``kafka-tools load run``: documents performed in one process on a bundled broker."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kafka_tools import cli
from kafka_tools.admin import AdminClient
from kafka_tools.admin.client import NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients import Consumer
from kafka_tools.clock import SystemClock
from kafka_tools.commands import running
from kafka_tools.load.local_run import LocalRun
from kafka_tools.load.run_document import read_run_document
from kafka_tools.values import TopicPartition

ROOT = Path(__file__).resolve().parents[2]
REPORT = jsonschema.Draft202012Validator(
    json.loads((ROOT / "schemas" / "load-report.v1.schema.json").read_text(encoding="utf-8"))
)


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture(autouse=True)
def no_fault_left(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "broker" in request.fixturenames:
        assert request.getfixturevalue("broker").faults.active() == []


Load = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def load(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Load:
    """``load(document)``: the exit status, and the report's tasks by id."""

    def run(document: dict[str, Any], *options: str) -> tuple[int, dict[str, Any]]:
        path = tmp_path / "tasks.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        status = running.run(cli.load("load"), ["run", str(path), "-o", "json", *options], "kafka-tools load")
        report = json.loads(capfd.readouterr().out)
        REPORT.validate(report)
        return status, {task["id"]: task for task in report["data"]["tasks"]}

    return run


def produce(broker: EmbeddedBroker, topic: str, **more: Any) -> dict[str, Any]:
    return {
        "class": "org.apache.kafka.trogdor.workload.ProduceBenchSpec",
        "bootstrapServers": broker.bootstrap_servers,
        "targetMessagesPerSec": 0,
        "maxMessages": 20,
        "activeTopics": {topic: {"numPartitions": 2, "replicationFactor": 1}},
        **more,
    }


def contents(broker: EmbeddedBroker, topic: str, partitions: int, count: int) -> list[tuple[int, Any, Any]]:
    found: list[tuple[int, Any, Any]] = []
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
        while len(found) < count:
            found += [(each.partition, each.key, each.value) for each in consumer.poll(1.0)]
    return found


@pytest.mark.req("TROG-7")
def test_produce_bench_creates_its_topics_and_sends_rounds_as_in_the_first_description(
    broker: EmbeddedBroker, load: Load
) -> None:
    spec = produce(broker, "unused") | {
        "maxMessages": 10, "totalTopics": 4, "activeTopics": 3, "topicPrefix": "foo", "replicationFactor": 1,
        "numPartitions": 2, "targetMessagesPerSec": 500,
        "keyGenerator": {"type": "sequential", "size": 4, "startOffset": 0},
        "valueGenerator": {"type": "constant", "size": 5, "value": "YWI="},
    }  # fmt: skip
    status, tasks = load(spec)
    assert status == 0
    found = tasks["ProduceBench"]["status"]
    assert found["totalSent"] == 30
    assert found["averageLatencyMs"] > 0 and found["p50LatencyMs"] <= found["p95LatencyMs"] <= found["p99LatencyMs"]
    assert found["p99LatencyMs"] <= found["p999LatencyMs"] <= found["maxLatencyMs"]
    assert found["latencyFrom"] == "intended send time"
    with AdminClient(broker.bootstrap_servers) as admin:
        topics = {f"foo0000{number}": 2 for number in range(4)}
        assert {name: len(each.get().partitions) for name, each in admin.describe_topics(topics).items()} == topics
    numbers = {
        topic: [int.from_bytes(key, "little") for _, key, _ in contents(broker, topic, 2, 10)]
        for topic in list(topics)[:3]
    }
    assert numbers == {f"foo0000{first}": list(range(first, 30, 3)) for first in range(3)}
    assert {(partition, value) for partition, _, value in contents(broker, "foo00000", 2, 10)} == {(0, b"ababa")}


def test_produce_bench_takes_the_partitions_in_turn_or_asks_the_partitioner(broker: EmbeddedBroker, load: Load) -> None:
    assert load(produce(broker, "turns"))[0] == 0
    assert sorted(partition for partition, _, _ in contents(broker, "turns", 2, 20)) == [0] * 10 + [1] * 10
    keyed = produce(broker, "keyed", useConfiguredPartitioner=True, keyGenerator={"type": "constant", "size": 3})
    assert load(keyed)[0] == 0
    assert len({partition for partition, _, _ in contents(broker, "keyed", 2, 20)}) == 1


def test_latencies_count_from_the_intended_send_time(broker: EmbeddedBroker, load: Load) -> None:
    """The broker holds up the first request for half a second: all messages that were due meanwhile are late."""
    with broker.faults.delay("produce", 500, times=1):
        settings = {"max.in.flight.requests.per.connection": "1", "enable.idempotence": "false"}
        spec = produce(broker, "held", targetMessagesPerSec=200, maxMessages=100, producerConf=settings)
        found = load(spec)[1]["ProduceBench"]["status"]
    assert found["maxLatencyMs"] >= 500
    assert found["p50LatencyMs"] >= 200


@pytest.mark.req("TROG-8")
def test_round_trip_reads_back_what_it_wrote(broker: EmbeddedBroker, load: Load) -> None:
    spec = {
        "class": "RoundTripWorkload", "bootstrapServers": broker.bootstrap_servers, "targetMessagesPerSec": 2000,
        "maxMessages": 60, "activeTopics": {"trips": {"numPartitions": 3, "replicationFactor": 1}},
    }  # fmt: skip
    assert load(produce(broker, "trips", activeTopics={"trips": {"numPartitions": 3, "replicationFactor": 1}}))[0] == 0
    with broker.faults.error("produce", "UNKNOWN_SERVER_ERROR", times=1):  # these messages are sent again
        status, tasks = load({"tasks": {"one": spec, "two": dict(spec)}})
    assert status == 0
    for task in tasks.values():
        assert (task["status"]["totalUniqueSent"], task["status"]["totalReceived"]) == (60, 60)
        assert task["status"]["p50LatencyMs"] > 0
    assert len(contents(broker, "trips", 3, 140)) >= 140


@pytest.mark.req("TROG-8", "TROG-11")
def test_round_trip_fails_if_other_contents_come_back(broker: EmbeddedBroker, load: Load) -> None:
    from kafka_tools.load.workloads.round_trip import RoundTripWorker

    checked = RoundTripWorker._check

    def damaged(self: RoundTripWorker, record: Any) -> None:
        checked(self, record._replace(value=b"other"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RoundTripWorker, "_check", damaged)
        spec = {
            "class": "RoundTrip", "bootstrapServers": broker.bootstrap_servers, "targetMessagesPerSec": 2000,
            "maxMessages": 5, "activeTopics": {"bad-trips": {"replicationFactor": 1}},
        }  # fmt: skip
        status, tasks = load(spec)
    assert status == 1
    assert tasks["RoundTrip"]["error"] == "bad-trips-0 at offset 0 has a different message from the one that was sent"


@pytest.mark.req("TROG-8")
def test_consume_bench_measures_each_consumer(broker: EmbeddedBroker, load: Load) -> None:
    load(produce(broker, "eaten", valueGenerator={"type": "timestampConstant", "size": 10}))
    spec = {
        "class": "ConsumeBench", "bootstrapServers": broker.bootstrap_servers, "maxMessages": 20,
        "threadsPerWorker": 2, "activeTopics": ["eaten:[0-1]"], "recordProcessor": {"type": "timestamp"},
    }  # fmt: skip
    status, tasks = load(spec)
    assert status == 0
    found = tasks["ConsumeBench"]["status"]
    assert list(found) == ["consumer.ConsumeBench-0", "consumer.ConsumeBench-1"]
    for each in found.values():  # without a group, each reads everything
        assert each["totalMessagesReceived"] == 20
        assert each["assignedPartitions"] == ["eaten-0", "eaten-1"]
        assert (each["totalBytesReceived"], each["averageMessageSizeBytes"]) == (20 * 14, 14)
        assert each["averageLatencyMs"] > 0
        assert each["p50LatencyMs"] <= each["p95LatencyMs"] <= each["p99LatencyMs"]
        assert each["recordProcessorStatus"]["p50LatencyMs"] >= 0


def test_consumers_of_one_group_share_the_messages(broker: EmbeddedBroker, load: Load) -> None:
    load(produce(broker, "shared"))
    spec = {
        "class": "ConsumeBench", "bootstrapServers": broker.bootstrap_servers, "maxMessages": 20, "durationMs": 3000,
        "threadsPerWorker": 2, "consumerGroup": "sharers", "activeTopics": ["shared"],
        "consumerConf": {"enable.auto.commit": "true"},
    }  # fmt: skip
    status, tasks = load(spec)
    assert status == 0
    counts = [each["totalMessagesReceived"] for each in tasks["ConsumeBench"]["status"].values()]
    assert sum(counts) == 20


@pytest.mark.req("TROG-11")
@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({"class": "ProduceBench", "maxMessages": 5, "activeTopics": {"t[1-2]": {"replicationFactor": 5}}},
         "cannot create topic t1: INVALID_REPLICATION_FACTOR: "),
        ({"class": "ProduceBench", "maxMessages": 5, "activeTopics": {"two": {"numPartitions": 3}}},
         "topic two exists with 2 partitions, not 3"),
        ({"class": "ProduceBench", "maxMessages": 5, "activeTopics": {"two": {"numPartitions": 2}},
          "producerConf": {"max.request.size": "100"}}, "The message is "),
        ({"class": "ConsumeBench", "maxMessages": 5, "activeTopics": ["empty"], "durationMs": 500,
          "consumerConf": {"allow.auto.create.topics": "false"}}, "no message was received"),
        ({"class": "ConfigurableProducer", "activeTopic": {"two": {"numPartitions": 2}}, "durationMs": 9000,
          "producerConf": {"acks": "few"}}, "invalid acks 'few': expected"),
        ({"class": "SustainedConnection", "metadataConnectionCount": 1, "durationMs": 300,
          "adminClientConf": {"bootstrap.servers": "127.0.0.1:1"}}, "cannot connect to 127.0.0.1:1"),
    ],
)  # fmt: skip
def test_a_workload_that_cannot_do_its_operations_fails(
    broker: EmbeddedBroker, load: Load, spec: dict[str, Any], error: str
) -> None:
    with AdminClient(broker.bootstrap_servers) as admin:
        admin.outcomes.create_topics([NewTopic("two", 2, 1)])
    status, tasks = load(spec | {"bootstrapServers": broker.bootstrap_servers})
    assert status == 1
    assert tasks[spec["class"]]["error"].startswith(error)
    assert tasks[spec["class"]]["state"] == "DONE"


@pytest.mark.req("TROG-11")
def test_messages_that_were_not_acknowledged_fail_the_task(broker: EmbeddedBroker, load: Load) -> None:
    with broker.faults.error("produce", "TOPIC_AUTHORIZATION_FAILED", times=1):
        spec = produce(broker, "refused", activeTopics={"refused": {"replicationFactor": 1}})
        status, tasks = load(spec | {"producerConf": {"linger.ms": "1000"}})
    assert status == 1
    error = tasks["ProduceBench"]["error"]
    assert error.startswith("20 of 20 messages were not acknowledged: TOPIC_AUTHORIZATION_FAILED: ")
    assert tasks["ProduceBench"]["status"]["totalFailed"] == 20


def test_a_configurable_producer_sends_until_its_time_is_over(broker: EmbeddedBroker, load: Load) -> None:
    spec = {
        "class": "ConfigurableProducer", "bootstrapServers": broker.bootstrap_servers, "durationMs": 700,
        "activeTopic": {"varied": {"numPartitions": 2, "replicationFactor": 1}}, "activePartition": 1,
        "throughputGenerator": {"type": "gaussian", "messagesPerWindowAverage": 10, "messagesPerWindowDeviation": 2,
                                "windowsUntilRateChange": 2, "windowSizeMs": 50},
        "flushGenerator": {"type": "constant", "messagesPerFlush": 5}, "producerConf": {"linger.ms": "60000"},
    }  # fmt: skip
    status, tasks = load(spec)
    assert status == 0
    sent = tasks["ConfigurableProducer"]["status"]["totalSent"]
    assert sent > 5
    assert {partition for partition, _, _ in contents(broker, "varied", 2, sent)} == {1}


def test_connections_are_sustained_and_come_back(broker: EmbeddedBroker, load: Load) -> None:
    spec = {
        "class": "SustainedConnection", "bootstrapServers": broker.bootstrap_servers, "durationMs": 1500,
        "producerConnectionCount": 2, "consumerConnectionCount": 1, "metadataConnectionCount": 2, "numThreads": 2,
        "topicName": "two", "refreshRateMs": 100,
    }  # fmt: skip
    with AdminClient(broker.bootstrap_servers) as admin:
        admin.outcomes.create_topics([NewTopic("two", 2, 1)])
    with broker.faults.error("describe_cluster", "UNKNOWN_SERVER_ERROR", times=1):
        status, tasks = load(spec)
    found = tasks["SustainedConnection"]["status"]
    assert status == 0
    assert found["totalRefreshes"] > 5
    assert found["totalMetadataFailedConnections"] == 1
    assert found["totalProducerFailedConnections"] == found["totalConsumerFailedConnections"] == 0
    opened = [found[f"total{kind}Connections"] for kind in ("Producer", "Consumer", "Metadata")]
    assert opened == [2, 1, 2] and found["updatedMs"] > 0  # as Trogdor, which leaves the last status at the end


def test_a_document_brings_its_own_broker_and_faults(load: Load) -> None:
    document = {
        "broker": {"num.partitions": 1},
        "tasks": {
            "produce": {
                "class": "ProduceBench", "maxMessages": 60, "targetMessagesPerSec": 100,
                "activeTopics": {"t": {"replicationFactor": 1}},
            },
            "slow": {
                "class": "BrokerFault", "fault": "delay", "api": "Produce", "delayMs": 200, "durationMs": 20_000,
            },
            "wrong": {
                "class": "BrokerFault", "fault": "error", "api": "Produce", "error": "NO_SUCH", "durationMs": 100,
            },
        },
    }  # fmt: skip
    document["tasks"]["slow"]["durationMs"] = 900  # type: ignore[index]
    status, tasks = load(document)
    assert status == 1
    assert tasks["produce"]["error"] == "" and tasks["produce"]["status"]["maxLatencyMs"] >= 200
    assert tasks["slow"]["status"]["hits"] >= 1
    assert tasks["wrong"]["error"].startswith("invalid fault 'error': ")


def test_the_page_contains_every_task_and_escapes_what_others_wrote(load: Load, tmp_path: Path) -> None:
    page = tmp_path / "load.html"
    document = {
        "broker": {},
        "tasks": {
            "<b>bold</b>\u202e": {
                "class": "ProduceBench", "maxMessages": 5, "activeTopics": {"t": {"replicationFactor": 1}},
            },
            "broken": {"class": "ProcessStop", "processName": "nobody", "durationMs": 50},
        },
    }  # fmt: skip
    status, _ = load(document, "--report", str(page))
    text = page.read_text(encoding="utf-8")
    assert status == 1
    assert "1 of 2 tasks failed" in text
    assert "&lt;b&gt;bold&lt;/b&gt;" in text and "<b>bold" not in text and "\u202e" not in text
    assert "p99.9" in text and "unknown process &#39;nobody&#39; of node local" in text
    assert "http" not in text.replace("http-equiv", "")


def test_the_text_names_errors_latencies_and_how_they_are_measured(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.json"
    task = {"class": "ProduceBench", "maxMessages": 5, "activeTopics": {"t": {"replicationFactor": 1}}}
    stop = {"class": "ProcessStop", "processName": "nobody", "durationMs": 50}
    path.write_text(json.dumps({"broker": {}, "tasks": {"send": task, "stop": stop}}), encoding="utf-8")
    assert running.run(cli.load("load"), ["run", str(path)], "kafka-tools load") == 1
    out, err = capfd.readouterr()
    assert "send (ProduceBench): FINISHED after " in out
    assert "  totalSent 5, totalFailed 0" in out
    assert "  latency in ms: average " in out and ", p99.9 " in out
    assert "no coordinated omission" in out
    assert err.splitlines()[0].startswith("kafka-tools load run: task stop failed: unknown process 'nobody'")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "t.yaml: invalid JSON"),
        ("a: [", "t.yaml: invalid YAML"),
        ("class: NoOp\nclass: NoOp\n", "t.yaml, line 1: the key 'class' appears twice"),
        ("a: &x [1]\nb: [*x, *x]\n", "t.yaml, near line 2: aliases are not supported"),
        ("- 1\n", "t.yaml: invalid value: expected an object, not a list"),
        ("class: NoOpe\n", "t.yaml: unknown class 'NoOpe'"),
    ],
)
def test_a_document_that_cannot_be_read_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.yaml").write_text(text, encoding="utf-8")
    assert running.run(cli.load("load"), ["run", "--check", "t.yaml"], "kafka-tools load") == 1
    assert capfd.readouterr().err.splitlines()[0] == f"kafka-tools load: {message}"


def test_check_starts_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.json"
    document = {
        "processes": {"p": {"command": [sys.executable, "-c", "open('started', 'w')"]}},
        "tasks": [{"class": "NoOp"}],
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    assert running.run(cli.load("load"), ["run", "--check", str(path)], "kafka-tools load") == 0
    assert capfd.readouterr().out == f"{path}: the document is valid\n"


def test_ctrl_c_stops_the_tasks_and_reports_what_they_did(broker: EmbeddedBroker, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    task = produce(broker, "stopped", targetMessagesPerSec=100, maxMessages=10**6)
    path.write_text(json.dumps({"tasks": {"send": task, "later": task | {"startAfterMs": 10**6}}}), encoding="utf-8")
    command = [sys.executable, "-m", "kafka_tools", "load", "run", str(path), "-o", "json"]
    with AdminClient(broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("stopped", 2, 1)])
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        contents(broker, "stopped", 2, 5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    tasks = {task["id"]: task for task in json.loads(out)["data"]["tasks"]}
    assert all(task["cancelled"] and task["state"] == "DONE" for task in tasks.values())
    assert tasks["send"]["status"]["totalSent"] >= 5
    assert tasks["later"]["started_ms"] == -1


def test_a_terminal_shows_the_messages_so_far(broker: EmbeddedBroker) -> None:
    local = LocalRun(read_run_document(produce(broker, "followed"), "f"), SystemClock())
    assert local.progress() == (0, 20)
    local.perform()
    assert local.progress() == (20, 20)


EXAMPLE = """// Licensed to the Apache Software Foundation (ASF) under one or more
// contributor license agreements.

//
// An example task specification for running a producer benchmark
//
{
  "class": "org.apache.kafka.trogdor.workload.ProduceBenchSpec",
  "durationMs": 10000000,
  "producerNode": "node0",
  "bootstrapServers": "localhost:9092",
  "targetMessagesPerSec": 1000,
  "maxMessages": 50000,
  // the topics
  "activeTopics": {
    "foo[1-3]": {
      "numPartitions": 10,
      "replicationFactor": 1
    }
  }%s
}
"""
"""The form of the files in Kafka's folder tests/spec."""


@pytest.mark.parametrize(
    ("more", "hint"),
    [("", None), (',\n  "inactiveTopics": {"a//b": {}}', None), (",", "t.json, line 21 column 1: ")],
)
def test_examples_of_trogdor_have_comments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], more: str, hint: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.json").write_text(EXAMPLE % more, encoding="utf-8")
    status = running.run(cli.load("load"), ["run", "--check", "t.json"], "kafka-tools load")
    out, err = capfd.readouterr()
    if hint is None:
        assert (status, out, err) == (0, "t.json: the document is valid\n", "")
    else:
        assert status == 1 and err.splitlines()[1].strip().startswith(hint)
