"""A seeded part of the comparison of our commands with Kafka's tools."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.against_kafka.compare_commands import differences
from tests.against_kafka.compare_commands.comparison import Report, run
from tests.against_kafka.compare_commands.differences import RULES
from tests.against_kafka.compare_commands.generated import SHAPES, questions
from tests.against_kafka.compare_commands.lines import SCENARIOS
from tests.against_kafka.compare_commands.world import prepare, values
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.test_options import TOOLS, options_listed

QUESTIONS = 40
PAGES = Path(__file__).resolve().parents[2] / "docs" / "commands"


def test_generated_questions_are_answered_as_by_kafkas_tools(
    real_kafka: Callable[[Setup], RealKafka], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    kafka = real_kafka(Setup(NEWEST, properties=(("num.network.threads", "2"),)))  # nobody else's topics and groups
    prepare(kafka)
    report = Report()
    report.add(NEWEST, "generated", run(kafka, questions(7, QUESTIONS), values(kafka, tmp_path)))
    assert report.tried.total() == QUESTIONS
    assert not report.unexplained, "\n".join(report.lines())


@pytest.mark.parametrize("command", SCENARIOS)
def test_every_option_of_kafkas_tool_stands_in_a_line(command: str) -> None:
    texts = [line.text for lines in SCENARIOS.values() for line in lines]
    texts += [" ".join([head, *itertools.chain(*rest)]) for head, rest in SHAPES.items()]
    words = {word for text in texts if text.split()[0] == command for word in text.split()}
    everywhere = {"--bootstrap-server", "--command-config", "--help", "--version", "-h", "-v"}
    assert options_listed(NEWEST, TOOLS[command]) - words <= everywhere


def test_every_reason_stands_on_the_pages_of_its_commands() -> None:
    everywhere = " ".join((PAGES / "README.md").read_text(encoding="utf-8").split())
    for rule in RULES:
        if rule.commands == ".*":
            assert rule.reason in everywhere
        else:
            assert rule.commands in SCENARIOS
            page = (PAGES / f"{rule.commands}.md").read_text(encoding="utf-8")
            assert rule.reason in " ".join(page.partition("## Differences from Kafka's tool")[2].split()), rule


def ended(status: int, out: str, err: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess((), status, out, err)


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (ended(0, "a:0:5\n"), ended(0, "a:0:6\n")),
        (ended(0, "a:0:5\n"), ended(1, "a:0:5\n")),
        (ended(1, "", "it failed\n"), ended(0, "a:0:5\n")),
        (ended(1, "a:0:5\n", "it failed\n"), ended(1, "Error: it failed\n")),
        (ended(2, "", "wrong\n"), ended(0, "a:0:5\n")),
    ],
)
def test_a_difference_in_a_result_has_no_reason(ours: differences.Ended, theirs: differences.Ended) -> None:
    assert differences.reason_for("get-offsets", ours, theirs) is None
