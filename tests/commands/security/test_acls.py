"""kafka-acls on the bundled broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kafka_tools import cli
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands import running

Run = Callable[..., tuple[int, str, str]]
ALICE = ("--allow-principal", "User:alice", "--operation", "Read")


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    config = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with EmbeddedBroker(config=config) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def run(servers: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        return running.run(cli.load("acls"), [*words, "-b", servers], "kafka-acls"), *capsys.readouterr()

    return ended


def test_an_entry_that_is_not_there_is_named_when_it_is_to_be_removed(run: Run) -> None:
    assert run("--add", "--topic", "orders", *ALICE)[0] == 0
    status, out, err = run("--remove", "--force", "--topic", "orders", "--allow-principal", "User:alcie", *ALICE)
    assert (status, out) == (0, "")
    resource = "ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)"
    entry = "(principal=User:alcie, host=*, operation=READ, permissionType=ALLOW)"
    assert err == f"nothing to remove: there is no entry {entry} of {resource}\n"


def test_that_a_resource_has_no_entries_is_said_when_all_of_them_are_to_be_removed(run: Run) -> None:
    status, out, err = run("--remove", "--force", "--group", "nobodys")
    assert (status, out) == (0, "")
    resource = "ResourcePattern(resourceType=GROUP, name=nobodys, patternType=LITERAL)"
    assert err == f"nothing to remove: there is no entry of {resource}\n"
