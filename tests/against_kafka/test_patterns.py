"""A seeded part of ``pattern_comparison``: clients' regular expressions are taken and matched as by Kafka's RE2/J."""

from __future__ import annotations

from pathlib import Path

from tests.against_kafka.pattern_comparison import compare, patterns


def test_the_same_patterns_are_taken_and_match_the_same_names(tmp_path: Path) -> None:
    counts, differences = compare(tmp_path, patterns(1, 1500))
    assert differences == []
    assert counts["alike: matches"] > 500
    assert counts["alike: refused"] > 500
    assert sum(count for kind, count in counts.items() if not kind.startswith("alike")) < 250
