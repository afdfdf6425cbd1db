"""Topic patterns select what Kafka's tools select, and say when that is more than was written."""

from __future__ import annotations

import pytest

from kafka_tools.commands._patterns import TopicPattern
from kafka_tools.errors import UsageError

NAMES = ["a.b", "a_b", "axb", "orders", "orders-2"]


@pytest.mark.parametrize(
    "text, selected",
    [
        ("orders", ["orders"]),
        ("a.b", ["a.b", "a_b", "axb"]),
        (r"a\.b", ["a.b"]),
        ("orders.*", ["orders", "orders-2"]),
        ("orders,axb", ["axb", "orders"]),
        (" 'orders' ", ["orders"]),
        ("order", []),
    ],
)
def test_a_pattern_matches_whole_names_as_in_topic_filter(text, selected) -> None:
    assert TopicPattern(text).select(reversed(NAMES)) == selected


@pytest.mark.parametrize("text", ["*", "a(", r"\p{Alpha}+", "[a-z&&[^b]]", r"\Qa.b\E"])
def test_what_is_no_pattern_here_is_a_usage_error(text) -> None:
    with pytest.raises(UsageError):
        TopicPattern(text)


def test_a_name_with_a_dot_warns_of_the_other_topics_it_selects(capsys) -> None:
    pattern = TopicPattern("a.b")
    pattern.warn_of_more(["a.b", "a_b"], "deletes")
    err = capsys.readouterr().err
    assert "also deletes a_b" in err
    assert r"'a\.b'" in err


@pytest.mark.parametrize("text, selected", [("a.b", ["a.b"]), ("a.*", ["a.b", "a_b"])])
def test_no_warning_where_nothing_surprises(text, selected, capsys) -> None:
    TopicPattern(text).warn_of_more(selected, "deletes")
    assert capsys.readouterr().err == ""
