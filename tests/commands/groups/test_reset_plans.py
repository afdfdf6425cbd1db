"""Times, durations and CSV plans of --reset-offsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.commands.groups.reset_plans import (
    parse_duration_ms,
    parse_moment_ms,
    parse_topics,
    plan_csv,
    read_plan,
)
from kafka_tools.errors import InputError, UsageError
from kafka_tools.values import TopicPartition, moment_text


@pytest.mark.parametrize(
    "text, expected",
    [
        ("1970-01-01T00:00:00.000", 0),
        ("1970-01-01T00:00:01.005Z", 1005),
        ("1970-01-01T01:00:00.000+01:00", 0),
        ("1969-12-31T18:30:00.000-0530", 0),
        ("1970-01-01T02:00:00.000+02", 0),
        ("2020-01-01T00:00:00", 1577836800000),
        ("1577836800000", 1577836800000),
        ("2020-01-01", 1577836800000),
        ("0 hours ago", 0),
    ],
)
def test_a_moment_without_a_zone_is_utc(text, expected) -> None:
    assert parse_moment_ms(text, 0) == expected


@pytest.mark.parametrize("text", ["2020-1-1", "2020-13-01T00:00:00.000", "soon", "2020-01-01T00:00:00.5", ""])
def test_what_is_no_moment_is_a_usage_error(text) -> None:
    with pytest.raises(UsageError):
        parse_moment_ms(text, 0)


def test_a_moment_is_shown_in_utc() -> None:
    assert moment_text(1577836800005) == "2020-01-01T00:00:00.005Z"
    assert moment_text(10**18) == str(10**18)
    assert moment_text(-1) == "1969-12-31T23:59:59.999Z"
    assert moment_text(-60_000_000_000_000) == "0068-09-03T13:20:00.000Z"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("PT6H", 21_600_000),
        ("P1DT1M0.5S", 86_460_500),
        ("pt1s", 1000),
        ("-PT1S", -1000),
        ("PT-1S", -1000),
        ("P2D", 172_800_000),
        ("6h", 21_600_000),
        ("90m", 5_400_000),
    ],
)
def test_durations_are_iso_8601_as_java_reads_them_or_a_number_with_a_unit(text, expected) -> None:
    assert parse_duration_ms(text) == expected


@pytest.mark.parametrize("text", ["P", "PT", "6", "six hours", "P1Y", "PT1H30", "P1DT"])
def test_what_is_no_duration_is_a_usage_error(text) -> None:
    with pytest.raises(UsageError):
        parse_duration_ms(text)


@pytest.mark.parametrize("number", ["9" * 19, "9" * 90, "9" * 5000])
def test_a_time_that_no_offset_lookup_can_carry_is_a_usage_error(number: str) -> None:
    with pytest.raises(UsageError, match="--to-datetime"):
        parse_moment_ms(number, 0)
    for text in (f"P{number}D", f"-PT{number}S", f"{number}d", f"{number}ms"):
        with pytest.raises(UsageError, match="--by-duration"):
            parse_duration_ms(text)


def test_a_plan_of_one_group_has_three_fields_and_of_several_four() -> None:
    assert read_plan('"orders",0,2\n\norders, 1, 1\n', "p.csv", ["g"]) == {
        "g": {TopicPartition("orders", 0): 2, TopicPartition("orders", 1): 1}
    }
    assert read_plan("g,orders,0,2\nh,orders,0,3\n", "p.csv", ["g", "h"]) == {
        "g": {TopicPartition("orders", 0): 2},
        "h": {TopicPartition("orders", 0): 3},
    }


@pytest.mark.parametrize(
    "text", ["orders,0", "orders,x,1", "orders,0,-1", "orders,0,1\norders,0,2", "orders,0,99999999999999999999"]
)
def test_a_wrong_row_is_named_with_its_line(text) -> None:
    with pytest.raises(InputError, match=r"^p\.csv, line"):
        read_plan(text, "p.csv", ["g"])


_PLANS = st.dictionaries(
    st.text("ab ,\"'é", min_size=1).filter(lambda text: text == text.strip()),
    st.dictionaries(
        st.builds(TopicPartition, st.from_regex(r"[a-z.]{1,5}", fullmatch=True), st.integers(0, 5)),
        st.integers(0, 2**62),
        min_size=1,
    ),
    min_size=1,
)


@given(_PLANS)
def test_an_exported_plan_reads_back(plan) -> None:
    assert read_plan(plan_csv(plan, with_group=True), "p.csv", ["x", "y"]) == plan


def test_topics_may_name_partitions() -> None:
    assert parse_topics(["a", "b:0,2"]) == {"a": None, "b": [0, 2]}
    for text in ("b:", "b:x", ":0", "b:0:1", "b:-1"):
        with pytest.raises(UsageError):
            parse_topics([text])
