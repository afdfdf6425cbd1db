"""The tasks of an audit, and their engines: Spark, or this process if little is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from kafka_tools.errors import KafkaToolsError
from kafka_tools.spark.files import check_seen
from kafka_tools.spark.findings import files
from kafka_tools.spark.findings.facts import PartitionFacts, finish
from kafka_tools.spark.measures.partition import Depth, PartitionMeasures, measure
from kafka_tools.spark.segments import Range
from kafka_tools.storage.findings import Finding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


Key = tuple[str, str, int]
"""Log directory, topic, partition: a partition directory."""
_DIRECTORIES_PER_TASK = 64


class Engine(Protocol):
    """An engine that runs the tasks of an audit."""

    @property
    def parallelism(self) -> int:
        """Number of concurrent tasks."""

    def measure(
        self, tasks: Sequence[Sequence[Range]], depth: Depth, directories: Sequence[files.Directory]
    ) -> tuple[dict[Key, PartitionFacts], list[list[Finding]]]:
        """The facts of every partition directory that the ranges belong to, and findings about files in directories."""

    def each(self, function: Callable[[Any], list[Finding]], items: Sequence[Any], per_task: int) -> list[Any]:
        """The result of the function for each item."""


class SparkEngine:
    """Work as jobs of a Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext

    @property
    def parallelism(self) -> int:
        return int(self._context.defaultParallelism)

    def measure(
        self, tasks: Sequence[Sequence[Range]], depth: Depth, directories: Sequence[files.Directory]
    ) -> tuple[dict[Key, PartitionFacts], list[list[Finding]]]:
        facts: dict[Key, PartitionFacts] = {}
        if tasks:
            # Few reducers: a summary is small, and each reducer has to start a Python worker.
            reducers = min(len(tasks), self.parallelism)
            sets = self._context.parallelize(tasks, len(tasks)).flatMap(partial(measured, depth))
            facts = dict(sets.reduceByKey(PartitionMeasures.add, reducers).mapValues(finish).collect())
        return facts, self.each(file_findings, directories, _DIRECTORIES_PER_TASK)

    def each(self, function: Callable[[Any], list[Finding]], items: Sequence[Any], per_task: int) -> list[Any]:
        if not items:
            return []
        return self._context.parallelize(items, -(-len(items) // per_task)).map(function).collect()


class ProcessEngine:
    """Work in this process, one task after the other: it reads a small input before Spark would have started."""

    parallelism = 1

    def __init__(self) -> None:
        self.tasks = 0
        self.tasks_done = 0

    def measure(
        self, tasks: Sequence[Sequence[Range]], depth: Depth, directories: Sequence[files.Directory]
    ) -> tuple[dict[Key, PartitionFacts], list[list[Finding]]]:
        totals: dict[Key, PartitionMeasures] = {}
        self.tasks += len(tasks)
        for task in tasks:
            _add_up(totals, measured(depth, task))
            self.tasks_done += 1
        facts = {key: finish(measures) for key, measures in totals.items()}
        return facts, self.each(file_findings, directories, _DIRECTORIES_PER_TASK)

    def each(self, function: Callable[[Any], list[Finding]], items: Sequence[Any], per_task: int) -> list[Any]:
        self.tasks += len(items)
        results = []
        for item in items:
            results.append(function(item))
            self.tasks_done += 1
        return results


def _add_up(totals: dict[Key, PartitionMeasures], measured: Iterable[tuple[Key, PartitionMeasures]]) -> None:
    for key, measures in measured:
        totals[key] = totals[key].add(measures) if key in totals else measures


def measured(depth: Depth, ranges: Iterable[Range]) -> Iterable[tuple[Key, PartitionMeasures]]:
    """The work of one task: the measures of each partition directory in its input."""
    totals: dict[Key, PartitionMeasures] = {}
    _add_up(totals, (((each.log_dir, each.topic, each.partition), measure(each, depth)) for each in ranges))
    return totals.items()


def file_findings(directory: files.Directory) -> list[Finding]:
    """The findings about the files of one partition directory."""
    try:
        check_seen(directory.log_dir)
    except KafkaToolsError as error:
        return [Finding(directory.path, "unseen", str(error), topic=directory.topic, partition=directory.partition)]
    return list(files.partition_file_findings(directory))
