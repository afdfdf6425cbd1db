"""One large log on several processes: its pieces together are what one process gives, sound or damaged, to the byte."""

from __future__ import annotations

import os
import random
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.commands import running
from kafka_tools.commands.logs.dump_log import PROGRAM, command
from kafka_tools.dump import walk
from tests.corpus.golden import files
from tests.dump.dump_runs import batch, log_of
from tests.dump.test_golden import output

# From Python 3.12 on a fork in a process with threads is warned of: pytest-xdist's has some, the command's has none.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

FORMS = {
    "kafka": ("--print-data-log",),
    "batches": (),
    "going on": ("--print-data-log", "--keep-going", "--show-position"),
    "lines": ("--print-data-log", "-o", "jsonl"),
    "document": ("--deep-iteration", "-o", "json"),
    "keys": ("--key", "*[37]", "-o", "jsonl"),
    "times": ("--deep-iteration", "--time", "20000:60000", "-o", "jsonl"),
    "a part": ("--deep-iteration", "-o", "jsonl", "--max-bytes", "3000"),
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "PIECE_BYTES", 700)
    monkeypatch.setattr(walk, "FAST_FROM_BYTES", 400)


def dumped(folder: Path, *arguments: str) -> tuple[int, bytes, str]:
    """(status, what is written, stderr), with a file for standard output, as processes share one."""
    written = folder / "written"
    with output() as (_, stderr), written.open("w", encoding="utf-8") as stdout:
        sys.stdout = stdout
        status = running.run(command, list(arguments), PROGRAM)
    return status, written.read_bytes(), stderr.data().decode()


def assert_the_same(folder: Path, *arguments: str) -> tuple[int, bytes, str]:
    alone = dumped(folder, *arguments)
    assert dumped(folder, *arguments, "--jobs", "3") == alone
    return alone


def batches() -> list[bytes]:
    """Compressed and not, with gaps between some, the last one of control records' size."""
    return [batch(5 * each + (100 if each > 11 else 0), codec="lz4" if each % 3 == 1 else "none") for each in range(24)]


def _changed(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def _with(number: int, change: Callable[[bytes], bytes]) -> bytes:
    found = batches()
    found[number] = change(found[number])
    return b"".join(found)


DAMAGE = {
    "sound": lambda: b"".join(batches()),
    "crc": lambda: _with(9, lambda data: _changed(data, len(data) - 3, b"?")),
    "length too long": lambda: _with(9, lambda data: _changed(data, 8, (len(data) + 50).to_bytes(4, "big"))),
    "length of two": lambda: _with(9, lambda data: _changed(data, 8, (2 * len(data)).to_bytes(4, "big"))),
    "length too short": lambda: _with(9, lambda data: _changed(data, 8, (60).to_bytes(4, "big"))),
    "impossible length": lambda: _with(9, lambda data: _changed(data, 8, b"\0\0\0\1")),
    "unknown codec": lambda: _with(9, lambda data: _changed(data, 22, b"\7")),
    "unknown magic": lambda: _with(9, lambda data: _changed(data, 16, b"\x09")),
    "negative magic": lambda: _with(9, lambda data: _changed(data, 16, b"\xff")),
    "a hole": lambda: _with(9, lambda data: bytes(len(data))),
    "cut": lambda: b"".join(batches())[:-20],
    "zeros": lambda: b"".join(batches()) + bytes(500),
    "out of order": lambda: b"".join(reversed(batches())),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_sound_log_in_pieces_is_that_of_one_process(form: str, tmp_path: Path) -> None:
    path = log_of(tmp_path, DAMAGE["sound"]())
    status, _data, stderr = assert_the_same(tmp_path, "--files", str(path), *FORMS[form])
    assert status == 0
    assert "59 is followed by 160" in stderr or form in ("batches", "times", "a part")


@pytest.mark.parametrize("damage", [each for each in DAMAGE if each != "sound"])
def test_a_damaged_log_in_pieces_is_that_of_one_process(damage: str, tmp_path: Path) -> None:
    path = log_of(tmp_path, DAMAGE[damage]())
    for form in ("kafka", "going on", "document"):
        assert_the_same(tmp_path, "--files", str(path), *FORMS[form])


def test_logs_in_pieces_among_other_files_come_in_their_order(tmp_path: Path) -> None:
    paths = []
    for number, damage in enumerate(("sound", "crc", "cut")):
        folder = tmp_path / str(number)
        folder.mkdir()
        paths += [str(log_of(folder, DAMAGE[damage]())), str(folder / "missing.log")]
    status, data, _ = assert_the_same(tmp_path, "--files", ",".join(paths), "-o", "jsonl", "--deep-iteration")
    assert status == 1 and data.count(b'"type":"end"') == 3


def test_pieces_begin_where_reading_is_to_begin(tmp_path: Path) -> None:
    path = log_of(tmp_path, b"".join(batches()))
    at = len(b"".join(batches()[:3]))
    assert_the_same(tmp_path, "--deep-iteration", "--files", str(path), "--from-position", str(at))
    status, _, stderr = assert_the_same(tmp_path, "--deep-iteration", "--files", str(path), "--from-position", "77")
    assert status == 1 and "no batch starts at byte 77" in stderr


def test_logs_of_kafka_in_pieces_are_those_of_one_process(tmp_path: Path) -> None:
    chosen = [path for path in files(".log") if path.stat().st_size > 2000]
    for path in random.Random(5).sample(chosen, 12):
        assert_the_same(tmp_path, "--files", str(path), "--print-data-log", "-o", "jsonl")


def test_a_log_is_read_in_as_many_pieces_as_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kafka_tools.commands.logs import jobs

    started = []
    start = jobs._start
    monkeypatch.setattr(
        jobs, "_start", lambda run, task, *rest: (started.append(task.piece), start(run, task, *rest))[1]
    )
    path = log_of(tmp_path, b"".join(batches()))
    dumped(tmp_path, "--files", str(path), "--jobs", "2")
    assert len(started) > 3
    assert [piece.start for piece in started[1:]] == [piece.end for piece in started[:-1]]
    assert started[-1].end == path.stat().st_size


def test_pieces_are_read_in_a_process_with_many_open_files(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2048:
        if hard != resource.RLIM_INFINITY and hard < 2048:
            pytest.skip("this system allows fewer than 2048 open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (2048, hard))
    path = log_of(tmp_path, b"".join(batches()))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert assert_the_same(tmp_path, "--files", str(path), "--print-data-log")[0] == 0
    finally:
        for each in held:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
