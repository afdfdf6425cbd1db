"""What a misspelt name may have meant."""

from __future__ import annotations

import pytest

from kafka_tools.texts.near_names import did_you_mean, near_names

KNOWN = ("retention.ms", "retention.bytes", "producer_byte_rate", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("retenton.ms", ["retention.ms"]),
        ("retention_ms", ["retention.ms"]),
        ("producer.byte.rate", ["producer_byte_rate"]),
        ("scram-sha-265", ["SCRAM-SHA-256", "SCRAM-SHA-512"]),
        ("flush.ms", []),
        ("retention.ms", []),
    ],
)
def test_case_and_separators_count_nothing(name: str, near: list[str]) -> None:
    assert near_names(name, KNOWN) == near


def test_the_question_names_each_once_and_as_many_as_were_asked_for() -> None:
    assert did_you_mean(["retenton.ms", "retention_ms"], KNOWN) == "did you mean retention.ms?"
    assert did_you_mean(["scram-sha-265"], KNOWN, most=1) == "did you mean SCRAM-SHA-256?"
    assert did_you_mean(["flush.ms"], KNOWN) is None
