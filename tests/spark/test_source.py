"""``kafka_log_batches`` inside of Spark: the same rows as outside, refused options, split input, empty directories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the Spark packages are not installed")

from kafka_tools.records.build import build_batch
from kafka_tools.spark.rows import BATCH_COLUMNS
from kafka_tools.spark.source import register
from tests.corpus.golden import case
from tests.spark.kafka_says import dumped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.req("SPARK-1")


@pytest.fixture(scope="module", autouse=True)
def registered(spark: SparkSession) -> None:
    register(spark)


def load(spark: SparkSession, *paths: Path, **options: str) -> DataFrame:
    reader = spark.read.format("kafka_log_batches").options(**options)
    return reader.load(str(paths[0])) if len(paths) == 1 else reader.load([str(path) for path in paths])


def test_a_brokers_directory_is_a_table_of_its_batches(spark: SparkSession) -> None:
    root = case("logdir-clean-43").cwd
    rows = load(spark, root).collect()
    expected = {path: batches for path, batches in dumped().items() if root.resolve() in path.parents}
    assert len(rows) == sum(map(len, expected.values())) > 1000
    assert sum(row.record_count for row in rows) == sum(b["records"] for batches in expected.values() for b in batches)
    assert [row for row in rows if row.damage is not None or not row.crc_ok] == []
    assert list(rows[0].asDict()) == [column.name for column in BATCH_COLUMNS]


@pytest.mark.req("SPARK-3")
def test_split_input_gives_the_same_rows_once(spark: SparkSession) -> None:
    root = case("m2-none-43").cwd
    whole = load(spark, root).orderBy("file", "position").collect()
    split = load(spark, root, rangeBytes="1024")
    assert split.rdd.getNumPartitions() >= 3
    assert split.orderBy("file", "position").collect() == whole


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


def test_an_empty_directory_is_an_empty_table(spark: SparkSession, tmp_path: Path) -> None:
    assert load(spark, tmp_path).count() == 0


def test_sql_filters_and_times_work(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    times = [1_690_000_000_000, 2**62, -1]
    data = b"".join(build_batch([(t, None, b"v", ())], base_offset=n) for n, t in enumerate(times))
    (folder / f"{0:020d}.log").write_bytes(data)
    load(spark, tmp_path).createOrReplaceTempView("batches")
    rows = spark.sql("select base_offset from batches where max_timestamp < '2024-01-01'").collect()
    assert [row.base_offset for row in rows] == [0]


@pytest.mark.parametrize(
    ("options", "text"),
    [({"topcis": "x"}, "option 'topcis' does not exist"), ({"columns": "nope"}, "column 'nope' does not exist")],
)
def test_unknown_options_are_refused(spark: SparkSession, tmp_path: Path, options: dict[str, str], text: str) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as caught:
        load(spark, tmp_path, **options).collect()
    assert text in str(caught.value)
