"""What an operator of an older release is told: refusals that name the release; lists, topics, coordinators there.

Each was found on the release that it is tested on.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.texts.java_hashing import positive_hash
from tests.against_kafka.harness import RealKafka, Setup, eventually
from tests.against_kafka.side_by_side import Ended, done, fresh, ours

ONE = ("--partitions", 1, "--replication-factor", 1)
IN_KRAFT = "Kafka 3.7 and later in KRaft mode (without ZooKeeper)"


def created(kafka: RealKafka, *options: object) -> str:
    name = fresh("old-release")
    done(ours(kafka, "topics", "--create", "--topic", name, *ONE, *options))
    return name


def refused(ended: Ended) -> str:
    """The complaint of a command that printed no result and failed."""
    assert (ended.returncode, ended.stdout) == (1, ""), ended
    return ended.stderr


@pytest.mark.parametrize("kafka_name", ["kafka_11", "kafka_22", "kafka_28", "kafka_39_zk", "kafka_new"])
def test_what_is_in_a_list_already_is_not_appended_again(kafka_name: str, request: pytest.FixtureRequest) -> None:
    kafka: RealKafka = request.getfixturevalue(kafka_name)
    topic = created(kafka)

    def append(values: str) -> str:
        done(ours(kafka, "configs", "--alter", "--topic", topic, "--append-config", f"cleanup.policy={values}"))
        return done(ours(kafka, "configs", "--describe", "--topic", topic)).split(" sensitive=")[0].split("\n  ")[1]

    # The default counts as there, and is the topic's own setting from then on.
    assert append("delete") == "cleanup.policy=delete"
    assert append("delete,compact") == "cleanup.policy=delete,compact"
    assert append("compact,delete") == "cleanup.policy=delete,compact"
    done(ours(kafka, "configs", "--alter", "--topic", topic, "--delete-config", "cleanup.policy"))
    assert append("compact,compact") == "cleanup.policy=delete,compact"


@pytest.mark.parametrize("kafka_name", ["kafka_11", "kafka_22", "kafka_28"])
def test_a_topic_that_is_not_there_has_no_configuration(kafka_name: str, request: pytest.FixtureRequest) -> None:
    kafka: RealKafka = request.getfixturevalue(kafka_name)
    for options in ((), ("--all",), ("-o", "json")):
        ended = ours(kafka, "configs", "--describe", "--topic", "nosuch", *options)
        assert ended.returncode == 1, ended
        assert "topic 'nosuch': UNKNOWN_TOPIC_OR_PARTITION: " in ended.stderr
        if options == ("-o", "json"):
            assert json.loads(ended.stdout)["errors"][0]["error"] == "UNKNOWN_TOPIC_OR_PARTITION"
        else:
            assert ended.stdout == ""
    changed = ours(kafka, "configs", "--alter", "--topic", "nosuch", "--add-config", "retention.ms=1000")
    assert "topic 'nosuch': UNKNOWN_TOPIC_OR_PARTITION: " in refused(changed)
    assert "Topic 'nosuch' does not exist" in refused(ours(kafka, "topics", "--describe", "--topic", "nosuch"))


@pytest.mark.parametrize("kafka_name", ["kafka_11", "kafka_28", "kafka_39", "kafka_39_zk"])
def test_types_of_configurations_that_a_release_lacks_are_named(
    kafka_name: str, request: pytest.FixtureRequest
) -> None:
    kafka: RealKafka = request.getfixturevalue(kafka_name)
    group = "does not support configs of type group; supported by Kafka 4.0 and later"
    metrics = f"does not support configs of type client-metrics; supported by {IN_KRAFT}"
    setting = {"group": "consumer.session.timeout.ms=50000", "client-metrics": "interval.ms=1000"}
    for kind, text in {"group": group, "client-metrics": metrics}.items():
        if (kind, kafka_name) == ("client-metrics", "kafka_39"):
            continue  # it has them
        assert text in refused(ours(kafka, "configs", "--describe", f"--{kind}", "x"))
        assert text in refused(ours(kafka, "configs", "--alter", f"--{kind}", "x", "--add-config", setting[kind]))


@pytest.mark.parametrize("kafka_name", ["kafka_28", "kafka_39_zk"])
def test_where_zookeeper_is_the_cause_a_hint_does_not_blame_the_release(
    kafka_name: str, request: pytest.FixtureRequest
) -> None:
    kafka: RealKafka = request.getfixturevalue(kafka_name)
    listed = refused(ours(kafka, "client-metrics", "--list"))
    assert "brokers of Kafka 3.7 and later support ListConfigResources v0 in KRaft mode (without ZooKeeper)" in listed
    removed = refused(ours(kafka, "cluster", "unregister", "--id", 9))
    assert "brokers of Kafka 3.3 and later support UnregisterBroker v0 in KRaft mode (without ZooKeeper)" in removed


def test_a_dry_run_does_not_say_that_anything_is_written(kafka_11: RealKafka) -> None:
    topic = created(kafka_11)
    change = ("--alter", "--topic", topic, "--add-config", "retention.ms=1000")
    planned = ours(kafka_11, "configs", *change, "--dry-run")
    assert planned.returncode == 0, planned
    assert f"the configs of topic {topic} would be read, changed and written back as a whole\n" in planned.stderr
    assert "are read, changed and written back" not in planned.stderr
    assert "are read, changed and written back" in ours(kafka_11, "configs", *change).stderr


def test_a_record_for_a_topic_of_format_0_10_is_refused_with_what_to_do(kafka_28: RealKafka) -> None:
    topic = created(kafka_28, "--config", "message.format.version=0.10.2")
    ended = ours(kafka_28, "console-producer", "--topic", topic, stdin="hello\n")
    assert "UNSUPPORTED_FOR_MESSAGE_FORMAT" in refused(ended)
    assert "set enable.idempotence=false" in ended.stderr
    without = ("--command-property", "enable.idempotence=false")
    done(ours(kafka_28, "console-producer", "--topic", topic, *without, stdin="hello\n"))
    with_headers = (*without, "--reader-property", "parse.headers=true")
    ended = ours(kafka_28, "console-producer", "--topic", topic, *with_headers, stdin="a:b\thello\n")
    assert "headers need a topic" in refused(ended)


def test_a_partition_that_is_not_there_is_told_soon(kafka_11: RealKafka) -> None:
    topic = created(kafka_11)
    path = kafka_11.folder / f"{topic}.json"
    path.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 9, "offset": 0}]}))
    ended = ours(kafka_11, "delete-records", "--offset-json-file", path)
    assert ended.returncode == 1
    assert f"topic {topic} has no partition 9, only 0 to 0" in ended.stdout + ended.stderr


def test_groups_whose_coordinator_is_offline_are_told_why(real_kafka: Callable[[Setup], RealKafka]) -> None:
    settings = (("offsets.topic.replication.factor", "1"), ("zookeeper.session.timeout.ms", "3000"))
    kafka = real_kafka(Setup("2.8.2", nodes=2, properties=settings))
    topic = fresh("offline")
    done(ours(kafka, "topics", "--create", "--topic", topic, "--replica-assignment", "1"))
    reset = ("--topic", topic, "--to-earliest", "--execute")
    done(ours(kafka, "consumer-groups", "--reset-offsets", "--group", "any", *reset))
    described = json.loads(done(ours(kafka, "topics", "--describe", "--topic", "__consumer_offsets", "-o", "json")))
    leaders = {row["partition"]: row["leader"] for row in described["data"][0]["partitions"]}
    group = next(name for name in (f"g{n}" for n in range(1000)) if leaders[positive_hash(name) % len(leaders)] == 2)
    done(ours(kafka, "consumer-groups", "--reset-offsets", "--group", group, *reset))
    kafka.stop_node(2)
    try:
        place = f"__consumer_offsets-{positive_hash(group) % len(leaders)}"
        text = f"COORDINATOR_NOT_AVAILABLE: {place} is offline: its last in-sync broker 2 is not running"

        def told() -> None:
            for action in (("--describe",), ("--delete",)):
                assert text in ours(kafka, "consumer-groups", *action, "--group", group).stderr

        eventually(told, timeout_s=60)
    finally:
        kafka.start_node(2)


@pytest.mark.parametrize("how", [(), ("--batch-size", 1)])
def test_replicas_move_between_log_directories_before_2_4(
    how: tuple[object, ...],
    real_kafka: Callable[[Setup], RealKafka],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Brokers since 1.1 move replicas for clients; only reassignments between brokers need 2.4."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    kafka = real_kafka(Setup("1.1.1", properties=(("log.dirs", "{folder}/data-{node},{folder}/more-{node}"),)))
    topic, (id,) = created(kafka), kafka.node_ids
    both = [kafka.folder / f"data-{id}", kafka.folder / f"more-{id}"]
    (other,) = (path for path in both if not (path / f"{topic}-0").is_dir())
    entry = {"topic": topic, "partition": 0, "replicas": [id], "log_dirs": [str(other)]}
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"partitions": [entry]}), encoding="utf-8")
    file = ("--reassignment-json-file", plan)
    limit = ("--replica-alter-log-dirs-throttle", 50_000_000)
    out = done(ours(kafka, "reassign-partitions", "--execute", *file, *limit, *how))
    assert "Moved: 1 of 1 partitions" in out if how else f"moving log directory to {other}" in out
    moved = f"Reassignment of replica {topic}-0-{id} completed successfully.\n"
    eventually(lambda: require(moved in done(ours(kafka, "reassign-partitions", "--verify", *file))))
    assert (other / f"{topic}-0").is_dir()
    assert "replica.alter" not in done(ours(kafka, "configs", "--describe", "--broker", id))
    plan.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "replicas": [id]}]}), encoding="utf-8")
    assert "kafka-reassign-partitions.sh --zookeeper" in refused(ours(kafka, "reassign-partitions", "--execute", *file))
    done(ours(kafka, "reassign-partitions", "--generate", "--strategy", "least-movement", "--topic", topic))


def require(holds: bool) -> None:
    assert holds
