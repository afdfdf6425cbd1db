"""Brokers whose every text is an attack on the terminal, under every command: nothing of it gets through."""

from __future__ import annotations

import io
import re
import shlex
import sys
from typing import Any
from unittest import mock

import pytest

from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.commands import running
from kafka_tools.commands.partitions import leader_election
from kafka_tools.errors import ConnectFailed
from kafka_tools.protocol.schema import Struct
from kafka_tools.values import Node, TopicPartition
from tests.admin.faults import ITEMS, TOP, set_code
from tests.admin.virtual_cluster import VirtualCluster
from tests.commands import hostile_brokers
from tests.commands.fault_table import COMMANDS, Fault, run
from tests.commands.hostile_tries import FILES, OWN_CONTROLS, ended

ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\nkafka-topics: all is well\x00\u202e\u2066\u2028\x85\x7f"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What a terminal acts on, tabs and line ends aside."""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def poison(item: Struct, version: int, *, hosts: bool) -> None:
    """Put ATTACK behind every text of a response; ``hosts``: also of addresses, which then cannot be reached."""
    for field in item.FIELDS:
        if version not in field.versions:
            continue
        value = getattr(item, field.name)
        if isinstance(value, str) and (hosts or field.name != "host"):
            setattr(item, field.name, value + ATTACK)
        elif isinstance(value, Struct):
            poison(value, version, hosts=hosts)
        elif isinstance(value, list):
            for at, each in enumerate(value):
                if isinstance(each, Struct):
                    poison(each, version, hosts=hosts)
                elif isinstance(each, str):
                    value[at] = each + ATTACK


def poisoned(hosts: bool, code: int | None) -> Fault:
    def prepare(cluster: Any) -> None:
        for node in cluster.nodes:
            honest = node.answer

            def answer(request: Any, version: int, node: Any, honest: Any = honest) -> Any:
                response = honest(request, version, node)
                if response is None:
                    response = cluster.truth(request, version)
                if isinstance(response, Struct):
                    if code is not None and not type(request).__name__.startswith(("Metadata", "FindCoord")):
                        set_code(response, version, code, TOP) or set_code(response, version, code, ITEMS)
                    _say(response, version)
                    poison(response, version, hosts=hosts)
                return response

            node.answer = answer

    return Fault("hostile", prepare=prepare)


def _say(item: Struct, version: int) -> None:
    """A message of the broker's own wherever there is room for one."""
    for field in item.FIELDS:
        if version in field.versions and field.name == "error_message":
            setattr(item, field.name, "broker")
        value = getattr(item, field.name)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Struct):
                _say(each, version)


@pytest.mark.parametrize("code", [None, 29, 42])
@pytest.mark.parametrize("hosts", [False, True])
def test_no_command_lets_a_broker_command_the_terminal(hosts: bool, code: int | None, monkeypatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")  # the heading of a table is bold otherwise
    seen = 0
    with mock.patch("tests.commands.fault_table.io.StringIO", Terminal):
        for line in COMMANDS:
            for more in ("", " --trace", " -o table", " -o json", " -o csv"):
                if more and line.startswith("kafka-features up") and "-o" in more:
                    continue
                printed = run(line + more, poisoned(hosts, code))
                for text in (printed.out, printed.err):
                    assert not OBEYED.search(text), (line + more, text)
                    seen += "owned" in text
                # Nobody else speaks in the command's name.
                for text in (printed.err, "" if more else printed.out):
                    assert "\nkafka-topics: all is well" not in text, (line + more, text)
    assert seen > len(COMMANDS)


TYPED = (
    *hostile_brokers.LINES,
    "kafka-client-metrics --alter --name n --metrics org.apache.kafka. --interval 1000",
    "kafka-delegation-tokens --create --max-life-time-period -1 --renewer-principal User:r",
    "kafka-delegation-tokens --describe --owner-principal User:o",
    "kafka-acls --list --principal User:a",
)


@pytest.mark.parametrize("line", TYPED)
def test_no_command_lets_what_is_typed_command_the_terminal(line: str) -> None:
    program, *words = shlex.split(line)
    for at in range(len(words)):
        if at and words[at].startswith("-"):
            continue
        for value in (words[at] + ATTACK.replace("\0", ""), "User:" + ATTACK.replace("\0", "")):
            typed = shlex.join([program, *words[:at], value, *words[at + 1 :]])
            tried = ended(typed, VirtualCluster(), FILES, on_terminal=True, may_be_wrong=True)
            for text in (OWN_CONTROLS.sub("", tried.out) if "\x1b[0m" in tried.out else tried.out, tried.err):
                assert not OBEYED.search(text), (typed, text)
                assert "\nkafka-topics: all is well" not in text, (typed, text)


def test_elections_that_failed_are_a_line_each_on_a_terminal() -> None:
    out = Terminal()
    failed = {TopicPartition(f"t{ATTACK}", number): ConnectFailed(f"broker {ATTACK}") for number in range(2)}
    with mock.patch("sys.stdout", out), mock.patch("kafka_tools.commands.running.finish", return_value=1):
        leader_election._show(Outcomes({key: Outcome(None, error) for key, error in failed.items()}), "preferred", None)
    lines = out.getvalue().splitlines()
    assert len(lines) == 2
    assert all(line.startswith("Error completing leader election (preferred) for partition: t") for line in lines)


def test_hints_notes_and_tracebacks_are_escaped_as_messages_are(capsys) -> None:
    running.complain("kafka-x", f"host {ATTACK}", f"broker advertises {ATTACK}")
    running.note(f"\nleft out: {ATTACK}", f"and {ATTACK}")
    error = ConnectFailed(f"cannot reach {ATTACK}", hint=f"see {ATTACK}")
    running._report(error, "kafka-x", debug=True)
    err = capsys.readouterr().err
    assert not OBEYED.search(err), err
    starts = [
        "kafka-x: host ",
        "  broker advertises ",
        "  kafka-topics: all",
        "",
        "left out: ",
        "and ",
        "kafka-x: cannot",
    ]
    for line, start in zip(err.split("\n"), starts, strict=False):
        assert line.startswith(start), line


def test_an_address_is_one_line_whatever_its_host_holds() -> None:
    for node in (Node(1, f"h{ATTACK}", 9092), Node(-1, f"h{ATTACK}", 9092)):
        assert len(f"{node} {node.address}".splitlines()) == 1
        assert not OBEYED.search(f"{node} {node.address}")


def test_a_table_of_what_steers_is_complete() -> None:
    import unicodedata

    from kafka_tools.shown_text import one_line, printable

    for code in range(sys.maxunicode + 1):
        character = chr(code)
        steers = unicodedata.category(character) in ("Cc", "Zl", "Zp") or unicodedata.bidirectional(character) in (
            *("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"),
        )
        if steers:
            assert one_line(character) != character, hex(code)
            assert printable(character) != character or character in "\t\n", hex(code)
    assert one_line("Größe, 日本, עברית") == "Größe, 日本, עברית"
