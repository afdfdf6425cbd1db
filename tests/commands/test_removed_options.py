"""Options of older tools that are gone: the command line is wrong, and what took their place is said."""

from __future__ import annotations

import click
import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.commands.options.removed import REMOVED

GONE = [(command, option) for command, options in REMOVED.items() for option in options]


def complaint(command: str, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The first line on stderr of a command line that is wrong."""
    assert running.run(cli.load(command.removeprefix("kafka-")), arguments, command) == 2
    out, err = capsys.readouterr()
    assert out == ""
    line: str = err.splitlines()[0]
    return line


@pytest.mark.parametrize("command, option", GONE)
@pytest.mark.parametrize("form", [("{}",), ("{}=x",), ("--bootstrap-server", "localhost:9092", "{}", "x")])
def test_an_option_that_is_gone_is_named_with_what_took_its_place(
    command: str, option: str, form: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    said = complaint(command, [word.format(option) for word in form], capsys)
    assert said.startswith(f"{command}: {option} was removed in Kafka {REMOVED[command][option].since}: ")


def test_what_is_told_to_take_their_place_is_there() -> None:
    for command, options in REMOVED.items():
        for option, removed in options.items():
            for word in removed.instead.split():
                if word.startswith("--"):
                    name = "kafka-consumer-groups" if "kafka-consumer-groups" in removed.instead else command
                    everywhere = {*names(name), *names(command)}
                    assert word.rstrip(":.,") in everywhere, (command, option)


def names(command: str) -> set[str]:
    """Every option of a command and of its subcommands."""
    loaded = cli.load(command.removeprefix("kafka-"))
    parts = [loaded, *(loaded.commands.values() if isinstance(loaded, click.Group) else ())]
    return {name for part in parts for parameter in part.params for name in parameter.opts}


@pytest.mark.parametrize("command", sorted(REMOVED))
def test_no_option_is_both_gone_and_there(command: str) -> None:
    loaded = cli.load(command.removeprefix("kafka-"))
    assert not {name for parameter in loaded.params for name in parameter.opts} & REMOVED[command].keys()


@pytest.mark.parametrize("command", ["features", "cluster", "metadata-quorum"])
@pytest.mark.parametrize("arguments", [["--bootstrap-server", "localhost:9092"], ["-b", "localhost:9092", "descr"]])
def test_a_command_that_is_missing_is_said_to_be(
    command: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = complaint(f"kafka-{command}", arguments, capsys)
    first = next(iter(cli.load(command).commands))  # type: ignore[attr-defined]
    assert said.startswith(f"kafka-{command}: Missing command: give one of {first}, ")


@pytest.mark.parametrize("arguments", [["lst"], ["-b", "localhost:9092", "lst"], ["--timeout", "5s", "lst", "-o", "x"]])
def test_a_command_that_is_misspelt_is_named_with_the_nearest_one(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = complaint("kafka-transactions", arguments, capsys)
    assert said.startswith("kafka-transactions: No such command 'lst'. Did you mean 'list'?")


def test_settings_of_a_topic_that_exists_are_changed_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    said = complaint("kafka-topics", ["--alter", "--topic", "t", "--config", "retention.ms=1", "-b", "x:1"], capsys)
    assert "kafka-configs --alter --topic NAME --add-config KEY=VALUE" in said
