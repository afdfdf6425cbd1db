"""The PySpark data source ``kafka_log_batches``: segment files as a table with one row per batch.

``register(spark)``, then ``spark.read.format("kafka_log_batches").load("/var/kafka-logs")``. No broker is asked and no
jar is needed. Reading is header-only: records are neither decompressed nor parsed. What is damaged is a row with its
kind in ``damage``; what vanishes or grows while it is read is reported the same way. Options are those of ``options``,
columns those of ``rows``. API: ``pyspark.sql.datasource`` (SPARK-44076, SPARK-48493 for Arrow batches).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kafka_tools.spark.options import ReadOptions, parse_options
from kafka_tools.spark.rows import BATCH_COLUMNS, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_tools.spark.plan import Range


def register(spark: SparkSession) -> None:
    """Make the data sources known to a session."""
    spark.dataSource.register(KafkaLogBatches)


class KafkaLogBatches(DataSource):
    """Segment files as rows of batches."""

    @classmethod
    def name(cls) -> str:
        return "kafka_log_batches"

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._read = parse_options(options, BATCH_COLUMNS)

    def schema(self) -> str:
        return spark_schema(self._read.columns)

    def reader(self, schema: Any) -> DataSourceReader:
        return BatchReader(self._read)


class Ranges(InputPartition):
    """What one task reads: ranges of segments, in order."""

    def __init__(self, ranges: Sequence[Range]) -> None:
        super().__init__(tuple(ranges))
        self.ranges = tuple(ranges)


class BatchReader(DataSourceReader):
    """Plans ranges on the driver and reads them on the executors; holds nothing but the options."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        from kafka_tools.spark.plan import pack, plan

        tasks = pack(plan(self.options), self.options.range_bytes)
        # Spark makes a partition of its own out of an empty list, so an empty directory is one empty task.
        return [Ranges(ranges) for ranges in tasks] or [Ranges(())]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, Ranges)
        from kafka_tools.spark.arrow import record_batches

        for each in partition.ranges:
            yield from record_batches(each, self.options)
