"""kafka-dump-log on a terminal: names of files and what records hold command nothing, and JSON stays JSON."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.cli import load
from kafka_tools.commands import running
from kafka_tools.records.build import build_batch
from tests.commands.test_hostile_names import ATTACK, OBEYED

LINE = "\nkafka-topics: all is well"


class Screen(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / f"t{ATTACK.replace(chr(0), '').replace('/', '')}-0"
    folder.mkdir()
    path = folder / "00000000000000000000.log"
    path.write_bytes(build_batch([(1, ATTACK.encode(), b"\x9b31m " + ATTACK.encode(), ())]))
    return path


def shown(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> str:
    data = io.BytesIO()
    with monkeypatch.context() as patched:
        patched.setenv("NO_COLOR", "1")
        screen = Screen(data, encoding="utf-8")
        patched.setattr(sys, "stdout", screen)
        assert running.run(load("dump-log"), list(map(str, arguments)), "kafka-dump-log") == 0
    screen.flush()
    return data.getvalue().decode()


@pytest.mark.parametrize("form", [(), ("-o", "json"), ("-o", "jsonl")])
@pytest.mark.parametrize("what", [(), ("--print-data-log",)])
def test_a_dump_commands_no_terminal(
    log: Path, form: tuple[str, ...], what: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = shown(monkeypatch, "--files", log, *form, *what)
    assert not OBEYED.search(text), text
    assert LINE not in text.partition("baseOffset")[0]  # a value may have several lines
    documents: list[Any] = []
    if form == ("-o", "json"):
        documents = json.loads(text)["data"]
    elif form:
        documents = [json.loads(line) for line in text.splitlines()]
    assert all(each["file"] == str(log) for each in documents if each["type"] == "file")
    assert bool(documents) == bool(form)
