"""What ``python -m tests.regen release`` prints: what it compared, what it wrote, and what it did not ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kafka_tools
from tests.against_kafka import jars
from tests.releases import decisions, facts, follow, tables
from tests.releases.decisions import Decision, Question
from tests.releases.facts import Facts
from tests.releases.tables import Change, Table


@pytest.fixture(autouse=True)
def followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The product follows 4.4.0; there are two tables and two questions, and nothing is asked of real jars."""
    monkeypatch.setattr(kafka_tools, "KAFKA_RELEASE", "4.4.0")
    monkeypatch.setattr(facts, "of", lambda release: Facts(release, {}, [], [], {}, {}, {}))
    monkeypatch.setattr(tables, "ROOT", tmp_path)

    def versions(_: Facts) -> Iterator[Change]:
        if not (tmp_path / "versions.py").exists():
            yield tmp_path / "versions.py", b"new"

    def configs(_: Facts) -> Iterator[Change]:
        yield from ()

    def options(said: Facts) -> Iterator[Decision]:
        yield "the command topics", f"option --odd of {said.release}'s tool is unknown"

    def rights(_: Facts) -> Iterator[Decision]:
        yield from ()

    def texts(_: Facts) -> Iterator[Decision]:
        yield "the help of topics", "1 sentence differs"

    monkeypatch.setattr(tables, "TABLES", (Table("versions", versions, True), Table("configs", configs)))
    monkeypatch.setattr(decisions, "QUESTIONS", (Question("options", options, True), Question("rights", rights)))
    monkeypatch.setattr(decisions, "TEXTS", Question("help pages", texts))


def test_each_table_has_a_line_that_says_what_was_done_with_it(tmp_path: Path) -> None:
    newest = facts.of("4.4.0")
    assert list(tables.write(newest)) == ["written: versions.py (versions)", "compared, nothing to write: configs"]
    assert (tmp_path / "versions.py").read_bytes() == b"new"
    assert list(tables.write(newest)) == [
        "compared, nothing to write: versions",
        "compared, nothing to write: configs",
    ]


def test_tables_of_the_newest_release_are_not_compared_with_an_older_one() -> None:
    assert list(tables.write(facts.of("3.9.2")))[1] == "not compared: configs (only with 4.4.0)"


def test_each_question_has_a_line_and_help_pages_are_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    decisions.main("4.4.0")
    assert capsys.readouterr().out.splitlines() == [
        "asked: options: 1 to decide",
        "  the command topics: option --odd of 4.4.0's tool is unknown",
        "asked: rights: nothing to decide",
        "asked: help pages: 1 to read",
        "  the help of topics: 1 sentence differs",
        "1 to decide",
    ]


def test_what_was_not_asked_about_an_older_release_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "QUESTIONS", decisions.QUESTIONS[1:])
    decisions.main("3.9.2")
    assert capsys.readouterr().out.splitlines() == [
        "not asked: rights (only about 4.4.0)",
        "not asked: help pages (only about 4.4.0)",
        "nothing to decide",
    ]


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ("3.9.2", "is older than 4.4.0, which the product follows. Only its own facts are compared."),
        ("4.4.0", "is the release that the product follows. Everything is compared."),
        ("4.10.0", "is newer than 4.4.0: the product follows it from now on. Everything is compared."),
    ],
)
def test_the_first_line_says_how_much_is_compared(release: str, said: str) -> None:
    assert follow.scope(release) == f"Kafka {release} {said}"


def test_a_release_that_is_followed_needs_no_row_before_it_can_be_asked() -> None:
    known = ("3.9.2", "4.3.1")
    assert jars.with_newest(known, "4.4.0") == ("3.9.2", "4.3.1", "4.4.0")
    assert jars.with_newest(known, "4.3.1") == known


def test_what_a_tool_logs_is_no_sentence_of_its_help() -> None:
    page = "2026-11-27T00:46:30.584110641Z main ERROR Reconfiguration failed: none at 'null'\nThis tool helps.\n"
    assert decisions._words([page]) == ["This tool helps."]
