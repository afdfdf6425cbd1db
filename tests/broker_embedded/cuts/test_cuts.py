"""A few cuts and refusals of the checker; ``python -m tests.broker_embedded.cuts`` cuts power everywhere."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.broker_embedded.cuts.checker import Cuts, recorded, refused
from tests.broker_embedded.cuts.refusals import KINDS

FACTS = {"record", "key", "committed", "ended", "made", "set", "producer id", "transactional id", "sending"}


@pytest.mark.parametrize("seed", [2])
def test_after_a_loss_of_power_everything_that_was_acknowledged_or_shown_is_there(tmp_path: Path, seed: int) -> None:
    made = recorded(tmp_path / "load", seed, 400)
    assert {fact.kind for fact in made.history.facts} >= FACTS
    events = len(made.recorder.events)
    cuts = random.Random(seed).sample(range(events + 1), 40)
    looked = Cuts(made, tmp_path / "images", seed)
    assert looked.check(cuts, 1) == []
    assert looked.images == 40


@pytest.mark.parametrize("kind", KINDS)
def test_a_disk_that_refuses_loses_nothing_that_was_acknowledged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    for number in random.Random(kind).sample(range(1, 120), 2):
        caplog.clear()
        assert refused(tmp_path / str(number), 1, kind, number, 200) == []
        if kind.startswith("unforced"):
            told = [record.getMessage() for record in caplog.records]
            assert [each for each in told if "The broker acknowledges no more writes" in each or "trying again" in each]


def test_without_fsyncs_the_checker_finds_what_is_lost(tmp_path: Path) -> None:
    """It has teeth: a broker that leaves it to the kernel loses what it acknowledged."""
    made = recorded(tmp_path / "load", 1, 200, fsync="kafka")
    assert Cuts(made, tmp_path / "images", 1).check([len(made.recorder.events)], 3)
