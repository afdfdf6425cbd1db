"""Names of exceptions, and the order of hash tables, are those of Java and of Kafka."""

from __future__ import annotations

import subprocess

import pytest

from kafka_tools.output.kafka.java_words import exception_name, hash_order, partition_hash
from kafka_tools.values import TopicPartition
from tests.against_kafka.jars import ENVIRONMENT
from tests.against_kafka.java_programs import compiled

TOPICS = {"orders": 3, "payments.eu": 13, "a": 1, "clicks_raw": 200, "t-" + "x" * 200: 7, "B": 64, "logs": 500}


@pytest.fixture(scope="module")
def told() -> list[list[str]]:
    """The words of each line of JavaWords."""
    command = compiled("JavaWords")
    topics = [f"{name},{count}" for name, count in TOPICS.items()]
    done = subprocess.run([*command, *topics], capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return [line.split(" ") for line in done.stdout.splitlines()]


def test_exceptions_are_named_as_kafkas_classes(told: list[list[str]]) -> None:
    theirs = {words[1]: words[2] for words in told if words[0] == "error"}
    assert len(theirs) > 100
    assert {name: exception_name(name) for name in theirs} == theirs


def test_sets_of_partitions_are_walked_as_java_walks_them(told: list[list[str]]) -> None:
    walked = [words[1:] for words in told if words[0] == "set"]
    keys: list[TopicPartition] = []
    for (topic, count), theirs in zip(TOPICS.items(), walked, strict=True):
        keys += [TopicPartition(topic, number) for number in range(count)]
        assert [str(key) for key in hash_order(keys, partition_hash)] == theirs
