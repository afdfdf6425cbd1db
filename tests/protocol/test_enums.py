"""Kafka's words and numbers stand once: in protocol/enums.py, the error table and the definitions, nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from kafka_tools.broker_embedded.partitions.produce_rules import RejectedBatch
from kafka_tools.broker_embedded.refusals import default_error, default_message, error_for
from kafka_tools.net.broker_errors import broker_error
from kafka_tools.protocol import enums, error_codes, registry

PACKAGE = Path(enums.__file__).parent.parent
FAMILIES = enums.Words.__subclasses__()
TOPICS = {*enums.INTERNAL_TOPICS, enums.CLUSTER_METADATA, enums.REMOTE_LOG_METADATA}
TEXT_FAMILIES = {
    **{family.__name__: family.all for family in enums.Texts.__subclasses__()},
    **{family.__name__: tuple(family.known()) for family in FAMILIES},
    "CODECS": enums.CODECS,
    "TIMESTAMP_TYPES": tuple(enums.TIMESTAMP_TYPES.values()),
}
ERROR_NAMES = {"code", "error", "error_code", "top_level_error"}
TAKE_CODES = {
    each.__name__
    for each in (broker_error, error_codes.error, error_for, default_error, default_message, RejectedBatch)
}
"""Functions and classes whose first argument is an error code."""
API_NAMES = {row.stem.upper(): row.key for row in registry.rows()}


@cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    """(path in the package, syntax tree) of every module but the homes of words, codes and keys."""
    homes = {"protocol/enums.py", "protocol/error_codes.py", "protocol/_index.py"}
    paths = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    return tuple(
        (path, ast.parse((PACKAGE / path).read_text(encoding="utf-8")))
        for path in paths
        if path not in homes and not path.startswith(("protocol/messages/", "protocol/stored/"))
    )


def number_in(node: ast.expr | None) -> int | None:
    """The number that stands there as a literal; None for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = number_in(node.operand)
        return None if number is None else -number
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def same(word: object, other: str) -> bool:
    return isinstance(word, str) and word.upper().replace("-", "_") == other.upper()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_family_has_each_number_once(family: type[enums.Words]) -> None:
    assert len(family.numbers) == len(family.words)
    assert all(family.word(number) == name for name, number in family.numbers.items())
    assert family.word(99) == "UNKNOWN(99)"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_word_says_its_number_also_if_it_is_unknown(family: type[enums.Words]) -> None:
    assert all(family.number(family.word(number)) == number for number in range(-128, 128))
    assert [family.number(text) for text in ("", "UNKNOWN()", "UNKNOWN(x)", "UNKNOWN(99", "99", "UNKNOWN(+99)")] == [
        None
    ] * 6


def copied_words(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, what) of each literal that writes down words of a family again, with their numbers or in their order."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            pairs = [
                (key.value if isinstance(key, ast.Constant) else None, number_in(value))
                for key, value in zip(node.keys, node.values, strict=True)
            ]
            turned = [
                (value.value if isinstance(value, ast.Constant) else None, number_in(key))
                for key, value in zip(node.keys, node.values, strict=True)
            ]
            for family in FAMILIES:
                for form in (pairs, turned):
                    known = [(word, number) for name, number in family.numbers.items() for word, at in form
                             if same(word, name) and at == number]  # fmt: skip
                    if len(known) > 1:
                        yield node.lineno, f"{family.__name__} with numbers"
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            texts = [item.value if isinstance(item, ast.Constant) else None for item in node.elts]
            for name, words in TEXT_FAMILIES.items():
                if len(words) > 2 and len(texts) > 2:
                    found = [text for text in texts if isinstance(text, str) and any(same(text, w) for w in words)]
                    if len(found) == len(words) and len(found) == len(texts):
                        yield node.lineno, f"all of {name}"
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple | ast.Name):
            targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else [node.targets[0]]
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            named = [(target.id.strip("_"), number_in(value)) for target, value in zip(targets, values, strict=False)
                     if isinstance(target, ast.Name)]  # fmt: skip
            for family in FAMILIES:
                if (len(named) > 1 or any("_" in word for word, _ in named)) and all(
                    number is not None and family.numbers.get(word) == number for word, number in named
                ):
                    yield node.lineno, f"{family.__name__} with numbers"


def test_words_are_written_once() -> None:
    found = [f"{path}:{line}: {what}" for path, tree in modules() for line, what in copied_words(tree)]
    assert not found


def test_names_of_kafkas_own_topics_are_written_once() -> None:
    found = {
        f"{path}:{node.lineno}"
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.removesuffix("-0") in TOPICS
    }
    assert not found


def bare_codes(tree: ast.Module) -> Iterator[int]:
    """Lines in which the number of an error stands where a name of the error table belongs."""

    def is_code(node: ast.expr) -> bool:
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        return name in ERROR_NAMES

    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and is_code(node.left):
            for item in node.comparators:
                items = item.elts if isinstance(item, ast.Tuple | ast.List | ast.Set) else [item]
                if any(number_in(one) is not None for one in items):
                    yield node.lineno
        if isinstance(node, ast.keyword) and node.arg in ("error_code", "top_level_error"):
            choices = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
            if any(number_in(one) is not None for one in choices):
                yield node.value.lineno
        if isinstance(node, ast.Assign) and number_in(node.value) is not None:
            yield from (node.lineno for target in node.targets if getattr(target, "attr", "") == "error_code")
        if isinstance(node, ast.Call) and node.args and number_in(node.args[0]) is not None:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in TAKE_CODES and number_in(node.args[0]) in CODES:
                yield node.lineno


CODES = {row.code for row in error_codes.all_codes()}


def _is_key(node: ast.expr) -> bool:
    """An API's key, by the names under which it goes around."""
    return (isinstance(node, ast.Attribute) and node.attr in ("API_KEY", "api_key")) or (
        isinstance(node, ast.Name) and node.id in ("key", "api_key")
    )


def bare_keys(tree: ast.Module) -> Iterator[int]:
    """Lines in which the number of an API stands where its definition or its name in the index belongs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and _is_key(node.left):
            for item in node.comparators:
                items = item.elts if isinstance(item, ast.Tuple | ast.List | ast.Set) else [item]
                if any(number_in(one) is not None for one in items):
                    yield node.lineno
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for one, value in zip(targets, values, strict=False):
                number = number_in(value)
                if isinstance(one, ast.Name) and number is not None and API_NAMES.get(one.id.strip("_")) == number:
                    yield node.lineno
        if isinstance(node, ast.Call) and node.args and number_in(node.args[0]) is not None:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("api", "find_row", "row_by_key"):
                yield node.lineno


def test_no_error_code_stands_without_its_name() -> None:
    assert not [f"{path}:{line}" for path, tree in modules() for line in bare_codes(tree)]


def test_no_api_number_stands_outside_the_definitions() -> None:
    assert not [f"{path}:{line}" for path, tree in modules() for line in bare_keys(tree)]


@pytest.mark.parametrize(
    ("source", "finds"),
    [
        ('TYPES = {"topic": 2, "broker": 4}', copied_words),
        ('SOURCES = {1: "DYNAMIC_TOPIC_CONFIG", 2: "DYNAMIC_BROKER_CONFIG"}', copied_words),
        ('CODECS = ("none", "gzip", "snappy", "lz4", "zstd")', copied_words),
        ("EXACT, DEFAULT = 0, 1", copied_words),
        ("READ_COMMITTED = 1", copied_words),
        ("if answer.error_code == 3: pass", bare_codes),
        ("if code in (14, 15): pass", bare_codes),
        ("Answer(error_code=0 if sound else OTHER)", bare_codes),
        ("answer.error_code = 7", bare_codes),
        ("broker_error(41, text)", bare_codes),
        ("PRODUCE, VOTE = 0, 52", bare_keys),
        ("if request.API_KEY == 18: pass", bare_keys),
        ("if request.API_KEY in (43, 45): pass", bare_keys),
        ("if key not in (17, 36): pass", bare_keys),
        ("api(3)", bare_keys),
    ],
)
def test_the_finders_find(source: str, finds: object) -> None:
    assert callable(finds)
    assert list(finds(ast.parse(source))), source
