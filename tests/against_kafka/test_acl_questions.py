"""kafka-acls --check beside the operations that real Kafka says a principal may do (KIP-430)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from kafka_tools.admin.client import AclBinding, AdminClient, NewTopic
from kafka_tools.commands.security.decisions import Authorizer, decide
from kafka_tools.protocol.enums import ACL_OPERATIONS, AclOperation, AclResourceType
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.side_by_side import ours
from tests.against_kafka.test_authorization import PLAIN, SETTINGS, settled

TOPICS = [f"asked-{number:02}-a" for number in range(60)]
OPERATIONS = [AclOperation.word(each) for each in ACL_OPERATIONS[AclResourceType.TOPIC]]


def test_every_decision_is_kafkas(real_kafka: Callable[[Setup], RealKafka]) -> None:
    """Each topic has entries of its own at random; alice asks which operations she is authorized for."""
    random = Random(11)
    kafka = real_kafka(Setup(NEWEST, listeners=("PLAINTEXT", "SASL_PLAINTEXT"), properties=SETTINGS))
    entries = []
    for topic in TOPICS:
        for _ in range(random.randrange(4)):
            pattern = random.choice([(topic, "LITERAL"), (topic, "LITERAL"), (topic[:-2], "PREFIXED")])
            entries.append(
                AclBinding(
                    "TOPIC", *pattern, random.choice(["User:alice", "User:alice", "User:*", "User:bob"]),
                    random.choice(["*", "*", "127.0.0.1", "10.0.0.1"]), random.choice([*OPERATIONS, "ALL"]),
                    random.choice(["ALLOW", "ALLOW", "DENY"]),
                )
            )  # fmt: skip
    with AdminClient(kafka.bootstrap_servers) as root:
        root.create_topics([NewTopic(name, 1, 1) for name in TOPICS]).raise_any()
        root.create_acls(entries).raise_any()
        settled(lambda: {*root.describe_acls()} >= {*entries})
        found = root.describe_acls()
    on = Authorizer(True, frozenset(), False)
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN",
             "sasl.jaas.config": f'{PLAIN} username="alice" password="alice-secret";'}  # fmt: skip
    counts = {True: 0, False: 0}
    with AdminClient({"bootstrap.servers": kafka.bootstrap("SASL_PLAINTEXT"), **login}) as alice:
        described = alice.describe_topics(TOPICS, include_authorized_operations=True)
    for topic in TOPICS:
        outcome = described[topic]
        allowed = set() if outcome.value is None else set(outcome.value.authorized_operations or ())
        decisions = {
            operation: decide(found, on, "User:alice", "127.0.0.1", operation, ("TOPIC", topic)).is_allowed
            for operation in OPERATIONS
        }
        assert decisions["DESCRIBE"] == (outcome.error is None), topic
        if outcome.error is None:
            assert {name for name, is_allowed in decisions.items() if is_allowed} == allowed, topic
            for each in decisions.values():
                counts[each] += 1
    assert min(counts.values()) > 20
    ended = ours(kafka, "acls", "--check", "User:alice", "--operation", "Read", "--topic", TOPICS[0])
    assert ended.returncode in (0, 1) and "the brokers do not show super.users" in ended.stderr
