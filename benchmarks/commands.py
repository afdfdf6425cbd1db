"""Commands on a real 4.3.1 broker: wall time and peak memory beside Kafka's own tools and kafka-python's CLI.

``python -m benchmarks.commands [--rounds N]``, in an environment with the package and its ``dev`` extra. Needs Java and
Kafka's jars (see CONTRIBUTING.md). Each round runs every contestant once, in turn.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.startup import broker
from benchmarks.timing import RELEASE, Cost, cost, kafka_command, medians, run, script, table

KAFKA_PYTHON = [sys.executable, "-m", "kafka.admin", "-b"]
TOOLS = "org.apache.kafka.tools"


class Case(NamedTuple):
    """One question: our script, Kafka's class, the words for both, and those for kafka-python where it can."""

    script: str
    main: str
    words: Sequence[str]
    python: Sequence[str] | None = None
    first: bool = False
    """Whether the first word is a subcommand, which stands before the address."""

    @property
    def title(self) -> str:
        return f"{self.script} {' '.join(self.words)}"


CASES = (
    Case("kafka-topics", f"{TOOLS}.TopicCommand", ["--list"], ["topics", "list"]),
    Case("kafka-topics", f"{TOOLS}.TopicCommand", ["--describe", "--topic", "measured"],
         ["topics", "describe", "-t", "measured"]),
    Case("kafka-configs", "kafka.admin.ConfigCommand", ["--describe", "--topic", "measured"],
         ["configs", "describe", "-t", "measured"]),
    Case("kafka-configs", "kafka.admin.ConfigCommand", ["--describe", "--broker", "1", "--all"],
         ["configs", "describe", "-b", "1"]),
    Case("kafka-configs", "kafka.admin.ConfigCommand", ["--describe", "--entity-type", "users"]),
    Case("kafka-consumer-groups", f"{TOOLS}.consumer.group.ConsumerGroupCommand", ["--list"], ["groups", "list"]),
    Case("kafka-broker-api-versions", f"{TOOLS}.BrokerApiVersionsCommand", [], ["cluster", "api-versions"]),
    Case("kafka-cluster", f"{TOOLS}.ClusterTool", ["cluster-id"], ["cluster", "describe"], first=True),
    Case("kafka-features", f"{TOOLS}.FeatureCommand", ["describe"], ["cluster", "describe-features"], first=True),
    Case("kafka-metadata-quorum", f"{TOOLS}.MetadataQuorumCommand", ["describe", "--status"],
         ["cluster", "describe-quorum"], first=True),
    Case("kafka-client-metrics", f"{TOOLS}.ClientMetricsCommand", ["--list"]),
)  # fmt: skip


def commands(case: Case, bootstrap: str) -> dict[str, list[str]]:
    """Contestant -> its command line."""
    address = ["--bootstrap-server", bootstrap]
    words = list(case.words)
    ours = (
        [script(case.script), *words[:1], *address, *words[1:]]
        if case.first
        else [script(case.script), *address, *words]
    )
    # Two of Kafka's tools want the address before the subcommand, one behind it.
    behind = case.first and case.script == "kafka-cluster"
    theirs = kafka_command(case.main, *([*words[:1], *address, *words[1:]] if behind else [*address, *words]))
    found = {"ours": ours, "kafka": theirs}
    if case.python is not None:
        found["python"] = [*KAFKA_PYTHON, bootstrap, *case.python]
    return found


def works(command: list[str]) -> bool:
    """Whether kafka-python's CLI can do it: its words change from release to release."""
    return run(command).returncode == 0


def measure(bootstrap: str, rounds: int) -> list[tuple[list[str], float, float | None]]:
    """Table rows, with how much faster ours is than Kafka's and than kafka-python's."""
    rows = []
    for case in CASES:
        lines = commands(case, bootstrap)
        if "python" in lines and not works(lines["python"]):
            del lines["python"]
        found = medians({name: lambda line=line: cost(line) for name, line in lines.items()}, rounds)
        mine, kafka, other = found["ours"], found["kafka"], found.get("python")
        row = [case.title, *_cells(mine), *_cells(kafka), f"{kafka.wall_s / mine.wall_s:.1f}"]
        row += [*_cells(other), f"{other.wall_s / mine.wall_s:.1f}"] if other else ["-", "-", "-"]
        print(f"measured: {'  '.join(row)}", file=sys.stderr, flush=True)
        rows.append((row, kafka.wall_s / mine.wall_s, other.wall_s / mine.wall_s if other else None))
    return rows


def _cells(found: Cost) -> list[str]:
    return [f"{found.wall_s * 1000:.0f} ms", f"{found.peak_bytes / 2**20:.0f} MiB"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count, after one that does not")
    options = parser.parse_args()
    with broker() as bootstrap:
        rows = measure(bootstrap, options.rounds)
    head = ["command", "ours", "peak", f"Kafka {RELEASE}", "peak", "times", "kafka-python", "peak", "times"]
    print(table(head, [row for row, _, _ in rows]))
    ratios = [ratio for _, ratio, _ in rows]
    print(f"\nfaster than Kafka's by: least {min(ratios):.1f}, median {statistics.median(ratios):.1f}")
    others = [ratio for _, _, ratio in rows if ratio is not None]
    if others:
        print(f"faster than kafka-python's by: least {min(others):.1f}, median {statistics.median(others):.1f}")


if __name__ == "__main__":
    main()
