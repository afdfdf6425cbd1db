"""kafka-consumer-groups beside Kafka's ConsumerGroupCommand on real clusters: equal text, equal state."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from tests.against_kafka.harness import RealKafka, eventually
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.side_by_side import done, fresh, ours, produce, same, theirs, write
from tests.commands.groups.test_validate_regex import INVALID, VALID

Join = Callable[..., object]
GROUP_COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.fixture
def join() -> Iterator[Join]:
    """``join(kafka, group, topics, client_id, **settings)``: a live member that has its partitions."""
    confluent = pytest.importorskip("confluent_kafka")
    running = []

    def start(kafka: RealKafka, group: str, topics: list[str], client_id: str, **settings: str) -> object:
        given = {name.replace("_", "."): value for name, value in settings.items()}
        consumer = confluent.Consumer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "group.id": group,
                "client.id": client_id,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **given,
            }
        )
        running.append(consumer)
        consumer.subscribe(topics)

        def owns() -> None:
            consumer.poll(0.2)
            assert consumer.assignment()

        eventually(owns)
        return consumer

    yield start
    for consumer in running:
        consumer.close()


@pytest.mark.parametrize("text", [*VALID, *INVALID])
def test_expressions_are_judged_as_by_kafkas_tool(
    text: str, java_tool: Callable[..., subprocess.CompletedProcess[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    said = java_tool(NEWEST, GROUP_COMMAND, "--validate-regex", text).stdout
    running.run(cli.root, ["consumer-groups", "--validate-regex", text], "kafka-tools")
    shown = capsys.readouterr()
    assert shown.out + shown.err.removeprefix("kafka-tools: ") == said


def with_offsets(kafka: RealKafka, partitions: int = 3) -> tuple[str, str]:
    """A topic with 20 records and a group without members that has committed their middle."""
    topic, group = fresh("reset"), fresh("idle")
    options = ("--partitions", partitions, "--replication-factor", 1)
    done(ours(kafka, "topics", "--create", "--topic", topic, *options))
    produce(kafka, topic, 20)
    reset = ("--reset-offsets", "--group", group, "--topic", topic, "--to-offset", 3, "--execute")
    done(theirs(kafka, "consumer-groups", *reset))
    return topic, group


@pytest.mark.req("CG-4")
def test_live_groups_are_described_the_same(kafka_new: RealKafka, join: Join) -> None:
    confluent = pytest.importorskip("confluent_kafka")
    first, second = fresh("live-topic"), fresh("live-topic")
    for topic, partitions in ((first, 3), (second, 2)):
        done(ours(kafka_new, "topics", "--create", "--topic", topic, "--partitions", partitions))
    produce(kafka_new, first, 10)
    classic, modern, static = fresh("classic"), fresh("modern"), fresh("static")
    consumer = join(kafka_new, classic, [first, second], "cli-a")
    consumer.commit(  # type: ignore[attr-defined]
        offsets=[confluent.TopicPartition(first, number, 1) for number in range(3)], asynchronous=False
    )
    join(kafka_new, modern, [first], "cli-b", group_protocol="consumer")
    join(kafka_new, static, [first], "cli-c", group_instance_id="instance-1")
    views = (
        (),
        ("--offsets",),
        ("--verbose",),
        ("--members",),
        ("--members", "--verbose"),
        ("--state",),
        ("--state", "--verbose"),
    )
    for group in (classic, modern, static):
        for view in views:
            text = same(kafka_new, "consumer-groups", "--describe", "--group", group, *view)
            assert group in text
    active = ours(
        kafka_new,
        "consumer-groups",
        "--reset-offsets",
        "--group",
        classic,
        "--topic",
        first,
        "--to-earliest",
        "--execute",
    )
    assert (active.returncode, active.stdout.splitlines()[1].split()[0]) == (1, "GROUP")
    assert "is inactive, but the current state is Stable" in active.stderr
    assert "cli-a at /127.0.0.1" in active.stderr
    refused = ours(kafka_new, "consumer-groups", "--delete", "--group", classic)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "NON_EMPTY_GROUP" in refused.stderr


@pytest.mark.parametrize("name", ["kafka_new", "kafka_39", "kafka_22"])
def test_idle_groups_are_described_and_listed_the_same(name: str, request: pytest.FixtureRequest) -> None:
    kafka: RealKafka = request.getfixturevalue(name)
    _, group = with_offsets(kafka)
    for view in ((), ("--verbose",), ("--members",), ("--members", "--verbose"), ("--state",)):
        same(kafka, "consumer-groups", "--describe", "--group", group, *view)
    assert "Consumer group" in ours(kafka, "consumer-groups", "--describe", "--group", group).stderr
    assert group in same(kafka, "consumer-groups", "--list", sort=True).split()


@pytest.mark.parametrize(
    "filters", [("--state",), ("--type",), ("--type", "--state"), ("--state", "Empty"), ("--type", "classic")]
)
def test_lists_with_columns_and_filters_are_the_same(kafka_new: RealKafka, filters: tuple[str, ...]) -> None:
    with_offsets(kafka_new)
    same(kafka_new, "consumer-groups", "--list", *filters, sort=True)


@pytest.mark.parametrize("name", ["kafka_new", "kafka_39", "kafka_22"])
def test_every_mode_of_reset_plans_the_same(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    kafka: RealKafka = request.getfixturevalue(name)
    topic, group = with_offsets(kafka)
    plan = write(tmp_path, f"{topic},0,1\n{topic},1,2\n")
    for mode in (
        ("--to-earliest",),
        ("--to-latest",),
        ("--to-current",),
        ("--to-offset", 2),
        ("--to-offset", 100000),
        ("--shift-by", -2),
        ("--shift-by", 1),
        ("--shift-by", -500),
        ("--to-datetime", "2020-01-01T00:00:00.000"),
        ("--to-datetime", "2100-01-01T00:00:00.000+02:00"),
        ("--by-duration", "PT1H"),
    ):
        scope = ("--reset-offsets", "--group", group, "--topic", topic, *mode, "--dry-run")
        our, their = ours(kafka, "consumer-groups", *scope), theirs(kafka, "consumer-groups", *scope)
        # Kafka warns of an empty partition on stdout and in the order of a hash.
        table = "\n".join(line for line in their.stdout.splitlines() if line and not line.startswith("Warn: "))
        assert sorted(done(our).split("\n")[1:-1]) == sorted(table.split("\n")), mode
    for scope in (("--all-topics", "--to-earliest"), ("--from-file", plan), ("--topic", f"{topic}:0,2", "--to-latest")):
        same(kafka, "consumer-groups", "--reset-offsets", "--group", group, *scope, "--dry-run", sort=True)
        same(kafka, "consumer-groups", "--reset-offsets", "--group", group, *scope, "--dry-run", "--export", sort=True)


def test_resets_are_committed_and_exports_read_back(kafka_new: RealKafka, tmp_path: Path) -> None:
    topic, group = with_offsets(kafka_new)
    reset = ("--reset-offsets", "--group", group)
    before = done(ours(kafka_new, "consumer-groups", *reset, "--all-topics", "--to-current", "--export", "--dry-run"))
    planned = ours(kafka_new, "consumer-groups", *reset, "--topic", topic, "--to-latest")
    assert "No action will be performed as the --execute option is missing" in planned.stderr
    done(ours(kafka_new, "consumer-groups", *reset, "--topic", topic, "--to-latest", "--execute"))
    described = done(theirs(kafka_new, "consumer-groups", "--describe", "--group", group))
    assert [line.split()[5] for line in described.splitlines()[2:]] == ["0", "0", "0"]
    done(ours(kafka_new, "consumer-groups", *reset, "--from-file", write(tmp_path, before), "--execute"))
    assert (
        done(ours(kafka_new, "consumer-groups", *reset, "--all-topics", "--to-current", "--export", "--dry-run"))
        == before
    )
    new = fresh("new-group")
    done(
        ours(
            kafka_new,
            "consumer-groups",
            "--reset-offsets",
            "--group",
            new,
            "--topic",
            topic,
            "--to-earliest",
            "--execute",
        )
    )
    assert new in done(theirs(kafka_new, "consumer-groups", "--describe", "--group", new))


@pytest.mark.req("CG-7")
def test_groups_and_offsets_are_deleted(kafka_new: RealKafka) -> None:
    topic, group = with_offsets(kafka_new)
    dropped = done(ours(kafka_new, "consumer-groups", "--delete-offsets", "--group", group, "--topic", f"{topic}:0"))
    assert dropped.splitlines()[0] == f"Request succeeded for deleting offsets from group {group}."
    left = done(theirs(kafka_new, "consumer-groups", "--describe", "--group", group))
    assert len(left.splitlines()) == 4
    assert done(ours(kafka_new, "consumer-groups", "--delete", "--group", group)) == (
        f"Deletion of requested consumer groups ('{group}') was successful.\n"
    )
    assert group not in done(theirs(kafka_new, "consumer-groups", "--list")).split()
    missing = ours(kafka_new, "consumer-groups", "--delete", "--group", group)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert f"group '{group}'" in missing.stderr
    assert "GROUP_ID_NOT_FOUND" in missing.stderr


def test_a_missing_group_exits_1_and_the_others_are_shown(kafka_new: RealKafka) -> None:
    _, group = with_offsets(kafka_new)
    described = ours(kafka_new, "consumer-groups", "--describe", "--group", "no-such-group", "--group", group)
    assert described.returncode == 1
    assert group in described.stdout
    assert "Group no-such-group not found." in described.stderr


def test_a_group_whose_topic_is_gone_is_still_described(kafka_new: RealKafka) -> None:
    topic, group = with_offsets(kafka_new)
    kept, _ = with_offsets(kafka_new)
    scope = ("--reset-offsets", "--group", group, "--topic", kept, "--to-earliest", "--execute")
    done(ours(kafka_new, "consumer-groups", *scope))
    done(ours(kafka_new, "topics", "--delete", "--topic", topic))
    assert kept in done(ours(kafka_new, "consumer-groups", "--describe", "--group", group))


@pytest.mark.parametrize("name", ["kafka_new", "kafka_39", "kafka_22"])
def test_groups_of_all_types_are_listed_the_same(name: str, request: pytest.FixtureRequest) -> None:
    kafka: RealKafka = request.getfixturevalue(name)
    _, group = with_offsets(kafka)
    assert group in same(kafka, "groups", "--list", sort=True)
    for filters in (
        ("--consumer",),
        ("--share",),
        ("--streams",),
        ("--protocol", ""),
        ("--protocol", "consumer"),
        ("--group-type", "consumer"),
        ("--group-type", "Share", "--protocol", "share"),
    ):
        same(kafka, "groups", "--list", *filters, sort=True)


def test_command_lines_that_kafka_groups_refuses_are_refused_in_its_words(kafka_new: RealKafka) -> None:
    for words in (
        ("--list", "--consumer", "--share"),
        ("--list", "--share", "--group-type", "share"),
        ("--list", "--streams", "--protocol", "x"),
        ("--list", "--group-type", "consumers"),
    ):
        our, their = ours(kafka_new, "groups", *words), theirs(kafka_new, "groups", *words)
        assert (our.returncode, their.returncode, our.stdout) == (2, 1, "")
        assert their.stderr.splitlines()[0] in our.stderr
