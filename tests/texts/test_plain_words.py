"""Help, messages, schemas and pages are written in plain words: better phrases, how options begin, long sentences.

CONTRIBUTING says the rules. A page is compared when ``PAGES`` names it: add a page once it is written by them.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kafka_tools import cli

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = (
    *("commands", "output", "texts", "admin", "net", "clients", "zookeeper", "dump"),
    *("broker_embedded", "storage", "records", "spark", "config_definitions"),
)
"""Packages below ``kafka_tools/`` whose messages are compared."""
COMMANDS = sorted((ROOT / "docs" / "commands").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *COMMANDS] + [
    ROOT / "docs" / f"{name}.md"
    for name in ("audit-at-scale", "broker-apis", "broker-configs", "connecting", "faults", "output", "python-api")
]
"""Pages that are compared."""

BETTER = {
    r"may be repeated": "can be repeated",
    r"(?:is|are) expected": "expected X, as in: invalid --time 'x': expected FROM:TO",
    r"(?:is|are) there\b(?! (?:a|an|any|no)\b)": "exists, or name the place",
    r"may stand|stands? there": "is allowed",
    r"(?:is|are) to be(?! to)": "must be, or the imperative",
    r"(?:that|which|those) (?:is|are) none": "no X exists",
    r"cannot be made|could not be made": "cannot create X",
    r"cannot be read(?! by)": "cannot read X",
    r"there is nothing to": "nothing to X",
    r"at once": "immediately, or: at the same time",
    r"under way": "in progress",
    r"(?:is|are) told": "name who tells whom",
    r"(?:is|are) said(?: so)?": "name who prints it",
    r"gives? up what": "cancel",
    r"puts? right": "repair",
    r"lies? in": "is in, or: contains",
    r"wins? over": "overrides",
    r"passed over": "ignored",
    r"for ever": "forever",
    r"without (?:a port|it) .{0,30}is taken": "defaults to",
    r"(?:only )?goes with --": "can only be used with",
    r"excludes? each other": "cannot be combined",
    r"so many (?:bytes|records|partitions|files)": "this number of",
    r"who(?:ever)? wants": "you can, or: to do X",
    r"have .{3,30} judged|is judged by": "validate",
    r"look at what": "check",
    r"nothing is asked": "no confirmation is asked for",
    r"the one or the other": "name both",
    r"brought (?:it|them)": "new in Kafka X",
    r"anew": "again",
    r"(?:is|are) that of|(?:is|are) those of": "matches, or name the thing again",
    r"which is no\b|(?:is|are) none of": "is not a, is not one of",
    r"that may be": "the maximum of",
    r"byte by byte": "unchanged",
    r"in the last moments": "shortly before",
    r"(?:do|does) not tell|(?:is|are) not told": "do not report",
    r"how far .{3,30} reach(?:es)?": "name the offset",
    r"for good": "permanently",
}
"""Phrases that take two readings -> what to write instead."""

_PHRASES = {re.compile(rf"\b(?:{phrase})\b" if phrase[-1].isalpha() else rf"\b(?:{phrase})", re.IGNORECASE): better
            for phrase, better in BETTER.items()}  # fmt: skip
_NOT_FIRST = {
    "A", "An", "As", "For", "How", "If", "In", "It", "Its", "May", "No", "None", "On", "One", "Said", "So", "That",
    "The", "These", "Those", "To", "What", "When", "Where", "Which", "Who", "Whose", "With", "Within", "Without",
}  # fmt: skip
"""Words that begin neither a verb nor a noun phrase that names its thing."""
_MOST_WORDS = 30
SCHEMAS = sorted((ROOT / "schemas").glob("*.json"))
_RIDDLES = re.compile(
    r"^(?:What|Who|Whom|Where|When|Those|Its)\b|; null: |\b(?:told|tells|looked at|sound|as they are to be)\b"
)
"""What no description of a member contains: it begins with a noun, and says ``null if``."""
_KAFKAS_TEXTS = "output/kafka/"


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command and subcommand with what users type for it."""
    for name in sorted(cli.COMMANDS):
        waiting = [(name, cli.load(name))]
        while waiting:
            path, command = waiting.pop()
            waiting += [(f"{path} {each}", below) for each, below in getattr(command, "commands", {}).items()]
            yield path, command


def helps() -> Iterator[tuple[str, str]]:
    """Every text of a help page with its place: those of commands and of options."""
    for path, command in commands():
        yield path, command.help or ""
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.help:
                yield f"{path} {parameter.opts[-1]}", parameter.help


def messages() -> Iterator[tuple[str, str]]:
    """Every text of the packages that is no docstring and has a blank, with its place."""
    for package in PACKAGES:
        for path in sorted((ROOT / "kafka_tools" / package).rglob("*.py")):
            place = path.relative_to(ROOT / "kafka_tools")
            if not str(place).startswith(_KAFKAS_TEXTS):
                for line, text in texts(path.read_text(encoding="utf-8")):
                    yield f"{place}:{line}", text


def texts(source: str) -> Iterator[tuple[int, str]]:
    """The strings of a module with a blank in them, f-strings with ``{}`` for each value; no docstrings."""
    tree = ast.parse(source)
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            skipped |= {id(part) for part in node.values}
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            if " " not in node.value:
                continue
            yield node.lineno, node.value


def descriptions(part: object) -> Iterator[str]:
    """The descriptions in a part of a schema."""
    if isinstance(part, dict):
        if isinstance(text := part.get("description"), str):
            yield text
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from descriptions(each)


def found(text: str) -> list[str]:
    """The phrases of a text that have a better one, each with it."""
    plain = " ".join(text.split())
    return [f"'{match[0]}': {better}" for phrase, better in _PHRASES.items() if (match := phrase.search(plain))]


def prose(page: str) -> str:
    """A page without its examples, code and comments."""
    return re.sub(r"```.*?```|`[^`\n]*`|<!--.*?-->", "", page, flags=re.DOTALL)


def sentences(text: str) -> list[str]:
    """The sentences of a help text; braces and brackets of an example count as one word."""
    shortened = re.sub(r"\{.*\}|\[default:[^\]]*\]|\([^)]*\)", "X", " ".join(text.split()))
    return re.split(r"(?<=[.;:])\s", shortened)


def test_help_has_no_phrase_that_takes_two_readings() -> None:
    assert [f"{place}: {each}" for place, text in helps() for each in found(text)] == []


def test_no_message_has_a_phrase_that_takes_two_readings() -> None:
    assert [f"{place}: {each}" for place, text in messages() for each in found(text)] == []


def test_no_schema_has_a_phrase_that_takes_two_readings() -> None:
    described = [(path.name, text) for path in SCHEMAS for text in descriptions(json.loads(path.read_text("utf-8")))]
    assert [f"{name}: {each} ... {text}" for name, text in described for each in found(text)] == []
    assert [f"{name}: {text}" for name, text in described if _RIDDLES.search(text)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_a_phrase_that_takes_two_readings(page: Path) -> None:
    paragraphs = prose(page.read_text(encoding="utf-8")).split("\n\n")
    assert [f"{each} ... {' '.join(text.split())[:100]}" for text in paragraphs for each in found(text)] == []


def test_the_help_of_an_option_begins_with_a_verb_or_a_noun() -> None:
    begins = {place: text.split()[0] for place, text in helps() if " --" in place}
    assert len(begins) > 300
    assert {place: word for place, word in begins.items() if word in _NOT_FIRST or not word[0].isupper()} == {}


def test_a_default_is_told_in_brackets() -> None:
    told = re.compile(r"\bdefault(?:s? (?:is|to)|:)? |\(the default\)|; default", re.IGNORECASE)
    apart = [re.sub(r"\[default[^\]]*\]|defaults? to \d+\.|By default,|This is the default", "", text)
             for place, text in helps() if " --" in place]  # fmt: skip
    named = re.compile(
        r"\b(?:Default|default) (?:is|of|value|\w*entity|values|IP)|static and default|override a default"
    )
    assert [text for text in apart if told.search(named.sub("", text))] == []


def test_sentences_of_help_are_short() -> None:
    long = {place: each for place, text in helps() for each in sentences(text) if len(each.split()) > _MOST_WORDS}
    assert {place: each for place, each in long.items() if "\n" not in each} == {}


@pytest.mark.parametrize("page", COMMANDS, ids=lambda page: page.stem)
def test_sentences_of_the_commands_pages_are_short(page: Path) -> None:
    text = re.sub(
        r"```.*?```|<!--.*?-->|^[|#].*?$", "\n\n", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    items = re.split(r"\n\s*\n|\n(?=\s*(?:[*-]|\d+\.) )", re.sub(r"`[^`]*`", "X", text))
    assert [each for item in items for each in sentences(item) if len(each.split()) > _MOST_WORDS] == []


@pytest.mark.parametrize("phrase", ["Two copies lie in it.", "'x' is no time: 30s is expected", "a move is under way"])
def test_the_phrases_are_found(phrase: str) -> None:
    assert found(phrase)


def test_texts_are_found_with_their_lines() -> None:
    module = '"""A docstring of it."""\nraise ValueError(f"no {1} there")\nprint("one two", "x")\n'
    assert sorted(texts(module)) == [(2, "no {} there"), (3, "one two")]
