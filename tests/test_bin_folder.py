"""The table of Kafka's bin folder: every script stands in it, and what is here says so by itself."""

from __future__ import annotations

import pytest

from kafka_tools.commands.registry import COMMANDS, Registered
from tests import bin_folder


def test_every_script_of_kafka_new1_has_a_row() -> None:
    assert len(bin_folder.SCRIPTS) == len(set(bin_folder.SCRIPTS)) == 43
    assert list(bin_folder.SCRIPTS) == sorted(bin_folder.SCRIPTS)
    states = {script: state for script, state, _ in bin_folder.rows()}
    assert len(states) == 43
    assert states["kafka-topics.sh"] == "here"
    assert "not yet" not in states.values()
    assert states["connect-standalone.sh"] == "out of scope"


def test_every_command_with_a_name_of_kafka_s_is_in_the_table() -> None:
    ours = {"scram"}  # which Kafka's tool has in kafka-configs
    named = {name for name, row in COMMANDS.items() if row.is_script} - ours
    assert {f"kafka-{name}" for name in named} <= set(bin_folder.SCRIPTS)


def test_nothing_is_out_of_scope_that_is_here() -> None:
    assert set(bin_folder.OUT_OF_SCOPE) <= set(bin_folder.SCRIPTS)
    assert {f"kafka-{name}" for name in COMMANDS} & set(bin_folder.OUT_OF_SCOPE) == set()


def test_a_new_command_moves_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "run-class", Registered("toolkit.run_class", "Run a class."))
    assert ("kafka-run-class.sh", "here", "[`kafka-run-class`](run-class.md)") in bin_folder.rows()
