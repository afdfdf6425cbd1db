"""What ``kafka_tools.explain`` finds in numbers, names and texts, and what the command prints of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.commands.registry import COMMANDS, load
from kafka_tools.config_definitions.lookup import table_of
from kafka_tools.explain import config_meanings
from kafka_tools.explain.api_texts import purpose
from kafka_tools.explain.causes import CAUSES
from kafka_tools.explain.search import MOST_TEXT, explain, names
from kafka_tools.protocol import error_codes, registry


def found(text: str) -> list[tuple[str, str]]:
    return [(each["subject"], each["name"]) for each in explain(text)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("6", [("error", "NOT_LEADER_OR_FOLLOWER"), ("api", "UpdateMetadata")]),
        ("-1", [("error", "UNKNOWN_SERVER_ERROR")]),
        ("120", [("error", "TRANSACTION_ABORTABLE")]),
        ("not_leader_or_follower", [("error", "NOT_LEADER_OR_FOLLOWER")]),
        ("fetch", [("api", "Fetch")]),
        ("FetchRequest", [("api", "Fetch")]),
        ("retention.ms", [("config", "retention.ms")]),
        ("compression.type", [("config", "compression.type")] * 3),
        ("linger.ms", [("config", "linger.ms")]),
        ("org.apache.kafka.common.errors.RecordTooLargeException: The message is", [("error", "MESSAGE_TOO_LARGE")]),
        ("ERROR [Consumer] NotCoordinatorException", [("error", "NOT_COORDINATOR")]),
        ("failed with error code 25 (and err: 35)", [("error", "UNKNOWN_MEMBER_ID"), ("error", "UNSUPPORTED_VERSION")]),
        ("change max.message.bytes or acks", [("config", "max.message.bytes")]),
        ("raised STALE_MEMBER_EPOCH twice: STALE_MEMBER_EPOCH", [("error", "STALE_MEMBER_EPOCH")]),
        ("nothing of Kafka's: None, fetch, Error", []),
        ("99999", []),
        ("", []),
    ],
)  # fmt: skip
def test_numbers_names_and_texts(text: str, wanted: list[tuple[str, str]]) -> None:
    assert found(text) == wanted


def test_each_name_is_explained_and_has_a_meaning() -> None:
    for name in names():
        assert explain(name), name
    for code in error_codes.all_codes():
        assert explain(str(code.code))[0]["name"] == code.name
    for row in registry.rows():
        assert purpose(row.stem)
        assert any(each["number"] == row.key for each in explain(row.name))


def test_meanings_and_causes_belong_to_names_of_kafka() -> None:
    topics, groups, brokers = (table_of(kind) for kind in ("topics", "groups", "brokers"))
    assert config_meanings.TOPICS.keys() == {name for name, row in topics.items() if len(row) == 3}
    assert config_meanings.GROUPS.keys() == {name for name, row in groups.items() if len(row) == 3}
    assert config_meanings.BROKERS.keys() <= brokers.keys()
    assert {*config_meanings.CLIENTS, *CAUSES} <= set(names())


def test_the_next_commands_exist_with_their_options() -> None:
    for cause in CAUSES.values():
        for line in cause.next:
            program, *words = line.split()
            name = words[0] if program == "kafka-tools" else program.removeprefix("kafka-")
            assert name in COMMANDS, line
            command = load(name)
            commands = [command, *(each for each in getattr(command, "commands", {}).values())]
            options = {option for each in commands for parameter in each.params for option in parameter.opts}
            assert {word for word in words if word.startswith("-")} <= options, line


def test_configs_tell_levels_units_and_restarts() -> None:
    (retention,) = explain("retention.ms")
    assert retention["facts"]["default"] == "604800000 (7 days)"
    assert retention["facts"]["default set by"] == "log.retention.ms of the broker"
    (broker,) = explain("log.segment.bytes")
    assert broker["facts"]["overridden by"] == "segment.bytes of the topic"
    assert broker["facts"]["default"] == "1073741824 (1 GiB)"
    assert broker["meaning"] == config_meanings.TOPICS["segment.bytes"]
    assert broker["facts"]["changed"] == "without a restart, for one broker or as the default of all"
    assert explain("process.roles")[0]["facts"]["changed"] == "in server.properties, with a restart"
    assert explain("flush.ms")[0]["facts"]["default"].endswith("(no limit)")


@given(st.text(max_size=300))
def test_any_text_is_taken(text: str) -> None:
    explain(text)


def test_a_long_text_is_cut() -> None:
    assert found("x" * MOST_TEXT + " STALE_MEMBER_EPOCH") == []


def run(*words: str) -> int:
    return running.run(cli.root, ["explain", *words], "kafka-tools")


def test_the_command_prints_cause_and_next_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("NOT_ENOUGH_REPLICAS") == 0
    output = capsys.readouterr().out
    assert output.startswith("Error 19: NOT_ENOUGH_REPLICAS\n  The topic-partition has too few in-sync replicas;")
    assert "Usual cause:\n  Fewer replicas are in sync than min.insync.replicas demands" in output
    assert "Next:\n  kafka-topics -b $B --describe --under-min-isr-partitions\n" in output
    assert "Answered by:\n  Produce  " in output


def test_json_has_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("19", "-o", "json") == 0
    error, api = json.loads(capsys.readouterr().out)["data"]
    assert (error["subject"], error["number"], api["subject"], api["name"]) == ("error", 19, "api", "CreateTopics")
    assert error["cause"] == CAUSES["NOT_ENOUGH_REPLICAS"].text


def test_an_unknown_name_has_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("retention.mss") == 1
    output = capsys.readouterr().err
    assert "nothing is known about 'retention.mss'" in output and "did you mean retention.ms" in output
