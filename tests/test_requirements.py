"""docs/requirements.md is whole, true, and has ever fewer open rows."""

from __future__ import annotations

import re

from tests import requirements

MOST_OPEN = 11
"""How many are open. It may only shrink."""


def test_every_requirement_that_a_test_or_a_decision_names_is_on_the_page() -> None:
    named = set(requirements.tests_by_requirement()) | requirements.decided()
    assert named - set(requirements.required()) == set()


def test_no_requirement_stands_twice() -> None:
    ids = requirements.required()
    assert len(ids) == len(set(ids)) == 904 + 14


def test_what_is_decided_is_not_open_and_what_is_partly_shown_is_named() -> None:
    assert requirements.PARTLY.keys() & requirements.decided() == set()
    assert requirements.tests_by_requirement().keys() >= requirements.PARTLY.keys()


def test_open_requirements_only_become_fewer() -> None:
    still = [id for id, state in requirements.states().items() if state == "**open**" and not id.startswith("EASY-")]
    assert len(still) <= MOST_OPEN, "docs/requirements.md: a requirement lost its test"
    assert len(still) == MOST_OPEN, f"fewer are open: set MOST_OPEN to {len(still)}"


def test_repeated_rows_point_at_rows() -> None:
    ids = set(requirements.required())
    rows = [line for line in requirements.PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| EASY-")]
    for row in rows:
        match = re.search(r"\(Repeats ([^.]*)\.\)", row)
        assert match and set(match[1].split(", ")) <= ids, row
