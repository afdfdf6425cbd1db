"""What kafka-dump-log does beyond Kafka's tool: ranges, keys, partitions, sums, positions."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.commands.logs.dump_log import PROGRAM
from kafka_tools.dump import walk
from kafka_tools.dump.ranges import StartPosition, offset_range, position, time_range
from kafka_tools.errors import UsageError
from kafka_tools.records.crc32c import crc32c
from tests.corpus.golden import files
from tests.dump.dump_runs import batch, log_of, objects, run

NOW_MS = 1_700_000_000_000


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


def test_a_time_without_a_zone_is_utc() -> None:
    hour = (1_714_557_600_000, 1_714_561_200_000)
    assert time_range("2024-05-01T10:00:00:2024-05-01T11:00:00", NOW_MS) == hour
    assert time_range("2024-05-01 10:00:2024-05-01T12:00:00+01", NOW_MS) == hour
    assert time_range("2024-05-01:2024-05-02", NOW_MS) == (1_714_521_600_000, 1_714_608_000_000)
    assert time_range("2 hours ago:1 hour ago", NOW_MS) == (NOW_MS - 7_200_000, NOW_MS - 3_600_000)


@pytest.mark.parametrize("text", ["2024-05-01T10:00:30", "2024-05-01T10:00+02:00", "2h", "1000"])
def test_a_single_time_is_not_taken_for_a_range(text: str) -> None:
    with pytest.raises(UsageError, match="expected a range FROM:TO"):
        time_range(text, NOW_MS)


def test_positions() -> None:
    assert (position("4096"), position("5000:4096")) == (StartPosition(None, 4096), StartPosition(5000, 4096))
    for text in ("", "x", "1:2:3", "-1", ":5"):
        with pytest.raises(UsageError, match="--from-position"):
            position(text)


# What is selected


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (
            "1970-01-01:1970-01-02",
            "records with timestamps from 1970-01-01T00:00:00.000Z, before 1970-01-02T00:00:00.000Z",
        ),
        (":1970-01-01T01:00+01", "records with timestamps before 1970-01-01T00:00:00.000Z"),
        ("0:1000", ""),
    ],
)
def test_times_are_told_as_what_they_resolve_to(times: str, said: str, log: str) -> None:
    status, _text, told = run("--files", log, "--time", times)
    assert (status, [line for line in told if "gap" not in line]) == (0, [said] if said else [])


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
    monkeypatch.setattr(walk, "FAST_FROM_BYTES", 0 if way == "columns" else 1 << 60)
    monkeypatch.setattr(walk, "WINDOW_BYTES", 200)
    path = str(log_of(tmp_path, b"".join(batch(first, codec=codec) for first in range(0, 20, 5))))
    found = objects("--print-data-log", "--files", path, *option)
    assert [each["offset"] for each in found] == list(wanted)
    assert [each["key"] for each in found] == [f"key-{each}" for each in wanted]
    # Batches are shown for what is wanted of them, and no others; offsets that are not shown are not gaps.
    assert len(objects("--files", path, *option, of="batch")) == len({each // 5 for each in wanted})
    assert objects("--print-data-log", "--files", path, *option, of="finding") == []
    text = run("--print-data-log", "--files", path, *option)
    assert text[0] == 0 and text[1].count("| offset:") == len(list(wanted)) and text[2] == []


def test_what_comes_before_the_offsets_is_not_read(tmp_path: Path) -> None:
    """The offset index tells where to begin, and a wrong one is not an obstacle."""
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


@pytest.mark.parametrize("state", [".deleted", ".cleaned", ".swap"])
def test_files_that_are_replaced_or_removed_are_read_when_kafkas_text_need_not_be(state: str, tmp_path: Path) -> None:
    path = tmp_path / f"{7:020d}.log{state}"
    path.write_bytes(batch(7))
    index = tmp_path / f"{7:020d}.index{state}"
    index.write_bytes(struct.pack(">ii", 4, 0))
    both = f"{path},{index}"
    status, stdout, stderr = run("--files", both)
    assert (status, stdout) == (0, f"Dumping {path}\nDumping {index}\n")
    assert stderr == [f"Ignoring unknown file {path}", f"Ignoring unknown file {index}"]
    status, stdout, stderr = run("--keep-going", "--files", both)
    assert (status, stderr) == (0, [])
    assert "baseOffset: 7 lastOffset: 11 count: 5" in stdout
    assert stdout.endswith(f"Dumping {index}\noffset: 11 position: 0\n")
    assert [each["kind"] for each in objects("--files", both, of="file")] == ["log", "index"]


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


def test_newest_timestamps_that_no_record_has_are_found_where_records_are_read() -> None:
    (path,) = (path for path in files(".log") if "/corrupt-max-timestamp-none43/" in str(path))
    asked = ("--partition-dir", str(path.parent))
    assert objects(*asked, of="finding") == []
    (found,) = objects(*asked, "--print-data-log", of="finding")
    assert (found["kind"], found["severity"], found["position"]) == ("bad-timestamp", "warning", 3662)


# Sums


@pytest.mark.parametrize("way", ["scalar", "columns"])
def test_a_summary_adds_up(way: str, tmp_path: Path, log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "FAST_FROM_BYTES", 0 if way == "columns" else 1 << 60)
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


@pytest.mark.parametrize("count", [-5, 2_000_000_000])
def test_a_count_that_cannot_be_is_not_added_up(count: int, tmp_path: Path) -> None:
    liar = bytearray(batch(0))
    liar[57:61] = count.to_bytes(4, "big", signed=True)
    liar[17:21] = crc32c(liar[21:]).to_bytes(4, "big")
    path = log_of(tmp_path, bytes(liar) + batch(5))
    assert objects("--summary", "--files", str(path), of="summary")[0]["log"]["records"] == 5


@pytest.mark.parametrize("place", [24, 30, 40, 45, 50, 60, 70])
@pytest.mark.parametrize("deep", [(), ("--deep-iteration",)])
def test_what_a_batch_with_a_wrong_crc_says_is_not_added_up(deep: tuple[str, ...], place: int, tmp_path: Path) -> None:
    """A flipped bit in its header would make up producers, times and offsets."""
    broken = bytearray(batch(5))
    broken[place] ^= 0x40
    path = log_of(tmp_path, batch(0) + bytes(broken) + batch(10))
    arguments = ("--summary", *deep, "--files", str(path))
    found = objects(*arguments, of="summary")[0]["log"]
    other = tmp_path / "sound"
    other.mkdir()
    sound = objects("--summary", *deep, "--files", str(log_of(other, batch(0) + batch(10))), of="summary")[0]["log"]
    assert found.pop("damaged_batches") == 1 and sound.pop("damaged_batches") == 0
    assert found == sound
    text = run(*arguments)[1]
    assert "  batches:      2 (magic 2); 1 more with a wrong CRC are not added up\n" in text
    assert "  findings:     crc-mismatch 1" in text


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
    assert stderr == [f"{log}: read up to byte {size}, the next offset is 20; continue with --from-position 0:{size}"]
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


def test_a_position_needs_a_log(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020d}.snapshot"
    path.write_bytes(b"")
    for given in ("0", "0:0"):
        status, _, stderr = run("--files", str(path), "--from-position", given)
        assert (status, stderr) == (1, [f"{PROGRAM}: --from-position needs a log: none of the files ends in .log"])


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


def test_decoders_may_be_python(tmp_path: Path, log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_events.py").write_text(
        "def decode(data): return {'length': len(data)}\n"
        "class Upper:\n"
        "    def __call__(self, data): return data.decode().upper()\n"
        "class Needy:\n"
        "    def __init__(self, schema): pass\n"
        "def cut(data): return memoryview(data)[:3]\n",
        encoding="utf-8",
    )
    (tmp_path / "broken_module.py").write_text("1 / 0", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    decoders = ("--key-decoder-class", "shop_events:Upper", "--value-decoder-class", "shop_events:decode")
    assert "key: KEY-3 payload: {'length': 7}" in run(*decoders, "--files", log)[1]
    found = objects(*decoders, "--offsets", "3", "--files", log)
    assert (found[0]["key"], found[0]["value"]) == ("KEY-3", {"length": 7})
    assert "key: key payload" in run("--key-decoder-class", "shop_events:cut", "--files", log)[1]
    for name in (
        "shop_events:missing", "shop_events:Needy", "broken_module:x", "no_such_module:x", "Unheard", "os:sep"
    ):  # fmt: skip
        status, _, stderr = run("--key-decoder-class", name, "--files", log)
        assert status == 2 and name in stderr[0]
