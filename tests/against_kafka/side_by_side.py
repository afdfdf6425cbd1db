"""Our command and Kafka's tool on the same real cluster, with the same arguments."""

from __future__ import annotations

import difflib
import itertools
import subprocess
import sys
from pathlib import Path

from tests.against_kafka.harness import RealKafka, eventually
from tests.against_kafka.jars import NEWEST

RELEASE = NEWEST
AGAIN_S = 20.0
MAIN = {
    "topics": "org.apache.kafka.tools.TopicCommand",
    "configs": "kafka.admin.ConfigCommand",
    "consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "cluster": "org.apache.kafka.tools.ClusterTool",
    "acls": "org.apache.kafka.tools.AclCommand",
    "features": "org.apache.kafka.tools.FeatureCommand",
    "metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "groups": "org.apache.kafka.tools.GroupsCommand",
    "share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
    "streams-application-reset": "org.apache.kafka.tools.StreamsResetter",
    "transactions": "org.apache.kafka.tools.TransactionsCommand",
}
_numbers = itertools.count(1)

Ended = subprocess.CompletedProcess[str]


def ours(kafka: RealKafka, command: str, *arguments: object, stdin: str | None = None, connect: bool = True) -> Ended:
    """Our command, as a process of its own."""
    kafka.catch_up()
    first, rest = _with_subcommand(command, arguments)
    address = ["--bootstrap-server", kafka.bootstrap_servers] if connect else []
    return subprocess.run(
        [sys.executable, "-m", "kafka_tools", command, *first, *address, *map(str, rest)],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )


def theirs(kafka: RealKafka, command: str, *arguments: object) -> Ended:
    """Kafka's tool."""
    first, rest = _with_subcommand(command, arguments)
    if first:
        address = ("--bootstrap-server", kafka.bootstrap_servers)
        return kafka.tool(MAIN[command], *first, *address, *rest, release=RELEASE, connect=False)
    return kafka.tool(MAIN[command], *rest, release=RELEASE)


def same(kafka: RealKafka, command: str, *arguments: object, sort: bool = False) -> str:
    """What both print for a question that changes nothing; they must be equal. ``sort``: the order of lines is ignored.

    Answers that differ are asked for again: the cluster may have changed between the two.
    """
    texts: list[str] = []

    def asked() -> None:
        our, their = ours(kafka, command, *arguments), theirs(kafka, command, *arguments)
        assert our.returncode == 0, our
        assert_equal(our.stdout, their.stdout, sort)
        texts.append(our.stdout)

    eventually(asked, AGAIN_S)
    return texts[-1]


def assert_equal(our: str, their: str, sort: bool = False) -> None:
    """Two texts are equal, or equal but for the order of their lines; shows the difference otherwise."""
    lines = [sorted(text.splitlines()) if sort else text.split("\n") for text in (our, their)]
    difference = "\n".join(difflib.unified_diff(*lines, "ours", "theirs", lineterm=""))
    assert not difference, difference


def done(ended: Ended) -> str:
    """The output of a run that succeeded."""
    assert ended.returncode == 0, ended
    return ended.stdout


def fresh(stem: str) -> str:
    """A name no other test uses."""
    return f"{stem}-{next(_numbers)}"


PATIENT_PRODUCER = ("--request-timeout-ms", "60000")
"""On a busy machine the 1.5 s that Kafka's console producer waits are over before an answer: it drops what it sent."""


def produce(kafka: RealKafka, topic: str, count: int) -> None:
    """``count`` records with keys, by Kafka's console producer."""
    lines = "".join(f"k{number}:v{number}\n" for number in range(count))
    produced = kafka.tool(
        "org.apache.kafka.tools.ConsoleProducer",
        *("--topic", topic, "--reader-property", "parse.key=true", "--reader-property", "key.separator=:"),
        *PATIENT_PRODUCER,
        stdin=lines,
        release=RELEASE,
        # The producer is closed, and so flushed, when its JVM ends.
        fresh=True,
    )
    assert produced.returncode == 0, produced


def write(folder: Path, text: str) -> Path:
    """A file with this text."""
    path = folder / fresh("input")
    path.write_text(text, encoding="utf-8")
    return path


def _with_subcommand(command: str, arguments: tuple[object, ...]) -> tuple[list[str], tuple[object, ...]]:
    return ([str(arguments[0])], arguments[1:]) if command == "cluster" else ([], arguments)
