"""How kafka-dump-log runs: in several processes, following what grows, on terminals, under its names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_tools import VERSION_LINE
from kafka_tools.clock import ManualClock
from kafka_tools.commands import running
from kafka_tools.commands.logs.dump_log import PROGRAM, command
from kafka_tools.commands.logs.interrupts import Interrupts
from kafka_tools.commands.logs.output import Output
from kafka_tools.dump.endings import TextEnding
from kafka_tools.dump.files import Dump, DumpOptions
from kafka_tools.dump.follow import Follower
from kafka_tools.dump.run import Reading
from kafka_tools.records.build import build_batch
from tests.corpus.golden import case, files
from tests.dump.dump_runs import MAIN, batch, log_of, run
from tests.dump.test_golden import output


@pytest.fixture
def log(tmp_path: Path) -> str:
    """20 records in four batches."""
    return str(log_of(tmp_path, b"".join(batch(first, codec="lz4") for first in range(0, 20, 5))))


# Processes


@pytest.mark.parametrize("form", [(), ("-o", "json"), ("-o", "jsonl"), ("--summary",)])
def test_processes_give_what_one_gives(form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case("txn-43").cwd)
    paths = sorted(str(path) for path in Path().rglob("*.*") if path.suffix in (".log", ".index", ".snapshot"))
    damaged = next(path for path in files(".log") if "corrupt-flip-crc" in str(path))
    arguments = ("--print-data-log", "--files", ",".join([*paths[:5], str(damaged), *paths[5:20], "x.unknown"]), *form)
    alone = subprocess.run([*MAIN, *arguments], capture_output=True, timeout=120)
    together = subprocess.run([*MAIN, *arguments, "--jobs", "3"], capture_output=True, timeout=120)
    assert alone.stdout and alone.returncode == 1
    assert (together.stdout, together.stderr, together.returncode) == (alone.stdout, alone.stderr, alone.returncode)


def test_processes_end_where_one_ends(tmp_path: Path) -> None:
    paths = []
    for number in range(6):
        folder = tmp_path / str(number)
        folder.mkdir()
        paths.append(str(log_of(folder, batch(0) + (bytes(200) if number == 2 else b""))))
    arguments = ("--deep-iteration", "--files", ",".join(paths))
    alone = subprocess.run([*MAIN, *arguments], capture_output=True, timeout=120)
    together = subprocess.run([*MAIN, *arguments, "--jobs", "4"], capture_output=True, timeout=120)
    assert alone.stdout.count(b"Dumping") == 3 and alone.returncode == 1
    assert (together.stdout, together.stderr, together.returncode) == (alone.stdout, alone.stderr, alone.returncode)


def test_a_process_that_dies_leaves_a_whole_document(tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text("import os\ndef decode(data): os._exit(9)\n")
    paths = []
    for name, content in (("sound", b""), ("deadly", batch(0))):
        (tmp_path / name).mkdir()
        paths.append(str(log_of(tmp_path / name, content)))
    arguments = ("-o", "json", "--jobs", "2", "--value-decoder-class", "dying:decode", *paths)
    places = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": places}
    ended = subprocess.run([*MAIN, *arguments], capture_output=True, timeout=120, env=environment)
    assert ended.returncode == 1
    document = json.loads(ended.stdout)
    assert document["data"]
    assert [error["message"] for error in document["errors"]] == ["a worker process ended before it read its file"]
    assert ended.stderr.count(b"a worker process ended before it read its file") == 1


@pytest.mark.parametrize("form", [(), ("-o", "json"), ("-o", "jsonl", "--jobs", "2"), ("--jobs", "2")])
def test_a_reader_that_goes_away_ends_it_quietly(form: tuple[str, ...]) -> None:
    paths = [str(path) for path in files(".log") if "many-lz4-43" in str(path)] * 8
    with subprocess.Popen(
        [*MAIN, "--print-data-log", "--files", ",".join(paths), *form],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) in (0, 141)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("form", [(), ("-o", "json"), ("--jobs", "2")])
def test_a_full_disk_ends_it_with_one_line(form: tuple[str, ...], log: str) -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [*MAIN, "--files", f"{log},{log}", *form], stdout=full, stderr=subprocess.PIPE, timeout=60, encoding="utf-8"
        )
    assert ended.returncode == 1 and len(ended.stderr.splitlines()) == 1, ended.stderr
    assert ended.stderr.startswith(f"{PROGRAM}: ")


# Following


class Events(ManualClock):
    """Time in which something happens at each wait; after the last one Ctrl-C."""

    def __init__(self, *events: Callable[[], object]) -> None:
        super().__init__()
        self._events = list(events)

    def sleep(self, seconds: float) -> None:
        if self._events:
            self._events.pop(0)()
        else:
            os.kill(os.getpid(), signal.SIGINT)


def follow(path: Path, clock: Events, directory: Path | None = None) -> tuple[list[int], Dump, str]:
    """(offsets shown, the dump, the text) of following ``path`` through what the clock makes happen."""
    with output() as (stdout, _):
        sink = Output()
        dump = Dump(DumpOptions(), TextEnding(sink, None, deep=True, skip_metadata=False, strict=False))
        follower = Follower(dump, sink, clock, str(directory) if directory else None)
        with Interrupts(follower.stop):
            follower.run([Reading(str(path))])
        sink.close()
        text = stdout.data().decode()
    offsets = [int(line.split()[2]) for line in text.splitlines() if line.startswith("| offset:")]
    return offsets, dump, text


def append(path: Path, data: bytes) -> Callable[[], object]:
    def act() -> None:
        with path.open("ab") as file:
            file.write(data)

    return act


def test_a_log_is_followed_as_it_grows(tmp_path: Path) -> None:
    path = log_of(tmp_path, batch(0))
    half = batch(5)
    clock = Events(append(path, half[:20]), append(path, half[20:70]), append(path, half[70:]), append(path, batch(10)))
    offsets, dump, _ = follow(path, clock)
    assert offsets == list(range(15)) and dump.notes.findings == [] and dump.notes.gaps == {}
    assert dump.walk is not None and dump.walk.next_offset == 15


def test_following_rolls_to_the_next_segment(tmp_path: Path) -> None:
    path = log_of(tmp_path, batch(0))
    second = tmp_path / f"{10:020d}.log"

    def roll() -> None:
        append(path, batch(5))()
        second.write_bytes(b"")

    offsets, dump, text = follow(path, Events(roll, append(second, batch(10)), append(second, batch(15))), tmp_path)
    assert offsets == list(range(20)) and dump.notes.findings == []
    assert text.count("Dumping ") == 2


def test_what_is_preallocated_is_waited_for_and_what_is_broken_is_left_out(tmp_path: Path) -> None:
    zeros = log_of(tmp_path, batch(0) + bytes(4096))

    def write() -> None:
        with zeros.open("r+b") as file:
            file.seek(len(batch(0)))
            file.write(batch(5))

    offsets, dump, _ = follow(zeros, Events(write))
    assert offsets == list(range(10)) and dump.notes.findings == []
    broken = log_of(tmp_path, batch(0))
    offsets, dump, _ = follow(broken, Events(append(broken, bytes(300)), append(broken, batch(5))))
    assert offsets == list(range(10))
    assert [finding.kind for finding in dump.notes.findings] == ["bad-length", "skipped"]


def test_a_log_that_shrinks_ends_the_following(tmp_path: Path) -> None:
    path = log_of(tmp_path, batch(0) + batch(5))
    _, dump, _ = follow(path, Events(lambda: os.truncate(path, 10)))
    assert [finding.kind for finding in dump.notes.findings] == ["shrunk"]


def test_ctrl_c_ends_following_cleanly(tmp_path: Path) -> None:
    path = log_of(tmp_path, batch(0))
    with subprocess.Popen(
        [*MAIN, "--follow", "--deep-iteration", "--files", str(path), "-o", "jsonl"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        seen = [json.loads(process.stdout.readline()) for _ in range(7)]
        append(path, batch(5))()
        seen += [json.loads(process.stdout.readline()) for _ in range(6)]
        process.send_signal(signal.SIGINT)
        rest, stderr = process.communicate(timeout=60)
    size = path.stat().st_size
    assert [each["offset"] for each in seen if each["type"] == "record"] == list(range(10))
    assert [json.loads(line) for line in rest.splitlines()] == [{"type": "end", "position": size, "next_offset": 10}]
    assert process.returncode == 0
    assert stderr.splitlines() == [
        f"{path}: read up to byte {size}, the next offset is 10; continue with --from-position 0:{size}"
    ]  # fmt: skip


# Terminals


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What a terminal gets to see of a run."""
    import pty

    lead, follow_ = pty.openpty()
    with subprocess.Popen(
        [*MAIN, *arguments],
        stdout=follow_,
        stderr=subprocess.PIPE,
        env={**{name: os.environ[name] for name in os.environ if name != "NO_COLOR"}, "TERM": "xterm", **environment},
    ) as process:
        os.close(follow_)
        seen = b""
        while True:
            try:
                data = os.read(lead, 65536)
            except OSError:  # Linux: the other end is closed
                break
            if not data:
                break
            seen += data
        process.wait(60)
    os.close(lead)
    return seen.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_and_no_control_characters(tmp_path: Path) -> None:
    data = bytearray(build_batch([(1, b"k", b"\x1b[2Jgone\x9b", ())]))
    data[17] ^= 1
    path = str(log_of(tmp_path, bytes(data)))
    plain = on_a_terminal("--print-data-log", "--files", path, NO_COLOR="1")
    assert "\x1b" not in plain and "payload: \\x1b[2Jgone" in plain
    coloured = on_a_terminal("--print-data-log", "--files", path)
    assert f"\x1b[1mDumping {path}\x1b[0m\n" in coloured
    assert "isvalid: false\x1b[0m\n" in coloured and "payload: \\x1b[2Jgone" in coloured
    assert run("--print-data-log", "--files", path)[1].encode().count(b"\x1b[") == 1


def test_a_bar_is_shown_only_to_somebody_who_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kafka_tools.commands.logs import dump_log
    from kafka_tools.output import progress

    path = str(log_of(tmp_path, batch(0)))
    shown: list[tuple[int, int]] = []

    @contextmanager
    def bar(title: str, poll: Callable[[], tuple[int, int]]) -> Iterator[None]:
        yield
        shown.append(poll())

    monkeypatch.setattr(progress, "progress", bar)
    assert run("--files", path)[0] == 0 and shown == []
    with output() as (_, stderr):
        monkeypatch.setattr(stderr, "isatty", lambda: True)
        assert running.run(command, ["--files", path], PROGRAM) == 0 and shown == []
        monkeypatch.setattr(dump_log, "_BAR_FROM_BYTES", 1)
        monkeypatch.setattr(dump_log, "_MIB", 1)
        assert running.run(command, ["--files", path], PROGRAM) == 0
    assert shown == [(os.path.getsize(path), os.path.getsize(path))]


# What it is called and what it takes


@pytest.mark.req("DL-1", "DL-3")
@pytest.mark.parametrize("start", [MAIN, (sys.executable, "-m", "kafka_tools", "dump-log")])
def test_the_script_and_the_command_are_the_same(start: tuple[str, ...], log: str) -> None:
    """Arguments arrive as they were given, ``--version`` anywhere."""
    arguments = ("--files", log, "--offsets", "3:5", "--deep-iteration")
    ended = subprocess.run([*start, *arguments], capture_output=True, encoding="utf-8", timeout=60)
    assert ended.stdout == run(*arguments)[1] and ended.stdout.count("| offset:") == 2
    ended = subprocess.run([*start, *arguments, "--version"], capture_output=True, encoding="utf-8", timeout=60)
    assert (ended.returncode, ended.stdout) == (0, f"{VERSION_LINE}\n")


@pytest.mark.req("DL-2")
def test_no_offset_checker_is_offered() -> None:
    from kafka_tools.cli import COMMANDS

    assert [name for name in COMMANDS if "checker" in name] == []


@pytest.mark.req("DL-4")
def test_options_and_suffixes_of_kafka_2_0(tmp_path: Path) -> None:
    known = {name for parameter in command.params for name in parameter.opts}
    assert known >= {
        *("--files", "--print-data-log", "--deep-iteration", "--index-sanity-check", "--verify-index-only"),
        *("--max-message-size", "--offsets-decoder", "--transaction-log-decoder"),
        *("--key-decoder-class", "--value-decoder-class"),
    }
    largest = next(each for each in command.params if each.name == "max_message_size")
    assert largest.default == 5242880
    for suffix in (".log", ".index", ".timeindex", ".snapshot", ".txnindex"):
        path = tmp_path / f"{0:020d}{suffix}"
        path.write_bytes(b"")
        assert run("--files", str(path))[1].splitlines()[0] == f"Dumping {path}"
    unknown = tmp_path / "notes.txt"
    unknown.touch()
    status, stdout, stderr = run("--files", str(unknown))
    assert (status, stdout, stderr) == (0, f"Dumping {unknown}\n", [f"Ignoring unknown file {unknown}"])
