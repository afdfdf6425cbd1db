"""A seeded part of ``assignor_comparison``: the server-side assignors give what Kafka's classes give."""

from __future__ import annotations

from pathlib import Path

from tests.against_kafka.assignor_comparison import Comparison
from tests.against_kafka.java_programs import Lines


def test_targets_of_random_groups_are_kafkas(tmp_path: Path) -> None:
    with Lines.start("Assignors", tmp_path) as kafka:
        comparison = Comparison(kafka)
        for seed in [*range(150), 1759, 2317, 3263]:
            comparison.compare(seed)
        told_history = Comparison(kafka, history=True)
        for seed in range(100):
            told_history.compare(seed)
    assert comparison.compared > 800
    assert comparison.differences == []
    assert [line for line in told_history.differences if "how many" in line] == []
