"""kafka-configs and Kafka 4.3.1's ConfigCommand, line by line: text and exit status, on real clusters.

Every difference has its reason on the command's page. ``pytest -s`` prints how many lines were tried and equal.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.against_kafka.config_lines import BEFORE_2_3, CONTROLLERS, NOT_EVERYWHERE, SCENARIOS, Line
from tests.against_kafka.harness import RealKafka
from tests.against_kafka.side_by_side import MAIN, RELEASE, Ended, done, ours, theirs, write
from tests.against_kafka.tool_server import run_tool

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands" / "configs.md"
TOPIC, GROUP = "cmp-a", "cmp-live"


def reasons() -> list[str]:
    """What the page lists as differences from Kafka's tool."""
    _, _, section = PAGE.read_text(encoding="utf-8").partition("## Differences from Kafka's tool\n")
    return re.findall(r"^\* (.*)", section.partition("\n## ")[0], re.MULTILINE)


def run(side: Callable[..., Ended], kafka: RealKafka, line: Line, named: dict[str, object]) -> Ended:
    """One line by one of the tools."""
    return side(kafka, "configs", *shlex.split(line.text.format(**named)))


def outcome(ended: Ended, line: Line) -> tuple[int, list[str]]:
    """What scripts see: the exit status and the lines of standard output."""
    lines = [_in_order(text) for text in ended.stdout.split("\n")]
    return ended.returncode, sorted(lines) if line.sort else lines


def _in_order(line: str) -> str:
    """A line of quotas or credentials with these sorted: which comes first is the broker's choice."""
    head, are, values = line.partition(" are ")
    return head + are + ", ".join(sorted(values.split(", "))) if line.startswith(("Quota", "SCRAM")) else line


def places(kafka: RealKafka, folder: Path) -> dict[str, object]:
    """What the lines name: files, and a logger that the cluster has."""
    listed = theirs(kafka, "configs", "--describe", "--broker-logger", 1).stdout
    loggers = [name for name in re.findall(r"^  (\S+)=", listed, re.MULTILINE) if name != "root"]
    return {
        "file": write(folder, "# comment\nretention.ms : 700000\nflush.ms=9\n"),
        "quick": write(folder, "default.api.timeout.ms=5000\nrequest.timeout.ms=4000\n"),
        "logger": loggers[0] if loggers else "root",
    }


def prepare(kafka: RealKafka) -> None:
    """The topic and the group that lines are about."""
    create = ("--create", "--topic", TOPIC, "--if-not-exists", "--partitions", 1, "--replication-factor", 1)
    done(ours(kafka, "topics", *create))
    reset = ("--reset-offsets", "--group", GROUP, "--topic", TOPIC, "--to-earliest", "--execute")
    done(ours(kafka, "consumer-groups", *reset))


def compare(kafka: RealKafka, name: str, lines: Sequence[Line], our: Sequence[Ended], their: Sequence[Ended]) -> None:
    """Every line is equal, or differs as it should, for a reason that is on the page. Prints the figures."""
    kind = "ZooKeeper" if kafka.zookeeper is not None else "KRaft"
    explained = reasons()
    wrong = []
    equal = 0
    for line, mine, other in zip(lines, our, their, strict=True):
        same = outcome(mine, line) == outcome(other, line)
        equal += same
        if same == (bool(line.differs) and line.where in ("", kind)):
            wrong.append((line, mine, other))
        assert not line.differs or any(reason.startswith(line.differs) for reason in explained), line
    print(f"{name}: {len(lines)} lines, {equal} equal, {len(lines) - equal} different")
    assert not wrong, "\n".join(map(str, wrong))


class Bundled(NamedTuple):
    """The bundled broker, as far as ``ours``, ``theirs`` and ``compare`` need it."""

    bootstrap_servers: str
    zookeeper: None = None

    def tool(self, main: str, *arguments: object, release: str) -> Ended:
        return run_tool(release, main, "--bootstrap-server", self.bootstrap_servers, *arguments)


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundled]:
    from kafka_tools.broker_embedded import EmbeddedBroker

    with EmbeddedBroker(data_dir=tmp_path_factory.mktemp("bundled") / "data") as broker:
        yield Bundled(broker.bootstrap_servers)


@pytest.mark.parametrize(
    "cluster, scenario",
    [
        (cluster, scenario)
        for cluster in ("bundled", "kafka_43", "kafka_43_three", "kafka_39_zk")
        for scenario in SCENARIOS
        if scenario not in NOT_EVERYWHERE or cluster in NOT_EVERYWHERE[scenario]
    ],
)
def test_text_and_status_are_those_of_kafkas_tool(
    request: pytest.FixtureRequest, cluster: str, scenario: str, tmp_path: Path
) -> None:
    kafka: RealKafka = request.getfixturevalue(cluster)
    prepare(kafka)
    lines, named = SCENARIOS[scenario], places(kafka, tmp_path)
    our = [run(ours, kafka, line, named) for line in lines]
    their = [run(theirs, kafka, line, named) for line in lines]
    compare(kafka, f"{cluster}, {scenario}", lines, our, their)


def test_text_and_status_beside_brokers_that_kafkas_tool_cannot_change(kafka_22: RealKafka, tmp_path: Path) -> None:
    prepare(kafka_22)
    named = places(kafka_22, tmp_path)
    both = [(run(ours, kafka_22, line, named), run(theirs, kafka_22, line, named)) for line in BEFORE_2_3]
    compare(kafka_22, "kafka_22", BEFORE_2_3, *zip(*both, strict=True))


def test_text_and_status_beside_controllers(kafka_43: RealKafka, tmp_path: Path) -> None:
    prepare(kafka_43)
    address = ("--bootstrap-controller", kafka_43.bootstrap_controllers)
    our = [ours(kafka_43, "configs", *address, *shlex.split(line.text), connect=False) for line in CONTROLLERS]
    their = [
        kafka_43.tool(MAIN["configs"], *address, *shlex.split(line.text), release=RELEASE, connect=False)
        for line in CONTROLLERS
    ]
    compare(kafka_43, "kafka_43, controllers", CONTROLLERS, our, their)
