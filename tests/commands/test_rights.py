"""Refusals name the right that is missing, and lists that are empty for want of rights say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

import pytest

from kafka_tools import cli
from kafka_tools.broker_embedded import EmbeddedBroker, handlers
from kafka_tools.clients import Consumer, Producer
from kafka_tools.clients.group import OffsetAndMetadata
from kafka_tools.commands import running
from kafka_tools.errors import BrokerError
from kafka_tools.net.broker_errors import broker_error
from kafka_tools.net.rights import name_what_is_missing, needed
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.values import TopicPartition

Run = Callable[..., tuple[int, str, str]]
SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'user_admin="admin-secret" user_bob="bob-secret";'
    ),
}


@pytest.fixture(scope="module")
def secured() -> Iterator[str]:
    """The address of a broker in which admin may do everything and bob nothing."""
    with EmbeddedBroker(listeners=["SASL_PLAINTEXT://127.0.0.1:0"], config=SETTINGS) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def run(secured: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(user: str, name: str, *arguments: str) -> tuple[int, str, str]:
        jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{user}" '
        words = ["--bootstrap-server", secured, "--command-property", "security.protocol=SASL_PLAINTEXT"]
        words += ["--command-property", "sasl.mechanism=PLAIN"]
        words += ["--command-property", f'sasl.jaas.config={jaas} password="{user}-secret";']
        status = running.run(cli.load(name), [*arguments, *words], f"kafka-{name}")
        out, err = capsys.readouterr()
        return status, out, err

    return ended


@pytest.mark.parametrize(
    "name, arguments, right",
    [
        ("topics", ("--create", "--topic", "new"), "Create on the topic or on the cluster"),
        ("configs", ("--describe", "--topic", "orders"), "DescribeConfigs on the topic"),
        ("configs", ("--alter", "--topic", "orders", "--add-config", "retention.ms=1"), "AlterConfigs on the topic"),
        ("configs", ("--alter", "--user", "u", "--add-config", "producer_byte_rate=1"), "AlterConfigs on the cluster"),
        ("acls", ("--list",), "Describe on the cluster"),
        ("consumer-groups", ("--describe", "--group", "g"), "Describe on the group"),
        ("consumer-groups", ("--delete", "--group", "g"), "on the group"),
    ],
)
def test_a_refusal_names_the_right_that_is_missing(run: Run, name: str, arguments: tuple[str, ...], right: str) -> None:
    run("admin", "topics", "--create", "--topic", "orders", "--if-not-exists")
    status, out, err = run("bob", name, *arguments)
    assert (status, out) == (1, "")
    assert "_AUTHORIZATION_FAILED: " in err
    assert right in err


@pytest.mark.parametrize("name, what", [("topics", "topics"), ("consumer-groups", "groups")])
def test_an_empty_list_says_that_rights_may_be_missing(run: Run, name: str, what: str) -> None:
    run("admin", "topics", "--create", "--topic", "orders", "--if-not-exists")
    status, _, err = run("bob", name, "--list")
    assert status == 0
    assert err.startswith(f"no {what} are listed; the principal may lack the right to see some (Desc")


def test_an_empty_list_of_who_sees_everything_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with EmbeddedBroker() as broker:
        for name in ("topics", "consumer-groups"):
            assert running.run(cli.load(name), ["--list", "-b", broker.bootstrap_servers], f"kafka-{name}") == 0
    assert capsys.readouterr().err == ""


def test_the_broker_asks_for_what_is_named() -> None:
    """Of each API that the bundled broker serves and that asks for one operation on the cluster."""
    checked = 0
    for api in registry.rows():
        try:
            handler = import_module(f"{handlers.__name__}.{api.stem}")
        except ModuleNotFoundError:
            continue
        right = needed(registry.api(api.key).request, error_codes.CLUSTER_AUTHORIZATION_FAILED)
        if len(handler.AUTHORIZE) == 1 and right is not None:
            asked = AclOperation.word(handler.AUTHORIZE[0])
            assert right.partition(" ")[0].upper() == asked.replace("_", ""), api.name
            checked += 1
    assert checked > 10


@pytest.mark.parametrize(
    "api, code, right",
    [
        ("offset_fetch", "TOPIC_AUTHORIZATION_FAILED", "requires Describe on the topic"),
        ("offset_fetch", "GROUP_AUTHORIZATION_FAILED", "requires Describe on the group"),
        ("list_offsets", "TOPIC_AUTHORIZATION_FAILED", "requires Describe on the topic"),
        ("join_group", "GROUP_AUTHORIZATION_FAILED", "requires Read on the group"),
        ("sync_group", "GROUP_AUTHORIZATION_FAILED", "requires Read on the group"),
        ("find_coordinator", "GROUP_AUTHORIZATION_FAILED", "requires Describe on the group"),
        ("fetch", "TOPIC_AUTHORIZATION_FAILED", "requires Read on the topic"),
    ],
)
def test_a_consumer_that_is_refused_names_the_right(
    api: str, code: str, right: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with EmbeddedBroker(config={"group.initial.rebalance.delay.ms": "0"}) as broker:
        with Producer(broker.bootstrap_servers) as producer:
            producer.send("orders", b"one")
        broker.faults.error(api, code, times=100)
        words = ["--bootstrap-server", broker.bootstrap_servers, "--topic", "orders", "--from-beginning"]
        words += ["--group", "g", "--max-messages", "1"]
        status = running.run(cli.load("console-consumer"), words, "kafka-console-consumer")
    err = capsys.readouterr().err
    assert status == 1
    assert f"{code}: " in err and right in err, err


@pytest.mark.parametrize("kind", ["topic", "group"])
def test_a_commit_that_is_refused_names_the_right(kind: str) -> None:
    with EmbeddedBroker() as broker:
        with Producer(broker.bootstrap_servers) as producer:
            producer.send("orders", b"one")
        broker.faults.error("offset_commit", f"{kind.upper()}_AUTHORIZATION_FAILED", times=100)
        with Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"}) as consumer:
            with pytest.raises(BrokerError, match=f"requires Read on the {kind}"):
                consumer.commit({TopicPartition("orders", 0): OffsetAndMetadata(1)})


def test_only_refusals_for_want_of_rights_are_added_to() -> None:
    refused: BrokerError = broker_error(error_codes.TOPIC_AUTHORIZATION_FAILED)
    name_what_is_missing(refused, DeleteTopicsRequest)
    name_what_is_missing(refused, DeleteTopicsRequest)
    assert str(refused) == (
        "TOPIC_AUTHORIZATION_FAILED: the principal may not do this with the topic (requires Delete on the topic)"
    )
    other = broker_error(error_codes.POLICY_VIOLATION, "Topic names begin with team-")
    name_what_is_missing(other, CreateTopicsRequest)
    assert str(other) == "POLICY_VIOLATION: Topic names begin with team-"
