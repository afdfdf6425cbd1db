"""kafka-acls --check and --who: which entry decides, beside the decisions of the bundled broker's authorizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product
from random import Random
from typing import Any

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AclBinding, AdminClient
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.security.acls import AclEntry, Acls
from kafka_tools.commands import running
from kafka_tools.commands.security import questions
from kafka_tools.commands.security.decisions import Authorizer, decide
from kafka_tools.protocol.enums import AclOperation, AclPermission, AclResourceType, PatternType

Run = Callable[..., tuple[int, str, str]]
ON = Authorizer(True, frozenset({"User:admin"}), False)


class NoJournal:
    """What the authorizer registers with; entries are applied directly."""

    def on_record(self, kind: type, apply: Callable[[Any], None]) -> None:
        pass

    def on_image(self, image: Callable[[], object]) -> None:
        pass


def authorizer(entries: list[AclBinding], without_entries: bool) -> Acls:
    properties = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin",
        "allow.everyone.if.no.acl.found": str(without_entries).lower(),
    }
    acls = Acls(NoJournal(), properties)  # type: ignore[arg-type]
    for number, entry in enumerate(entries):
        numbers = AclEntry(
            AclResourceType.numbers[entry.resource_type], entry.resource_name, PatternType.numbers[entry.pattern_type],
            entry.principal, entry.host, AclOperation.numbers[entry.operation],
            AclPermission.numbers[entry.permission],
        )  # fmt: skip
        acls._entries[number] = numbers  # type: ignore[index]
        from kafka_tools.broker_embedded.security.acls import _host

        acls._shelf(numbers)[numbers] = _host(numbers.host)
    return acls


def test_every_decision_is_that_of_the_brokers_authorizer() -> None:
    random = Random(7)
    operations = ("READ", "WRITE", "DESCRIBE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "ALL")
    patterns = [
        ("orders", "LITERAL"),
        ("*", "LITERAL"),
        ("ord", "PREFIXED"),
        ("orders-eu", "LITERAL"),
        ("o", "PREFIXED"),
    ]
    hosts = ("*", "10.0.0.1", "10.0.0.0/8", "192.168.0.0/16", "::1")
    decided = {True: 0, False: 0}
    for _ in range(400):
        entries = [
            AclBinding(
                random.choice(["TOPIC", "TOPIC", "GROUP"]), *random.choice(patterns),
                random.choice(["User:alice", "User:*", "User:bob"]), random.choice(hosts), random.choice(operations),
                random.choice(["ALLOW", "ALLOW", "DENY"]),
            )
            for _ in range(random.randrange(5))
        ]  # fmt: skip
        without = random.random() < 0.3
        broker = authorizer(entries, without)
        for principal, host, operation, name in product(
            ("User:alice", "User:carol", "User:admin"), ("10.0.0.1", "10.9.9.9", "172.16.0.1"), operations[:-1],
            ("orders", "orders-eu", "other"),
        ):  # fmt: skip
            truth = broker.authorize(principal, host, AclOperation.numbers[operation], AclResourceType.TOPIC, name)
            ours = decide(entries, ON._replace(without_entries=without), principal, host, operation, ("TOPIC", name))
            assert ours.is_allowed == truth, (entries, principal, host, operation, name, ours)
            decided[truth] += 1
    assert min(decided.values()) > 1000


def entry(
    operation: str, permission: str = "ALLOW", name: str = "orders", pattern: str = "LITERAL",
    principal: str = "User:alice", host: str = "*",
) -> AclBinding:  # fmt: skip
    return AclBinding("TOPIC", name, pattern, principal, host, operation, permission)


@pytest.mark.parametrize(
    "entries, host, reason",
    [
        ([entry("WRITE")], None, "ALLOW WRITE on topic orders for User:alice from any host"),
        ([entry("ALL", name="ord", pattern="PREFIXED")], None,
         "ALLOW ALL on topic prefix ord for User:alice from any host"),
        ([entry("ALL", name="*", principal="User:*")], None, "ALLOW ALL on topic * for User:* from any host"),
        ([entry("WRITE"), entry("WRITE", "DENY", host="10.0.0.1")], None,
         "ALLOW WRITE on topic orders for User:alice from any host (denied from 10.0.0.1)"),
        ([entry("WRITE", host="10.0.0.1")], None, "entries of the principal apply only from 10.0.0.1"),
        ([entry("READ")], None, "entries allow only READ"),
        ([entry("WRITE", principal="User:bob")], None,
         "entries apply to the resource, but none of them to the principal"),
        ([], None, "no entry applies to the resource"),
    ],
)  # fmt: skip
def test_the_reason_names_what_decides(entries: list[AclBinding], host: str | None, reason: str) -> None:
    assert decide(entries, ON, "User:alice", host, "WRITE", ("TOPIC", "orders")).reason == reason


def test_what_the_brokers_do_not_show_is_said() -> None:
    unknown = decide([], Authorizer(True), "User:alice", None, "READ", ("TOPIC", "orders"))
    assert not unknown.is_allowed and "unless allow.everyone.if.no.acl.found is true" in unknown.reason
    assert (
        decide([], Authorizer(False), "User:alice", None, "READ", ("TOPIC", "t")).reason
        == "the brokers have no authorizer"
    )
    assert decide([], ON, "User:admin", None, "READ", ("TOPIC", "orders")).reason == "super user"
    open_ = decide([], ON._replace(without_entries=True), "User:x", None, "READ", ("TOPIC", "orders"))
    assert open_.is_allowed and "allow.everyone.if.no.acl.found is true" in open_.reason


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    config = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with EmbeddedBroker(config=config) as broker:
        with AdminClient(broker.bootstrap_servers) as admin:
            admin.create_acls(
                [
                    entry("WRITE"), entry("READ", principal="User:bob"),
                    entry("WRITE", "DENY", "secret", principal="User:alice"),
                    entry("ALL", name="secret", principal="User:*"),
                    entry("WRITE", principal="User:bob", host="10.0.0.7"),
                    entry("READ", name="tenant-", pattern="PREFIXED", principal="User:tenant"),
                ]
            ).raise_any()  # fmt: skip
        yield broker.bootstrap_servers


@pytest.fixture
def run(servers: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        return running.run(cli.load("acls"), [*words, "-b", servers], "kafka-acls"), *capsys.readouterr()

    return ended


@pytest.mark.parametrize(
    "words, status, sentence",
    [
        (("User:alice", "--operation", "Write", "--topic", "orders"), 0,
         "allowed: User:alice, WRITE on topic orders: ALLOW WRITE on topic orders for User:alice from any host\n"),
        (("User:bob", "--operation", "Describe", "--topic", "orders"), 0,
         "allowed: User:bob, DESCRIBE on topic orders: ALLOW READ on topic orders for User:bob from any host, "
         "which implies DESCRIBE\n"),
        (("User:alice", "--operation", "write", "--topic", "secret"), 1,
         "denied: User:alice, WRITE on topic secret: DENY WRITE on topic secret for User:alice from any host "
         "(it overrides ALLOW ALL on secret)\n"),
        (("User:bob", "--operation", "Write", "--topic", "orders", "--host", "10.0.0.7"), 0,
         "allowed: User:bob from 10.0.0.7, WRITE on topic orders: ALLOW WRITE on topic orders for User:bob from "
         "10.0.0.7\n"),
        (("User:tenant", "--operation", "Read", "--topic", "tenant-a"), 0,
         "allowed: User:tenant, READ on topic tenant-a: ALLOW READ on topic prefix tenant- for User:tenant from any "
         "host\n"),
    ],
)  # fmt: skip
def test_check_names_the_entry_and_ends_with_0_or_1(
    words: tuple[str, ...], status: int, sentence: str, run: Run
) -> None:
    ended = run("--check", *words)
    assert ended[:2] == (status, sentence)
    assert ended[2] == "the brokers do not show super.users, whose principals may do everything\n"


def test_check_of_all_operations(run: Run) -> None:
    status, out, _ = run("--check", "User:alice", "--topic", "orders", "-o", "json")
    decided = {row["operation"]: row["allowed"] for row in json.loads(out)["data"]}
    assert status == 1
    assert {name for name, allowed in decided.items() if allowed} == {"WRITE", "DESCRIBE"}
    assert len(decided) == 8


def test_who_lists_everybody_that_entries_name(run: Run) -> None:
    status, out, _ = run("--who", "--operation", "Write", "--topic", "orders", "--topic", "secret", "-o", "json")
    assert status == 0
    found = {(row["principal"], row["host"], row["resource_name"]): row["allowed"] for row in json.loads(out)["data"]}
    assert found == {
        ("User:alice", None, "orders"): True,
        ("User:bob", None, "orders"): False,
        ("User:bob", "10.0.0.7", "orders"): True,
        ("User:alice", None, "secret"): False,
        ("User:*", None, "secret"): True,
    }


def test_who_is_not_silent_if_no_entry_applies(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--who", "--operation", "Read", "--topic", "unnamed")
    assert run(*words)[:2] == (0, "nobody that an entry names: no entry applies\n")
    assert questions._of_nobody(Authorizer(False)) == "everyone: the brokers have no authorizer"
    assert questions._of_nobody(ON._replace(without_entries=True)).startswith("everyone: no entry applies")


@pytest.mark.parametrize(
    "words, reason",
    [
        (("--check", "alice", "--topic", "t"), "invalid --check 'alice': expected a principal such as User:name"),
        (("--check", "User:a"), "--check needs a resource"),
        (("--who", "--topic", "t", "--host", "::1"), "--host can only be used with --check"),
        (("--list", "--host", "::1"), "--host can only be used with --check"),
        (("--who", "--topic", "t", "--operation", "ClusterAction"), "ResourceType TOPIC only supports operations"),
        (("--who", "--topic", "t", "--allow-principal", "User:a"), "--who can't be used with --allow-principal"),
        (("--who", "--topic", "t", "--resource-pattern-type", "prefixed"), "--who takes names of resources"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit(words: tuple[str, ...], reason: str, run: Run) -> None:
    status, _, err = run(*words)
    assert status == 2 and reason in err


def test_a_list_says_which_entries_it_misses(run: Run) -> None:
    _, out, err = run("--list", "--topic", "tenant-a", "-o", "table")
    assert len(out.splitlines()) == 1
    assert err == (
        "1 entry applies to topic tenant-a by other patterns (prefixed tenant-): list them with "
        "--resource-pattern-type match\n"
    )
    assert run("--list", "--topic", "tenant-a") == (0, "", ""), "Kafka's text on a pipe stays Kafka's"
    assert run("--list", "--topic", "orders", "-o", "table")[2] == ""


def test_a_removal_without_a_match_says_which_patterns_there_are(run: Run) -> None:
    status, out, err = run("--remove", "--topic", "tenant-", "--allow-principal", "User:tenant", "--operation", "Read")
    assert (status, out) == (1, "")
    assert "no such ACL entry; entries exist for prefixed tenant- (--resource-pattern-type)" in err
    status, out, err = run("--remove", "--topic", "tenant-x")
    assert (status, out) == (1, "")
    assert "no ACL entries found; entries exist for prefixed tenant- (--resource-pattern-type)" in err
    assert "Are you sure" not in err
