"""Offsets copied from another group, groups that are new, and plans of more groups than are reset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.producer import Producer
from kafka_tools.commands import running
from kafka_tools.net.config import ClientConfig
from kafka_tools.values import TopicPartition

Ended = tuple[int, str, str]
Run = Callable[..., Ended]
ORDERS_0, BILLS_0 = TopicPartition("orders", 0), TopicPartition("bills", 0)


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with EmbeddedBroker() as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="module")
def admin(servers: str) -> Iterator[AdminClient]:
    """Group blue stands at orders-0: 3 and bills-0: 1, and never read orders-1."""
    with AdminClient(ClientConfig.load(servers)) as admin:
        admin.create_topics([NewTopic("orders", 2, 1), NewTopic("bills", 1, 1)]).raise_any()
        with Producer(ClientConfig.load(servers)) as producer:
            for number in range(5):
                for topic in ("orders", "bills"):
                    producer.send(topic, str(number).encode(), partition=0)
            producer.flush()
        admin.alter_group_offsets("blue", {ORDERS_0: 3, BILLS_0: 1}).raise_any()
        yield admin


@pytest.fixture
def run(servers: str, admin: AdminClient, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(*words: str) -> Ended:
        capsys.readouterr()
        arguments = ["--reset-offsets", *words, "-b", servers]
        status = running.run(cli.load("consumer-groups"), arguments, "kafka-consumer-groups")
        return status, *capsys.readouterr()

    return ended


def offsets(admin: AdminClient, group: str) -> dict[TopicPartition, int]:
    found = admin.list_group_offsets(group).succeeded()
    return {key: value.offset for key, value in found.items() if value is not None}


def test_offsets_of_another_group_are_copied_to_groups_that_are_new(run: Run, admin: AdminClient) -> None:
    copy = ("--from-group", "blue", "--group", "green", "--group", "teal")
    status, out, err = run(*copy, "--dry-run")
    assert (status, offsets(admin, "green")) == (0, {})
    assert [line.split() for line in out.splitlines()[2:]] == [
        [group, topic, "0", offset]
        for group in ("green", "teal")
        for topic, offset in (("bills", "1"), ("orders", "3"))
    ]
    assert "groups 'green', 'teal' do not exist yet: their first offsets create them with --execute" in err
    status, _, err = run(*copy, "--execute")
    assert status == 0
    assert "groups 'green', 'teal' do not exist yet: their first offsets create them now" in err
    assert offsets(admin, "green") == offsets(admin, "teal") == {ORDERS_0: 3, BILLS_0: 1}
    assert "exist" not in run(*copy, "--execute")[2]


def test_only_the_topics_that_are_named_are_copied(run: Run, admin: AdminClient) -> None:
    assert run("--from-group", "blue", "--group", "only", "--topic", "orders", "--execute")[0] == 0
    assert offsets(admin, "only") == {ORDERS_0: 3}
    status, out, err = run("--from-group", "blue", "--group", "only", "--topic", "orders:1", "--execute")
    assert (status, out) == (1, "")
    assert "group 'blue' has no committed offsets of topic orders" in err


def test_groups_that_have_nothing_to_copy(run: Run) -> None:
    status, out, err = run("--from-group", "nobody", "--group", "green", "--execute")
    assert (status, out) == (1, "")
    assert "nothing to copy: group 'nobody' has no committed offsets" in err
    for words, text in (
        (("--from-group", "blue", "--all-groups"), "--from-group needs --group"),
        (("--from-group", "blue", "--group", "blue"), "--from-group must not be one of the groups to reset."),
        (("--from-group", "blue", "--group", "g", "--to-latest"), "Give exactly one of"),
    ):
        status, out, err = run(*words)
        assert (status, out, text in err) == (2, "", True), words


def test_rows_of_groups_that_are_not_named_are_told(run: Run, tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_bytes("\ufeffblue,orders,0,4\r\ngreen,orders,0,1\r\n".encode())
    status, out, err = run("--group", "blue", "--from-file", str(plan), "--dry-run")
    assert (status, [line.split() for line in out.splitlines()[2:]]) == (0, [["blue", "orders", "0", "4"]])
    assert "plan.csv: ignored the rows of groups that are not named on the command line: 'green'" in err
    status, _, err = run("--group", "blue", "--group", "grey", "--from-file", str(plan), "--dry-run")
    assert (status, "cannot reset group 'grey': No reset plan for group grey found" in err) == (1, True)


def test_of_a_file_only_the_topics_that_are_named_are_reset(run: Run, tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text("orders,0,4\norders,1,0\nbills,0,1\n")
    words = ("--group", "blue", "--from-file", str(plan), "--dry-run")
    for topic, rows in (("orders", ["orders 0 4", "orders 1 0"]), ("orders:1", ["orders 1 0"])):
        status, out, _ = run(*words, "--topic", topic)
        assert (status, [" ".join(line.split()[1:]) for line in out.splitlines()[2:]]) == (0, rows)
    status, _, err = run(*words, "--topic", "refunds")
    assert (status, "plan.csv: no offset of topic refunds for group blue" in err) == (1, True)
