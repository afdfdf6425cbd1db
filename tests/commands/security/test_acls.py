"""kafka-acls on the bundled broker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AclBinding, AdminClient
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands import running
from kafka_tools.net.config import ClientConfig

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
    assert (status, out) == (1, "")
    resource = "ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)"
    entry = "(principal=User:alcie, host=*, operation=READ, permissionType=ALLOW)"
    assert err == (
        "1 entry was removed\n"
        f"kafka-acls: cannot remove {entry} of {resource}: no such ACL entry\n"
    )  # fmt: skip


def test_that_a_resource_has_no_entries_is_said_when_all_of_them_are_to_be_removed(run: Run) -> None:
    status, out, err = run("--remove", "--group", "nobodys")
    assert (status, out) == (1, "")
    resource = "ResourcePattern(resourceType=GROUP, name=nobodys, patternType=LITERAL)"
    assert err == f"0 entries were removed\nkafka-acls: cannot remove {resource}: no ACL entries found\n"


def test_without_an_operation_it_is_said_which_there_are_before_anybody_is_asked(run: Run) -> None:
    assert run("--add", "--topic", "asked", *ALICE, "--operation", "Write")[0] == 0
    status, out, err = run("--remove", "--topic", "asked", "--allow-principal", "User:alice")
    assert (status, out) == (1, "")
    assert "no such ACL entry; entries exist with --operation READ, WRITE\n" in err
    assert "(y/n)" not in err


def test_what_is_there_already_is_said_as_kafka_does(run: Run) -> None:
    assert run("--add", "--topic", "twice", *ALICE)[0] == 0
    status, out, err = run("--add", "--topic", "twice", *ALICE, "--operation", "Write")
    resource = "ResourcePattern(resourceType=TOPIC, name=twice, patternType=LITERAL)"
    entry = "(principal=User:alice, host=*, operation={}, permissionType=ALLOW)"
    assert (status, err) == (0, "")
    assert out == (
        f"Acl (pattern={resource}, entry={entry.format('READ')}) already exists.\n"
        f"Adding ACLs for resource `{resource}`: \n \t{entry.format('WRITE')}\n\n"
    )
    _, out, _ = run("--add", "--topic", "twice", *ALICE, "-o", "json")
    assert [row["result"] for row in json.loads(out)["data"]] == ["unchanged"]


@pytest.mark.parametrize("principal", ["User:", "User:a ", "User:\u00e9,-x", ":"])
def test_every_principal_that_kafka_stores_can_be_removed(principal: str, servers: str, run: Run) -> None:
    binding = AclBinding("TOPIC", "odd ", "PREFIXED", principal, "*", "READ", "ALLOW")
    with AdminClient(ClientConfig.load(servers)) as admin:
        admin.create_acls([binding]).raise_any()
    odd = ("--topic", "odd ", "--resource-pattern-type", "prefixed")
    status, _, err = run(
        "--remove", "--force", *odd, "--allow-principal", principal, "--allow-host", "*", "--operation", "Read"
    )
    assert (status, err) == (0, "1 entry was removed\n")
    assert run("--list", *odd, "--principal", principal)[1] == f"ACLs for principal `{principal}`\n"
