"""Following logs: every batch, record and damage exactly once, whatever the broker does between two steps."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="the Spark packages are not installed")

from kafka_tools.errors import KafkaToolsError
from kafka_tools.records.build import build_batch
from kafka_tools.spark.columns.tables import BATCH_COLUMNS, RECORD_COLUMNS
from kafka_tools.spark.options import BATCH_OPTIONS, RECORD_OPTIONS, parse_options
from kafka_tools.spark.streaming import LogStreamReader
from kafka_tools.storage.indexes import OFFSET_ENTRY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Log:
    """A partition directory as a broker writes it."""

    def __init__(self, log_dir: Path, name: str = "orders-0", topic_id: str = "first") -> None:
        self.folder = log_dir / name
        self.folder.mkdir(parents=True)
        (self.folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
        self.end = 0
        self.roll()

    def roll(self) -> None:
        self.path = self.folder / f"{self.end:020d}.log"
        self.path.touch()

    def append(self, count: int = 3, size: int = 10) -> bytes:
        records = [(1_700_000_000_000 + self.end + n, b"k", b"v" * size, ()) for n in range(count)]
        data = build_batch(records, base_offset=self.end)
        with open(self.path.with_suffix(".index"), "ab") as index:
            base = int(self.path.stem)
            index.write(OFFSET_ENTRY.pack(self.end + count - 1 - base, self.path.stat().st_size))
        self.write(data)
        self.end += count
        return data

    def write(self, data: bytes) -> None:
        with open(self.path, "ab") as file:
            file.write(data)


class Stream:
    """What Spark does with a reader, without Spark: steps, offsets in between as JSON, restarts."""

    def __init__(self, *log_dirs: Path, table: str = "kafka_log_batches", **options: str) -> None:
        columns, allowed = (
            (BATCH_COLUMNS, BATCH_OPTIONS) if table == "kafka_log_batches" else (RECORD_COLUMNS, RECORD_OPTIONS)
        )
        given = {"paths": "[" + ",".join(f'"{path}"' for path in log_dirs) + "]", **options}
        self.table = table
        self.options = parse_options(given, columns, allowed)
        self.offsets = self.reader().initialOffset()

    def reader(self) -> LogStreamReader:
        return LogStreamReader(self.table, self.options)

    def step(self, limit: Any = None) -> list[dict[str, Any]]:
        end = self.reader().latestOffset(self.offsets, limit)
        rows = self.between(self.offsets, end)
        self.offsets = end
        return rows

    def between(self, start: dict[str, Any], end: dict[str, Any]) -> list[dict[str, Any]]:
        reader = self.reader()
        return [row for task in reader.partitions(start, end) for part in reader.read(task) for row in part.to_pylist()]


def offsets_of(rows: list[dict[str, Any]]) -> list[int]:
    return [row["base_offset"] if "base_offset" in row else row["offset"] for row in rows]


def test_each_step_reads_what_was_written_since_the_last(tmp_path: Path) -> None:
    log = Log(tmp_path)
    stream = Stream(tmp_path)
    assert stream.step() == []
    log.append()
    assert offsets_of(stream.step()) == [0]
    assert stream.step() == []
    log.append()
    log.append()
    log.roll()
    log.append()
    assert offsets_of(stream.step()) == [3, 6, 9]
    other = Log(tmp_path, "orders-1")
    other.append()
    assert [(row["partition"], row["base_offset"]) for row in stream.step()] == [(1, 0)]


@pytest.mark.req("SPARK-2")
@pytest.mark.parametrize("table", ["kafka_log_batches", "kafka_log_records"])
@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_lost_or_doubled_by_steps_and_restarts(tmp_path: Path, seed: int, table: str) -> None:
    pick = random.Random(seed)
    logs = [Log(tmp_path, f"orders-{number}") for number in range(2)]
    stream = Stream(tmp_path, table=table, rangeBytes="1024")
    seen: list[tuple[int, int]] = []
    expected: list[tuple[int, int]] = []
    torn: dict[int, bytes] = {}
    for _ in range(40):
        number = pick.randrange(2)
        log = logs[number]
        log.write(torn.pop(number, b""))
        for _ in range(pick.randrange(4)):
            first, count = log.end, pick.randrange(1, 6)
            log.append(count, pick.randrange(300))
            expected += [(number, n) for n in (range(first, log.end) if table.endswith("records") else [first])]
        if pick.random() < 0.2:
            log.roll()
        elif pick.random() < 0.3:  # a batch of which only a part has been written
            first, count = log.end, 2
            size = log.path.stat().st_size
            data = log.append(count)
            cut = pick.randrange(1, len(data))
            log.path.write_bytes(log.path.read_bytes()[: size + cut])
            torn[number] = data[cut:]
            expected += [(number, n) for n in (range(first, log.end) if table.endswith("records") else [first])]
        if pick.random() < 0.5:
            start = dict(stream.offsets)
            rows = stream.step()
            assert stream.between(start, stream.offsets) == rows  # a step that failed is read again, the same
            seen += [(row["partition"], offset) for row, offset in zip(rows, offsets_of(rows), strict=True)]
            assert [row for row in rows if row["damage"]] == []
    for number, rest in torn.items():
        logs[number].write(rest)
    rows = stream.step()
    seen += [(row["partition"], offset) for row, offset in zip(rows, offsets_of(rows), strict=True)]
    assert len(seen) == len(set(seen))
    assert sorted(seen) == sorted(expected)


def test_a_limit_makes_several_steps(tmp_path: Path) -> None:
    from pyspark.sql.streaming.datasource import ReadMaxBytes

    log = Log(tmp_path)
    for number in range(20):
        log.append(1, size=100)
        if number == 9:
            log.roll()
    stream = Stream(tmp_path, maxBytesPerTrigger="1024")
    limit = stream.reader().getDefaultReadLimit()
    assert limit == ReadMaxBytes(1024)
    steps = []
    while rows := stream.step(limit):
        steps.append(offsets_of(rows))
    assert [offset for step in steps for offset in step] == list(range(20))
    assert len(steps) >= 3


def test_damage_belongs_to_one_step_and_waits_until_something_follows_it(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.append()
    stream = Stream(tmp_path)
    assert offsets_of(stream.step()) == [0]
    hurt = bytearray(log.append())
    hurt[-2] ^= 1
    log.path.write_bytes(log.path.read_bytes()[: -len(hurt)] + hurt)
    assert stream.step() == []
    log.append()
    assert [(row["base_offset"], row["damage"]) for row in stream.step()] == [(3, "crc-mismatch"), (6, None)]
    log.write(b"\xff" * 50)
    assert stream.step() == []
    log.append()
    assert [(row["base_offset"], row["damage"]) for row in stream.step()] == [(None, "bad-length"), (9, None)]
    log.append()
    assert [(row["base_offset"], row["damage"]) for row in stream.step()] == [(12, None)]


def test_a_new_stream_may_begin_at_the_end(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.append()
    stream = Stream(tmp_path, startingOffsets="latest")
    log.append()
    assert offsets_of(stream.step()) == [3]
    later = Log(tmp_path, "payments-0")
    later.append()
    assert offsets_of(stream.step()) == [0]


def test_a_topic_made_anew_is_read_from_its_start(tmp_path: Path) -> None:
    import shutil

    log = Log(tmp_path)
    log.append()
    stream = Stream(tmp_path)
    stream.step()
    shutil.rmtree(log.folder)
    assert stream.step() == []
    log = Log(tmp_path, topic_id="second")
    log.append(1)
    assert offsets_of(stream.step()) == [0]
    assert stream.step() == []


def test_a_log_that_was_cut_is_not_read_twice(tmp_path: Path) -> None:
    log = Log(tmp_path)
    first = log.append()
    log.append()
    stream = Stream(tmp_path)
    assert offsets_of(stream.step()) == [0, 3]
    log.path.write_bytes(first)
    log.end = 3
    assert stream.step() == []
    log.append()
    log.append()
    assert offsets_of(stream.step()) == [6]


def test_segments_that_retention_took_are_passed_over(tmp_path: Path) -> None:
    log = Log(tmp_path)
    stream = Stream(tmp_path)
    log.append()
    old = log.path
    log.roll()
    log.append()
    start, end = stream.offsets, stream.reader().latestOffset(stream.offsets)
    tasks = stream.reader().partitions(start, end)
    old.unlink()
    rows = [row for task in tasks for part in stream.reader().read(task) for row in part.to_pylist()]
    assert offsets_of(rows) == [3]


def test_a_segment_that_cannot_be_read_stops_the_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path)
    log.append()
    stream = Stream(tmp_path)
    end = stream.reader().latestOffset(stream.offsets)
    tasks = stream.reader().partitions(stream.offsets, end)

    def fails(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("kafka_tools.spark.scan.open_log", fails)
    with pytest.raises(KafkaToolsError, match="cannot open the segment: Permission denied"):
        [list(stream.reader().read(task)) for task in tasks]


@pytest.mark.parametrize("index", [True, False])
def test_a_step_begins_near_its_first_offset(tmp_path: Path, index: bool) -> None:
    log = Log(tmp_path)
    for _ in range(30):
        log.append()
    if not index:
        log.path.with_suffix(".index").unlink()
    stream = Stream(tmp_path)
    stream.step()
    log.append()
    end = stream.reader().latestOffset(stream.offsets)
    (task,) = stream.reader().partitions(stream.offsets, end)
    assert [each.start > 0 for each in task.value] == [index]
    assert offsets_of(stream.step()) == [90]


def test_spark_follows_a_directory_over_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    import kafka_tools.spark

    kafka_tools.spark.register(spark)
    log = Log(tmp_path / "logs")
    log.append()

    def run() -> list[int]:
        table = spark.readStream.format("kafka_log_records").option("columns", "offset,value_bytes").load(
            str(tmp_path / "logs")
        )  # fmt: skip
        query = (
            table.writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(200)
        assert query.exception() is None
        return sorted(row.offset for row in spark.read.parquet(str(tmp_path / "out")).collect())

    assert run() == [0, 1, 2]
    log.append()
    log.roll()
    log.append()
    assert run() == list(range(9))
