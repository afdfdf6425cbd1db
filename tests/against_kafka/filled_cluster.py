"""One node of real Kafka with something of everything that its directory keeps, and what clients are told of it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.against_kafka.harness import RealKafka, Setup, eventually
from tests.against_kafka.jars import NEWEST

PROPERTIES = (
    ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
    ("super.users", "User:ANONYMOUS;User:admin"),
    ("delegation.token.secret.key", "a secret key of tests"),
    ("metadata.log.max.record.bytes.between.snapshots", "4000"),
    ("metadata.max.idle.interval.ms", "0"),
    ("log.flush.start.offset.checkpoint.interval.ms", "200"),
    ("log.initial.task.delay.ms", "100"),  # otherwise the first checkpoint takes 30 s
)
LISTENERS = ("PLAINTEXT", "SASL_PLAINTEXT")
SETUPS = {release: Setup(release, listeners=LISTENERS, properties=PROPERTIES) for release in ("3.9.2", NEWEST)}

CONFIGS = "kafka.admin.ConfigCommand"
TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"
Tool = Callable[..., "subprocess.CompletedProcess[str]"]
EOF = -191
"""librdkafka's number for the end of a partition."""
OPEN_ID, DONE_ID = "left open", "done"


def fill_groups(release: str) -> list[str]:
    """The groups that ``fill`` makes."""
    return ["readers", "by transaction", *(["modern"] if release >= "4" else [])]


def each(futures: Any) -> None:
    for future in futures.values():
        future.result(60)


def fill(kafka: RealKafka) -> None:
    """Everything once; returns when it is acknowledged."""
    server = kafka.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": server})
    each(admin.create_topics([
        NewTopic("orders", 2, 1, config={"segment.bytes": str(1 << 20), "retention.ms": "-1"}),
        NewTopic("table", 1, 1, config={"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}),
        NewTopic("gone", 3, 1),
        NewTopic("again", 3, 1),
        NewTopic("emptied", 1, 1),
    ]))  # fmt: skip
    each(admin.create_partitions([NewPartitions("orders", 3)]))
    each(admin.delete_topics(["gone", "again"]))
    _again(admin)
    plain = Producer({"bootstrap.servers": server, "enable.idempotence": True, "compression.type": "lz4"})
    while len(plain.list_topics("orders", 60).topics["orders"].partitions) < 3:
        pass
    for number in range(3000):
        plain.produce("orders", b"value %d" % number * 40, b"key %d" % number, partition=number % 3)
        plain.produce("table", b"value %d" % number, b"key %d" % (number % 7))
        plain.produce("emptied", b"x")
        plain.poll(0)
    assert plain.flush(60) == 0
    each(admin.delete_records([TopicPartition("emptied", 0, 2990)]))
    _transactions(server)
    _read_some(server, "readers")
    if kafka.release >= "4":
        _read_some(server, "modern", **{"group.protocol": "consumer"})
    _security(kafka, admin)
    eventually(lambda: _is_kept(kafka))


def _is_kept(kafka: RealKafka) -> None:
    """Until then a killed broker of Kafka forgets that records were deleted."""
    checkpoint = kafka.log_dirs[0] / "log-start-offset-checkpoint"
    assert checkpoint.exists() and "emptied 0 2990" in checkpoint.read_text()


def _again(admin: AdminClient) -> None:
    for _ in range(600):  # the name is free a moment later
        try:
            each(admin.create_topics([NewTopic("again", 1, 1)]))
            return
        except KafkaException:
            admin.poll(0.1)
    raise AssertionError("a deleted topic cannot be made again")


def _transactions(server: str) -> None:
    common = {"bootstrap.servers": server, "transaction.timeout.ms": 600_000}
    done = Producer({**common, "transactional.id": DONE_ID})
    done.init_transactions(60)
    for turn in range(4):
        done.begin_transaction()
        for number in range(20):
            done.produce("orders", b"in transaction %d" % turn, b"%d" % number, partition=0)
        if turn == 2:
            reader = Consumer({"bootstrap.servers": server, "group.id": "by transaction"})
            metadata = reader.consumer_group_metadata()
            done.send_offsets_to_transaction([TopicPartition("orders", 0, 17)], metadata, 60)
            reader.close()
        (done.abort_transaction if turn % 2 else done.commit_transaction)(60)
    left_open = Producer({**common, "transactional.id": OPEN_ID})
    left_open.init_transactions(60)
    left_open.begin_transaction()
    left_open.produce("orders", b"never committed", partition=1)
    assert left_open.flush(60) == 0


def _read_some(server: str, group: str, **config: str) -> None:
    reader = Consumer({"bootstrap.servers": server, "group.id": group, "auto.offset.reset": "earliest",
                       "enable.auto.commit": False, **config})  # fmt: skip
    reader.subscribe(["orders"])
    assert len(reader.consume(500, 60)) == 500
    reader.commit(asynchronous=False)
    reader.close()


def _security(kafka: RealKafka, admin: AdminClient) -> None:
    scram = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    each(admin.alter_user_scram_credentials([
        UserScramCredentialUpsertion(name, scram, b"alice-secret") for name in ("alice", "bob")
    ]))  # fmt: skip

    def acl(name: str, user: str, pattern: ResourcePatternType = ResourcePatternType.LITERAL) -> AclBinding:
        allow = AclPermissionType.ALLOW
        return AclBinding(ResourceType.TOPIC, name, pattern, f"User:{user}", "*", AclOperation.READ, allow)

    each(admin.create_acls([acl("orders", "alice"), acl("ord", "carol", ResourcePatternType.PREFIXED), acl("x", "y")]))
    any_entry = (None, None, AclOperation.ANY, AclPermissionType.ANY)
    each(admin.delete_acls([AclBindingFilter(ResourceType.TOPIC, "x", ResourcePatternType.LITERAL, *any_entry)]))
    for arguments in (
        ("--entity-type", "users", "--entity-name", "alice", "--add-config", "producer_byte_rate=1000000"),
        ("--entity-type", "users", "--entity-default", "--add-config", "consumer_byte_rate=2000000"),
        ("--entity-type", "clients", "--entity-name", "c", "--add-config", "request_percentage=50"),
        ("--entity-type", "clients", "--entity-name", "c", "--delete-config", "request_percentage"),
        ("--entity-type", "users", "--entity-name", "bob", "--delete-config", "SCRAM-SHA-256"),
        ("--entity-type", "brokers", "--entity-default", "--add-config", "log.cleaner.backoff.ms=1000"),
        ("--entity-type", "brokers", "--entity-name", "1", "--add-config", "max.connections=999"),
        ("--entity-type", "topics", "--entity-name", "table", "--add-config", "delete.retention.ms=5000"),
        ("--entity-type", "client-metrics", "--entity-name", "m", "--add-config", "interval.ms=30000"),
        *([("--entity-type", "groups", "--entity-name", "modern", "--add-config", "consumer.session.timeout.ms=50000")]
          if kafka.release >= "4" else []),
    ):  # fmt: skip
        done = kafka.tool(CONFIGS, "--alter", *arguments)
        assert done.returncode == 0, done.stderr + done.stdout
    path = kafka.folder / "alice.properties"
    lines = kafka.client_properties("SASL_PLAINTEXT", "alice")
    path.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    done = kafka.tool(
        TOKENS, "--bootstrap-server", kafka.bootstrap("SASL_PLAINTEXT"), "--command-config", path,
        "--create", "--max-life-time-period", "-1", connect=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout


def committed_records(server: str, topic: str) -> list[tuple[int, int, bytes | None, bytes | None]]:
    """Every record of a topic that a reader of committed ones sees, up to its last stable offsets."""
    reader = Consumer({"bootstrap.servers": server, "group.id": "nobody", "isolation.level": "read_committed",
                       "enable.partition.eof": True, "auto.offset.reset": "earliest"})  # fmt: skip
    partitions = reader.list_topics(topic, 60).topics[topic].partitions
    reader.assign([TopicPartition(topic, number, 0) for number in partitions])
    ended, found = set(), []
    while len(ended) < len(partitions):
        message = reader.poll(60)
        assert message is not None
        if message.error() is None:
            found.append((message.partition(), message.offset(), message.key(), message.value()))
        elif message.error().code() == EOF:
            ended.add(message.partition())
        else:
            raise AssertionError(message.error())
    reader.close()
    return sorted(found)


def told(server: str, release: str, tool: Tool) -> dict[str, object]:
    """What clients are told of the cluster and its records: Kafka's own tools, and librdkafka."""

    def run(main: str, *arguments: str) -> list[str]:
        done = tool(NEWEST, main, "--bootstrap-server", server, *arguments)
        assert done.returncode == 0, done.stderr + done.stdout
        return sorted(line.strip() for line in done.stdout.splitlines())

    described = ["--entity-type brokers --entity-default", "--entity-type brokers --entity-name 1",
                 "--entity-type users", "--entity-type clients", "--entity-type client-metrics"]  # fmt: skip
    if release >= "4":
        described.append("--entity-type groups --entity-name modern")
    admin = AdminClient({"bootstrap.servers": server})
    offsets = {}
    for group in fill_groups(release):
        (future,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
        offsets[group] = sorted((at.topic, at.partition, at.offset) for at in future.result(60).topic_partitions)
    features = "\n".join(run("org.apache.kafka.tools.FeatureCommand", "describe"))
    return {
        "topics": [
            sorted(re.split(r"\tConfigs: |[\t,]", line))
            for line in run("org.apache.kafka.tools.TopicCommand", "--describe")
            if "TopicId" in line
        ],
        # 3.9 tells no synonyms of a client-metrics config, as 4.3 does.
        "configs": {
            each: [re.sub(r" synonyms=\{.*?\}$", "", line) for line in run(CONFIGS, "--describe", *each.split())]
            for each in described
        },
        "acls": run("org.apache.kafka.tools.AclCommand", "--list"),
        # Features that are not finalized are told of by brokers that support them.
        "features": [
            found for found in re.findall(r"Feature: (\S+).*FinalizedVersionLevel: (\S+)", features) if found[1] != "0"
        ],
        "transactions": [line.split() for line in run("org.apache.kafka.tools.TransactionsCommand", "list")],
        "offsets": offsets,
        "orders": committed_records(server, "orders"),
        "table": committed_records(server, "table"),
        "emptied": committed_records(server, "emptied"),
        "again": committed_records(server, "again"),
    }
