"""The work of an audit: the tasks, and what runs them: Spark, or where little is read this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
_FEW = 64
"""So many sets of measures are added up by the driver, without a shuffle."""


class Engine(Protocol):
    """An engine that runs the tasks of an audit."""

    @property
    def parallelism(self) -> int:
        """How many tasks run at a time."""

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
        met = sum(len({_key(each) for each in task}) for task in tasks)
        if len(directories) <= _FEW and met <= _FEW:
            return self._in_one_stage(tasks, depth, directories)
        facts: dict[Key, PartitionFacts] = {}
        if tasks:
            # Few reducers: a summary is small, and each costs a Python worker its share of start-up.
            reducers = min(len(tasks), self.parallelism)
            measured = self._context.parallelize(tasks, len(tasks)).flatMap(Measure(depth))
            facts = dict(measured.reduceByKey(PartitionMeasures.add, reducers).mapValues(finish).collect())
        return facts, self.each(_file_findings, directories, _DIRECTORIES_PER_TASK)

    def _in_one_stage(
        self, tasks: Sequence[Sequence[Range]], depth: Depth, directories: Sequence[files.Directory]
    ) -> tuple[dict[Key, PartitionFacts], list[list[Finding]]]:
        """Little to do: the driver adds it up. Each stage more takes longer than reading 100 MB of log."""
        count = len(tasks) or 1
        shared = [(tasks[number] if tasks else (), directories[number::count]) for number in range(count)]
        totals: dict[Key, PartitionMeasures] = {}
        findings: list[list[Finding]] = []
        for measured, found in self._context.parallelize(shared, count).map(MeasureAndCheck(depth)).collect():
            findings += found
            _add_up(totals, measured)
        return _finished(totals), findings

    def each(self, function: Callable[[Any], list[Finding]], items: Sequence[Any], per_task: int) -> list[Any]:
        if not items:
            return []
        return self._context.parallelize(items, -(-len(items) // per_task)).map(function).collect()


class ProcessEngine:
    """Work in this process, one task after the other: what is small is read before Spark would have started."""

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
            _add_up(totals, Measure(depth)(task))
            self.tasks_done += 1
        return _finished(totals), self.each(_file_findings, directories, _DIRECTORIES_PER_TASK)

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


def _finished(totals: dict[Key, PartitionMeasures]) -> dict[Key, PartitionFacts]:
    return {key: finish(measures) for key, measures in totals.items()}


class Measure:
    """The work of one task: the measures of each partition directory in its input."""

    def __init__(self, depth: Depth) -> None:
        self.depth = depth

    def __call__(self, ranges: Iterable[Range]) -> Iterator[tuple[Key, PartitionMeasures]]:
        totals: dict[Key, PartitionMeasures] = {}
        _add_up(totals, ((_key(each), measure(each, self.depth)) for each in ranges))
        return iter(totals.items())


class MeasureAndCheck:
    """The work of one task if there is only one stage: measures, and findings about files."""

    def __init__(self, depth: Depth) -> None:
        self.measure = Measure(depth)

    def __call__(
        self, share: tuple[Sequence[Range], Sequence[files.Directory]]
    ) -> tuple[list[tuple[Key, PartitionMeasures]], list[list[Finding]]]:
        ranges, directories = share
        return list(self.measure(ranges)), [_file_findings(directory) for directory in directories]


def _key(each: Range) -> Key:
    return each.log_dir, each.topic, each.partition


def _file_findings(directory: files.Directory) -> list[Finding]:
    try:
        check_seen(directory.log_dir)
    except KafkaToolsError as error:
        return [Finding(directory.path, "unseen", str(error), topic=directory.topic, partition=directory.partition)]
    return list(files.partition_file_findings(directory))
