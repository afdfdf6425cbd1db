"""Rounds of compaction beside Kafka's own ``Cleaner``, on copies of the same random logs.

``python -m tests.against_kafka.test_compaction FROM TO`` compares the seeds of a range; a few of them run as a test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_tools.storage.cleaner.rounds import MapSize
from kafka_tools.storage.log.partition_log import LogConfig
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.java_programs import Lines
from tests.storage.dirty_logs import COMPACT, START_MS, Writers, batches_of, clean_once, old_messages, opened

CLEANER = "org.apache.kafka.storage.internals.log.KafkaCleaner"
ROUNDS = 5
DUMP = "org.apache.kafka.tools.DumpLogSegments"


def clean(kafka: Lines, directory: Path, now_ms: int, cleaned_to: int | None, map_bytes: int, config: LogConfig) -> str:
    """What Kafka says of a round: first dirty offset, end, clean and cleanable bytes, overdue, cleaned to."""
    values = {
        "internal.segment.bytes": config.segment_bytes,
        "segment.index.bytes": config.segment_index_bytes,
        "index.interval.bytes": config.index_interval_bytes,
        "cleanup.policy": "compact",
        "delete.retention.ms": config.delete_retention_ms,
        "min.compaction.lag.ms": config.min_compaction_lag_ms,
        "max.compaction.lag.ms": config.max_compaction_lag_ms,
    }
    words = [directory, now_ms, -1 if cleaned_to is None else cleaned_to, map_bytes]
    words += [f"{key}={value}" for key, value in values.items()]
    return kafka.ask(" ".join(map(str, words))).strip()


def segment_files(directory: Path) -> set[str]:
    names = {path.name for path in directory.iterdir()}
    return {name for name in names if name[0] == "0" and not name.endswith((".deleted", ".snapshot"))}


def compare(kafka: Lines, seed: int, folder: Path) -> Iterator[str]:
    """Rounds on one random log: every difference, none if all is as it should be.

    A map that is full ends Kafka's round within a segment, and its next one then takes committed transactions for
    aborted ones that ended before: it keeps more than it need. So logs with transactions get a map for all keys.
    """
    plain, transactions = bool(seed % 2), seed % 3 == 0 or seed % 7 == 0
    writers = Writers(
        seed, codec="none" if plain else None, keys=5 + seed % 40, null_keys=seed % 3 == 0, transactions=transactions
    )
    map_bytes = 1 << 20 if transactions else (24 * 8, 24 * 30)[seed % 2]
    config = COMPACT._replace(
        segment_index_bytes=40_000,
        min_compaction_lag_ms=5000 if seed % 5 == 0 else 0,
        max_compaction_lag_ms=50_000 if plain else COMPACT.max_compaction_lag_ms,
    )
    ours = folder / "t-0"
    if seed % 4 == 0:
        ours.mkdir()
        for magic, first in ((0, 0), (1, 70)):
            path = ours / f"{first:020d}.log"
            path.write_bytes(old_messages(seed, magic, first, 60))
            os.utime(path, (START_MS / 1000 - 200,) * 2)
    log, cleaned_to = opened(ours, config=config, clean=False), None
    for turn in range(ROUNDS):
        writers.write(log, 60)
        if turn % 2:
            writers.end_all(log)
        if turn == 3:
            log.roll()
        log.close()
        writers.now_ms += (1000, 200_000)[turn % 2]
        theirs = Path(shutil.copytree(ours, folder / f"kafka-{turn}" / "t-0"))
        theirs_said = clean(kafka, theirs, writers.now_ms, cleaned_to, map_bytes, config)
        log = opened(ours, writers.now_ms, config, cleaned_to=cleaned_to or 0)
        found, done = clean_once(log, cleaned_to, writers.now_ms, MapSize(map_bytes))
        log.close()
        end = -1 if done is None else done.end_offset
        ours_said = f"{found.first_dirty_offset} {found.end_offset} {found.clean_bytes} {found.cleanable_bytes}"
        ours_said += f" {str(found.overdue).lower()} {end}"
        if ours_said != theirs_said:
            yield f"seed {seed} round {turn}: ours {ours_said}, Kafka's {theirs_said}"
        cleaned_to = cleaned_to if done is None else done.end_offset
        for name in sorted(segment_files(ours) | segment_files(theirs)):
            if not same(ours / name, theirs / name, plain=plain):
                yield f"seed {seed} round {turn}: {name} differs"
        log = opened(ours, writers.now_ms, config, cleaned_to=cleaned_to or 0)
    log.close()


def same(ours: Path, theirs: Path, *, plain: bool) -> bool:
    """Whether two files say the same: to the byte, but for what depends on how small a codec makes things."""
    if not ours.exists() or not theirs.exists():
        return False
    data, theirs_data = ours.read_bytes(), theirs.read_bytes()
    if theirs.suffix in (".index", ".timeindex"):
        # Kafka since 4.4 closes a log with the room that it made for entries to come.
        theirs_data = theirs_data[: len(data)] + theirs_data[len(data) :].rstrip(b"\0")
    if data == theirs_data:
        return True
    if plain or ours.suffix == ".txnindex":
        return False
    return ours.suffix != ".log" or batches_of(ours) == batches_of(theirs)


@pytest.fixture(scope="module")
def kafka_cleaner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lines]:
    with Lines.start("KafkaCleaner", tmp_path_factory.mktemp("cleaner"), main=CLEANER) as found:
        yield found


@pytest.mark.req("DESIGN-23", "DESIGN-24", "DESIGN-25", "DESIGN-26")
@pytest.mark.parametrize("seed", [0, 1, 3, 7, 10, 12, 14, 23])
def test_what_stays_is_what_kafka_leaves(kafka_cleaner: Lines, tmp_path: Path, seed: int) -> None:
    assert list(compare(kafka_cleaner, seed, tmp_path)) == []


def test_kafkas_dump_tool_finds_nothing_wrong(
    tmp_path: Path, java_tool: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    writers, log = Writers(5), opened(tmp_path / "t-0")
    writers.write(log, 150)
    writers.end_all(log)
    log.roll()
    clean_once(log, None, writers.now_ms, MapSize())
    log.close()
    files = sorted(path for path in (tmp_path / "t-0").iterdir() if path.suffix in (".log", ".index", ".timeindex"))
    done = java_tool(
        NEWEST, DUMP, "--deep-iteration", "--index-sanity-check", "--files", ",".join(map(str, files))
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "isvalid: false" not in done.stdout
    for text in ("Mismatches", "Found", "out of order", "Error"):
        assert text not in done.stdout + done.stderr, done.stdout[-2000:]


def main() -> int:
    """Compare the seeds from the first argument to the second; 1 if there is a difference."""
    found = 0
    with tempfile.TemporaryDirectory() as holder, Lines.start("KafkaCleaner", Path(holder), main=CLEANER) as kafka:
        for seed in range(*map(int, sys.argv[1:3])):
            folder = Path(holder) / str(seed)
            folder.mkdir()
            for difference in compare(kafka, seed, folder):
                print(difference)
                found += 1
            shutil.rmtree(folder)
    print(f"{found} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
