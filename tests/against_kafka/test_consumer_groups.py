"""Our consumers in groups of real Kafka: the new protocol (KIP-848), and cooperative rebalances beside Java's."""

from __future__ import annotations

import os
import subprocess

import pytest

from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.producer import Producer
from kafka_tools.clients.subscription import SubscriptionPattern
from kafka_tools.errors import BrokerError
from tests.against_kafka.harness import RealKafka
from tests.against_kafka.jars import class_path, java
from tests.against_kafka.side_by_side import done, fresh, ours


@pytest.fixture
def topic(kafka_new: RealKafka) -> str:
    name = fresh("grouped")
    done(ours(kafka_new, "topics", "--create", "--topic", name, "--partitions", 4))
    with Producer(kafka_new.bootstrap_servers) as producer:
        for number in range(4):
            producer.send(name, b"%d" % number, partition=number)
    return name


def until_assigned(consumers: dict[Consumer, int]) -> list[bytes | None]:
    """Poll until each has as many partitions; the values that came."""
    found: list[bytes | None] = []
    for _ in range(600):
        for consumer in consumers:
            found += [record.value for record in consumer.poll(0.1)]
        if all(len(consumer.assignment()) == count for consumer, count in consumers.items()):
            return found
    raise AssertionError([consumer.assignment() for consumer in consumers])


def test_two_members_of_the_new_protocol_with_a_pattern_of_the_broker(kafka_new: RealKafka, topic: str) -> None:
    settings = {"group_id": fresh("new"), "group_protocol": "consumer", "auto_offset_reset": "earliest"}
    found: list[bytes | None] = []
    lost: list[object] = []
    with Consumer(kafka_new.bootstrap_servers, **settings, group_remote_assignor="range") as one:
        one.subscribe(SubscriptionPattern(f"{topic[:-1]}[{topic[-1]}x]"), on_lost=lost.append)
        found += until_assigned({one: 4})
        with Consumer(kafka_new.bootstrap_servers, **settings, group_instance_id="i") as other:
            other.subscribe([topic])
            found += until_assigned({one: 2, other: 2})
            with Consumer(kafka_new.bootstrap_servers, **settings, group_instance_id="i") as double:
                double.subscribe([topic])
                with pytest.raises(BrokerError, match="UNRELEASED_INSTANCE_ID"):
                    until_assigned({double: 4})
            while len(found) < 4:
                found += until_assigned({one: 2, other: 2})
            for consumer in (one, other):
                consumer.commit()
            assert {each.offset for each in one.committed(one.assignment()).values() if each is not None} == {1}
        assert one.subscription() == (topic,)
    assert sorted(found, key=str) == [b"0", b"1", b"2", b"3"]
    assert lost == []
    wrong = {**settings, "group_remote_assignor": "none-such"}
    with Consumer(kafka_new.bootstrap_servers, **wrong) as consumer:
        consumer.subscribe([topic])
        with pytest.raises(BrokerError, match="UNSUPPORTED_ASSIGNOR"):
            until_assigned({consumer: 4})


def test_cooperative_group_with_javas_consumer(kafka_new: RealKafka, topic: str) -> None:
    group = fresh("cooperative")
    assignor = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    told: list[tuple[str, int]] = []
    settings = {"group_id": group, "partition_assignment_strategy": assignor, "heartbeat_interval_ms": 100}
    with Consumer(kafka_new.bootstrap_servers, **settings, auto_offset_reset="earliest") as consumer:
        consumer.subscribe(
            [topic],
            on_assigned=lambda found: told.append(("assigned", len(found))),
            on_revoked=lambda found: told.append(("revoked", len(found))),
        )
        until_assigned({consumer: 4})
        command = [
            *(
                java(),
                "-cp",
                os.pathsep.join(map(str, class_path(kafka_new.release))),
                "org.apache.kafka.tools.consumer.ConsoleConsumer",
            ),
            *("--bootstrap-server", kafka_new.bootstrap_servers, "--topic", topic, "--group", group),
            *("--command-property", f"partition.assignment.strategy={assignor}"),
        ]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as theirs:
            try:
                until_assigned({consumer: 2})
            finally:
                theirs.terminate()
                theirs.wait(60)
            until_assigned({consumer: 4})
    assert told[:2] == [("assigned", 4), ("revoked", 2)]
    assert ("assigned", 2) in told[2:]
