"""Commands beside Kafka's tools on three brokers, the last of which goes down and comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.against_kafka.harness import RealKafka, eventually
from tests.against_kafka.side_by_side import assert_equal, done, fresh, ours, produce, same, theirs

REPLICATED = ("--partitions", 6, "--replication-factor", 3, "--config", "min.insync.replicas=2")
REPORTS = (
    "--under-replicated-partitions", "--at-min-isr-partitions", "--under-min-isr-partitions",
    "--unavailable-partitions",
)  # fmt: skip


@pytest.fixture(scope="module")
def topic(kafka_new_three: RealKafka) -> str:
    """A topic of six partitions on all brokers, with records in it."""
    name = fresh("three")
    done(ours(kafka_new_three, "topics", "--create", "--topic", name, *REPLICATED))
    produce(kafka_new_three, name, 60)
    return name


def test_topics_are_described_the_same(kafka_new_three: RealKafka, topic: str) -> None:
    text = same(kafka_new_three, "topics", "--describe", "--topic", topic)
    assert "ReplicationFactor: 3" in text
    for report in REPORTS:
        same(kafka_new_three, "topics", "--describe", report, sort=True)


def test_configs_of_each_broker_and_of_all_are_the_same(kafka_new_three: RealKafka) -> None:
    *_, last = kafka_new_three.node_ids
    for entity in (("--entity-name", last), ("--entity-default",)):
        change = ("--alter", "--entity-type", "brokers", *entity)
        done(ours(kafka_new_three, "configs", *change, "--add-config", "log.cleaner.threads=2"))

        def holds(entity: tuple[object, ...] = entity) -> None:
            text = same(kafka_new_three, "configs", "--describe", "--entity-type", "brokers", *entity)
            assert "log.cleaner.threads=2" in text

        eventually(holds)
        done(theirs(kafka_new_three, "configs", *change, "--delete-config", "log.cleaner.threads"))
    for node in kafka_new_three.node_ids:
        same(kafka_new_three, "configs", "--describe", "--all", "--broker", node)


def test_groups_whose_coordinators_differ_are_the_same(kafka_new_three: RealKafka, topic: str) -> None:
    groups = [fresh("three-group") for _ in range(4)]
    for group in groups:
        reset = ("--reset-offsets", "--group", group, "--topic", topic, "--to-offset", 3, "--execute")
        done(ours(kafka_new_three, "consumer-groups", *reset))
    assert set(groups) <= set(same(kafka_new_three, "consumer-groups", "--list", sort=True).split())
    for group in groups:
        assert topic in same(kafka_new_three, "consumer-groups", "--describe", "--group", group, sort=True)
        # The coordinator is one of three: both must have found the same.
        same(kafka_new_three, "consumer-groups", "--describe", "--group", group, "--state")


def test_records_are_deleted_on_every_leader(kafka_new_three: RealKafka) -> None:
    name = fresh("three-deleted")
    done(ours(kafka_new_three, "topics", "--create", "--topic", name, *REPLICATED))
    produce(kafka_new_three, name, 30)
    placed = ",".join(f'{{"topic": "{name}", "partition": {number}, "offset": -1}}' for number in range(6))
    text = f'{{"version": 1, "partitions": [{placed}]}}'
    path = kafka_new_three.folder / f"{name}.json"
    path.write_text(text, encoding="utf-8")
    our = done(ours(kafka_new_three, "delete-records", "--offset-json-file", path))
    their = done(theirs(kafka_new_three, "delete-records", "--offset-json-file", path))
    assert_equal(our, their, sort=True)
    assert our.count("low_watermark") == 6


def test_the_quorum_and_what_brokers_speak_are_the_same(kafka_new_three: RealKafka) -> None:
    same(kafka_new_three, "broker-api-versions", sort=True)
    features = [run(kafka_new_three, "features", "describe") for run in (ours, theirs)]
    # The epoch is the offset of the metadata, which goes on between the two.
    assert_equal(*(re.sub(r"(?<=Epoch: )\d+", "N", done(each)) for each in features), sort=True)
    our = done(ours(kafka_new_three, "metadata-quorum", "describe", "--status"))
    their = done(theirs(kafka_new_three, "metadata-quorum", "describe", "--status"))
    # Offsets go on between the two.
    moving = ("HighWatermark", "MaxFollowerLag")
    assert [line for line in our.splitlines() if not line.startswith(moving)] == [
        line for line in their.splitlines() if not line.startswith(moving)
    ]


@pytest.fixture
def moving(kafka_new_three: RealKafka) -> Iterator[str]:
    """A topic whose partition 0 moves from brokers 1 and 2 to 2 and 3, so slowly that it does not arrive."""
    name = fresh("moving")
    done(ours(kafka_new_three, "topics", "--create", "--topic", name, "--replica-assignment", "1:2,2:3"))
    produce(kafka_new_three, name, 2000)
    plan = kafka_new_three.folder / f"{name}.json"
    plan.write_text(
        f'{{"version":1,"partitions":[{{"topic":"{name}","partition":0,"replicas":[2,3]}}]}}', encoding="utf-8"
    )
    main = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
    options = ("--reassignment-json-file", plan)
    started = kafka_new_three.tool(main, *options, "--execute", "--throttle", 1)
    assert "Successfully started" in started.stdout, started
    yield name
    kafka_new_three.tool(main, *options, "--cancel")


def test_reassignments_in_progress_are_told_the_same(kafka_new_three: RealKafka, moving: str) -> None:
    text = same(kafka_new_three, "topics", "--describe", "--topic", moving)
    assert "ReplicationFactor: 2" in text
    assert "Replicas: 2,3,1\tIsr: 1,2\tAdding Replicas: 3\tRemoving Replicas: 1\t" in text
    assert text.count("Adding Replicas") == 1, "partition 1 does not move"
    # A replica that is on its way is not missing.
    for report in REPORTS:
        same(kafka_new_three, "topics", "--describe", report, "--topic", moving)
    assert same(kafka_new_three, "topics", "--describe", "--under-replicated-partitions", "--topic", moving) == ""
    as_json = json.loads(done(ours(kafka_new_three, "topics", "--describe", "--topic", moving, "-o", "json")))
    (row,) = as_json["data"]
    assert row["replication_factor"] == 2
    assert (row["partitions"][0]["adding_replicas"], row["partitions"][0]["removing_replicas"]) == ([3], [1])


@pytest.fixture
def without_the_last(kafka_new_three: RealKafka, topic: str) -> Iterator[int]:
    """The last broker is down, and the others have noticed; afterwards it is back in sync."""
    *_, last = kafka_new_three.node_ids

    def missing(expected: int) -> None:
        report = ("--describe", "--under-replicated-partitions", "--topic", topic)
        assert done(ours(kafka_new_three, "topics", *report)).count("\tTopic: ") == expected

    kafka_new_three.stop_node(last)
    try:
        eventually(lambda: missing(6), timeout_s=120)
        yield last
    finally:
        kafka_new_three.start_node(last)
        eventually(lambda: missing(0), timeout_s=120)


@pytest.mark.req("CTL-9")
def test_a_preferred_leader_that_is_down_is_the_error_of_its_partitions(
    kafka_new_three: RealKafka, topic: str, without_the_last: int, tmp_path: Path
) -> None:
    described = json.loads(done(ours(kafka_new_three, "topics", "--describe", "--topic", topic, "-o", "json")))
    partitions = described["data"][0]["partitions"]
    away = {f"{topic}-{each['partition']}" for each in partitions if each["replicas"][0] == without_the_last}
    assert 0 < len(away) < 6
    path = tmp_path / "partitions.json"
    keys = [{"topic": topic, "partition": each["partition"]} for each in partitions]
    path.write_text(json.dumps({"partitions": keys}), encoding="utf-8")
    hold = ("leader-election", "--election-type", "PREFERRED", "--path-to-json-file", path)
    ours(kafka_new_three, *hold)  # whatever else was not led by its preferred replica
    our, their = ours(kafka_new_three, *hold), theirs(kafka_new_three, *hold)
    assert_equal(our.stdout, their.stdout)
    assert (our.returncode, their.returncode) == (1, 1)
    assert len(re.findall(r"^Error completing .*PreferredLeaderNotAvailableException", our.stdout, re.M)) == len(away)
    failed = json.loads(ours(kafka_new_three, *hold, "-o", "json").stdout)["errors"]
    assert {(each["item"], each["error"]) for each in failed} == {
        (each, "PREFERRED_LEADER_NOT_AVAILABLE") for each in away
    }


def test_a_broker_that_is_down_is_told_the_same(kafka_new_three: RealKafka, topic: str, without_the_last: int) -> None:
    for report in REPORTS:
        text = same(kafka_new_three, "topics", "--describe", report, "--topic", topic)
        assert text.count("\tTopic: ") == (6 if report in REPORTS[:2] else 0)
    same(kafka_new_three, "topics", "--describe", "--topic", topic)
    assert f"{topic}\n" in same(kafka_new_three, "topics", "--list")
    same(kafka_new_three, "consumer-groups", "--list", sort=True)
    # The broker that is down is named by both, and both fail.
    describe = ("--describe", "--broker", without_the_last, "--timeout", 5000)
    our = ours(kafka_new_three, "configs", *describe)
    assert our.returncode == 1, our
    assert our.stdout == ""
    assert our.stderr.count("\n") == 1, our.stderr
