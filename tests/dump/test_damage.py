"""Damaged files: one line on stderr and status 1, whatever the bytes; never a traceback, a hang or a heap of memory."""

from __future__ import annotations

import os
import random
import resource
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_tools.commands import running
from kafka_tools.commands.logs.dump_log import PROGRAM, command
from kafka_tools.dump import walk
from kafka_tools.records.build import build_batch
from tests.corpus.golden import case, files
from tests.dump.test_golden import output

SEED = 20240607
THOROUGH = bool(os.environ.get("KAFKA_TOOLS_THOROUGH"))
"""Every cut and every flip, minutes of them; without it a part that is drawn anew from the seed for every file."""
FLIPS = 200 if THOROUGH else 20
CUTS = 1 << 30 if THOROUGH else 40
WHOLE_BYTES = 8 * 1024
DECODERS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__share_group_state": "--share-group-state-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
}


def dump(*arguments: str) -> tuple[int, bytes, list[str]]:
    """(status, stdout, lines of stderr) of a run; what no run may show is asserted here."""
    with output() as (stdout, stderr):
        status = running.run(command, list(arguments), PROGRAM)
        out, lines = stdout.data(), stderr.data().decode().splitlines()
    assert status in (0, 1), lines
    for line in lines:
        assert "internal error" not in line and "Traceback" not in line, line
        assert line.startswith((f"{PROGRAM}: ", "Non-consecutive offsets in ", "  ")), line
    assert (status == 1) == any(line.startswith(PROGRAM) for line in lines), lines
    return status, out, lines


def samples() -> list[Path]:
    """One file of each kind from each case: the smallest that is not empty."""
    chosen: dict[tuple[str, str, str], Path] = {}
    for suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint"):
        for path in files(suffix):
            where = path.parts[path.parts.index("data") - 1]
            topic = path.parent.name.rsplit("-", 1)[0] if "logdir" not in where else path.parent.name[:6]
            key = where, topic, suffix
            size = path.stat().st_size
            if size and ("corrupt-" not in where) and (key not in chosen or size < chosen[key].stat().st_size):
                chosen[key] = path
    return sorted(chosen.values())


def cuts(data: bytes, rng: random.Random) -> Iterator[int]:
    """Every byte of a small file; of a large one every byte of its start and end, and a few between."""
    if len(data) <= 600:
        yield from range(len(data))
        return
    yield from range(130)
    yield from range(len(data) - 130, len(data))
    yield from sorted(rng.sample(range(130, len(data) - 130), 40))


def option_for(path: Path) -> str:
    return next(
        (option for topic, option in DECODERS.items() if path.parent.name.startswith(topic)), "--print-data-log"
    )


def ways() -> list[object]:
    """Every sample the scalar way, logs also by columns."""
    return [
        pytest.param(path, way, id="-".join((*path.parts[-4:], way)))
        for path in samples()
        for way in (("scalar", "columns") if path.suffix == ".log" else ("scalar",))
    ]


@pytest.mark.parametrize(("path", "way"), ways())
def test_no_cut_and_no_flipped_bit_surprises(
    path: Path, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "FAST_FROM_BYTES", 0 if way == "columns" else 1 << 60)
    rng = random.Random(f"{SEED} {path.name} {path.parent.name}")
    for other in path.parent.glob(path.name.split(".")[0] + ".*"):
        if other.suffix in (".log", ".index") and other != path:
            (tmp_path / other.name).write_bytes(other.read_bytes())
    target = tmp_path / path.name
    data = path.read_bytes()
    option = option_for(path)
    found = list(cuts(data, rng))
    for cut in rng.sample(found, min(CUTS, len(found))):
        target.write_bytes(data[:cut])
        dump(option, "--files", str(target))
    for _ in range(FLIPS if len(data) <= WHOLE_BYTES else FLIPS // 2):
        at = rng.randrange(len(data))
        target.write_bytes(data[:at] + bytes((data[at] ^ 1 << rng.randrange(8),)) + data[at + 1 :])
        dump(option, "--files", str(target))


def log_of(tmp_path: Path, data: bytes) -> str:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)
    return str(path)


BATCH = build_batch([(1, b"key", b"value", ())])
NAME = b"00000000000000000000.log\n"
SCRIPT = "import sys; sys.argv[0] = 'kafka-dump-log'; from kafka_tools.scripts import main; main()"
MAIN = (sys.executable, "-c", SCRIPT)


@pytest.mark.parametrize(
    ("tail", "stdout_end", "complaint"),
    [
        (BATCH[:-1], b"Found 75 invalid bytes at the end of " + NAME, "the last 75 bytes are not a complete batch"),
        (bytes(8), b"Found 8 invalid bytes at the end of " + NAME, "the last 8 bytes are zeros"),
        (bytes(1000), b"isvalid: true\n", "Found record size 0 smaller than minimum record overhead (14)"),
        (b"\x00" * 8 + b"\xff\xff\xff\xfb" + b"\x00" * 60, b"isvalid: true\n", "Found record size -5 smaller"),
        (b"\x00" * 8 + b"\x7f\xff\xff\xff" + b"\x02" * 60, b"invalid bytes at the end of " + NAME, "a complete batch"),
    ],
)  # fmt: skip
@pytest.mark.req("DL-11")
def test_what_follows_the_last_batch_is_said(tail: bytes, stdout_end: bytes, complaint: str, tmp_path: Path) -> None:
    status, stdout, lines = dump("--files", log_of(tmp_path, BATCH + tail))
    assert status == 1 and stdout.endswith(stdout_end) and len(lines) == 1 and complaint in lines[0]


def test_a_wrong_crc_is_said_with_its_place_and_the_records_are_still_printed(tmp_path: Path) -> None:
    broken = bytearray(BATCH + BATCH)
    broken[len(BATCH) + 20] ^= 1
    status, stdout, lines = dump("--print-data-log", "--files", log_of(tmp_path, bytes(broken)))
    assert status == 1 and stdout.count(b"payload: value") == 2 and b"isvalid: false" in stdout
    assert lines[0].endswith(f" at {len(BATCH)}: the CRC of the batch does not match its contents")


def test_gaps_are_reported_and_are_no_damage(tmp_path: Path) -> None:
    data = build_batch([(1, b"a", b"1", ())], base_offset=5) + build_batch([(1, b"a", b"1", ())], base_offset=9)
    path = log_of(tmp_path, data)
    status, _, lines = dump("--deep-iteration", "--files", path)
    assert (status, lines) == (0, [f"Non-consecutive offsets in {path}", "  5 is followed by 9"])


def test_healthy_files_of_every_release_are_no_damage() -> None:
    """Old brokers wrote index entries that cover several batches: Kafka's tool remarks on them, searches are right."""
    for path in files(".log") + files(".index") + files(".snapshot") + files(".txnindex"):
        text = str(path)
        if "corrupt-" in text or "killed" in text or ".deleted" in text or "preallocated" in text:
            continue
        if path.suffix != ".log" and not path.with_suffix(".log").exists() and path.suffix == ".index":
            continue
        status, _, lines = dump("--files", text)
        assert status == 0, lines


def test_bytes_of_a_directory_or_a_missing_file_get_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "00000000000000000000.log"
    status, _, lines = dump("--files", str(missing))
    assert status == 1 and lines == [f"{PROGRAM}: {missing}: No such file or directory"]
    misspelt = tmp_path / "oo.lgo"
    status, _, lines = dump("--files", str(misspelt))
    assert status == 1 and lines == [f"{PROGRAM}: {misspelt}: No such file or directory"]
    missing.mkdir()
    status, _, lines = dump("--files", str(missing))
    assert status == 1 and lines[0] == f"{PROGRAM}: no log files in directory {missing}"


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_an_index_that_ends_within_an_entry_is_damage(suffix: str, tmp_path: Path) -> None:
    """Kafka's tool up to 4.3 cuts an offset index itself, and then finds it sound; no file is touched here."""
    log_of(tmp_path, BATCH)
    (tmp_path / f"{0:020d}.index").write_bytes(struct.pack(">ii", 0, 0))
    path = tmp_path / f"{0:020d}{suffix}"
    entry = struct.pack(">ii", 0, 0) if suffix == ".index" else struct.pack(">qi", 1, 0)
    path.write_bytes(entry + b"\x00" * 3)
    whole = f"{path} at {len(entry)}: the last 3 bytes are not a complete entry of {len(entry)} bytes"
    status, stdout, lines = dump("--files", str(path))
    assert (status, stdout.count(b"\n")) == (1, 2)
    assert lines == [f"{PROGRAM}: {whole}"]
    status, stdout, lines = dump("--index-sanity-check", "--files", str(path))
    refused = f"found {len(entry) + 3} bytes which is neither positive nor a multiple of {len(entry)}"
    assert status == 1 and len(lines) == 1 and lines[0].endswith(refused)
    assert b"passed" not in stdout
    status, stdout, lines = dump("--index-sanity-check", "--keep-going", "--files", str(path))
    assert (status, lines) == (1, [f"{PROGRAM}: {whole}"])
    assert b"passed" not in stdout
    assert path.read_bytes() == entry + b"\x00" * 3


@pytest.mark.parametrize("version", [1, 258, -1])
def test_a_transaction_index_of_another_version_ends_the_text_before_its_first_entry(
    version: int, tmp_path: Path
) -> None:
    path = tmp_path / f"{0:020d}.txnindex"
    entries = [struct.pack(">hqqqq", each, 7, 1, 2, 3) for each in (0, version)]
    path.write_bytes(b"".join(entries))
    status, stdout, lines = dump("--files", str(path))
    assert (status, stdout) == (1, f"Dumping {path}\n".encode())
    assert lines == [f"{PROGRAM}: {path} at 34: the entry has the unknown version {version}"]
    status, stdout, lines = dump("--keep-going", "--files", str(path))
    assert (status, stdout.count(b"producerId: 7")) == (1, 2)
    assert b"version: %d " % version in stdout


@pytest.mark.parametrize("name", ["copy.log", "99999999999999999999.log", "1_0.log"])
def test_a_name_that_is_no_offset_ends_the_text_with_a_way_out(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    status, _, lines = dump("--files", str(path))
    assert status == 1 and lines == [f"{PROGRAM}: {path}: No such file or directory"]
    path.write_bytes(build_batch([(1, b"k", b"v", ())]))
    status, stdout, lines = dump("--files", str(path))
    assert (status, stdout) == (1, f"Dumping {path}\n".encode())
    assert lines == [
        f"{PROGRAM}: {path} is not named after the first offset of its segment",
        "  use --keep-going to read it under any name",
    ]
    status, stdout, lines = dump("--keep-going", "--files", str(path))
    assert (status, lines) == (0, [])
    assert b"baseOffset: 0 lastOffset: 0 count: 1" in stdout


def test_a_file_that_claims_gigabytes_costs_no_memory(tmp_path: Path) -> None:
    """In a process of its own that may have 600 MiB of address space in all."""
    claim = b"\x00" * 8 + b"\x7f\xff\xff\xf0" + b"\x02" * 60
    packed = bytearray(build_batch([(1, b"k", bytes(64 << 20), ())], codec="zstd"))
    packed[8:12] = (len(packed) - 12).to_bytes(4, "big")
    for name, data in (("claim", claim), ("bomb", bytes(packed))):
        folder = tmp_path / name
        folder.mkdir()
        path = log_of(folder, data)

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (900 << 20, 900 << 20))

        done = subprocess.run(
            [*MAIN, "--deep-iteration", "--files", path],
            capture_output=True,
            text=True,
            preexec_fn=limit,
            timeout=110,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.getcwd()},
        )  # fmt: skip
        assert "Traceback" not in done.stderr and "internal error" not in done.stderr and done.returncode in (0, 1)


def test_the_reader_of_the_output_may_go_away() -> None:
    log = case("many-lz4-43").cwd
    path = next(Path(log).glob("*/*.log"))
    with subprocess.Popen(
        [*MAIN, "--print-data-log", "--files", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) in (0, 141)


@pytest.mark.parametrize("form", [("-o", "jsonl"), ("--summary",), ("--keep-going",)])
def test_the_allocated_index_of_a_segment_without_records_is_sound(tmp_path: Path, form: tuple[str, ...]) -> None:
    (tmp_path / f"{5:020d}.log").touch()
    index = tmp_path / f"{5:020d}.index"
    index.write_bytes(bytes(8 * 100))
    status, _, lines = dump(*form, "--files", str(index))
    assert (status, lines) == (0, [])
    # Any other entry points at a batch that is not there.
    index.write_bytes(bytes(7) + b"\1" + bytes(8))
    status, _, lines = dump(*form, "--files", str(index))
    assert status == 1 and "points to 1" in lines[0]


@pytest.mark.parametrize("more", [[], ["-o", "jsonl"], ["--keep-going"]])
@pytest.mark.parametrize(("magic", "codec"), [(0, "gzip"), (1, "snappy"), (2, "gzip"), (2, "zstd"), (2, "lz4")])
def test_a_batch_that_is_only_large_is_no_damage_and_ends_nothing(
    magic: int, codec: str, more: list[str], tmp_path: Path
) -> None:
    large = [(1, b"k", bytes(3000), ())] * 3
    small = [(1, b"k", b"v", ())]
    path = log_of(
        tmp_path,
        build_batch(small, magic=magic)
        + build_batch(large, magic=magic, codec=codec, base_offset=1)
        + build_batch(small, magic=magic, base_offset=4),
    )
    arguments = ["--deep-iteration", *more, "--files", str(path), "--max-decompressed-bytes"]
    status, stdout, lines = dump(*arguments, "5000")
    assert (status == 1 and b"offset: 4 " in stdout) or b'"offset":4' in stdout
    (line,) = lines
    assert "exceed the limit of 5000 bytes when decompressed; raise the limit with --max-decompressed-bytes" in line
    assert "damage" not in line and "Non-consecutive" not in line
    status, stdout, lines = dump(*arguments, "50000")
    assert (status, lines) == (0, []) and (stdout.count(b"| offset: ") == 5 or stdout.count(b'"type":"record"') == 5)


def test_a_batch_that_is_only_large_is_told_from_one_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from kafka_tools.records.batches import batches
    from kafka_tools.spark.measures import records

    monkeypatch.setattr(records, "LIMIT_BYTES", 5000)
    whole = build_batch([(1, b"k", bytes(9000), ())], codec="gzip")
    cut = bytearray(build_batch([(1, b"k", bytes(range(250)), ())], codec="gzip"))
    cut[-20:] = bytes(20)
    measure = records.RecordMeasures()
    assert not list(measure.add_views([*batches(whole), *batches(bytes(cut))], "f"))
    assert [fault.kind for found in measure.faults.values() for fault in found] == [
        "large-records",
        "unreadable-records",
    ]
