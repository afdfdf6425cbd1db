"""Fields say what their names do not: unit, special values, who sets them. Stored records say who writes them and when.

A comment is one or more whole lines directly above the field or the nested struct, and ends with a full stop.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator
from importlib import import_module

import pytest

from kafka_tools.protocol.fields import NO_VERSIONS
from kafka_tools.protocol.schema import Stored, Struct, nested_structs
from tests.protocol import definition_texts

SHARE = {"messages": 0.77, "stored": 0.85}
"""Folder -> how many of its fields have a comment at least. The others have names that say everything."""

MODULES = [(folder, stem) for folder in SHARE for stem in definition_texts.modules(folder)]
STOP_WORDS = {
    "a",
    "an",
    "and",
    "for",
    "in",
    "is",
    "its",
    "of",
    "on",
    "or",
    "that",
    "the",
    "this",
    "to",
    "which",
    "with",
}


def words(text: str) -> set[str]:
    """The words of a text or a name without those that say nothing, in the singular and in lower case."""
    split = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", text.replace("'s", ""))
    return {word.lower() if len(word) < 3 else word.lower().removesuffix("s") for word in split} - STOP_WORDS


def commented(folder: str, stem: str) -> Iterator[tuple[str, str]]:
    """(name, comment) of the fields and structs of a module that have one."""
    texts = {**definition_texts.fields(folder, stem), **definition_texts.structs(folder, stem)}
    return ((name, comment) for name, comment in texts.items() if comment)


@pytest.mark.parametrize("folder", SHARE)
def test_most_fields_have_a_comment(folder: str) -> None:
    comments = [
        comment
        for stem in definition_texts.modules(folder)
        for comment in definition_texts.fields(folder, stem).values()
    ]
    assert len(list(filter(None, comments))) >= SHARE[folder] * len(comments)


def structs(folder: str, stem: str) -> Iterator[type[Struct]]:
    """Every struct that a module defines, as deep as they are nested."""
    module = import_module(f"kafka_tools.protocol.{folder}.{stem}")
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, Struct) and value.__module__ == module.__name__:
            yield from (struct for struct in nested_structs(value) if struct.__module__ == module.__name__)


@pytest.mark.parametrize(("folder", "stem"), MODULES)
def test_null_and_negative_defaults_are_explained(folder: str, stem: str) -> None:
    """A default such as int64's largest or false is a value like others; -1 and null are none of the field's own."""
    comments = definition_texts.fields(folder, stem)
    special = {
        f"{struct.__qualname__}.{field.name}"
        for struct in structs(folder, stem)
        for field in struct.FIELDS
        if field.nullable != NO_VERSIONS or (isinstance(field.default, int) and field.default < 0)
    }
    assert [name for name in sorted(special) if not comments[name]] == []


@pytest.mark.parametrize(("folder", "stem"), MODULES)
def test_a_comment_says_more_than_the_name(folder: str, stem: str) -> None:
    repeated = [name for name, comment in commented(folder, stem) if words(comment) <= words(name.split(".")[-1])]
    assert repeated == []


@pytest.mark.parametrize(("folder", "stem"), MODULES)
def test_a_comment_is_sentences(folder: str, stem: str) -> None:
    assert [name for name, comment in commented(folder, stem) if not comment.endswith(".")] == []


@pytest.mark.parametrize(("folder", "stem"), MODULES)
def test_comments_stand_above_what_they_explain(folder: str, stem: str) -> None:
    """Where ``docs/protocol.md`` finds them: not behind a field, and not above a blank line."""
    with (definition_texts.PROTOCOL / folder / f"{stem}.py").open(encoding="utf-8") as source:
        tokens = list(tokenize.generate_tokens(source.readline))
    lost = []
    for token in tokens:
        if token.type == tokenize.COMMENT:
            below = next(each for each in tokens if each.start[0] > token.start[0])
            if token.line[: token.start[1]].strip() or below.type not in (
                tokenize.NAME,
                tokenize.COMMENT,
                tokenize.INDENT,
                tokenize.DEDENT,
            ):
                lost.append(f"{token.start[0]}: {token.string}")
    assert lost == []


RECORDS = [
    value
    for stem in definition_texts.modules("stored")
    for value in vars(import_module(f"kafka_tools.protocol.stored.{stem}")).values()
    if isinstance(value, type) and issubclass(value, Stored) and value is not Stored
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_a_record_says_more_than_its_name(record: type[Stored]) -> None:
    text = record.__doc__ or ""
    assert len(words(text) - words(record.__name__) - {"record", "key", "value", "type"}) >= 3
    if not record.__name__.endswith(("Key", "Schema")):
        assert re.search(r"\b(?:writes?|wrote|appends|puts|kept|sent|received)\b", text), "who writes it and when"
