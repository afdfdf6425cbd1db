"""The commands on the bundled broker as each release: they work, or one line says what is missing and what has it."""

from __future__ import annotations

import pytest

from tests.commands.release_table import LINES, NEVER, RELEASES, as_release, mistake


@pytest.mark.parametrize("release", RELEASES)
def test_what_begins_with_a_release_works_there_and_is_told_of_before(release: str) -> None:
    place = RELEASES.index(release)
    near = RELEASES[place : place + 2]
    commands = list(dict.fromkeys(line.text.split()[0] for line in LINES))  # lines of one command build on each other
    chosen = [
        (number, line)
        for number, line in enumerate(LINES)
        if (line.since in near and line.since != RELEASES[0])
        or (commands.index(line.text.split()[0]) + place) % len(RELEASES) == 0
    ]
    with as_release(release) as run:
        found = [mistake(run, line, number, release) for number, line in chosen]
    assert [each for each in found if each] == []


@pytest.mark.parametrize("release", [RELEASES[0], RELEASES[-1]])
def test_what_is_never_served_is_told_in_one_line(release: str) -> None:
    with as_release(release) as run:
        found = [mistake(run, line, number, release) for number, line in enumerate(LINES) if line.since == NEVER]
    assert [each for each in found if each] == []


def test_what_the_bundled_broker_lacks_as_the_newest_release_is_said_to_be_its_own() -> None:
    with as_release(RELEASES[-1]) as run:
        told = run("share-groups --describe --group g").err
        moved = run("reassign-partitions --execute --reassignment-json-file dirs.json").err
    assert "brokers of Kafka 4.1 and later support ShareGroupDescribe v0; the bundled broker does not serve it" in told
    assert "support AlterReplicaLogDirs v0; the bundled broker does not serve it" in moved


def test_one_member_that_is_not_there_is_named_by_old_brokers_too() -> None:
    with as_release("2.2") as run:
        ended = run("consumer-groups --remove-members --group idle --member x")
    problem = "UNKNOWN_MEMBER_ID: the coordinator does not know the member"
    assert ended.err == f"kafka-consumer-groups: cannot remove member 'x': {problem}\n"


def test_throttles_of_what_a_release_cannot_begin_do_not_stay() -> None:
    with as_release("2.4") as run:
        order = "--throttle 5000 --disallow-replication-factor-change"
        ended = run(f"reassign-partitions --execute --reassignment-json-file plan.json {order}")
        brokers = run("configs --describe --entity-type brokers --entity-name 1")
        topics = run("configs --describe --topic orders")
    assert ended.status == 1
    assert "no reassignment is active: removing the throttles that --execute set on broker 1, topic orders" in ended.err
    assert "brokers of Kafka 4.1 and later" in ended.err
    assert "throttled" not in brokers.out + topics.out
