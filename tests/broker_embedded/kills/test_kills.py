"""A few kills of the checker; ``python -m tests.broker_embedded.kills`` is for hundreds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.broker_embedded.kills.checker import Checker


@pytest.mark.parametrize("seed", [1])
def test_killed_again_and_again_nothing_acknowledged_is_lost_or_doubled(tmp_path: Path, seed: int) -> None:
    """Level A of durability: every byte is the kernel's before its acknowledgement."""
    with Checker(tmp_path, seed) as checker:
        assert checker.run(4) == [], checker.lines()
        assert (
            checker.idempotent.acknowledged
            and checker.plain.acknowledged
            and all(each.commits for each in checker.groups.values())
        )
        assert any("committed" in each.outcomes for each in checker.transactions)
