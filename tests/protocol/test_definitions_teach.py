"""What the definition of an API has to tell its reader: what it is for, each version, and when each error comes.

The docstring of a module in ``protocol/messages`` is read, in this form::

    Produce (0): append record batches to partitions.

    Who sends it, who answers, what holds for all versions.

    Versions
        v1: what is new.
    Errors
        NOT_LEADER_OR_FOLLOWER: the broker does not lead the partition (any more).
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from kafka_tools.net.rights import KINDS
from kafka_tools.protocol import error_codes, registry
from tests.protocol import codes_seen
from tests.protocol.definition_texts import errors_told, sections

ROOT = Path(__file__).parent.parent.parent
HANDLERS = ROOT / "kafka_tools" / "broker_embedded" / "handlers"

NAMES = {code.name for code in error_codes.all_codes()}
ROWS = {row.stem: row for row in registry.rows()}


@pytest.mark.parametrize("stem", ROWS)
def test_a_definition_says_what_it_is_for(stem: str) -> None:
    row = ROWS[stem]
    head, _ = sections(stem)
    first, _, more = head.partition("\n")
    assert re.fullmatch(rf"{row.name} \({row.key}\): .{{10,}}\.", first), first
    assert len(more.split()) >= 8, "a sentence on who sends it and who answers"


@pytest.mark.parametrize("stem", ROWS)
def test_a_definition_tells_what_each_version_changes(stem: str) -> None:
    row = ROWS[stem]
    _, found = sections(stem)
    told: set[int] = set()
    for key in found.get("Versions", {}):
        match = re.fullmatch(r"v(\d+)(?:-v?(\d+))?", key)
        assert match, key
        told |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    assert told - {0} == set(range(max(row.min_version, 1), row.max_version + 1)) - {0}


@pytest.mark.parametrize("stem", ROWS)
def test_a_definition_tells_when_each_error_comes(stem: str) -> None:
    _, found = sections(stem)
    errors = found.get("Errors", {})
    assert errors, "every API has errors"
    assert errors_told(stem) <= NAMES, errors_told(stem) - NAMES
    assert all(len(words) > 10 for words in errors.values())


def rights_at_odds(stem: str) -> list[str]:
    """What is wrong between the rights that a request takes and the authorization errors that its definition tells."""
    rights, told = registry.api(stem).request.RIGHTS, errors_told(stem)
    codes = {error_codes.error(code).name: kind for code, kind in KINDS.items()}
    unnamed = [f'{name} without the right in `rights={{"{codes[name]}": ...}}`' for name in codes
               if name in told and codes[name] not in rights]  # fmt: skip
    untold = [f"a right on the {kind} without its error" for name, kind in codes.items()
              if kind in rights and name not in told]  # fmt: skip
    return unnamed + untold + [f"no resource is called {kind}" for kind in rights.keys() - set(codes.values())]


@pytest.mark.parametrize("stem", ROWS)
def test_a_definition_names_the_right_whose_lack_it_tells(stem: str) -> None:
    assert rights_at_odds(stem) == []


def codes_named(path: Path) -> set[str]:
    """The error codes that a source names: ``error_codes.NAME``."""
    return {
        node.attr
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "error_codes"
        and node.attr.isupper()
    }


@pytest.mark.parametrize("stem", sorted(path.stem for path in HANDLERS.glob("[a-z]*.py")))
def test_what_a_handler_answers_is_explained(stem: str) -> None:
    assert codes_named(HANDLERS / f"{stem}.py") - {"NONE"} <= errors_told(stem)


@pytest.mark.parametrize("stem", codes_seen.seen())
def test_what_kafka_was_seen_to_answer_is_explained(stem: str) -> None:
    """On thousands of requests, right and wrong, that the bundled broker is compared by."""
    assert codes_seen.seen()[stem] <= errors_told(stem)


def test_kafka_was_asked_for_all_that_the_bundled_broker_serves() -> None:
    assert len(codes_seen.seen()) > 30
