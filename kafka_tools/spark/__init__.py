"""Log directories as Spark tables, and the audit of whole clusters' logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Register ``kafka_log_batches``, ``kafka_log_records`` and ``kafka_log_files`` in a Spark session.

    Filters on topic, partition, offset and time are pushed down: for that the session's setting
    ``spark.sql.python.filterPushdown.enabled`` is set to true.
    """
    from kafka_tools.spark.source import register as register_sources

    register_sources(spark)
