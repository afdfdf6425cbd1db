"""What kafka-dump-log does beyond Kafka's tool: ranges, keys, partitions, sums, positions, following, processes."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.commands import _run
from kafka_tools.commands._dump_follow import Follower
from kafka_tools.commands._dump_output import Output
from kafka_tools.commands._dump_ranges import Position, offset_range, position, time_range
from kafka_tools.commands._dump_run import Reading
from kafka_tools.commands.dump_log import PROGRAM, command
from kafka_tools.errors import UsageError
from kafka_tools.output import dump_walk
from kafka_tools.output.dump_endings import TextEnding
from kafka_tools.output.dump_files import Dump, DumpOptions
from kafka_tools.records.build import build_batch
from tests.commands.test_dump_log_golden import output
from tests.corpus.golden import case, files

NOW_MS = 1_700_000_000_000
MAIN = (sys.executable, "-c", "from kafka_tools.commands.dump_log import main; main()")


def run(*arguments: str) -> tuple[int, str, list[str]]:
    """(status, stdout, lines of stderr)."""
    with output() as (stdout, stderr):
        status = _run.run(command, list(arguments), PROGRAM)
        return status, stdout.data().decode(), stderr.data().decode().splitlines()


def objects(*arguments: str, of: str = "record") -> list[dict[str, Any]]:
    status, stdout, stderr = run(*arguments, "-o", "jsonl")
    assert status in (0, 1), stderr
    return [each for each in map(json.loads, stdout.splitlines()) if each["type"] == of]


def batch(first: int, count: int = 5, codec: str = "none", **given: Any) -> bytes:
    """A batch of ``count`` records from offset ``first`` on; a record's time is 1000 times its offset."""
    records = [(1000 * each, b"key-%d" % each, b"value-%d" % each, ()) for each in range(first, first + count)]
    return build_batch(records, base_offset=first, codec=codec, **given)


def log_of(folder: Path, data: bytes, base_offset: int = 0) -> Path:
    path = folder / f"{base_offset:020d}.log"
    path.write_bytes(data)
    return path


@pytest.fixture
def log(tmp_path: Path) -> str:
    """20 records in four batches."""
    return str(log_of(tmp_path, b"".join(batch(first, codec="lz4") for first in range(0, 20, 5))))


# Ranges


@pytest.mark.parametrize(
    ("text", "expected"),
    [("100:200", (100, 200)), ("100:", (100, None)), (":200", (None, 200)), ("100", (100, 101)), (" 7 : 9 ", (7, 9))],
)
def test_ranges_of_offsets(text: str, expected: tuple[int | None, int | None]) -> None:
    assert offset_range(text) == expected


@pytest.mark.parametrize("text", ["", ":", "a:b", "-1:5", "5:5", "9:3", "1:2:3", "1.5", "9223372036854775808", "²:3"])
def test_what_is_no_range_of_offsets_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--offsets"):
        offset_range(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1000:2000", (1000, 2000)),
        ("2h:", (NOW_MS - 7_200_000, None)),
        ("PT1H30M:now", (NOW_MS - 5_400_000, NOW_MS)),
        ("1.5s ago:", (NOW_MS - 1500, None)),
        ("P1DT1S:", (NOW_MS - 86_401_000, None)),
        ("1970-01-01T00:00:01Z:1970-01-01T00:00:02.5Z", (1000, 2500)),
        ("1970-01-01T02:00+02:00:", (0, None)),
        (":1970-01-01 00:00:00.123456Z", (None, 123)),
        ("1969-12-31T19:00:00-05:00:1970-01-01T00:01:00+0000", (0, 60_000)),
        ("2024-02-29Z:2024-03-01Z", (1_709_164_800_000, 1_709_251_200_000)),
    ],
)
def test_ranges_of_times(text: str, expected: tuple[int | None, int | None]) -> None:
    assert time_range(text, NOW_MS) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", ":", "soon:", "1000", "2000:1000", "P:", "PT:", "99999999999999999999:"),
        *("2024-02-30T00:00:00Z:", "2024-01-01T25:00:00Z:"),
    ],
)
def test_what_is_no_range_of_times_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--time"):
        time_range(text, NOW_MS)


def test_a_time_without_a_zone_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError) as refused:
        time_range("2024-05-01T10:00:00:2024-05-01T11:00:00", NOW_MS)
    assert refused.value.hint is not None and "zone" in refused.value.hint


def test_positions() -> None:
    assert (position("4096"), position("5000:4096")) == (Position(None, 4096), Position(5000, 4096))
    for text in ("", "x", "1:2:3", "-1", ":5"):
        with pytest.raises(UsageError, match="--from-position"):
            position(text)


# What is selected


@pytest.mark.parametrize("way", ["scalar", "columns"])
@pytest.mark.parametrize("codec", ["none", "lz4"])
@pytest.mark.parametrize(
    ("option", "wanted"),
    [
        (("--offsets", "7:12"), range(7, 12)),
        (("--offsets", "5:10"), range(5, 10)),
        (("--offsets", "12:"), range(12, 20)),
        (("--offsets", ":3"), range(3)),
        (("--offsets", "500:"), range(0)),
        (("--time", "3000:9000"), range(3, 9)),
        (("--key", "key-1?"), range(10, 20)),
        (("--key", "key-3"), [3]),
        (("--offsets", "4:", "--time", ":16000", "--key", "*5"), [5, 15]),
    ],
)
def test_only_what_was_asked_for(
    option: tuple[str, ...], wanted: Any, codec: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump_walk, "FAST_FROM_BYTES", 0 if way == "columns" else 1 << 60)
    monkeypatch.setattr(dump_walk, "WINDOW_BYTES", 200)
    path = str(log_of(tmp_path, b"".join(batch(first, codec=codec) for first in range(0, 20, 5))))
    found = objects("--print-data-log", "--files", path, *option)
    assert [each["offset"] for each in found] == list(wanted)
    assert [each["key"] for each in found] == [f"key-{each}" for each in wanted]
    # Batches are shown for what is wanted of them, and no others; offsets that are not shown are no gaps.
    assert len(objects("--files", path, *option, of="batch")) == len({each // 5 for each in wanted})
    assert objects("--print-data-log", "--files", path, *option, of="finding") == []
    text = run("--print-data-log", "--files", path, *option)
    assert text[0] == 0 and text[1].count("| offset:") == len(list(wanted)) and text[2] == []


def test_what_comes_before_the_offsets_is_not_read(tmp_path: Path) -> None:
    """The offset index tells where to begin, and a wrong one is no obstacle."""
    batches = [batch(first) for first in range(0, 20, 5)]
    path = log_of(tmp_path, bytes(len(batches[0])) + b"".join(batches[1:]))
    assert run("--offsets", "11:", "--files", str(path))[0] == 1
    index = path.with_suffix(".index")
    index.write_bytes(struct.pack(">ii", 14, 2 * len(batches[0])))
    status, stdout, stderr = run("--offsets", "14:", "--deep-iteration", "--files", str(path))
    assert (status, stdout.count("| offset:"), stderr) == (0, 6, [])
    index.write_bytes(struct.pack(">ii", 14, 7))
    path.write_bytes(b"".join(batches))
    assert run("--offsets", "14:", "--deep-iteration", "--files", str(path))[1].count("| offset:") == 6


def test_a_damaged_offset_beyond_the_range_does_not_end_the_reading(tmp_path: Path) -> None:
    """A base offset is not under the CRC: one flipped bit must not hide what follows."""
    batches = [bytearray(batch(first)) for first in range(0, 20, 5)]
    batches[1][2] ^= 1
    path = log_of(tmp_path, b"".join(batches))
    assert [each["offset"] for each in objects("--deep-iteration", "--offsets", "2:13", "--files", str(path))] == [
        *range(2, 5),
        *range(10, 13),
    ]


def test_entries_of_indexes_are_selected_too(tmp_path: Path) -> None:
    sizes = [len(batch(first)) for first in range(0, 20, 5)]
    log_of(tmp_path, b"".join(batch(first) for first in range(0, 20, 5)))
    index, time_index = tmp_path / f"{0:020d}.index", tmp_path / f"{0:020d}.timeindex"
    index.write_bytes(b"".join(struct.pack(">ii", 4 + 5 * each, sum(sizes[:each])) for each in range(1, 4)))
    time_index.write_bytes(b"".join(struct.pack(">qi", 1000 * each, each) for each in (4, 9, 14, 19)))
    assert run("--files", str(index), "--offsets", "10:15")[1].splitlines()[1:] == [
        f"offset: 14 position: {sum(sizes[:2])}"
    ]
    assert run("--files", str(time_index), "--time", ":9000")[1].splitlines()[1:] == ["timestamp: 4000 offset: 4"]


# Files


def test_patterns_and_directories(tmp_path: Path, log: str) -> None:
    other = log_of(tmp_path, batch(20), 20)
    (tmp_path / "leftover.log.deleted").write_bytes(b"")
    both = [f"Dumping {log}", f"Dumping {other}"]

    def dumped(*arguments: str) -> list[str]:
        return [line for line in run(*arguments)[1].splitlines() if line.startswith("Dumping")]

    assert dumped("--files", str(tmp_path / "*.log")) == both
    assert dumped("--files", str(tmp_path)) == both
    assert dumped("--files", f"{other},{log}") == both[::-1]
    partition = tmp_path / "logs" / "orders-0"
    partition.mkdir(parents=True)
    log_of(partition, batch(0))
    assert len(dumped("--files", str(tmp_path / "logs"))) == 1
    status, _, stderr = run("--files", str(tmp_path / "*.index"))
    assert status == 1 and stderr == [f"{PROGRAM}: no file matches '{tmp_path / '*.index'}'"]


def test_a_name_that_exists_is_no_pattern(tmp_path: Path) -> None:
    folder = tmp_path / "a[1]"
    folder.mkdir()
    path = log_of(folder, batch(0))
    assert run("--files", str(path))[0] == 0


def test_a_whole_partition_is_compared_with_itself(tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    log_of(directory, batch(0) + batch(5))
    log_of(directory, batch(8), 8)  # begins before the end of the segment before it
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n", encoding="utf-8")
    status, stdout, stderr = run("--partition-dir", str(directory))
    assert status == 1 and "leaderEpoch: 0 startOffset: 0\n" in stdout
    assert any(f"{directory}/{8:020d}.log" in line or f"{directory}/{0:020d}.log" in line for line in stderr), stderr
    found = objects("--partition-dir", str(directory), of="finding")
    assert any(each["severity"] == "error" for each in found)


@pytest.mark.parametrize("name", ["txn-43", "m2-lz4-43", "compact-43", "idem-43", "offsets-43", "metadata-43"])
def test_sound_partitions_have_no_damage(name: str) -> None:
    for directory in {path.parent for path in files(".log") if f"/{name}/" in str(path)}:
        status, _, stderr = run("--partition-dir", str(directory))
        assert status == 0, stderr


# Sums


@pytest.mark.parametrize("way", ["scalar", "columns"])
def test_a_summary_adds_up(way: str, tmp_path: Path, log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_walk, "FAST_FROM_BYTES", 0 if way == "columns" else 1 << 60)
    log_of(tmp_path, batch(20, codec="zstd", producer_id=7, producer_epoch=1, base_sequence=0, transactional=True), 20)
    found = objects("--summary", "--deep-iteration", "--files", str(tmp_path), of="summary")
    assert [each["file"] for each in found] == [log, str(tmp_path / f"{20:020d}.log"), None]
    total = found[-1]["log"]
    assert (found[-1]["files"], total["batches"], total["records"]) == (2, 5, 25)
    assert (total["first_offset"], total["last_offset"]) == (0, 24)
    assert (total["first_timestamp_ms"], total["last_timestamp_ms"]) == (0, 24_000)
    assert {name: row["records"] for name, row in total["codecs"].items()} == {"lz4": 20, "zstd": 5}
    assert total["uncompressed_bytes"] == sum(len(batch(first)) for first in range(0, 25, 5))
    assert total["ratio"] == round(total["uncompressed_bytes"] / total["batch_bytes"], 3)
    assert total["open_transactions"] == [{"producer_id": 7, "first_offset": 20}]
    assert (total["without_key"], total["tombstones"]) == (0, 0)
    text = run("--summary", "--files", str(tmp_path))[1]
    assert "Total of 2 files" in text and "open: producer 7 since offset 20" in text
    document = json.loads(run("--summary", "--files", str(tmp_path), "-o", "json")[1])
    assert len(document["data"]) == 3


def test_open_transactions_are_those_of_kafkas_own_snapshot() -> None:
    """The producer snapshot that the broker wrote last lists the transactions that are open at the end of the log."""
    for name in ("txn-22", "txn-39", "txn-43"):
        for directory in sorted({path.parent for path in files(".snapshot") if f"/{name}/" in str(path)}):
            snapshot = max(str(path) for path in directory.glob("*.snapshot"))
            open_there = {
                (each["producer_id"], each["current_txn_first_offset"])
                for each in objects("--files", snapshot, of="producer")
                if each["current_txn_first_offset"] is not None
            }
            logs = sorted(str(path) for path in directory.glob("*.log"))
            found = objects("--summary", "--files", ",".join(logs), of="summary")[-1]["log"]["open_transactions"]
            assert {(each["producer_id"], each["first_offset"]) for each in found} == open_there


# Positions


def test_a_dump_goes_on_where_the_last_one_ended(tmp_path: Path, log: str) -> None:
    size = os.path.getsize(log)
    _, _, stderr = run("--files", log, "--show-position")
    assert stderr == [f"{log}: read up to byte {size}, the next offset is 20; --from-position 0:{size}"]
    with open(log, "ab") as file:
        file.write(batch(20))
    found = objects("--deep-iteration", "--files", log, "--from-position", str(size))
    assert [each["offset"] for each in found] == list(range(20, 25))
    log_of(tmp_path, batch(25), 25)
    found = objects("--deep-iteration", "--files", str(tmp_path), "--from-position", f"0:{size}")
    assert [each["offset"] for each in found] == list(range(20, 30))
    found = objects("--deep-iteration", "--files", str(tmp_path), "--from-position", "25:0")
    assert [each["offset"] for each in found] == list(range(25, 30))


@pytest.mark.parametrize("given", ["1", "0:1", "7:0", "0:99999999"])
def test_a_position_where_nothing_begins_is_an_error(given: str, log: str) -> None:
    status, _, stderr = run("--files", log, "--from-position", given)
    assert status == 1 and len([line for line in stderr if line.startswith(PROGRAM)]) == 1


# Options that exclude each other


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--files", "a", "--partition-dir", "b"),
        ("--files", "a", "--bytes", "text"),
        ("--files", "a", "--follow", "--summary"),
        ("--files", "a", "--follow", "-o", "json"),
        ("--files", "a", "--follow", "--jobs", "2"),
        ("--files", "a.index", "--follow"),
        ("--files", "a.log,b.log", "--follow"),
        ("--files", "a", "--jobs", "0"),
        ("--files", "a", "--offsets", "x"),
        ("--files", "a", "--time", "x"),
        ("--files", "a", "--from-position", "x"),
        ("--files", "a", "-o", "yaml"),
    ],
)
def test_wrong_command_lines_are_status_2(arguments: tuple[str, ...]) -> None:
    status, stdout, stderr = run(*arguments)
    assert status == 2 and not stdout and stderr[0].startswith(PROGRAM)


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
        Follower(dump, sink, clock, str(directory) if directory else None).run([Reading(str(path))])
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
    broken = log_of(tmp_path, batch(0), 100)
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
        f"{path}: read up to byte {size}, the next offset is 10; --from-position 0:{size}"
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
    from kafka_tools.commands import dump_log
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
        assert _run.run(command, ["--files", path], PROGRAM) == 0 and shown == []
        monkeypatch.setattr(dump_log, "_BAR_FROM_BYTES", 1)
        monkeypatch.setattr(dump_log, "_MIB", 1)
        assert _run.run(command, ["--files", path], PROGRAM) == 0
    assert shown == [(os.path.getsize(path), os.path.getsize(path))]


# What it is called and what it takes


@pytest.mark.req("DL-1", "DL-3")
@pytest.mark.parametrize("start", [MAIN, (sys.executable, "-m", "kafka_tools", "dump-log")])
def test_the_script_and_the_command_are_the_same(start: tuple[str, ...], log: str) -> None:
    """The entry point makes a launcher on every system; arguments arrive as they were given, ``--version`` anywhere."""
    from importlib.metadata import entry_points

    scripts = {each.name: each.value for each in entry_points(group="console_scripts")}
    assert scripts["kafka-dump-log"] == "kafka_tools.scripts:dump_log"
    arguments = ("--files", log, "--offsets", "3:5", "--deep-iteration")
    ended = subprocess.run([*start, *arguments], capture_output=True, encoding="utf-8", timeout=60)
    assert ended.stdout == run(*arguments)[1] and ended.stdout.count("| offset:") == 2
    ended = subprocess.run([*start, *arguments, "--version"], capture_output=True, encoding="utf-8", timeout=60)
    assert (ended.returncode, ended.stdout) == (0, f"{_run.version_line()}\n")


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
    status, stdout, stderr = run("--files", str(unknown))
    assert (status, stdout, stderr) == (0, f"Dumping {unknown}\n", [f"Ignoring unknown file {unknown}"])
