"""``kafka-tools install-scripts``: what is written runs, nothing of others is touched, and PATH is told about."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.commands.toolkit.install_scripts import launcher


def install(*arguments: object) -> int:
    return running.run(cli.root, ["install-scripts", *map(str, arguments)], "kafka-tools")


@pytest.mark.parametrize("options, suffix", [([], ""), (["--sh"], ".sh")])
def test_every_command_is_written_and_runs_under_its_name(
    tmp_path: Path, options: list[str], suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install(tmp_path / "a" / "bin", *options) == 0
    names = {path.name for path in (tmp_path / "a" / "bin").iterdir()}
    assert names == {"kafka-tools", *(f"kafka-{name}{suffix}" for name in cli.SCRIPTS)}
    assert f"Wrote {len(names)} scripts to " in capsys.readouterr().out
    for name, begin in ((f"kafka-topics{suffix}", "kafka-topics"), ("kafka-tools", "kafka-tools")):
        ended = subprocess.run(
            [tmp_path / "a" / "bin" / name, "--help"], capture_output=True, encoding="utf-8", timeout=60
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        assert ended.stdout.startswith(f"Usage: {begin} ")


def test_what_it_wrote_it_replaces(tmp_path: Path) -> None:
    assert install(tmp_path) == 0
    script = tmp_path / "kafka-topics"
    script.write_bytes(launcher("/gone/python"))
    assert install(tmp_path) == 0
    assert script.read_bytes() == launcher(sys.executable)
    assert os.access(script, os.X_OK)


@pytest.mark.parametrize("kind", ["file", "folder", "link to nowhere"])
def test_where_a_name_is_taken_by_something_else_nothing_is_written(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "kafka-configs.sh"
    if kind == "file":
        taken.write_text("#!/bin/bash\nexec $(dirname $0)/kafka-run-class.sh kafka.admin.ConfigCommand\n")
    elif kind == "folder":
        taken.mkdir()
    else:
        taken.symlink_to(tmp_path / "nowhere")
    assert install("--sh", tmp_path) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["kafka-configs.sh"]
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(
        f"kafka-tools: cannot install scripts: kafka-tools did not write {taken}\n  choose a separate folder"
    )
    assert install(tmp_path) == 0  # the other spelling is free


def test_it_says_when_path_finds_another_program_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka, ours = tmp_path / "kafka", tmp_path / "ours"
    kafka.mkdir()
    (kafka / "kafka-topics.sh").write_text("#!/bin/sh\n")
    (kafka / "kafka-topics.sh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{kafka}:/usr/bin:/bin")
    assert install("--sh", ours) == 0
    assert capsys.readouterr().err == (f"{ours} is not on PATH: add it before the folder of Kafka's own scripts\n")
    monkeypatch.setenv("PATH", f"{kafka}:{ours}:/usr/bin:/bin")
    assert install("--sh", ours) == 0
    assert capsys.readouterr().err == f"PATH finds another kafka-topics.sh first: {kafka}/kafka-topics.sh\n"
    monkeypatch.setenv("PATH", f"{ours}:{kafka}:/usr/bin:/bin")
    assert install("--sh", ours) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["with space", 'quote"dollar$tick`back\\', "long-" + "x" * 150])
def test_a_python_in_a_strange_place_is_started_too(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    script = tmp_path / "kafka-topics.sh"
    script.write_bytes(launcher(str(python)))
    script.chmod(0o755)
    ended = subprocess.run([script, "--version", "a b"], capture_output=True, encoding="utf-8", timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert install(tmp_path / "file" / "bin") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"kafka-tools: {tmp_path}/file/bin: Not a directory\n"


def test_what_is_no_folder_is_named_and_links_are_not_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "away").symlink_to(tmp_path / "missing")
    for name, status, text in (("file", 1, "is not a directory"), ("away", 1, "is not a directory")):
        assert running.run(cli.load("install-scripts"), [str(tmp_path / name)], "kafka-tools") == status
        assert capsys.readouterr().err == f"kafka-tools: {tmp_path / name} {text}: nothing was written\n"
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "kafka-topics.tmp").symlink_to(tmp_path / "file")
    os.mkfifo(folder / "kafka-acls.tmp")
    assert running.run(cli.load("install-scripts"), [str(folder)], "kafka-tools") == 0
    assert (tmp_path / "file").read_bytes() == b"", "what a link of that name leads to is not written"
