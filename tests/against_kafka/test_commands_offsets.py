"""kafka-get-offsets and kafka-log-dirs beside the tools of Kafka 4.3.1 on real clusters: equal to the byte."""

from __future__ import annotations

import pytest

from tests.against_kafka.harness import RealKafka
from tests.against_kafka.side_by_side import done, fresh, ours, produce, same, theirs


@pytest.fixture(params=["kafka_43", "kafka_39"])
def kafka(request: pytest.FixtureRequest) -> RealKafka:
    found: RealKafka = request.getfixturevalue(request.param)
    return found


def test_offsets_are_the_same(kafka: RealKafka) -> None:
    stem = fresh("ends")
    first, second = f"{stem}.a", f"{stem}.b"
    for name, partitions in ((first, 12), (second, 2)):
        done(ours(kafka, "topics", "--create", "--topic", name, "--partitions", partitions, "--replication-factor", 1))
    produce(kafka, first, 40)
    text = same(kafka, "get-offsets", "--topic", first)
    assert text.count("\n") == 12
    assert text.index(f"{first}:10:") < text.index(f"{first}:2:")
    for arguments in (
        (),
        ("--exclude-internal-topics",),
        ("--topic", f"{stem}.*"),
        ("--topic", f"{first},{second}", "--partitions", "0,1,11"),
        ("--topic-partitions", f"{first}:1,{second}:0-1"),
        ("--topic-partitions", f"{first}:9-,{first}:-2,{stem}.b"),
        ("--topic-partitions", f"{stem}.a:"),
        ("--topic-partitions", ":0"),
    ):
        same(kafka, "get-offsets", *arguments)
    for time in ("earliest", "latest", "max-timestamp", "earliest-local", "latest-tiered", -1, -2, -3, -4, -5, 0):
        same(kafka, "get-offsets", "--topic", f"{stem}.*", "--time", time)
    same(kafka, "get-offsets", "--topic", first, "--time", "4102444800000")
    if kafka.release.startswith("4."):
        same(kafka, "get-offsets", "--topic", f"{stem}.*", "--time", "earliest-pending-upload")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--topic", "no-such-topic"),
        ("--topic-partitions", "a", "--topic", "b"),
        ("--time", "yesterday"),
        ("--partitions", "1,x"),
    ],
)
def test_mistakes_are_told_in_kafkas_words(kafka_43: RealKafka, arguments: tuple[str, ...]) -> None:
    our, their = ours(kafka_43, "get-offsets", *arguments), theirs(kafka_43, "get-offsets", *arguments)
    assert (our.returncode in (1, 2), their.returncode) == (True, 1)
    assert our.stdout == their.stdout == ""
    said = their.stderr.splitlines()[0].removeprefix("Error occurred: ")
    assert our.stderr.splitlines()[0] == f"kafka-tools: {said}"


@pytest.mark.parametrize("name", ["kafka_22", "kafka_11"])
def test_old_brokers_are_asked_as_well(name: str, request: pytest.FixtureRequest) -> None:
    kafka: RealKafka = request.getfixturevalue(name)
    topic = fresh("old-ends")
    done(ours(kafka, "topics", "--create", "--topic", topic, "--partitions", 3, "--replication-factor", 1))
    assert done(ours(kafka, "get-offsets", "--topic", topic)) == "".join(f"{topic}:{each}:0\n" for each in range(3))
    lacking = ours(kafka, "get-offsets", "--topic", topic, "--time", "max-timestamp")
    assert (lacking.returncode, lacking.stdout) == (1, "")
    assert "Kafka 3.0 and later" in lacking.stderr
    assert len(lacking.stderr.splitlines()) == 2


@pytest.mark.parametrize("name", ["kafka_43", "kafka_39", "kafka_22", "kafka_43_three"])
def test_log_directories_are_the_same_to_the_byte(name: str, request: pytest.FixtureRequest) -> None:
    kafka: RealKafka = request.getfixturevalue(name)
    topic = fresh("sized")
    replicas = 3 if name == "kafka_43_three" else 1
    create = ("--create", "--topic", topic, "--partitions", 20, "--replication-factor", replicas)
    done(ours(kafka, "topics", *create))
    produce(kafka, topic, 40)
    text = same(kafka, "log-dirs", "--describe", "--topic-list", topic)
    assert text.count('"isFuture":false') == 20 * replicas
    same(kafka, "log-dirs", "--describe", "--topic-list", f"{topic},no-such-topic", "--broker-list", kafka.node_ids[0])
    unknown = ("--describe", "--broker-list", "77,5,64")
    our, their = ours(kafka, "log-dirs", *unknown), theirs(kafka, "log-dirs", *unknown)
    assert (our.returncode, our.stdout) == (their.returncode, their.stdout) == (1, "")
    assert our.stderr == f"kafka-tools: {their.stderr}"


def test_log_directories_of_an_old_broker_are_told(kafka_11: RealKafka) -> None:
    topic = fresh("old-sized")
    done(ours(kafka_11, "topics", "--create", "--topic", topic, "--partitions", 2, "--replication-factor", 1))
    (line,) = done(ours(kafka_11, "log-dirs", "--describe", "--topic-list", topic)).splitlines()[2:]
    assert f'"partition":"{topic}-0"' in line
