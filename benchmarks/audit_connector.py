"""The same counts of the same topics: read from the broker by Spark's Kafka connector, and from its logs by ours.

Part of ``python -m benchmarks.audit --connector``. A real Kafka broker holds a topic of one partition for each of
three codecs, each with the same records from Kafka's console producer. All run in one Spark that is up and warm, in
turn; the log is in the page cache. The connector reads a partition in one task, or, told so by ``minPartitions``, in
one per core ("split"). Ours are the table ``kafka_log_records`` under the same query, and a whole audit of the topic.
CPU time is that of all processes, the broker's included.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.dump_log_files import CODECS, fill
from benchmarks.processes import cpu_s
from benchmarks.timing import KAFKA_SERVER_OPTIONS, RELEASE, Cost, median, table
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import SPARK_CONNECTOR, library

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CORES = 2
WARM_ROUNDS = 2


def compare(records: int, rounds: int) -> str:
    """A table of the medians; SystemExit when the contestants do not count the same."""
    import kafka_tools.spark
    from kafka_tools.spark.session import spark_session

    jars = ",".join(map(str, sorted(library(SPARK_CONNECTOR).glob("*.jar"))))
    setup = Setup(RELEASE, java_options=tuple(KAFKA_SERVER_OPTIONS))
    with tempfile.TemporaryDirectory() as folder, RealKafka.start(setup, Path(folder)) as kafka:
        print(f"a Kafka {RELEASE} broker writes {records} records to each topic", file=sys.stderr, flush=True)
        fill(kafka, records)
        with spark_session(f"local[{CORES}]", conf={"spark.jars": jars}) as spark:
            kafka_tools.spark.register(spark)
            return table(_TITLES, [row for topic in CODECS for row in _rows(spark, kafka, topic, records, rounds)])


_TITLES = ("topic", "MB", "read by", "wall s", "CPU s", "times the connector", "by CPU time")


class Counts(NamedTuple):
    """What each contestant counts. ``keys`` is an estimate: each comes from another kind of hash."""

    records: int
    value_bytes: int
    first_time_ms: int
    last_offset: int
    keys: int


def _rows(spark: SparkSession, kafka: RealKafka, topic: str, records: int, rounds: int) -> list[list[str]]:
    log_dir = str(kafka.log_dirs[0])
    contestants: dict[str, Callable[[], Counts]] = {
        "connector": lambda: _by_connector(spark, kafka, topic, {}),
        "split": lambda: _by_connector(spark, kafka, topic, {"minPartitions": str(CORES)}),
        "table": lambda: _by_table(spark, log_dir, topic),
        "audit": lambda: _by_audit(spark, log_dir, topic),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in contestants}
    answers: dict[str, Counts] = {}
    for turn in range(WARM_ROUNDS + rounds):
        for name, count in contestants.items():
            before, start = cpu_s(os.getpid()), time.perf_counter()
            answers[name] = count()
            elapsed = time.perf_counter() - start
            if turn >= WARM_ROUNDS:
                costs[name].append(Cost(elapsed, cpu_s(os.getpid()) - before))
    expected = answers["connector"]
    for name, answer in answers.items():
        close = abs(answer.keys - expected.keys) < 0.2 * expected.keys
        if answer[:-1] != expected[:-1] or answer.records != records or not close:
            raise SystemExit(f"{name} counts {answer}, the connector {expected}")
    size = sum(path.stat().st_size for path in kafka.partition_dir(topic, 0).glob("*.log"))
    theirs = median(costs["connector"])
    return [
        [
            topic, f"{size / 1e6:.0f}", name, f"{ours.wall_s:.2f}", f"{ours.cpu_s:.2f}",
            f"{theirs.wall_s / ours.wall_s:.1f}", f"{theirs.cpu_s / ours.cpu_s:.1f}",
        ]
        for name, ours in ((name, median(found)) for name, found in costs.items())
    ]  # fmt: skip


def _by_connector(spark: SparkSession, kafka: RealKafka, topic: str, options: dict[str, str]) -> Counts:
    found = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", kafka.bootstrap_servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("endingOffsets", "latest")
        .options(**options)
        .load()
    )
    return _counted(found, "length(value)", "unix_millis(timestamp)", "key")


def _by_table(spark: SparkSession, log_dir: str, topic: str) -> Counts:
    columns = "offset,timestamp_ms,value_bytes,key_hash"
    found = spark.read.format("kafka_log_records").option("columns", columns).option("topics", topic).load(log_dir)
    return _counted(found, "value_bytes", "timestamp_ms", "key_hash")


def _counted(found: DataFrame, value_bytes: str, time_ms: str, key: str) -> Counts:
    (row,) = found.selectExpr(
        "count(*)", f"sum({value_bytes})", f"min({time_ms})", "max(offset)", f"approx_count_distinct({key})"
    ).collect()
    return Counts(*row)


def _by_audit(spark: SparkSession, log_dir: str, topic: str) -> Counts:
    """A full audit, which counts all of it and a hundred things more."""
    from kafka_tools.spark.audit import AuditOptions, audit

    (row,) = audit(spark, [log_dir], AuditOptions(topics=(topic,))).partitions
    summary, facts = row.summary, row.facts
    assert facts is not None and summary.first_timestamp_ms is not None and summary.last_offset is not None
    values = facts.records.value_sizes.total
    return Counts(summary.records, values, summary.first_timestamp_ms, summary.last_offset, facts.keys.distinct)
