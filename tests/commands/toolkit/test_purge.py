"""kafka-tools purge: shows what belongs to a prefix, asks, and deletes only that."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import (
    AclBinding,
    AdminClient,
    CommittedOffset,
    NewTopic,
    ScramUpsertion,
    quota_entity,
)
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.commands import running
from kafka_tools.values import TopicPartition
from tests.live_members import LASTING, poll_until_assigned


class Ended(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        return [(row["kind"], row["name"], row["result"]) for row in json.loads(self.out)["data"]]


Run = Callable[..., Ended]
ALL = [
    ("user", "tenant-a"),
    ("group", "tenant-a.reader"),
    ("topic", "tenant-a.events"),
    ("topic", "tenant-a.log"),
    ("acl", "User:tenant-a on topic shared"),
    ("acl", "User:other on topic tenant-a."),
    ("quota", "user tenant-a, client-id app"),
]


def acl(principal: str, name: str, pattern: str = "LITERAL") -> AclBinding:
    return AclBinding("TOPIC", name, pattern, principal, "*", "READ", "ALLOW")


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """Everything of tenant-a, and something of tenant-b of each kind."""
    config = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "group.initial.rebalance.delay.ms": "0",
    }
    with EmbeddedBroker(config=config) as broker:
        with AdminClient(broker.bootstrap_servers) as admin:
            names = ("tenant-a.events", "tenant-a.log", "tenant-b.events", "shared")
            admin.create_topics([NewTopic(name, 2, 1) for name in names]).raise_any()
            for tenant in ("tenant-a", "tenant-b"):
                offsets = {TopicPartition("shared", 0): CommittedOffset(0)}
                admin.alter_group_offsets(f"{tenant}.reader", offsets).raise_any()
                mechanism = "SCRAM-SHA-256"
                admin.alter_user_scram_credentials([ScramUpsertion(tenant, mechanism, "secret")]).raise_any()
                entity = quota_entity({"user": tenant, "client-id": "app"})
                admin.alter_client_quotas({entity: {"producer_byte_rate": 1000.0}}).raise_any()
            entries = [
                acl("User:tenant-a", "shared"),
                acl("User:other", "tenant-a.", "PREFIXED"),
                acl("User:tenant-b", "shared"),
            ]
            admin.create_acls(entries).raise_any()
        yield broker


@pytest.fixture
def run(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def ended(*words: str, answer: str = "") -> Ended:
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        capsys.readouterr()
        line = [*words, "-b", broker.bootstrap_servers]
        return Ended(running.run(cli.load("purge"), line, "kafka-tools purge"), *capsys.readouterr())

    return ended


def left(broker: EmbeddedBroker) -> dict[str, Any]:
    with AdminClient(broker.bootstrap_servers) as admin:
        return {
            "topics": [each.name for each in admin.list_topics(include_internal=False)],
            "groups": [each.group_id for each in admin.list_groups()],
            "users": list(admin.describe_user_scram_credentials()),
            "acls": [each.principal for each in admin.describe_acls()],
            "quotas": [dict(entity)["user"] for entity in admin.describe_client_quotas()],
        }


def test_a_dry_run_shows_everything_and_deletes_nothing(run: Run, broker: EmbeddedBroker) -> None:
    before = left(broker)
    ended = run("--prefix", "tenant-a", "--dry-run", "-o", "json")
    assert ended.status == 0
    assert sorted(ended.rows) == sorted((*each, "planned") for each in ALL)
    assert left(broker) == before
    assert run("--prefix", "__", "--dry-run", "-o", "json").rows == [], "internal topics are never selected"
    told = run("--prefix", "tenant-a", "--dry-run").err
    assert told == "prefix 'tenant-a': 1 user, 1 group, 2 topics, 2 acls, 1 quota\n"


def test_the_prefix_is_the_answer_and_only_what_has_it_goes(run: Run, broker: EmbeddedBroker) -> None:
    before = left(broker)
    for answer in ("", "y\n", "tenant\n"):
        ended = run("--prefix", "tenant-a", answer=answer)
        assert ended.status == 1 and "not confirmed: nothing was deleted" in ended.err
        assert "topic tenant-a.events  2 partitions" in ended.err
    assert left(broker) == before
    ended = run("--prefix", "tenant-a", "-o", "json", answer="tenant-a\n")
    assert ended.status == 0
    assert sorted(ended.rows) == sorted((*each, "deleted") for each in ALL)
    assert left(broker) == {
        "topics": ["shared", "tenant-b.events"], "groups": ["tenant-b.reader"], "users": ["tenant-b"],
        "acls": ["User:tenant-b"], "quotas": ["tenant-b"],
    }  # fmt: skip
    again = run("--prefix", "tenant-a", "--force")
    assert again.status == 0 and again.err == "prefix 'tenant-a': nothing found\n"


def test_a_group_with_members_stops_it_before_anything_is_deleted(run: Run, broker: EmbeddedBroker) -> None:
    before = left(broker)
    settings = {
        "group.id": "tenant-a.live",
        "client.id": "app",
        "bootstrap.servers": broker.bootstrap_servers,
        **LASTING,
    }
    with Consumer(settings) as consumer:
        consumer.subscribe(["shared"])
        poll_until_assigned(consumer)
        ended = run("--prefix", "tenant-a", "--force")
    assert ended.status == 1
    assert "groups have members: tenant-a.live (Members: app at /127.0.0.1.)" in ended.err
    assert left(broker)["topics"] == before["topics"] and left(broker)["users"] == before["users"]


def test_what_cannot_be_deleted_is_an_error_and_the_rest_goes(run: Run, broker: EmbeddedBroker) -> None:
    broker.faults.error("DeleteTopics", "TOPIC_DELETION_DISABLED", times=None)
    ended = run("--prefix", "tenant-a", "--force", "-o", "json")
    assert ended.status == 1
    assert {kind for kind, *_ in ended.rows} == {"user", "group", "acl", "quota"}
    assert "cannot delete topic tenant-a.events" in ended.err
    broker.faults.clear()


def test_what_cannot_be_listed_stops_it(run: Run, broker: EmbeddedBroker) -> None:
    before = left(broker)
    broker.faults.error("DescribeAcls", "CLUSTER_AUTHORIZATION_FAILED", times=None)
    ended = run("--prefix", "tenant-a", "--force")
    assert ended.status == 1 and "cannot list ACL entries" in ended.err
    broker.faults.clear()
    assert left(broker) == before


def test_a_cluster_without_an_authorizer_has_no_entries(capsys: pytest.CaptureFixture[str]) -> None:
    with EmbeddedBroker() as plain:
        with AdminClient(plain.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("tenant-a", 1, 1)]).raise_any()
        line = ["--prefix", "tenant-", "--force", "-o", "json", "-b", plain.bootstrap_servers]
        assert running.run(cli.load("purge"), line, "kafka-tools purge") == 0
    (row,) = json.loads(capsys.readouterr().out)["data"]
    assert (row["kind"], row["name"], row["result"]) == ("topic", "tenant-a", "deleted")
