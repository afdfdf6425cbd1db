"""kafka-topics beside Kafka's TopicCommand on real clusters: equal text, equal state."""

from __future__ import annotations

import re

import pytest

from tests.against_kafka.harness import RealKafka, eventually
from tests.against_kafka.side_by_side import done, fresh, ours, same, theirs

ONE = ("--partitions", 1, "--replication-factor", 1)
"""Before 2.4 brokers have no defaults for these."""


@pytest.fixture(params=["kafka_new", "kafka_39", "kafka_22"])
def kafka(request: pytest.FixtureRequest) -> RealKafka:
    found: RealKafka = request.getfixturevalue(request.param)
    return found


def test_describe_and_list_are_equal_whoever_created_the_topic(kafka: RealKafka) -> None:
    our, their = fresh("described"), fresh("described")
    settings = ("--config", "retention.ms=1000000", "--config", "cleanup.policy=compact,delete")
    options = ("--partitions", 3, "--replication-factor", 1, *settings)
    created = [done(ours(kafka, "topics", "--create", "--topic", our, *options))]
    created.append(done(theirs(kafka, "topics", "--create", "--topic", their, *options)))
    assert created == [f"Created topic {our}.\n", f"Created topic {their}.\n"]
    for name in (our, their):
        text = same(kafka, "topics", "--describe", "--topic", name)
        assert "PartitionCount: 3" in text
        assert "cleanup.policy=compact,delete" in text
    same(kafka, "topics", "--list")
    same(kafka, "topics", "--list", "--exclude-internal")
    same(kafka, "topics", "--list", "--topic", "described.*")
    # Several topics come in the order of a hash there and by name here.
    same(kafka, "topics", "--describe", "--topic", f"{our},{their}", sort=True)


@pytest.mark.parametrize(
    "report",
    [
        "--under-replicated-partitions",
        "--under-min-isr-partitions",
        "--at-min-isr-partitions",
        "--unavailable-partitions",
        "--topics-with-overrides",
    ],
)
def test_filters_of_describe_are_equal(kafka: RealKafka, report: str) -> None:
    name = fresh("filtered")
    done(ours(kafka, "topics", "--create", "--topic", name, *ONE, "--config", "retention.ms=1000000"))
    same(kafka, "topics", "--describe", report, sort=True)
    same(kafka, "topics", "--describe", report, "--topic", name)


def test_partitions_are_added_and_topics_deleted(kafka: RealKafka) -> None:
    name, assigned = fresh("altered"), fresh("altered")
    done(ours(kafka, "topics", "--create", "--topic", name, *ONE))
    done(ours(kafka, "topics", "--create", "--topic", assigned, "--replica-assignment", "1,1"))
    for topic in (name, assigned):
        assert done(ours(kafka, "topics", "--alter", "--topic", topic, "--partitions", 4)) == ""
        assert "PartitionCount: 4" in same(kafka, "topics", "--describe", "--topic", topic)
    assert done(ours(kafka, "topics", "--delete", "--topic", f"{name}|{assigned}")) == ""
    left = done(theirs(kafka, "topics", "--list")).split()
    assert name not in left
    assert assigned not in left


def test_idempotent_switches(kafka: RealKafka) -> None:
    name = fresh("again")
    create = ("--create", "--topic", name, *ONE, "--if-not-exists")
    assert done(ours(kafka, "topics", *create)) == f"Created topic {name}.\n"
    same(kafka, "topics", *create)
    for action in (("--describe",), ("--delete",), ("--alter", "--partitions", 3)):
        same(kafka, "topics", *action, "--topic", "no-such-topic", "--if-exists")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--create", "--topic", "{existing}"),
        ("--create", "--topic", "bad name"),
        ("--create", "--topic", "x", "--config", "no.such.config=1"),
        ("--describe", "--topic", "no-such-topic"),
        ("--delete", "--topic", "no-such-topic"),
        ("--alter", "--topic", "{existing}", "--partitions", 1),
        ("--create", "--topic", "x", "--replication-factor", 3),
    ],
)
def test_refusals_say_what_kafkas_tool_says_but_on_stderr(kafka_new: RealKafka, arguments: tuple[object, ...]) -> None:
    existing = "refused-existing"
    done(ours(kafka_new, "topics", "--create", "--topic", existing, "--partitions", 2, "--if-not-exists"))
    filled = [str(argument).format(existing=existing) for argument in arguments]
    our, their = ours(kafka_new, "topics", *filled), theirs(kafka_new, "topics", *filled)
    reason = re.sub("^Error while executing topic command : ", "", their.stdout.strip())
    assert (our.returncode, their.returncode) == (1, 1)
    assert our.stdout == ""
    assert reason in our.stderr
    assert "Traceback" not in our.stderr


def test_topic_is_described_by_its_id(kafka_new: RealKafka) -> None:
    name = fresh("by-id")
    done(ours(kafka_new, "topics", "--create", "--topic", name))
    topic_id = re.search("TopicId: (\\S+)", done(theirs(kafka_new, "topics", "--describe", "--topic", name)))
    assert topic_id is not None
    assert name in same(kafka_new, "topics", "--describe", "--topic-id", topic_id.group(1))
    unknown = ours(kafka_new, "topics", "--describe", "--topic-id", "AAAAAAAAAAAAAAAAAAAAAQ")
    assert unknown.returncode == 1
    assert "TopicId 'AAAAAAAAAAAAAAAAAAAAAQ' does not exist as expected" in unknown.stderr


@pytest.mark.parametrize("kafka_name", ["kafka_new", "kafka_11"])
def test_a_name_deletes_and_alters_that_topic_alone(kafka_name: str, request: pytest.FixtureRequest) -> None:
    kafka: RealKafka = request.getfixturevalue(kafka_name)
    for name in ("dotted.topic", "dotted-topic"):
        done(ours(kafka, "topics", "--create", "--topic", name, *ONE))
    assert done(ours(kafka, "topics", "--alter", "--topic", "dotted.topic", "--partitions", 2)) == ""
    assert "PartitionCount: 1" in done(ours(kafka, "topics", "--describe", "--topic", "dotted-topic"))
    for expected in (0, 1):  # what is done twice does not go on to other topics
        deleted = ours(kafka, "topics", "--delete", "--topic", "dotted.topic")
        assert deleted.returncode == expected, deleted
        eventually(lambda: _is_gone(kafka, "dotted.topic"))
    assert "as a pattern it would delete dotted-topic" in deleted.stderr
    assert "dotted-topic" in done(ours(kafka, "topics", "--list")).split()
    pattern = ours(kafka, "topics", "--delete", "--topic", "dotted[.-]topic")
    assert (pattern.returncode, pattern.stdout) == (0, "")
    assert pattern.stderr == "the pattern 'dotted[.-]topic' matches 1 topic to delete: dotted-topic\n"


def _is_gone(kafka: RealKafka, topic: str) -> None:
    assert topic not in done(ours(kafka, "topics", "--list")).split()


@pytest.mark.parametrize("kafka_name", ["kafka_new", "kafka_28", "kafka_11"])
def test_patterns_do_not_reach_kafkas_own_topics(kafka_name: str, request: pytest.FixtureRequest) -> None:
    kafka: RealKafka = request.getfixturevalue(kafka_name)
    name = fresh("guarded")
    done(ours(kafka, "topics", "--create", "--topic", name, *ONE))
    reset = ("--reset-offsets", "--group", name, "--topic", name, "--to-earliest", "--execute")
    done(ours(kafka, "consumer-groups", *reset))  # makes __consumer_offsets
    for action in (("--delete",), ("--alter", "--partitions", 70)):
        refused = ours(kafka, "topics", *action, "--topic", "__consumer_off.*")
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "matches only internal topics of Kafka: __consumer_offsets" in refused.stderr
        ignored = ours(kafka, "topics", *action, "--topic", "__consumer_off.*", "--if-exists")
        assert (ignored.returncode, ignored.stdout) == (0, "")
        assert "matches only internal topics of Kafka: __consumer_offsets: nothing was done" in ignored.stderr
    deleted = ours(kafka, "topics", "--delete", "--topic", f"{name}|__consumer_off.*")
    assert deleted.returncode == 0, deleted
    assert f"matches 1 topic to delete: {name}\n" in deleted.stderr
    assert "left out internal topics, which a pattern cannot delete: __consumer_offsets\n" in deleted.stderr
    assert "__consumer_offsets" in done(ours(kafka, "topics", "--list")).split()


def test_topics_of_kafka_1_1_are_what_its_own_tool_says(kafka_11: RealKafka) -> None:
    name = fresh("old")
    options = ("--partitions", 2, "--replication-factor", 1, "--config", "retention.ms=1000000")
    done(ours(kafka_11, "topics", "--create", "--topic", name, *options))
    assert kafka_11.zookeeper is not None
    address = ("--zookeeper", kafka_11.zookeeper.connect)
    described = kafka_11.tool("kafka.admin.TopicCommand", *address, "--describe", "--topic", name, connect=False)
    assert "PartitionCount:2" in described.stdout
    assert "retention.ms=1000000" in described.stdout
    our = done(ours(kafka_11, "topics", "--describe", "--topic", name))
    assert (
        our.splitlines()[0] == f"Topic: {name}\tPartitionCount: 2\tReplicationFactor: 1\tConfigs: retention.ms=1000000"
    )
    assert name in done(ours(kafka_11, "topics", "--list")).split()
    done(ours(kafka_11, "topics", "--alter", "--topic", name, "--partitions", 3))
    done(ours(kafka_11, "topics", "--delete", "--topic", name))
