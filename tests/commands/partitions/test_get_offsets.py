"""kafka-get-offsets: which partitions are meant, which offset is asked for, and what is said of those that fail."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka_tools import cli
from kafka_tools.admin import lookups
from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands import running
from kafka_tools.commands.partitions.offset_filters import OffsetFilter, of_patterns, of_topic, parse_time
from kafka_tools.errors import UsageError
from kafka_tools.net.config import ClientConfig
from kafka_tools.values import TopicPartition
from tests.commands.partitions.conftest import ORDERS, Run

TOPICS = ("a", "b1", "b2", "c.d")


def allowed(found: OffsetFilter) -> list[str]:
    return [f"{topic}-{number}" for topic in TOPICS for number in found.chosen(topic, range(6))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:1", "a-1"),
        ("a:1-3", "a-1 a-2"),
        ("a:4-", "a-4 a-5"),
        ("a:-2", "a-0 a-1"),
        ("a:-", "a-0 a-1 a-2 a-3 a-4 a-5"),
        ("a:", "a-0 a-1 a-2 a-3 a-4 a-5"),
        ("a:3-1", ""),
        (":0", "a-0 b1-0 b2-0 c.d-0"),
        ("b.:0,a:5", "a-5 b1-0 b2-0"),
        ("b.:0-1,b1:1", "b1-0 b1-1 b2-0"),
        ("c.d:0,", "c.d-0"),
        (",", ""),
    ],
)
def test_a_list_of_patterns_means_what_it_means_to_kafkas_tool(text: str, expected: str) -> None:
    assert " ".join(allowed(of_patterns(text))) == expected


@pytest.mark.parametrize("text", ["a:x", "a:1:2", "a:1-2-3", "a:99999999999", "a:\u0663"])
def test_what_is_not_a_pattern_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="Invalid rule specification: a:"):
        of_patterns(text)


def test_a_topic_and_partitions_are_a_filter_each() -> None:
    assert allowed(of_topic("b.", "1,5,9")) == ["b1-1", "b1-5", "b2-1", "b2-5"]
    assert allowed(of_topic(None, "0")) == ["a-0", "b1-0", "b2-0", "c.d-0"]
    assert allowed(of_topic("a,c.d", None))[5:7] == ["a-5", "c.d-0"]
    for text in ("1,x", "1,,2", "1.5", ",", "99999999999"):
        with pytest.raises(UsageError, match="--partitions expects a comma separated list of numeric partition ids"):
            of_topic(None, text)


def test_times_are_kafkas_words_their_numbers_and_moments() -> None:
    words = ("latest", "earliest", "max-timestamp", "earliest-local", "latest-tiered", "earliest-pending-upload")
    for number, word in enumerate(words, start=1):
        assert parse_time(word, 0) == parse_time(str(-number), 0) == (-number, False)
    assert parse_time("0", 5) == (0, False)
    assert parse_time("1700000000000", 5) == (1700000000000, False)
    assert parse_time("2 seconds ago", 5000) == (3000, True)
    for text in ("-7", "x", "9223372036854775808", "2026-13-01", "1.5"):
        with pytest.raises(UsageError, match=f"Malformed time argument {text}. Please use -1 or latest / -2 or"):
            parse_time(text, 0)


def test_offsets_are_shown_in_kafkas_order(run: Run) -> None:
    numbers = sorted(range(12), key=str)
    lines = [f"orders:{number}:{ORDERS.get(number, 0)}\n" for number in numbers]
    assert run("get-offsets", "--topic", "orders") == (0, "".join(lines), "")
    assert run("get-offsets", "--topic-partitions", "orders:9-11,oth.*", "--time", "-1").out == (
        "orders:10:7\norders:9:0\nother:0:0\n"
    )
    assert run("get-offsets", "--topic", "orders", "--partitions", "2,0", "--time", "earliest").out == (
        "orders:0:0\norders:2:0\n"
    )


def test_a_partition_without_such_an_offset_has_no_line_and_null_in_other_forms(run: Run) -> None:
    assert run("get-offsets", "--topic", "other", "--time", "max-timestamp") == (0, "", "")
    assert run("get-offsets", "--topic", "orders", "--time", "latest-tiered") == (0, "", "")
    rows = json.loads(run("get-offsets", "--topic", "other", "--time", "-3", "-o", "json").out)["data"]
    assert rows == [{"topic": "other", "partition": 0, "offset": None, "timestamp": None, "leader_epoch": None}]
    (row,) = json.loads(run("get-offsets", "--topic-partitions", "orders:2", "--time", "0", "-o", "json").out)["data"]
    assert (row["offset"], row["leader_epoch"]) == (0, 0)
    assert row["timestamp"] > 1_600_000_000_000


def test_a_moment_is_echoed_as_what_it_resolves_to(run: Run) -> None:
    asked = run("get-offsets", "--topic", "orders", "--time", "2020-01-01T01:00+01:00")
    assert asked.err == "offsets of the first records at or after 2020-01-01T00:00:00.000Z\n"
    assert asked.out == "orders:0:0\norders:10:0\norders:2:0\n"
    assert run("get-offsets", "--topic", "orders", "--time", "now").out == ""
    for before_1970 in ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.995Z", "30000 days ago"):
        assert run("get-offsets", "--topic", "orders", "--time", before_1970).out == asked.out
    assert run("get-offsets", "--topic", "orders", "--time", "1577836800000").err == ""


def test_internal_topics_are_left_out_on_request(broker: EmbeddedBroker, run: Run) -> None:
    reset = ("--reset-offsets", "--group", "g", "--topic", "orders", "--to-earliest", "--execute")
    assert run("consumer-groups", *reset).status == 0
    assert "__consumer_offsets:0:" in run("get-offsets").out
    assert "__consumer_offsets" not in run("get-offsets", "--exclude-internal-topics").out


def test_what_matches_nothing_is_a_failure(run: Run) -> None:
    for arguments in (("--topic", "order"), ("--topic-partitions", "orders:12-"), ("--partitions", "77")):
        asked = run("get-offsets", *arguments)
        text = "kafka-get-offsets: Could not match any topic-partitions with the specified filters\n"
        assert asked == (1, "", text)


def test_options_that_exclude_each_other_are_a_wrong_command_line(run: Run) -> None:
    for more in (("--topic", "orders"), ("--partitions", "0")):
        asked = run("get-offsets", "--topic-partitions", "orders", *more)
        assert (asked.status, asked.out) == (2, "")
        assert asked.err == "kafka-get-offsets: --topic-partitions cannot be used with --topic or --partitions\n"


def test_one_partition_of_three_that_fails_leaves_the_others_and_exits_1(broker: EmbeddedBroker, run: Run) -> None:
    arguments = ("--topic", "orders", "--partitions", "0,2,10")
    with broker.faults.error("list_offsets", "TOPIC_AUTHORIZATION_FAILED", topic="orders", partition=2, times=2):
        asked = run("get-offsets", *arguments)
        document = json.loads(run("get-offsets", *arguments, "-o", "json").out)
    assert (asked.status, asked.out) == (1, "orders:0:3\norders:10:7\n")
    assert asked.err.startswith("kafka-get-offsets: cannot get the offset of orders-2: ")
    assert [row["partition"] for row in document["data"]] == [0, 10]
    assert [error["item"] for error in document["errors"]] == ["orders-2"]


def test_the_older_name_of_the_servers_is_taken(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--broker-list", broker.bootstrap_servers, "--topic-partitions", "orders:2"]
    assert running.run(cli.load("get-offsets"), words, "kafka-get-offsets") == 0
    assert capsys.readouterr().out == "orders:2:5\n"


def test_a_broker_without_that_kind_of_offset_is_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    with EmbeddedBroker(release="2.2") as old, AdminClient(ClientConfig.load(old.bootstrap_servers)) as admin:
        admin.create_topics([NewTopic("t", 3, 1)]).raise_any()
        words = ["-b", old.bootstrap_servers, "--time", "max-timestamp"]
        assert running.run(cli.load("get-offsets"), words, "kafka-get-offsets") == 1
        said = capsys.readouterr()
    assert said.out == ""
    first, hint = said.err.splitlines()
    assert first.startswith("kafka-get-offsets: the offset of the largest timestamp needs ListOffsets v7")
    assert "Kafka 3.0 and later" in hint


def test_one_topic_is_described_once_and_its_leaders_are_not_asked_for(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    topics_of, list_topics = lookups._topics, AdminClient.list_topics
    monkeypatch.setattr(lookups, "_topics", lambda *given: asked.append(given[1]) or topics_of(*given))
    monkeypatch.setattr(AdminClient, "list_topics", lambda *given, **_: asked.append("all") or list_topics(*given))
    assert len(run("get-offsets", "--topic", "orders").out.splitlines()) == 12
    assert run("get-offsets", "--topic-partitions", "orders:2").out == "orders:2:5\n"
    assert not asked
    assert len(run("get-offsets", "--topic", "orders|other").out.splitlines()) == 13
    assert run("get-offsets", "--topic", "none").status == 1
    assert asked == ["all", "all"]


def test_a_leader_that_has_moved_since_it_was_told_is_asked_for(broker: EmbeddedBroker) -> None:
    key = TopicPartition("orders", 2)
    with AdminClient(ClientConfig.load(broker.bootstrap_servers)) as admin:
        for told in (7, 1):
            assert admin.list_offsets({key: -1}, leaders={key: told})[key].get().offset == ORDERS[2]
        with broker.faults.error("list_offsets", "NOT_LEADER_OR_FOLLOWER", times=1) as moved:
            assert admin.list_offsets({key: -1}, leaders={key: 1})[key].get().offset == ORDERS[2]
            assert moved not in broker.faults.active()
