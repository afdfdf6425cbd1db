"""kafka-share-groups beside Kafka's ShareGroupCommand: equal text, equal state."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.against_kafka.harness import RealKafka, eventually
from tests.against_kafka.side_by_side import assert_equal, done, fresh, ours, produce, same, theirs, write
from tests.broker_embedded.wire_client import WireClient

COMMAND = "share-groups"


@pytest.fixture
def topic(kafka_new: RealKafka) -> str:
    name = fresh("shared")
    done(ours(kafka_new, "topics", "--create", "--topic", name, "--partitions", 2))
    produce(kafka_new, name, 12)
    return name


def made(kafka: RealKafka, topic: str) -> str:
    """A share group without members that shares the topic from its start."""
    group = fresh("share")
    reset = ("--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
    done(ours(kafka, COMMAND, *reset))
    return group


@pytest.fixture
def busy(kafka_new: RealKafka, topic: str) -> Iterator[str]:
    """A share group with two members, one of which has its partitions."""
    group = fresh("busy-share")
    with WireClient(kafka_new.bootstrap_servers, client_id="cli-share") as wire:
        epochs = {str(uuid.uuid4()): 0 for _ in range(2)}
        owning = set()

        def assigned() -> None:
            assert wire.call(FindCoordinatorRequest(key=group), 1).error_code == 0
            for member, epoch in epochs.items():
                topics = [topic] if epoch == 0 else None
                beat = ShareGroupHeartbeatRequest(
                    group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=topics
                )
                answer = wire.call(beat, 1)
                assert answer.error_code == 0
                epochs[member] = answer.member_epoch
                if answer.assignment is not None and answer.assignment.topic_partitions:
                    owning.add(member)
            assert len(owning) == 2

        eventually(assigned)
        yield group


def test_groups_are_listed_the_same(kafka_new: RealKafka, topic: str) -> None:
    group = made(kafka_new, topic)
    assert group in same(kafka_new, COMMAND, "--list", sort=True).split()
    for states in (("--state",), ("--state", "empty"), ("--state", "Stable,Dead")):
        same(kafka_new, COMMAND, "--list", *states, sort=True)


def test_groups_are_described_the_same(kafka_new: RealKafka, topic: str, busy: str) -> None:
    idle = made(kafka_new, topic)
    views = ((), ("--offsets",), ("--verbose",), ("--members",), ("--members", "--verbose"), ("--state",))
    for group in (idle, busy):
        for view in (*views, ("--state", "--verbose")):
            same(kafka_new, COMMAND, "--describe", "--group", group, *view)
    for view in ((), ("--state",)):
        same(kafka_new, COMMAND, "--describe", "--group", idle, "--group", busy, *view, sort=True)
    for view in ("--state", "--members"):
        our, their = (each(kafka_new, COMMAND, "--describe", "--group", idle, view) for each in (ours, theirs))
        assert our.stderr == their.stderr == f"\nShare group '{idle}' has no active members.\n"


def test_plans_and_resets_are_the_same(kafka_new: RealKafka, topic: str) -> None:
    group = made(kafka_new, topic)
    for mode in (("--to-latest",), ("--to-earliest",), ("--to-datetime", "2020-01-01T00:00:00.000")):
        for scope in (("--topic", topic), ("--topic", f"{topic}:1"), ("--all-topics",)):
            plan = ("--reset-offsets", "--group", group, *scope, *mode, "--dry-run")
            assert topic in same(kafka_new, COMMAND, *plan, sort=True)
    for tool in (ours, theirs):
        latest = ("--reset-offsets", "--group", group, "--topic", topic, "--to-latest", "--execute")
        text = done(tool(kafka_new, COMMAND, *latest))
        assert_equal(text, done(ours(kafka_new, COMMAND, *latest[:-1], "--dry-run")), sort=True)
        same(kafka_new, COMMAND, "--describe", "--group", group, "--verbose")
        done(ours(kafka_new, COMMAND, *latest[:5], "--to-earliest", "--execute"))


def test_plans_of_4_4_are_the_same_and_go_through_files(kafka_new: RealKafka, topic: str, tmp_path: Path) -> None:
    group = made(kafka_new, topic)
    reset = ("--reset-offsets", "--group", group)
    done(ours(kafka_new, COMMAND, *reset, "--topic", f"{topic}:0", "--to-offset", 3, "--execute"))
    for mode in (("--to-offset", 4), ("--to-offset", 999), ("--to-current",)):
        for scope in (("--topic", topic), ("--topic", f"{topic}:1"), ("--all-topics",)):
            plan = (*reset, *scope, *mode, "--dry-run")
            assert topic in same(kafka_new, COMMAND, *plan, sort=True)
            assert topic in same(kafka_new, COMMAND, *plan, "--export", sort=True)
    exported = done(ours(kafka_new, COMMAND, *reset, "--all-topics", "--to-current", "--dry-run", "--export"))
    assert f"{topic},0,3\n" in exported
    for tool in (ours, theirs):
        done(ours(kafka_new, COMMAND, *reset, "--topic", topic, "--to-latest", "--execute"))
        text = done(tool(kafka_new, COMMAND, *reset, "--from-file", write(tmp_path, exported.rstrip()), "--execute"))
        assert_equal(
            text, done(ours(kafka_new, COMMAND, *reset, "--all-topics", "--to-current", "--dry-run")), sort=True
        )
        again = done(ours(kafka_new, COMMAND, *reset, "--all-topics", "--to-current", "--dry-run", "--export"))
        assert_equal(again, exported, sort=True)
    with_group = write(tmp_path, "".join(f"{group},{line}\n" for line in exported.split()))
    same(kafka_new, COMMAND, *reset, "--from-file", with_group, "--dry-run", sort=True)


def test_a_group_with_members_is_not_touched_and_its_members_are_named(
    kafka_new: RealKafka, topic: str, busy: str
) -> None:
    reset = ("--reset-offsets", "--group", busy, "--topic", topic, "--to-latest", "--execute")
    our, their = ours(kafka_new, COMMAND, *reset), theirs(kafka_new, COMMAND, *reset)
    assert (our.returncode, their.returncode) == (1, 1)
    assert their.stderr == f"Share group '{busy}' is not empty.\n"
    assert f"{their.stderr.strip()} Members: cli-share at /127.0.0.1.\n" in our.stderr
    idle = made(kafka_new, topic)
    three = [word for name in (idle, busy, "no-such-group") for word in ("--group", name)]
    ended = ours(kafka_new, COMMAND, "--delete", *three)
    assert (ended.returncode, ended.stdout) == (1, f"\nThese share groups were deleted successfully: '{idle}'\n")
    assert f"Share group '{busy}' is not EMPTY. Members: cli-share at /127.0.0.1" in ended.stderr
    assert "Group 'no-such-group' is not a share group." in ended.stderr
    their = theirs(kafka_new, COMMAND, "--delete", "--group", busy, "--group", "no-such-group")
    assert f"Share group '{busy}' is not EMPTY." in their.stdout
    assert "Group 'no-such-group' is not a share group." in their.stdout


def test_offsets_and_groups_are_deleted_the_same(kafka_new: RealKafka, topic: str) -> None:
    texts = []
    for tool in (ours, theirs):
        group = made(kafka_new, topic)
        dropped = done(tool(kafka_new, COMMAND, "--delete-offsets", "--group", group, "--topic", topic))
        assert "Successful" in dropped
        empty = same(kafka_new, COMMAND, "--describe", "--group", group)
        gone = done(tool(kafka_new, COMMAND, "--delete", "--group", group))
        texts.append(tuple(each.replace(group, "G") for each in (dropped, empty, gone)))
        assert group not in done(ours(kafka_new, COMMAND, "--list")).split()
    assert texts[0] == texts[1]
    group = made(kafka_new, topic)
    part = ("--delete-offsets", "--group", group, "--topic", topic, "--topic", "no-such-topic")
    ended = ours(kafka_new, COMMAND, *part)
    assert ended.returncode == 1
    assert f"{topic}" in ended.stdout
    assert "cannot delete the offsets of topic no-such-topic: " in ended.stderr


def test_consumer_groups_are_not_deleted_as_share_groups(kafka_new: RealKafka, topic: str) -> None:
    group = fresh("not-shared")
    to_start = ("--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
    done(ours(kafka_new, "consumer-groups", *to_start))
    ended = ours(kafka_new, COMMAND, "--delete", "--group", group)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert group in done(ours(kafka_new, "consumer-groups", "--list")).split()


@pytest.mark.parametrize(
    "words",
    [
        ("--describe",),
        ("--describe", "--group", "g", "--members", "--state"),
        ("--delete",),
        ("--delete", "--group", "g", "--all-groups"),
        ("--reset-offsets", "--group", "g", "--all-topics", "--to-earliest"),
        ("--reset-offsets", "--group", "g", "--all-topics", "--to-earliest", "--execute", "--dry-run"),
        ("--reset-offsets", "--all-topics", "--to-earliest", "--execute"),
        ("--reset-offsets", "--group", "g", "--to-earliest", "--execute"),
        ("--reset-offsets", "--group", "g", "--all-topics", "--execute"),
        ("--reset-offsets", "--group", "g", "--all-topics", "--from-file", "plan.csv", "--execute"),
        ("--reset-offsets", "--group", "g", "--topic", "t", "--from-file", "plan.csv", "--execute"),
        ("--reset-offsets", "--group", "g", "--topic", "t", "--to-offset", "1", "--to-current", "--execute"),
    ],
)
def test_command_lines_that_are_wrong_are_refused_in_kafkas_words(kafka_new: RealKafka, words: tuple[str, ...]) -> None:
    our, their = ours(kafka_new, COMMAND, *words), theirs(kafka_new, COMMAND, *words)
    assert (our.returncode, their.returncode, our.stdout) == (2, 1, "")
    assert their.stderr.splitlines()[0] in our.stderr


def test_releases_without_share_groups_say_which_release_has_them(kafka_39: RealKafka) -> None:
    ended = ours(kafka_39, COMMAND, "--describe", "--group", "g")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "brokers of Kafka 4.1 and later" in ended.stderr
