"""The data sources inside of Spark: the same rows as outside, refused options, split input, filters, discovery."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="the Spark packages are not installed")

import kafka_tools.spark
from kafka_tools.records.build import build_batch
from kafka_tools.spark.columns.tables import BATCH_COLUMNS, FILE_COLUMNS, RECORD_COLUMNS
from kafka_tools.spark.source import PUSHDOWN
from tests.corpus.golden import case
from tests.spark.kafka_says import dumped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.req("SPARK-1")
TABLES = ("kafka_log_batches", "kafka_log_records", "kafka_log_files")


@pytest.fixture(scope="module", autouse=True)
def registered(spark: SparkSession) -> None:
    kafka_tools.spark.register(spark)


def load(spark: SparkSession, *paths: Path, table: str = "kafka_log_batches", **options: str) -> DataFrame:
    reader = spark.read.format(table).options(**options)
    return reader.load(str(paths[0])) if len(paths) == 1 else reader.load([str(path) for path in paths])


def write_segments(folder: Path, partitions: int = 1, batches: int = 4, count: int = 5, size: int = 20) -> None:
    for partition in range(partitions):
        directory = folder / f"orders-{partition}"
        directory.mkdir(parents=True)
        for number in range(batches):
            first = number * count
            records = [
                (1_700_000_000_000 + first + n, b"k%d" % (first + n), b"v" * size, [("h", b"x")]) for n in range(count)
            ]
            (directory / f"{first:020d}.log").write_bytes(build_batch(records, base_offset=first))


def test_a_brokers_directory_is_a_table_of_its_batches_and_of_its_records(spark: SparkSession) -> None:
    root = case("logdir-clean-43").cwd
    rows = load(spark, root).collect()
    expected = {path: batches for path, batches in dumped().items() if root.resolve() in path.parents}
    assert len(rows) == sum(map(len, expected.values())) > 1000
    records = sum(b["records"] for batches in expected.values() for b in batches)
    assert sum(row.record_count for row in rows) == records
    assert [row for row in rows if row.damage is not None or not row.crc_ok] == []
    assert list(rows[0].asDict()) == [column.name for column in BATCH_COLUMNS]
    table = load(spark, root, table="kafka_log_records")
    assert table.columns == [column.name for column in RECORD_COLUMNS]
    assert table.where("damage is null").count() == records


@pytest.mark.req("SPARK-2", "SPARK-3")
def test_split_input_gives_the_same_rows_once(spark: SparkSession) -> None:
    root = case("m2-none-43").cwd
    for table, order in (("kafka_log_batches", "position"), ("kafka_log_records", "offset")):
        whole = load(spark, root, table=table).orderBy("file", order).collect()
        split = load(spark, root, table=table, rangeBytes="1024")
        assert split.rdd.getNumPartitions() >= 3
        assert split.orderBy("file", order).collect() == whole


def test_the_hash_of_keys_and_values_is_sparks(spark: SparkSession) -> None:
    table = load(spark, case("m2-none-43").cwd, table="kafka_log_records", content="true")
    table.createOrReplaceTempView("records")
    checked = spark.sql(
        "select count(*), count(distinct key_hash), count_if(key_hash = xxhash64(key)), "
        "count_if(value_hash = xxhash64(value)), count_if(key_bytes = length(key)) from records where key is not null "
        "and value is not null"
    ).collect()[0]
    assert checked[0] > 100 and checked[1] > 10
    assert checked[2] == checked[3] == checked[4] == checked[0]


def test_several_directories_columns_and_topics_are_chosen(spark: SparkSession) -> None:
    zstd, gzip = case("m2-zstd-43").cwd, case("m2-gzip-43").cwd
    rows = load(spark, zstd, gzip, columns="codec,record_count").groupBy("codec").sum("record_count").collect()
    assert {row.codec: row["sum(record_count)"] for row in rows} == {"zstd": 340, "gzip": 320}
    assert load(spark, zstd, gzip, topics="*-gzip").select("topic").distinct().collect() == [("orders-gzip",)]


def test_damage_is_a_row_beside_the_sound_ones(spark: SparkSession) -> None:
    rows = load(spark, case("corrupt-negative-length-none43").cwd).collect()
    damaged = [(row.position, row.damage, row.severity, row.base_offset) for row in rows if row.damage]
    assert damaged == [(3662, "bad-length", "error", None)]
    assert len(rows) > 5


@pytest.mark.parametrize("table", TABLES)
def test_an_empty_directory_is_an_empty_table(spark: SparkSession, tmp_path: Path, table: str) -> None:
    assert load(spark, tmp_path, table=table).count() == 0


def test_sql_filters_and_times_work(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    times = [1_690_000_000_000, 2**62, -1]
    data = b"".join(build_batch([(t, None, b"v", ())], base_offset=n) for n, t in enumerate(times))
    (folder / f"{0:020d}.log").write_bytes(data)
    load(spark, tmp_path).createOrReplaceTempView("batches")
    rows = spark.sql("select base_offset from batches where max_timestamp < '2024-01-01'").collect()
    assert [row.base_offset for row in rows] == [0]


def test_filters_leave_out_partitions_and_segments_that_cannot_match(spark: SparkSession, tmp_path: Path) -> None:
    write_segments(tmp_path, partitions=3)
    table = load(spark, tmp_path, table="kafka_log_records", rangeBytes="1024")

    def read(condition: str) -> tuple[int, set[tuple[int, int]]]:
        chosen = table.where(condition)
        return chosen.rdd.getNumPartitions(), {(row.partition, row.offset) for row in chosen.collect()}

    everything = {(partition, offset) for partition in range(3) for offset in range(20)}
    assert table.rdd.getNumPartitions() == 12
    assert read("partition = 1") == (4, {each for each in everything if each[0] == 1})
    assert read("topic = 'other'") == (1, set())
    # Unreadable now, so that reading them would be seen as damage.
    for path in (tmp_path / "orders-0").glob("*.log"):
        if path.name < f"{10:020d}.log":
            path.write_bytes(b"\xff" * 100)
    assert read("partition = 0 and (offset >= 12 or offset is null)")[1] >= {(0, offset) for offset in range(12, 20)}
    assert read("partition = 0 and offset between 12 and 13")[1] == {(0, 12), (0, 13)}
    moment = "timestamp_millis(1700000000018)"
    assert read(f"partition = 2 and timestamp >= {moment}")[1] == {(2, 18), (2, 19)}
    assert read(f"partition = 2 and timestamp > {moment}")[1] == {(2, 19)}
    assert read("partition = 2 and timestamp_ms < 1700000000001")[1] == {(2, 0)}


def test_files_are_a_table(spark: SparkSession, tmp_path: Path) -> None:
    write_segments(tmp_path, partitions=2, batches=2)
    log = "00000000000000000000"
    (tmp_path / "orders-0" / f"{log}.index").write_bytes(bytes(8))
    (tmp_path / "orders-0" / f"{log}.log.deleted").write_bytes(b"x")
    (tmp_path / "orders-0" / "notes.txt").write_bytes(b"x")
    (tmp_path / "orders-1" / "leader-epoch-checkpoint").write_bytes(b"0\n0\n")
    (tmp_path / "meta.properties").write_bytes(b"version=1\n")
    (tmp_path / f"orders-2.{'0' * 32}-delete").mkdir()
    (tmp_path / f"orders-2.{'0' * 32}-delete" / f"{log}.log").write_bytes(b"abc")
    table = load(spark, tmp_path, table="kafka_log_files")
    assert table.columns == [column.name for column in FILE_COLUMNS]
    found = {
        (Path(row.file).parent.name, Path(row.file).name): (
            row.partition, row.kind, row.file_state, row.directory_state, row.is_last, row.is_known
        )
        for row in table.collect()
    }  # fmt: skip
    assert found == {
        (tmp_path.name, "meta.properties"): (None, "meta.properties", None, None, None, True),
        ("orders-0", f"{log}.index"): (0, "index", None, None, None, True),
        ("orders-0", f"{log}.log"): (0, "log", None, None, False, True),
        ("orders-0", f"{5:020d}.log"): (0, "log", None, None, True, True),
        ("orders-0", f"{log}.log.deleted"): (0, "log", "deleted", None, False, True),
        ("orders-0", "notes.txt"): (0, "notes.txt", None, None, None, False),
        ("orders-1", f"{log}.log"): (1, "log", None, None, False, True),
        ("orders-1", f"{5:020d}.log"): (1, "log", None, None, True, True),
        ("orders-1", "leader-epoch-checkpoint"): (1, "leader-epoch-checkpoint", None, None, None, True),
        (f"orders-2.{'0' * 32}-delete", f"{log}.log"): (2, "log", None, "delete", True, True),
    }
    row = table.where("kind = 'index'").collect()[0]
    assert (row.size_bytes, row.base_offset, row.topic) == (8, 0, "orders")
    assert abs(row.modified.timestamp() * 1000 - row.modified_ms) < 1
    assert load(spark, tmp_path, table="kafka_log_files", topics="payments").count() == 0


@pytest.mark.parametrize(
    ("table", "options", "text"),
    [
        ("kafka_log_batches", {"topcis": "x"}, "unknown option 'topcis'"),
        ("kafka_log_records", {"columns": "nope"}, "unknown column 'nope'"),
        ("kafka_log_files", {"content": "true"}, "unknown option 'content'"),
    ],
)
def test_unknown_options_are_refused(
    spark: SparkSession, tmp_path: Path, table: str, options: dict[str, str], text: str
) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as caught:
        load(spark, tmp_path, table=table, **options).collect()
    assert text in str(caught.value)


def test_spark_finds_the_sources_by_themselves(spark: SparkSession, tmp_path: Path) -> None:
    """Without ``register`` and without the setting for filters: a filter is then Spark's own business."""
    write_segments(tmp_path)
    fresh = spark.newSession()
    assert fresh.conf.get(PUSHDOWN) == "false"
    for table, rows in zip(TABLES, (4, 20, 4), strict=True):
        assert load(fresh, tmp_path, table=table).where("partition = 0").count() == rows


@pytest.mark.parametrize("table", TABLES)
def test_a_module_of_discovery_imports_its_class_and_never_fails(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    module: Any = importlib.import_module(f"pyspark_{table}")
    assert module.DefaultSource.name() == table
    program = (
        f"import sys; sys.modules['kafka_tools.spark.source'] = None; import pyspark_{table} as m; "
        "print(hasattr(m, 'DefaultSource'))"
    )
    root = Path(__file__).resolve().parents[2]
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=120, check=False
    )
    assert (answer.stdout, answer.stderr) == ("False\n", "")


IN_NO_ACTIVE_ENVIRONMENT = """
import sys
from pyspark.sql import SparkSession
import kafka_tools.spark

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
kafka_tools.spark.register(spark)
print(spark.read.format("kafka_log_batches").load(sys.argv[1]).count())
"""


def test_a_local_session_works_in_an_environment_that_is_not_activated(spark: SparkSession, tmp_path: Path) -> None:
    write_segments(tmp_path / "logs")
    (tmp_path / "bin").mkdir()
    stranger = tmp_path / "bin" / "python3"
    stranger.write_text("#!/bin/sh\necho a Python without kafka_tools >&2\nexit 9\n")
    stranger.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    environment["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{environment['PATH']}"
    machine: Any = spark.sparkContext._jvm
    environment["JAVA_HOME"] = machine.System.getProperty("java.home")
    command = [sys.executable, "-c", IN_NO_ACTIVE_ENVIRONMENT, str(tmp_path / "logs")]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert answer.stdout == "4\n", answer.stderr[-3000:]
