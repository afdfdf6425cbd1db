"""kafka-configs and Kafka 4.3.1's ConfigCommand, line by line: text and exit status, on real clusters.

Every difference has its reason on the command's page. ``pytest -s`` prints how many lines were tried and equal.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.against_kafka.config_lines import SCENARIOS, Line
from tests.against_kafka.harness import RealKafka
from tests.against_kafka.side_by_side import Ended, done, ours, theirs, write

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands" / "configs.md"
TOPIC = "cmp-a"


def reasons() -> list[str]:
    """What the page lists as differences from Kafka's tool."""
    _, _, section = PAGE.read_text(encoding="utf-8").partition("## Differences from Kafka's tool\n")
    return re.findall(r"^\* (.*)", section.partition("\n## ")[0], re.MULTILINE)


def run_all(
    side: Callable[..., Ended], kafka: RealKafka, lines: tuple[Line, ...], places: dict[str, object]
) -> list[Ended]:
    """Each line of a scenario by one of the tools, in order."""
    return [side(kafka, "configs", *shlex.split(line.text.format(**places))) for line in lines]


def outcome(ended: Ended, line: Line) -> tuple[int, str]:
    """What scripts see: the exit status and standard output."""
    return ended.returncode, "\n".join(sorted(ended.stdout.splitlines())) if line.sort else ended.stdout


def places(kafka: RealKafka, folder: Path) -> dict[str, object]:
    """What the lines name: files, and loggers that the cluster has."""
    listed = done(theirs(kafka, "configs", "--describe", "--broker-logger", 1))
    loggers = [name for name in re.findall(r"^  (\S+)=", listed, re.MULTILINE) if name != "root"]
    return {
        "file": write(folder, "# comment\nretention.ms : 700000\nflush.ms=9\n"),
        "quick": write(folder, "default.api.timeout.ms=5000\nrequest.timeout.ms=4000\n"),
        "logger": loggers[0],
        "other": loggers[1],
    }


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("cluster", ["kafka_43", "kafka_43_three", "kafka_39_zk"])
def test_text_and_status_are_those_of_kafkas_tool(
    request: pytest.FixtureRequest, cluster: str, scenario: str, tmp_path: Path
) -> None:
    kafka: RealKafka = request.getfixturevalue(cluster)
    done(ours(kafka, "topics", "--create", "--topic", TOPIC, "--if-not-exists", "--partitions", 1))
    lines = SCENARIOS[scenario]
    named = places(kafka, tmp_path)
    our, their = (run_all(side, kafka, lines, named) for side in (ours, theirs))
    explained = reasons()
    wrong = []
    equal = 0
    for line, mine, other in zip(lines, our, their, strict=True):
        same = outcome(mine, line) == outcome(other, line)
        equal += same
        if same != (not line.differs):
            wrong.append((line, mine, other))
        assert not line.differs or any(line.differs in reason for reason in explained), line
    print(f"{cluster}, {scenario}: {len(lines)} lines, {equal} equal, {len(lines) - equal} different")
    assert not wrong, wrong[0]
