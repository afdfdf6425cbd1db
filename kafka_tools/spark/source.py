"""The PySpark data sources: log directories as tables of batches, of records, and of files.

``kafka_tools.spark.register(spark)``, then ``spark.read.format("kafka_log_batches").load("/var/kafka-logs")``. They
need no broker and no jar. Damage is a row with its kind in ``damage``; so is a file that disappears or grows during the
read. Options are those of ``options``, columns those of ``columns.tables``. API: ``pyspark.sql.datasource``
(SPARK-44076, SPARK-48493 for Arrow batches, SPARK-51271 for filters).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql import SparkSession as ClassicSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from kafka_tools.spark.columns.tables import (
    BATCH_COLUMNS,
    CONTENT_COLUMNS,
    FILE_COLUMNS,
    RECORD_COLUMNS,
    Column,
    spark_schema,
)
from kafka_tools.spark.options import (
    BATCH_OPTIONS,
    FILE_OPTIONS,
    RECORD_OPTIONS,
    ReadOptions,
    parse_options,
)
from kafka_tools.spark.selection import push
from kafka_tools.spark.streaming import LogStreamReader
from kafka_tools.spark.work import BATCHES, FILES, RECORDS, Work, read_work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
"""Spark hands filters to Python sources only with this setting, and fails a source that takes them without it."""


def register(spark: SparkSession) -> None:
    """Register the data sources in a session, with filters pushed down if this Spark supports it.

    Sets ``spark.sql.python.filterPushdown.enabled`` for the session. If Spark runs only on this machine and no Python
    is configured for its workers, they use this one.
    """
    _same_python(spark)
    pushes = hasattr(DataSourceReader, "pushFilters")  # since PySpark 4.1
    if pushes:
        spark.conf.set(PUSHDOWN, "true")
    for source in (
        (FilteredBatches, FilteredRecords, FilteredFiles)
        if pushes
        else (KafkaLogBatches, KafkaLogRecords, KafkaLogFiles)
    ):
        spark.dataSource.register(source)


def _same_python(spark: SparkSession) -> None:
    """Spark's own choice is the ``python3`` of PATH: without kafka_tools, if no virtual environment is activated."""
    if isinstance(spark, ClassicSession) and "PYSPARK_PYTHON" not in os.environ:
        context = spark.sparkContext
        if str(context.master).startswith("local") and not context.getConf().contains("spark.pyspark.python"):
            context.pythonExec = sys.executable


class _LogSource(DataSource):
    """The common part of the tables."""

    NAME: ClassVar[str]
    COLUMNS: ClassVar[Sequence[Column]]
    CONTENT: ClassVar[Sequence[Column]] = ()
    OPTIONS: ClassVar[Mapping[str, str]]

    @classmethod
    def name(cls) -> str:
        return cls.NAME

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._read = parse_options(options, self.COLUMNS, self.OPTIONS, self.CONTENT)

    def schema(self) -> str:
        return spark_schema(self._read.columns)

    def reader(self, schema: Any) -> DataSourceReader:
        return LogReader(self.NAME, self._read)


class _StreamedSource(_LogSource):
    """The common part of the tables that can be streams."""

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return LogStreamReader(self.NAME, self._read)


class KafkaLogBatches(_StreamedSource):
    """Segments as rows of batches, from their headers only."""

    NAME = BATCHES
    COLUMNS = BATCH_COLUMNS
    OPTIONS = BATCH_OPTIONS


class KafkaLogRecords(_StreamedSource):
    """Segments as rows of records."""

    NAME = RECORDS
    COLUMNS = RECORD_COLUMNS
    CONTENT = CONTENT_COLUMNS
    OPTIONS = RECORD_OPTIONS


class KafkaLogFiles(_LogSource):
    """Log directories as rows of files."""

    NAME = FILES
    COLUMNS = FILE_COLUMNS
    OPTIONS = FILE_OPTIONS


class _Filtered(_LogSource):
    """With filters pushed down; only for a session that has the setting."""

    def reader(self, schema: Any) -> DataSourceReader:
        return FilteredReader(self.NAME, self._read)


class FilteredBatches(_Filtered, KafkaLogBatches):
    """``kafka_log_batches`` with filters."""


class FilteredRecords(_Filtered, KafkaLogRecords):
    """``kafka_log_records`` with filters."""


class FilteredFiles(_Filtered, KafkaLogFiles):
    """``kafka_log_files`` with filters."""


class LogReader(DataSourceReader):
    """Plans on the driver and reads on the executors; contains nothing but the options."""

    def __init__(self, table: str, options: ReadOptions) -> None:
        self.table = table
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        # Spark makes a partition of its own out of an empty list, so an empty directory is one empty task.
        return list(self._planned()) or [Work(())]

    def _planned(self) -> Iterator[Work]:
        if self.table == FILES:
            from kafka_tools.spark.columns.files import directories

            yield from map(Work, directories(self.options))
            return
        from kafka_tools.spark.plan import pack, plan

        yield from map(Work, pack(plan(self.options), self.options.range_bytes))

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, Work)
        yield from read_work(self.table, partition, self.options)


class FilteredReader(LogReader):
    """Omits rows that the filters of a query exclude; Spark checks every row again."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        self.options = self.options._replace(selection=push(self.options.selection, filters))
        return filters
