"""Members that block a change are named and can be removed; plans of resets tell what is skipped and what repeated."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_tools import cli
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.producer import Producer
from kafka_tools.commands import running
from kafka_tools.net.config import ClientConfig
from tests.live_members import LASTING, poll_until_assigned

Ended = tuple[int, str, str]
Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with EmbeddedBroker(config={"group.initial.rebalance.delay.ms": "0"}) as broker:
        topics = ["--create", "--topic", "orders", "--partitions", "2", "-b", broker.bootstrap_servers]
        assert running.run(cli.load("topics"), topics, "kafka-topics") == 0
        yield broker.bootstrap_servers


@pytest.fixture
def run(servers: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(*words: str) -> Ended:
        capsys.readouterr()
        status = running.run(cli.load("consumer-groups"), [*words, "-b", servers], "kafka-consumer-groups")
        return status, *capsys.readouterr()

    return ended


@pytest.fixture(params=["member", "instance"])
def live(request: pytest.FixtureRequest, servers: str) -> Iterator[str]:
    """A group with one member, dynamic or static."""
    settings = {"group.id": f"live-{request.param}", "client.id": "billing-app", **LASTING}
    if request.param == "instance":
        settings["group.instance.id"] = "instance-1"
    with Consumer(ClientConfig.load(bootstrap_servers=servers, properties=settings)) as consumer:
        consumer.subscribe(["orders"])
        poll_until_assigned(consumer)
        yield settings["group.id"]


def rows(ended: Ended) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ended[1])["data"]
    return found


def test_who_blocks_a_deletion_is_named_and_removed(run: Run, live: str) -> None:
    status, out, err = run("--delete", "--group", live)
    assert (status, out) == (1, "")
    assert "NON_EMPTY_GROUP" in err
    assert "Members: billing-app at /127.0.0.1." in err
    (member,) = rows(run("--describe", "--group", live, "--members", "-o", "json"))
    way = ("--instance", "instance-1") if member["group_instance_id"] else ("--member", member["consumer_id"])
    gone = way[1]
    assert run("--remove-members", "--group", live, *way) == (0, f"Members removed from group '{live}': '{gone}'\n", "")
    assert run("--delete", "--group", live)[:2] == (
        0,
        f"Deletion of requested consumer groups ('{live}') was successful.\n",
    )


def test_all_members_are_removed_at_once(run: Run, live: str) -> None:
    (row,) = rows(run("--remove-members", "--group", live, "--all-members", "-o", "json"))
    assert row["is_static"] == (live == "live-instance")
    assert run("--remove-members", "--group", live, "--all-members")[:2] == (
        0,
        f"No member was removed from group '{live}'.\n",
    )


def test_of_three_members_one_is_there_and_is_removed(run: Run, live: str) -> None:
    (member,) = rows(run("--describe", "--group", live, "--members", "-o", "json"))
    way = ("--instance", "instance-1") if member["group_instance_id"] else ("--member", member["consumer_id"])
    status, out, err = run("--remove-members", "--group", live, "--member", "nobody", *way, "--instance", "none")
    assert (status, out) == (1, f"Members removed from group '{live}': '{way[1]}'\n")
    assert [line.split(":")[1] for line in err.splitlines()] == [
        " cannot remove member 'nobody'",
        " cannot remove member 'none'",
    ]


def test_a_plan_tells_where_the_group_was_and_what_is_skipped_or_repeated(run: Run, servers: str) -> None:
    from kafka_tools.clients.producer import Producer

    with Producer(ClientConfig.load(bootstrap_servers=servers)) as producer:
        for number in range(10):
            producer.send("planned", b"value", partition=0, key=str(number).encode())
        producer.flush()
    reset = ("--reset-offsets", "--group", "nightly", "--topic", "planned:0")
    first = rows(run(*reset, "--to-offset", "4", "--execute", "-o", "json"))
    assert [(row["old_offset"], row["new_offset"], row["skipped"], row["repeated"]) for row in first] == [
        (None, 4, None, None)
    ]
    for mode, expected in (
        ("--to-latest", (4, 10, 6, 0)),
        ("--to-earliest", (4, 0, 0, 4)),
        ("--to-current", (4, 4, 0, 0)),
        ("--to-offset=0", (4, 0, 0, 4)),
        ("--shift-by=0", (4, 4, 0, 0)),
    ):
        (row,) = rows(run(*reset, mode, "--dry-run", "-o", "json"))
        assert (row["old_offset"], row["new_offset"], row["skipped"], row["repeated"]) == expected
    assert run(*reset, "--to-latest", "--dry-run")[1].splitlines()[1].split() == [
        "GROUP", "TOPIC", "PARTITION", "NEW-OFFSET",
    ]  # fmt: skip
    (row,) = rows(run(*reset, "--to-latest", "--execute", "-o", "json"))
    assert (row["old_offset"], row["new_offset"], row["result"]) == (4, 10, "reset")


def test_command_lines_that_are_wrong(run: Run) -> None:
    for words, text in (
        (("--remove-members", "--member", "m"), "--remove-members needs one --group."),
        (("--remove-members", "--group", "g"), "needs --member or --instance, or --all-members."),
        (("--remove-members", "--group", "g", "--all-members", "--member", "m"), "needs --member or --instance, or"),
        (("--delete", "--group", "g", "--member", "m"), "--member can only be used with --remove-members."),
        (
            ("--reset-offsets", "--group", "g", "--all-topics", "--to-latest", "--export", "-o", "json"),
            "-o cannot be used with --export, which prints CSV.",
        ),
    ):
        status, out, err = run(*words)
        assert (status, out) == (2, "")
        assert text in err


@pytest.mark.parametrize("moment", ["1969-12-31T23:59:59.999Z", "30000 days ago"])
def test_a_moment_before_1970_is_before_all_records(run: Run, servers: str, moment: str) -> None:
    with Producer(ClientConfig.load(bootstrap_servers=servers)) as producer:
        producer.send("orders", b"v", partition=0)
        producer.flush()
    (row,) = rows(
        run("--reset-offsets", "--group", "early", "--topic", "orders:0", "--to-datetime", moment, "-o", "json")
    )
    assert row["new_offset"] == 0
