"""The table of commands, and the scripts that complete their command lines."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import kafka_tools.scripts
from kafka_tools import cli, commands
from kafka_tools.commands import running
from kafka_tools.commands.toolkit import completion


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_row_is_a_command_with_that_help(name: str) -> None:
    line = cli.COMMANDS[name].summary
    command = cli.load(name)
    assert isinstance(command, click.Command)
    assert command.help is not None
    first = command.help.split("\n\n")[0].replace("\n", " ").strip()
    assert first.startswith(line.removesuffix(".")), f"the table says {line!r}, the command {first!r}"


def test_a_commands_module_has_its_name_and_no_family_is_overfull() -> None:
    """The folder may say the first word of the name; twenty-five siblings fit into a folder."""
    for name, row in cli.COMMANDS.items():
        family, module = row.module.split(".")
        words = name.replace("-", "_")
        assert module in (words, words.removeprefix(f"{family}_")), name
    root = Path(commands.__path__[0])
    for folder in (root, *(each for each in root.iterdir() if each.is_dir() and each.name != "__pycache__")):
        assert len([each for each in folder.iterdir() if each.name not in ("__init__.py", "__pycache__")]) <= 25, folder


def test_every_script_runs_the_command_of_its_name(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripts = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert {name.removeprefix("kafka-") for name in scripts} == {"tools", *cli.SCRIPTS}
    assert set(scripts.values()) == {"kafka_tools.scripts:main"}
    for name in scripts:
        monkeypatch.setattr(sys, "argv", [name, "--help"])
        with pytest.raises(SystemExit) as ended:
            kafka_tools.scripts.main()
        assert ended.value.code == 0
        assert capsys.readouterr().out.startswith(f"Usage: {name} ")


def test_root_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert running.run(cli.root, ["--help"], "kafka-tools") == 0
    listed = capsys.readouterr().out
    for name in cli.COMMANDS:
        assert f"\n  {name}" in listed


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert running.run(cli.root, ["nonsense"], "kafka-tools") == 2
    assert "No such command 'nonsense'" in capsys.readouterr().err


@pytest.mark.parametrize("group", ["", " broker", " cluster"])
def test_no_command_at_all_is_one_line_and_where_to_look(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert running.run(cli.root, group.split(), "kafka-tools") == 2
    path = f"kafka-tools{group}"
    assert capsys.readouterr() == ("", f"{path}: Missing command.\n  Try '{path} --help'.\n")


@pytest.mark.parametrize("arguments", [["--partitions", "2147483648"], ["--replica-assignment", "0:2147483648"]])
def test_a_number_that_the_protocol_cannot_carry_is_a_usage_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str], free_port
) -> None:
    line = ["topics", "--bootstrap-server", f"127.0.0.1:{free_port()}", "--create", "--topic", "a", *arguments]
    assert running.run(cli.root, line, "kafka-tools") == 2
    assert arguments[0] in capsys.readouterr().err


def test_a_shift_beyond_any_offset_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["consumer-groups", "-b", "localhost:9", "--reset-offsets", "--group", "g", "--topic", "a"]
    assert running.run(cli.root, [*line, "--shift-by", "9223372036854775808"], "kafka-tools") == 2
    assert "--shift-by" in capsys.readouterr().err


def test_kafkas_own_spellings_reach_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    for spelling in ("kafka-topics", "kafka-topics.sh", "topics"):
        assert running.run(cli.root, [spelling, "--help"], "kafka-tools") == 0
        assert "Create, list, describe" in capsys.readouterr().out


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_no_option_is_spelled_twice_and_all_have_help(name: str) -> None:
    for command in _leaves(cli.load(name)):
        spellings = [spelling for parameter in command.params for spelling in parameter.opts]
        assert len(spellings) == len(set(spellings))
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help or parameter.hidden, parameter.opts


def _leaves(command: click.Command) -> list[click.Command]:
    if isinstance(command, click.Group):
        return [leaf for below in command.commands.values() for leaf in _leaves(below)]
    return [command]


# -- completion ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    from kafka_tools.broker_embedded import EmbeddedBroker

    with EmbeddedBroker() as broker:
        assert (
            running.run(
                cli.load("topics"), ["-b", broker.bootstrap_servers, "--create", "--topic", "orders"], "kafka-topics"
            )
            == 0
        )
        yield broker.bootstrap_servers


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with ``kafka-tools`` in it, as an installation has it."""
    program = tmp_path / "kafka-tools"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kafka_tools "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return tmp_path


def complete(programs: Path, line: str) -> list[str]:
    """What bash offers when TAB is pressed at the end of ``line``."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    script = (
        completion.script("bash")
        + 'COMP_LINE=$1 COMP_POINT=${#1}; _kafka_tools_complete; printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    ended = subprocess.run(
        [bash, "-c", script, "bash", line], capture_output=True, encoding="utf-8", timeout=60, env=environment
    )
    assert ended.stderr == ""
    return ended.stdout.split()


@pytest.mark.parametrize(
    "line, offered",
    [
        ("kafka-tools top", ["topics"]),
        ("kafka-tools topics --under-r", ["--under-replicated-partitions"]),
        ("kafka-topics --under-r", ["--under-replicated-partitions"]),
        ("kafka-topics.sh --under-r", ["--under-replicated-partitions"]),
        ("kafka-cluster list", ["list-endpoints"]),
        ("kafka-topics -o y", ["yaml"]),
        ("kafka-tools completion ", ["bash", "zsh", "fish", "install"]),
        ("kafka-configs --entity-type br", ["brokers", "broker-loggers"]),
        ("kafka-topics --create --config min.clean", ["min.cleanable.dirty.ratio="]),
        ("kafka-topics --create --config cleanup.policy=", ["compact", "delete"]),
        ("kafka-topics --create --config preallocate=t", ["true"]),
        ("kafka-configs --topic t --alter --add-config retention.ms=1,retention.b", ["1,retention.bytes="]),
        ("kafka-configs --topic t --alter --append-config clean", ["cleanup.policy="]),
        ("kafka-configs --topic t --alter --subtract-config cleanup.policy=delete,c", ["delete,compact"]),
        ("kafka-configs --topic t --alter --append-config retention.b", []),
        ("kafka-configs --topic t --alter --delete-config flush.ms,flush.me", ["flush.ms,flush.messages"]),
        ("kafka-configs --user u --alter --add-config SC", ["SCRAM-SHA-256=", "SCRAM-SHA-512="]),
        ("kafka-configs --user u --client c --alter --add-config S", []),
        ("kafka-configs --broker 1 --alter --add-config log.cleaner.th", ["log.cleaner.threads="]),
        ("kafka-configs --broker 1 --alter --add-config broker.i", []),
    ],
)
def test_bash_completes_commands_options_and_values(programs: Path, line: str, offered: list[str]) -> None:
    assert complete(programs, line) == offered


def test_bash_completes_names_of_the_cluster_on_the_line(programs: Path, servers: str) -> None:
    assert complete(programs, f"kafka-topics --bootstrap-server {servers} --describe --topic o") == ["orders"]
    assert complete(programs, f"kafka-tools topics -b {servers} --delete --topic ") == ["orders"]
    # bash has split the word at '=' already, so only what follows it comes back.
    assert complete(programs, f"kafka-configs -b {servers} --describe --topic=or") == ["orders"]


def test_completion_is_silent_without_a_cluster(programs: Path, free_port) -> None:
    assert complete(programs, f"kafka-topics -b 127.0.0.1:{free_port()} --topic o") == []
    assert complete(programs, "kafka-topics --topic o") == []
    assert complete(programs, "kafka-topics --topic 'o") == []


def test_completion_does_not_wait_for_a_silent_server(programs: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        assert complete(programs, f"kafka-topics -b 127.0.0.1:{silent.getsockname()[1]} --topic o") == []


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_every_script_names_every_command_in_both_spellings(shell: str) -> None:
    text = completion.script(shell)
    for name in cli.SCRIPTS:
        assert f"kafka-{name}" in text
        assert f"kafka-{name}.sh" in text


@pytest.mark.parametrize(
    "shell, words, word, expected",
    [("zsh", "kafka-tools top", "1", "plain\ntopics\n"), ("fish", "kafka-tools top", "top", "plain,topics\t")],
)
def test_zsh_and_fish_get_their_own_form(shell: str, words: str, word: str, expected: str) -> None:
    environment = {**os.environ, "COMP_WORDS": words, "COMP_CWORD": word, "_KAFKA_TOOLS_COMPLETE": f"{shell}_complete"}
    ended = subprocess.run(
        [sys.executable, "-m", "kafka_tools"], capture_output=True, encoding="utf-8", timeout=60, env=environment
    )
    assert ended.returncode == 0
    assert ended.stdout.startswith(expected)
