"""``kafka-dump-log FILE...`` and ``--check``: damage and nothing else, of files, partitions and log directories."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.dump import inputs
from tests.corpus.golden import golden_root

SOUND = golden_root() / "m2-none-43" / "data"
DAMAGED = golden_root() / "corrupt-flip-crc-none43" / "data"


def dump_log(*words: object) -> int:
    return running.run(cli.load("dump-log"), [str(word) for word in words], "kafka-dump-log")


def a_log(data: Path) -> Path:
    return min(path for path in data.rglob("*.log") if path.stat().st_size)


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """Two sound partitions and a damaged one in a log directory."""
    for name in ("fine-0", "fine-1"):
        shutil.copytree(a_log(SOUND).parent, tmp_path / name)
    shutil.copytree(a_log(DAMAGED).parent, tmp_path / "hurt-0")
    return tmp_path


def test_files_are_words_of_their_own_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = a_log(SOUND)
    assert dump_log("--files", path) == 0
    with_option = capsys.readouterr()
    assert dump_log(path) == 0
    assert capsys.readouterr() == with_option
    assert dump_log("--files", f"{path},{path.with_suffix('.index')}", "--print-data-log") == 0
    with_option = capsys.readouterr()
    assert dump_log(path, "--print-data-log", path.with_suffix(".index")) == 0
    assert capsys.readouterr() == with_option
    comma = tmp_path / "a,b-0"
    comma.mkdir()
    shutil.copy(path, comma)
    assert dump_log(comma / path.name) == 0
    assert capsys.readouterr().out.startswith(f"Dumping {comma}/{path.name}\n")


def test_a_document_is_whole_whatever_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    empty, away, pattern = tmp_path / "empty", tmp_path / "away-0", tmp_path / "*.log"
    for words, item in (
        ([empty], None),
        ([away], str(away)),
        ([f"{away}.log"], f"{away}.log"),
        ([pattern], None),
        (["--partition-dir", empty], None),
        (["--partition-dir", away], None),
        (["--check", pattern], None),
    ):
        assert dump_log("-o", "json", *words) == 1
        said = capsys.readouterr()
        (error,) = json.loads(said.out)["errors"]
        assert error["item"] == item
        assert said.err.startswith(f"kafka-dump-log: {error['message']}\n")

    def refused(directory: str) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied", directory)

    monkeypatch.setattr(inputs, "files_below", refused)
    assert dump_log("-o", "json", empty) == 1
    assert json.loads(capsys.readouterr().out)["errors"] == [
        {"item": str(empty), "error": None, "message": f"{empty}: Permission denied"}
    ]


@pytest.mark.parametrize("words", [[], ["a", "--files", "b"], ["a", "--partition-dir", "b"]])
def test_files_are_named_in_one_way(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert dump_log(*words) == 2
    assert "Give exactly one of: files, --files, --partition-dir" in capsys.readouterr().err


@pytest.mark.parametrize("option", [[], ["--deep-iteration"], ["-o", "json"], ["-o", "jsonl"]])
def test_what_is_sound_says_nothing(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for path in (a_log(SOUND), a_log(SOUND).with_suffix(".index"), a_log(SOUND).parent):
        assert dump_log("--check", path, *option) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert (json.loads(out)["data"] if option == ["-o", "json"] else out) in ("", [])


def test_damage_is_one_line_each_and_status_1(log_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = log_dir / "hurt-0" / a_log(DAMAGED).name
    for named in (damaged, log_dir / "hurt-0", log_dir):
        assert dump_log("--check", named) == 1
        out, err = capsys.readouterr()
        assert err == ""
        assert any(line.startswith(f"{damaged} at ") and "the CRC of the batch" in line for line in out.splitlines())
        assert all(line.startswith(str(log_dir)) for line in out.splitlines())
        assert not any("fine-" in line for line in out.splitlines())
    assert dump_log("--check", log_dir / "fine-0", log_dir / "hurt-0" / "*.log") == 1
    assert "the CRC of the batch" in capsys.readouterr().out
    assert dump_log("--check", "--partition-dir", log_dir / "hurt-0") == 1
    assert dump_log("--check", "--files", damaged) == 1


def test_damage_has_the_form_that_is_asked_for(log_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dump_log("--check", log_dir, "-o", "jsonl") == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {each["type"] for each in found} == {"finding"}
    assert dump_log("--check", log_dir, "-o", "json") == 1
    assert json.loads(capsys.readouterr().out)["data"] == found


def test_a_damaged_record_takes_deep_iteration(capsys: pytest.CaptureFixture[str]) -> None:
    folder = a_log(golden_root() / "corrupt-record-count-gz43" / "data").parent
    assert dump_log("--check", "--deep-iteration", folder) == 1
    assert capsys.readouterr().out


def test_what_is_no_log_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("x")
    os.mkfifo(tmp_path / "0.log")
    for name, text in (("notes.txt", "is unknown to Kafka"), ("0.log", "is not a regular file"),
                       ("gone.log", "cannot be opened: No such file or directory")):  # fmt: skip
        assert dump_log("--check", tmp_path / name) == 1
        assert capsys.readouterr().out == f"{tmp_path / name}: {text}\n"
    (tmp_path / "empty").mkdir()
    assert dump_log("--check", tmp_path / "empty") == 1
    assert "no log files in directory" in capsys.readouterr().err


def test_a_directory_without_logs_leaves_the_others_to_be_checked(
    log_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    named = (log_dir / "hurt-0", tmp_path / "empty", log_dir / "hurt-0")
    assert dump_log("--check", *named) == 1
    out, err = capsys.readouterr()
    assert out.count("the CRC of the batch") == 2
    assert err.startswith(f"kafka-dump-log: no log files in directory {tmp_path / 'empty'}\n")
    assert dump_log("--check", "-o", "json", *named) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["data"]
    (error,) = document["errors"]
    assert error["item"] == str(tmp_path / "empty")


@pytest.mark.parametrize("words", [
    ["--follow"], ["--summary"], ["--offsets", "1:2"], ["--jobs", "2"], ["--key", "a"], ["--max-bytes", "9"],
    ["--index-sanity-check"], ["--show-position"],
])  # fmt: skip
def test_check_reads_whole_files(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert dump_log("--check", a_log(SOUND), *words) == 2
    assert "--check reads whole files" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--max-bytes", "9"], ["--index-sanity-check"], ["--summary"]])
def test_what_following_cannot_do_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert dump_log("--follow", a_log(SOUND), "--offsets", "0", *words) == 2
    assert f"{words[0]} cannot be used with --follow" in capsys.readouterr().err
