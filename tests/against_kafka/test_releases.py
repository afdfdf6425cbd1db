"""The tables that are Kafka's own are what the jars of its releases say (``python -m tests.regen release``)."""

from __future__ import annotations

import pytest

from tests.against_kafka.jars import BEFORE, NEWEST
from tests.releases import decisions, facts, tables


@pytest.mark.parametrize("release", [NEWEST, BEFORE, "3.9.2"])
def test_a_release_that_was_followed_changes_nothing(release: str) -> None:
    assert [path.name for path, _ in tables.changes(facts.of(release))] == []


def test_of_the_newest_release_nothing_is_left_to_decide() -> None:
    """But for the texts of help pages: ours are written in our own words."""
    said = facts.of(NEWEST)
    left = [*decisions.of_messages(said), *decisions.of_apis(said), *decisions.of_errors(said)]
    assert [*left, *decisions.of_configs(said), *decisions.of_options(said)] == []
