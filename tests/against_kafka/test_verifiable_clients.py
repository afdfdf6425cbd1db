"""Verifiable clients, Kafka's and ours, on a real broker: each reads what the other wrote, and prints the same events.

Next to them the tools that need a real broker: share groups and replicas.
"""

from __future__ import annotations

import json
import random
import subprocess
from typing import Any

import pytest

from tests.against_kafka.harness import RealKafka
from tests.against_kafka.jars import ENVIRONMENT
from tests.against_kafka.jvm import tool_command
from tests.against_kafka.side_by_side import RELEASE, Ended, done, fresh, ours

TOOLS = "org.apache.kafka.tools."
CLASSES = {
    "verifiable-producer": f"{TOOLS}VerifiableProducer",
    "verifiable-consumer": f"{TOOLS}VerifiableConsumer",
    "verifiable-share-consumer": f"{TOOLS}VerifiableShareConsumer",
}
Event = dict[str, Any]


def theirs(kafka: RealKafka, command: str, *arguments: object) -> Ended:
    """Kafka's tool in a JVM of its own: it prints its last events while the JVM ends."""
    words = ["--bootstrap-server", kafka.bootstrap_servers, *map(str, arguments)]
    line = tool_command(RELEASE, CLASSES[command], words)
    return subprocess.run(line, capture_output=True, encoding="utf-8", timeout=120, env=ENVIRONMENT)


RUNS = {"ours": ours, "theirs": theirs}


def events(ended: Ended) -> list[Event]:
    """The events without what differs from run to run: times and rates."""
    found = [json.loads(line) for line in done(ended).splitlines() if line.startswith("{")]
    for event in found:
        event.pop("timestamp")
        event.pop("avg_throughput", None)
    return found


def in_order(found: list[Event]) -> list[str]:
    """Events as text. The number of polls does not count, nor the order of members: Kafka's is that of its JVM."""
    return [
        json.dumps(event, sort_keys=True)
        for event in found
        if event["name"] not in ("records_consumed", "offsets_committed")
    ]


@pytest.mark.parametrize("seed", [20261127])
def test_each_verifiable_client_reads_what_the_other_wrote(kafka_new: RealKafka, seed: int) -> None:
    chance = random.Random(seed)
    count, keys, prefix = chance.randint(50, 200), chance.randint(2, 9), chance.randint(0, 99)
    written, read = {}, {}
    for who, run in RUNS.items():
        topic = fresh(f"verifiable-{who}")
        done(ours(kafka_new, "topics", "--create", "--topic", topic))
        options = ("--max-messages", count, "--repeating-keys", keys, "--value-prefix", prefix)
        told = events(run(kafka_new, "verifiable-producer", "--topic", topic, *options))
        renamed = [{**event, "topic": "t"} if "topic" in event else event for event in told]
        written[who] = [json.dumps(event, sort_keys=True) for event in renamed]
        for reader, reading in RUNS.items():
            group = ("--group-id", fresh("verifiers"), "--max-messages", count, "--verbose")
            found = events(reading(kafka_new, "verifiable-consumer", "--topic", topic, *group))
            commits = [event for event in found if event["name"] == "offsets_committed"]
            assert commits[-1] == {
                "name": "offsets_committed",
                "offsets": [{"topic": topic, "partition": 0, "offset": count}],
                "success": True,
            }
            read[who, reader] = [line.replace(topic, "t") for line in in_order(found)]
    assert written["ours"] == written["theirs"]
    assert len(written["ours"]) == count + 3
    assert read["ours", "ours"] == read["ours", "theirs"] == read["theirs", "ours"] == read["theirs", "theirs"]


def test_share_clients_print_the_same_events(kafka_new: RealKafka) -> None:
    topic = fresh("shared")
    done(ours(kafka_new, "topics", "--create", "--topic", topic))
    done(ours(kafka_new, "verifiable-producer", "--topic", topic, "--max-messages", 6))
    found = {}
    for who, run in RUNS.items():
        options = ("--offset-reset-strategy", "earliest", "--acknowledgement-mode", "sync")
        pattern = ("--ack-pattern", "accept,reject,accept", "--max-messages", 6, "--verbose")
        group = fresh(f"sharers-{who}")
        told = events(
            run(kafka_new, "verifiable-share-consumer", "--topic", topic, "--group-id", group, *options, *pattern)
        )
        for event in told:
            for place in event.get("partitions", ()):
                place["offsets"].sort()
        found[who] = [json.dumps(event, sort_keys=True) for event in told]
    assert found["ours"] == found["theirs"]


def test_the_console_and_the_load_share_a_topic(kafka_new: RealKafka) -> None:
    topic, group = fresh("shared"), fresh("sharers")
    done(ours(kafka_new, "topics", "--create", "--topic", topic))
    reset = ("--add-config", "share.auto.offset.reset=earliest")
    done(ours(kafka_new, "configs", "--alter", "--entity-type", "groups", "--entity-name", group, *reset))
    load = ("--record-size", 10, "--throughput", -1)
    done(ours(kafka_new, "producer-perf-test", "--topic", topic, "--num-records", 50, *load))
    printed = done(ours(kafka_new, "console-share-consumer", "--topic", topic, "--group", group, "--max-messages", 20))
    assert len(printed.splitlines()) == 20
    limits = ("--num-records", 30, "--threads", 2, "--timeout", 30_000)
    told = done(ours(kafka_new, "share-consumer-perf-test", "--topic", topic, "--group", group, *limits, "-o", "json"))
    (total,) = (row for row in json.loads(told)["data"] if row["phase"] == "total")
    assert (total["records"], total["complete"]) == (30, True)


def test_replicas_of_a_real_cluster_are_equal(kafka_new_three: RealKafka) -> None:
    topic = fresh("replicas")
    shape = ("--partitions", 3, "--replication-factor", 3)
    done(ours(kafka_new_three, "topics", "--create", "--topic", topic, *shape))
    load = ("--num-records", 300, "--record-size", 100, "--throughput", -1)
    done(ours(kafka_new_three, "producer-perf-test", "--topic", topic, *load))
    told = done(ours(kafka_new_three, "replica-verification", "--topics-include", topic, "--once", "-o", "json"))
    rows = json.loads(told)["data"]
    assert [row["result"] for row in rows] == ["same"] * 3
    assert sum(row["verified_offset"] for row in rows) == 300
    assert all(len(row["replicas"]) == 3 for row in rows)
