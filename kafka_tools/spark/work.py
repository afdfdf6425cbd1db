"""The work of one task of a table: its input, and the function that reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import InputPartition

from kafka_tools.spark.files import check_seen

if TYPE_CHECKING:
    from kafka_tools.spark.options import ReadOptions
    from kafka_tools.spark.segments import Range

BATCHES, RECORDS, FILES = "kafka_log_batches", "kafka_log_records", "kafka_log_files"
"""The names of the tables."""


class Work(InputPartition):
    """The input of one task: ranges of segments in order, or directories with files.

    ``interval``: of a stream, the first offset of the ranges' partition and the first one no longer wanted.
    """

    def __init__(self, items: Sequence[Any], interval: tuple[int, int] | None = None) -> None:
        super().__init__(tuple(items))
        self.items = tuple(items)
        self.interval = interval


def read_work(table: str, work: Work, options: ReadOptions) -> Iterator[Any]:
    """The Arrow record batches of one task. KafkaToolsError if this machine does not see the listed files."""
    if table == FILES:
        from kafka_tools.spark.columns.files import record_batches as of_files

        for log_dir in {log_dir for log_dir, _, _ in work.items}:
            check_seen(log_dir)
        for directory in work.items:
            yield from of_files(directory, options)
        return
    each: Range
    for log_dir in {each.log_dir for each in work.items}:
        check_seen(log_dir)
    if table == BATCHES:
        from kafka_tools.spark.columns.batches import record_batches as of_batches

        for each in work.items:
            yield from of_batches(each, options, work.interval)
    else:
        from kafka_tools.spark.columns.records import record_batches as of_records

        for each in work.items:
            yield from of_records(each, options, work.interval)
