"""Commands on a real 4.3.1 broker: wall time, CPU time and peak memory beside Kafka's own tools and kafka-python's CLI.

``python -m benchmarks.commands [--rounds N] [--only WORDS] [--large | --many]``, in an environment with the package and
its ``dev`` extra. Needs Java and Kafka's jars (see CONTRIBUTING.md). Each round runs every contestant once, in turn.
``--large``: a topic of 10,000 partitions and 1,000 groups instead; ``--many``: 1,000 topics, 10,000 entries of access
control and 10,000 groups. They take up to a minute to make.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.startup import TOOLS, broker
from benchmarks.timing import RELEASE, Cost, cost, kafka_command, medians, run, script, table

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from tests.against_kafka.harness import RealKafka

KAFKA_PYTHON = [sys.executable, "-m", "kafka.admin", "-b"]
CLASSES = "org.apache.kafka.tools"
LARGE_PARTITIONS, LARGE_GROUPS = 10_000, 1_000
MANY_TOPICS, MANY_ENTRIES, MANY_GROUPS = 1_000, 10_000, 10_000


class Case(NamedTuple):
    """One question: our script, Kafka's class, the words for both, and those for kafka-python where it can.

    In words ``{metadata}`` is a copy of the metadata log, ``{config}`` the broker's properties, ``{plan}`` and
    ``{topics}`` documents about the topic that is asked for.
    """

    script: str
    main: str
    words: Sequence[str]
    python: Sequence[str] | None = None
    first: bool = False
    """Whether the first word is a subcommand, which stands before the address."""
    connects: bool = True

    @property
    def title(self) -> str:
        return f"{self.script} {' '.join(self.words)}"


CASES = (
    Case("kafka-topics", f"{CLASSES}.TopicCommand", ["--list"], ["topics", "list"]),
    Case("kafka-topics", f"{CLASSES}.TopicCommand", ["--describe", "--topic", "measured"],
         ["topics", "describe", "-t", "measured"]),
    Case("kafka-configs", "kafka.admin.ConfigCommand", ["--describe", "--topic", "measured"],
         ["configs", "describe", "-t", "measured"]),
    Case("kafka-configs", "kafka.admin.ConfigCommand", ["--describe", "--broker", "1", "--all"],
         ["configs", "describe", "-b", "1"]),
    Case("kafka-configs", "kafka.admin.ConfigCommand", ["--describe", "--entity-type", "users"]),
    Case("kafka-configs", "kafka.admin.ConfigCommand",
         ["--alter", "--topic", "measured", "--add-config", "retention.ms=1000"]),
    Case("kafka-consumer-groups", f"{CLASSES}.consumer.group.ConsumerGroupCommand", ["--list"], ["groups", "list"]),
    Case("kafka-broker-api-versions", f"{CLASSES}.BrokerApiVersionsCommand", [], ["cluster", "api-versions"]),
    Case("kafka-cluster", f"{CLASSES}.ClusterTool", ["cluster-id"], ["cluster", "describe"], first=True),
    Case("kafka-features", f"{CLASSES}.FeatureCommand", ["describe"], ["cluster", "describe-features"], first=True),
    Case("kafka-metadata-quorum", f"{CLASSES}.MetadataQuorumCommand", ["describe", "--status"],
         ["cluster", "describe-quorum"], first=True),
    Case("kafka-client-metrics", f"{CLASSES}.ClientMetricsCommand", ["--list"]),
    Case("kafka-get-offsets", TOOLS["kafka-get-offsets"], ["--topic", "measured"]),
    Case("kafka-log-dirs", TOOLS["kafka-log-dirs"], ["--describe", "--topic-list", "measured"]),
    Case("kafka-leader-election", TOOLS["kafka-leader-election"],
         ["--election-type", "PREFERRED", "--topic", "measured", "--partition", "0"]),
    Case("kafka-transactions", TOOLS["kafka-transactions"], ["list"], first=True),
    Case("kafka-transactions", TOOLS["kafka-transactions"],
         ["describe-producers", "--topic", "measured", "--partition", "0"], first=True),
    Case("kafka-groups", TOOLS["kafka-groups"], ["--list"]),
    Case("kafka-share-groups", TOOLS["kafka-share-groups"], ["--list"]),
    Case("kafka-streams-groups", TOOLS["kafka-streams-groups"], ["--list"]),
    Case("kafka-reassign-partitions", TOOLS["kafka-reassign-partitions"], ["--list"]),
    Case("kafka-reassign-partitions", TOOLS["kafka-reassign-partitions"],
         ["--verify", "--reassignment-json-file", "{plan}"]),
    Case("kafka-reassign-partitions", TOOLS["kafka-reassign-partitions"],
         ["--generate", "--broker-list", "1", "--topics-to-move-json-file", "{topics}"]),
    Case("kafka-storage", TOOLS["kafka-storage"], ["random-uuid"], connects=False),
    Case("kafka-storage", TOOLS["kafka-storage"], ["info", "-c", "{config}"], connects=False),
    Case("kafka-metadata-shell", TOOLS["kafka-metadata-shell"], ["--snapshot", "{metadata}", "ls", "/"],
         connects=False),
)  # fmt: skip
LARGE_CASES = (
    Case("kafka-topics", TOOLS["kafka-topics"], ["--list"], ["topics", "list"]),
    Case("kafka-topics", TOOLS["kafka-topics"], ["--describe", "--topic", "measured"],
         ["topics", "describe", "-t", "measured"]),
    Case("kafka-get-offsets", TOOLS["kafka-get-offsets"], ["--topic", "measured"]),
    Case("kafka-log-dirs", TOOLS["kafka-log-dirs"], ["--describe"]),
    Case("kafka-reassign-partitions", TOOLS["kafka-reassign-partitions"], ["--list"]),
    Case("kafka-reassign-partitions", TOOLS["kafka-reassign-partitions"],
         ["--verify", "--reassignment-json-file", "{plan}"]),
    Case("kafka-reassign-partitions", TOOLS["kafka-reassign-partitions"],
         ["--generate", "--broker-list", "1", "--topics-to-move-json-file", "{topics}"]),
    Case("kafka-consumer-groups", TOOLS["kafka-consumer-groups"], ["--list"]),
    Case("kafka-consumer-groups", TOOLS["kafka-consumer-groups"], ["--describe", "--all-groups"]),
    Case("kafka-consumer-groups", TOOLS["kafka-consumer-groups"],
         ["--reset-offsets", "--all-groups", "--topic", "small", "--to-earliest", "--execute"]),
    Case("kafka-metadata-shell", TOOLS["kafka-metadata-shell"], ["--snapshot", "{metadata}", "ls", "/image"],
         connects=False),
)  # fmt: skip


MANY_CASES = (
    Case("kafka-topics", TOOLS["kafka-topics"], ["--list"], ["topics", "list"]),
    Case("kafka-topics", TOOLS["kafka-topics"], ["--describe"]),
    Case("kafka-configs", "kafka.admin.ConfigCommand", ["--describe", "--all", "--entity-type", "topics"]),
    Case("kafka-acls", f"{CLASSES}.AclCommand", ["--list"]),
    Case("kafka-consumer-groups", TOOLS["kafka-consumer-groups"], ["--list"], ["groups", "list"]),
    Case("kafka-groups", TOOLS["kafka-groups"], ["--list"]),
)


def commands(case: Case, kafka: RealKafka) -> dict[str, list[str]]:
    """Contestant -> its command line."""
    address = ["--bootstrap-server", kafka.bootstrap_servers] if case.connects else []
    words = [_filled(word, kafka) for word in case.words]
    ours = (
        [script(case.script), *words[:1], *address, *words[1:]]
        if case.first
        else [script(case.script), *address, *words]
    )
    # Most of Kafka's tools with subcommands want the address before them, one behind.
    behind = case.first and case.script == "kafka-cluster"
    theirs = kafka_command(case.main, *([*words[:1], *address, *words[1:]] if behind else [*address, *words]))
    found = {"ours": ours, "kafka": theirs}
    if case.python is not None:
        found["python"] = [*KAFKA_PYTHON, kafka.bootstrap_servers, *case.python]
    return found


def _filled(word: str, kafka: RealKafka) -> str:
    paths = {
        "{metadata}": kafka.folder / "copied" / "__cluster_metadata-0" / f"{0:020}.log",
        "{config}": kafka.folder / f"server-{kafka.node_ids[0]}.properties",
        "{plan}": kafka.folder / "plan.json",
        "{topics}": kafka.folder / "topics.json",
    }
    return str(paths.get(word, word))


def prepare(kafka: RealKafka, partitions: int = 1) -> None:
    """Write the documents about the topic ``measured``, which has so many partitions."""
    entries = [{"topic": "measured", "partition": number, "replicas": kafka.node_ids} for number in range(partitions)]
    # Kafka's shell refuses a directory that a broker is at work in.
    shutil.copytree(kafka.log_dirs[0] / "__cluster_metadata-0", kafka.folder / "copied" / "__cluster_metadata-0")
    (kafka.folder / "plan.json").write_text(json.dumps({"version": 1, "partitions": entries}), encoding="utf-8")
    (kafka.folder / "topics.json").write_text('{"version": 1, "topics": [{"topic": "measured"}]}', encoding="utf-8")


def prepare_large(kafka: RealKafka) -> None:
    """Make the partitions and the groups, and write the documents."""
    from kafka_tools.admin.client import AdminClient, NewPartitions, NewTopic

    with AdminClient(kafka.bootstrap_servers, timeout_s=300) as admin:
        for count in range(1_000, LARGE_PARTITIONS + 1, 1_000):
            admin.create_partitions({"measured": NewPartitions(count)})
        admin.create_topics([NewTopic("small", 1, 1)])
        _make_groups(admin, "small", LARGE_GROUPS)
    prepare(kafka, LARGE_PARTITIONS)


def prepare_many(kafka: RealKafka) -> None:
    """Make topics, access control entries and groups."""
    from kafka_tools.admin.client import AclBinding, AdminClient, NewTopic

    names = [f"orders-{number:04}" for number in range(MANY_TOPICS)]
    entries = [
        AclBinding("TOPIC", name, "LITERAL", f"User:app-{number}", "*", "READ", "ALLOW")
        for name in names
        for number in range(MANY_ENTRIES // MANY_TOPICS)
    ]
    with AdminClient(kafka.bootstrap_servers, timeout_s=300) as admin:
        admin.create_topics([NewTopic(name, 1, 1) for name in names])
        for start in range(0, MANY_ENTRIES, 1_000):
            admin.create_acls(entries[start : start + 1_000])
        _make_groups(admin, "measured", MANY_GROUPS)


def _make_groups(admin: AdminClient, topic: str, count: int) -> None:
    from kafka_tools.values import TopicPartition

    for start in range(0, count, 1_000):
        numbers = range(start, min(start + 1_000, count))
        admin.alter_groups_offsets({f"group-{number}": {TopicPartition(topic, 0): 0} for number in numbers})


class Shape(NamedTuple):
    """What is measured on a broker that ``prepare`` has filled; ``properties`` are further ones of the server."""

    cases: Sequence[Case]
    prepare: Callable[[RealKafka], None]
    properties: Mapping[str, str] = {}


SMALL = Shape(CASES, prepare)
LARGE = Shape(LARGE_CASES, prepare_large)
MANY = Shape(
    MANY_CASES,
    prepare_many,
    {
        "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super_users": "User:ANONYMOUS",
    },
)


def works(command: list[str]) -> bool:
    """Whether kafka-python's CLI can do it: its words change from release to release."""
    return run(command).returncode == 0


class Compared(NamedTuple):
    """A row, and how much faster ours is: in wall and CPU time than Kafka's, in wall time than Python's."""

    cells: list[str]
    wall: float
    cpu: float
    python: float | None


def measure(kafka: RealKafka, cases: Sequence[Case], rounds: int) -> list[Compared]:
    """Every case, each contestant in turn."""
    rows = []
    for case in cases:
        lines = commands(case, kafka)
        if "python" in lines and not works(lines["python"]):
            del lines["python"]
        found = medians({name: lambda line=line: cost(line) for name, line in lines.items()}, rounds)
        mine, theirs, other = found["ours"], found["kafka"], found.get("python")
        wall, cpu = theirs.wall_s / mine.wall_s, theirs.cpu_s / mine.cpu_s
        cells = [case.title, *_cells(mine), *_cells(theirs), f"{wall:.1f}", f"{cpu:.1f}"]
        cells += [*_cells(other), f"{other.wall_s / mine.wall_s:.1f}"] if other else ["-", "-", "-", "-"]
        print(f"measured: {'  '.join(cells)}", file=sys.stderr, flush=True)
        rows.append(Compared(cells, wall, cpu, other.wall_s / mine.wall_s if other else None))
    return rows


def _cells(found: Cost) -> list[str]:
    return [f"{found.wall_s * 1000:.0f} ms", f"{found.cpu_s * 1000:.0f} ms", f"{found.peak_bytes / 2**20:.0f} MiB"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count, after one that does not")
    parser.add_argument("--only", default="", help="cases whose title has these words")
    shapes = parser.add_mutually_exclusive_group()
    for name, shape, text in (
        ("--large", LARGE, "10,000 partitions and 1,000 groups"),
        ("--many", MANY, "1,000 topics, 10,000 entries of access control and 10,000 groups"),
    ):
        shapes.add_argument(name, dest="shape", action="store_const", const=shape, default=SMALL, help=text)
    options = parser.parse_args()
    cases = [case for case in options.shape.cases if options.only in case.title]
    with broker(**options.shape.properties) as kafka:
        options.shape.prepare(kafka)
        rows = measure(kafka, cases, options.rounds)
    head = [
        "command", "ours", "CPU", "peak", f"Kafka {RELEASE}", "CPU", "peak", "times", "times CPU",
        "kafka-python", "CPU", "peak", "times",
    ]  # fmt: skip
    print(table(head, [row.cells for row in rows]))
    for name, ratios in (
        ("Kafka's", [row.wall for row in rows]),
        ("Kafka's in CPU time", [row.cpu for row in rows]),
        ("kafka-python's", [row.python for row in rows if row.python is not None]),
    ):
        if ratios:
            print(f"faster than {name} by: least {min(ratios):.1f}, median {statistics.median(ratios):.1f}")


if __name__ == "__main__":
    main()
