"""Topic patterns select what Kafka's tools select, and say when that is more than was written."""

from __future__ import annotations

import pytest

from kafka_tools.admin.client import TopicListing
from kafka_tools.commands.topics.patterns import TopicPattern, to_change
from kafka_tools.errors import InputError, UsageError
from kafka_tools.values import ZERO_UUID

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


def listed(*names: str) -> list[TopicListing]:
    return [TopicListing(name, ZERO_UUID, name == "__consumer_offsets") for name in names]


@pytest.mark.parametrize(
    "text, meant",
    [
        ("a.b", ["a.b"]),
        (" 'a.b' ", ["a.b"]),
        ("a.b,orders", ["a.b", "orders"]),
        ("a.b|orders|gone", ["a.b", "orders"]),
        ("__consumer_offsets", ["__consumer_offsets"]),
        ("gone", []),
        ("", []),
    ],
)
def test_a_text_that_is_a_name_changes_that_topic_alone_and_says_nothing(text, meant, capsys) -> None:
    assert to_change(text, listed(*NAMES, "__consumer_offsets"), "delete") == meant
    assert capsys.readouterr().err == ""


def test_a_name_that_is_not_there_changes_no_other_topic() -> None:
    with pytest.raises(InputError) as failure:
        to_change("a.b", listed("a_b", "axb"), "delete")
    assert str(failure.value) == "Topic 'a.b' does not exist as expected; as a pattern it would delete a_b, axb"
    assert failure.value.hint == "to select these, write --topic '(a.b)'"
    assert to_change("(a.b)", listed("a_b", "axb"), "delete") == ["a_b", "axb"]


def test_a_pattern_names_what_it_matches_and_leaves_kafkas_own_topics_out(capsys) -> None:
    names = listed("__consumer_offsets", "__remote_log_metadata", "__transaction_state", "orders", "a.b")
    assert to_change(".*", names, "delete") == ["a.b", "orders"]
    assert capsys.readouterr().err.splitlines() == [
        "the pattern '.*' matches 2 topics to delete: a.b, orders",
        "left out internal topics, which a pattern cannot delete: "
        "__consumer_offsets, __remote_log_metadata, __transaction_state",
    ]


@pytest.mark.parametrize("text", ["__.*", "(__consumer_offsets)", "__consumer_offset[s]"])
def test_a_pattern_that_matches_only_kafkas_own_topics_is_refused(text) -> None:
    with pytest.raises(InputError, match=r"matches only internal topics of Kafka: __consumer_offsets$"):
        to_change(text, listed("__consumer_offsets", "orders"), "delete")
