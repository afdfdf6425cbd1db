"""The documentation is true: its commands, links, pages and tables."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from kafka_tools import KAFKA_RELEASE, cli
from tests.prose import long_sentences, sentences

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")])
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)


def readme_command(ends_with: str) -> str:
    """The one line of the README that ends so."""
    blocks = FENCE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    lines = [line.strip() for block in blocks for line in block.splitlines() if line.strip().endswith(ends_with)]
    assert len(lines) == 1, lines
    return lines[0]


def test_ci_runs_exactly_the_readmes_test_command() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (quoted,) = re.findall(r"^readonly TEST_COMMAND=(.*)$", script, re.MULTILINE)
    (command,) = shlex.split(quoted)
    assert command == readme_command("python -m pytest")


def test_readmes_commands_need_a_python_and_nothing_else() -> None:
    for command in (readme_command("kafka-tools tour"), readme_command("python -m pytest")):
        first, second, _ = command.split(" && ")
        assert first == "python3 -m venv .venv"
        assert second.startswith(".venv/bin/pip install ")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if target.startswith(("https://", "http://", "#")):
            continue
        path, _, anchor = target.partition("#")
        assert (page.parent / path).exists(), f"{target} is not there"
        if anchor:
            assert anchor in anchors(page.parent / path), f"{target} has no such heading"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_a_page_that_names_its_options(name: str) -> None:
    page = ROOT / "docs" / "commands" / f"{name}.md"
    assert page.exists(), f"write docs/commands/{name}.md, as the other commands' pages are"
    text = page.read_text(encoding="utf-8") + (ROOT / "docs" / "connecting.md").read_text(encoding="utf-8")
    for command in leaves(cli.load(name)):
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden and parameter.name != "help":
                assert any(spelling in text for spelling in parameter.opts), f"{parameter.opts} is not on {page.name}"


def leaves(command: click.Command) -> list[click.Command]:
    """The command, or the ones below it."""
    if isinstance(command, click.Group):
        return [leaf for below in command.commands.values() for leaf in leaves(below)]
    return [command]


def test_readme_lists_every_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in cli.COMMANDS if not re.search(rf"(?:kafka-|kafka-tools ){name}\b", text)] == []


def test_decisions_name_each_requirement_once() -> None:
    rows = re.findall(
        r"^\| ([A-Z][A-Z0-9-]*-[A-Za-z]?\d+[a-z]?|[A-Z]+) \|", (ROOT / "docs/decisions.md").read_text(), re.M
    )
    assert rows
    assert len(rows) == len(set(rows))


def test_the_newest_release_is_named_in_one_place() -> None:
    """Code and tests take it from ``kafka_tools``; the pages that name it are written by hand or by ``tests.regen``."""
    assert f"follow the tools of Kafka {KAFKA_RELEASE}" in (ROOT / "README.md").read_text(encoding="utf-8")
    named = {
        str(path.relative_to(ROOT))
        for folder in ("kafka_tools", "tests", "benchmarks", "docs")
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in (".py", ".md") and KAFKA_RELEASE in path.read_text(encoding="utf-8")
    }
    examples = {"tests/regen.py", "tests/corpus/collect.py", "tests/corpus/README.md"}
    assert {name for name in named if not name.startswith("tests/releases/")} - examples == {
        "kafka_tools/__init__.py",
        "tests/against_kafka/jars.py",
        "docs/broker-apis.md",
    }


def test_the_index_of_documents_names_each_of_them() -> None:
    text = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    named = {(ROOT / "docs" / target.partition("#")[0]).resolve() for target in LINK.findall(text)}
    pages = {page for page in PAGES if page.parent != ROOT / "docs" / "commands"} - {ROOT / "docs" / "README.md"}
    assert {page.name for page in pages - named} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_of_prose_fit_a_page(page: Path) -> None:
    prose = FENCE.sub("", page.read_text(encoding="utf-8")).splitlines()
    assert [line[:60] for line in prose if len(line) > 120 and not line.startswith(("|", "<!--"))] == []


LONG_SENTENCES = {
    "docs/protocol.md": 9,
    "docs/requirements.md": 11,
}
"""How many sentences of a page may have more than 30 words, where it is not 0. These numbers only become smaller."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_long_sentences_are_few(page: Path) -> None:
    found = long_sentences(page.read_text(encoding="utf-8"))
    assert len(found) <= LONG_SENTENCES.get(str(page.relative_to(ROOT)), 0), "\n".join(found)


def test_sentences_are_found_in_every_part_of_a_page() -> None:
    page = """# A title

One `a b c` and [two words](x.md). Three?

- an item
  of two lines
1. **Four.** Five

| a head | b \\| c |
```
no prose. at all
```
<!-- none. here -->
"""
    prose = ["One `code` and two words.", "Three?", "an item of two lines", "Four.", "Five"]
    assert sentences(page) == ["A title", *prose, "a head", "b \\| c"]


def test_files_that_contributors_are_sent_to_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    below = ("", "kafka_tools", "kafka_tools/broker_embedded", "kafka_tools/spark", "kafka_tools/config_definitions",
             "kafka_tools/storage", "tests/against_kafka")  # fmt: skip
    places = [place for place in re.findall(r"`([\w./*]+/[\w./*]*|[\w]+\.(?:py|toml|md))`", text) if "<" not in place]
    assert len(places) > 20
    assert [each for each in places if not any([*(ROOT / root).glob(each)] for root in below)] == []


def test_the_changelog_is_ordered_by_version_and_area() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for version in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        assert re.match(r"\d+\.\d+\.\d+ \((unreleased|\d{4}-\d{2}-\d{2})\)\n", version)
        areas = re.findall(r"^### (.*)$", version, re.MULTILINE)
        assert areas
        assert len(areas) == len(set(areas))


def test_the_contents_of_architecture_are_its_headings() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[0] == "Contents"
    assert re.findall(r"^- \[(.*)\]\(#", text, re.MULTILINE)[: len(headings) - 1] == headings[1:]


def test_the_flows_of_architecture_are_counted_right() -> None:
    counted, body = re.findall(r"^## (\w+) flows\n(.*?)^## ", (ROOT / "ARCHITECTURE.md").read_text(), re.M | re.S)[0]
    numbers = ["Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"]
    assert numbers.index(counted) == len(re.findall(r"^\*\*", body, re.MULTILINE))


def test_every_stand_in_for_a_broker_has_its_reason_in_contributing() -> None:
    told = set(
        re.findall(r"^\| `(tests/[^`]*)` \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    made = re.compile(r"^class (?:Fake|Scripted|Virtual|Memory|Stub|Mock|Disk)\w*[:(]", re.MULTILINE)
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("*.py")
        if made.search(path.read_text(encoding="utf-8"))
    }
    assert found == told
