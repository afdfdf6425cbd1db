"""How long commands take, whole process, beside Kafka's own in the same run, and what each of ours imports.

``python -m benchmarks.startup [--rounds N] [--help-only]``, in the environment where the package is installed. Needs
Java and Kafka's jars (see CONTRIBUTING.md). Each round runs every contestant once, ours and Kafka's in turn.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.timing import KAFKA_SERVER_OPTIONS, RELEASE, cost, kafka_command, medians, run, script, table

if TYPE_CHECKING:
    from tests.against_kafka.harness import RealKafka

TOOLS = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-metadata-shell": "org.apache.kafka.shell.MetadataShell",
}
# Some of Kafka's tools call a question for help a failure.
KAFKA_HELP_STATUS = (0, 1)

# Prints the modules that a command has loaded when it ends. Arguments: what the script would see.
MODULES = """
import sys
before = set(sys.modules)
import atexit
atexit.register(lambda: print("\\n" + " ".join(sorted(set(sys.modules) - before)), file=sys.stderr))
del sys.argv[0]
from kafka_tools import scripts
scripts.main()
"""
HEAVY = ("asyncio", "concurrent.futures", "importlib.metadata", "jsonschema", "kazoo", "logging", "numpy", "pyarrow",
         "pyspark", "rich", "ssl", "yaml")  # fmt: skip

Case = tuple[str, list[str], list[str] | None, tuple[int, ...]]
"""Name, our command, Kafka's (None where it has none), the statuses in which Kafka's may end."""


def help_cases() -> list[Case]:
    """``--help`` and ``--version`` of every command."""
    cases: list[Case] = []
    for name, main in TOOLS.items():
        for option in ("--help", "--version"):
            cases.append((f"{name} {option}", [script(name), option], kafka_command(main, option), KAFKA_HELP_STATUS))
    for option in ("--help", "--version"):
        cases.append((f"kafka-tools {option}", [script("kafka-tools"), option], None, (0,)))
    return cases


def broker_cases(bootstrap: str) -> list[Case]:
    """Questions to a broker."""
    questions = {
        "kafka-topics --list": ["--list"],
        "kafka-configs --describe": ["--describe", "--entity-type", "topics", "--entity-name", "measured"],
        "kafka-consumer-groups --list": ["--list"],
    }
    cases: list[Case] = []
    for title, words in questions.items():
        name = title.split()[0]
        arguments = ["--bootstrap-server", bootstrap, *words]
        cases.append((title, [script(name), *arguments], kafka_command(TOOLS[name], *arguments), (0,)))
    return cases


def modules(command: list[str]) -> list[str]:
    """What our command imports beyond a bare interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", MODULES, *command],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.stderr.rstrip("\n").rsplit("\n", 1)[-1].split()


@contextmanager
def broker(**properties: str) -> Iterator[RealKafka]:
    """A real broker with one topic; ``properties``: further ones of the server, with ``_`` for ``.``."""
    from tests.against_kafka.harness import RealKafka, Setup

    lines = tuple((name.replace("_", "."), value) for name, value in properties.items())
    setup = Setup(RELEASE, java_options=tuple(KAFKA_SERVER_OPTIONS), properties=lines)
    with tempfile.TemporaryDirectory() as folder, RealKafka.start(setup, Path(folder)) as kafka:
        run(kafka_command(TOOLS["kafka-topics"], "--bootstrap-server", kafka.bootstrap_servers,
                          "--create", "--topic", "measured", "--config", "retention.ms=1000"))  # fmt: skip
        yield kafka


def measure(cases: list[Case], rounds: int) -> list[tuple[list[str], float | None]]:
    """Table rows with their ratios of wall time."""
    rows = []
    for title, ours, theirs, statuses in cases:
        contestants = {"ours": lambda command=ours: cost(command)}
        if theirs is not None:
            contestants["kafka"] = lambda command=theirs, expected=statuses: cost(command, expected)
        found = medians(contestants, rounds)
        mine, other = found["ours"], found.get("kafka")
        loaded = modules(ours)
        heavy = sorted({name for name in HEAVY if any(m == name or m.startswith(name + ".") for m in loaded)})
        row = [
            title,
            f"{mine.wall_s * 1000:.0f} ms",
            f"{other.wall_s * 1000:.0f} ms" if other else "-",
            f"{other.wall_s / mine.wall_s:.1f}" if other else "-",
            f"{mine.cpu_s * 1000:.0f} ms",
            f"{other.cpu_s * 1000:.0f} ms" if other else "-",
            f"{other.cpu_s / mine.cpu_s:.1f}" if other else "-",
            str(len(loaded)),
            str(sum(name.split(".")[0] == "kafka_tools" for name in loaded)),
            " ".join(heavy) or "-",
        ]
        print(f"measured: {'  '.join(row)}", file=sys.stderr, flush=True)
        rows.append((row, other.wall_s / mine.wall_s if other else None))
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count, after one that does not")
    parser.add_argument("--help-only", action="store_true", help="without a broker")
    options = parser.parse_args()
    rows = measure(help_cases(), options.rounds)
    if not options.help_only:
        with broker() as kafka:
            rows += measure(broker_cases(kafka.bootstrap_servers), options.rounds)
    head = [
        "command", "ours", f"Kafka {RELEASE}", "times", "CPU ours", "CPU Kafka", "times", "modules", "of ours", "heavy",
    ]  # fmt: skip
    print(table(head, [row for row, _ in rows]))
    ratios = [ratio for _, ratio in rows if ratio is not None]
    print(f"\nfaster by: least {min(ratios):.1f}, median {statistics.median(ratios):.1f}; medians of {options.rounds}")
    bare = medians({"bare": lambda: cost([sys.executable, "-c", "pass"])}, options.rounds)["bare"]
    print(f"a bare interpreter of this environment: {bare.wall_s * 1000:.0f} ms")


if __name__ == "__main__":
    main()
