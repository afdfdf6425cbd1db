"""Patterns of topic names: Python's meaning, in linear time, or in bounded time where only Python knows them."""

from __future__ import annotations

import random
import re
import signal

import pytest

from kafka_tools.errors import InputError
from kafka_tools.texts import name_patterns
from kafka_tools.texts.name_patterns import NamePattern

PARTS = ("a", "b", ".", r"\.", "[ab]", "[^a]", "(a|b)", "(?:ab)", r"\w", r"\d", "-", "_", "^", "$", "(?=a)", r"\b")
ENDS = ("", "", "", "*", "+", "?", "{2}", "{1,3}", "*?", "++", "{,2}")


@pytest.mark.parametrize(
    "text", ["(a+)+b", "(a|a)*b", "(.*)*x", ".*.*.*.*.*.*.*x", "(a*)*(a*)*(a*)*b", "((a+)+)+(?:b|c)"]
)
def test_repetitions_within_each_other_take_no_time(text: str) -> None:
    pattern = NamePattern(text)
    assert not pattern.fullmatch("a" * 249)
    assert pattern.fullmatch("a" * 247 + ("x" if "x" in text else "b"))


@pytest.mark.parametrize("text", ["(?!__)(a+)+b", r"(a+)+\1c", "(?=a)(a|aa)+b"])
def test_what_only_python_knows_ends_with_one_line(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_patterns, "MOST_S", 0.05)
    before, rings = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)[0] > 0
    pattern = NamePattern(text)
    with pytest.raises(InputError, match=r"takes longer than 0\.05 s to match the name of a topic"):
        pattern.fullmatch("a" * 249)
    assert signal.getsignal(signal.SIGALRM) == before
    assert (signal.getitimer(signal.ITIMER_REAL)[0] > 0) == rings, "the alarm of others goes on"


def test_a_lookahead_is_taken() -> None:
    pattern = NamePattern("(?!__).*")
    assert [name for name in ("orders", "__consumer_offsets") if pattern.fullmatch(name)] == ["orders"]


def test_names_match_as_for_python() -> None:
    chance = random.Random(14)
    names = ["".join(chance.choices("ab.-_1", k=chance.randrange(1, 7))) for _ in range(40)]
    compared = 0
    for _ in range(2_000):
        text = "".join(chance.choice(PARTS) + chance.choice(ENDS) for _ in range(chance.randrange(1, 6)))
        try:
            expected = re.compile(text)
        except re.error:
            with pytest.raises(re.error):
                NamePattern(text)
            continue
        pattern = NamePattern(text)
        for name in names:
            assert pattern.fullmatch(name) == (expected.fullmatch(name) is not None), (text, name)
        compared += 1
    assert compared > 1_000
