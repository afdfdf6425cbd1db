"""The audit without Spark: the same functions, one after the other, their results pickled as Spark would."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kafka_tools.spark.audit import Audit, AuditOptions, audit_with
from kafka_tools.spark.engine import Key, measured
from kafka_tools.spark.findings.facts import PartitionFacts, finish
from kafka_tools.spark.findings.files import Directory, partition_file_findings
from kafka_tools.spark.measures.partition import Depth, PartitionMeasures
from kafka_tools.spark.segments import Range
from kafka_tools.storage.findings import Finding


class OneProcess:
    """An engine for small directories."""

    parallelism = 1000

    def measure(
        self, tasks: Sequence[Sequence[Range]], depth: Depth, directories: Sequence[Directory]
    ) -> tuple[dict[Key, PartitionFacts], list[list[Finding]]]:
        totals: dict[Key, PartitionMeasures] = {}
        # The other way round: the order in which ranges are added up must not matter.
        for task in reversed(tasks):
            for key, found in measured(depth, task):
                found = pickle.loads(pickle.dumps(found))
                totals[key] = totals[key].add(found) if key in totals else found
        facts = {key: pickle.loads(pickle.dumps(finish(found))) for key, found in totals.items()}
        return facts, [list(partition_file_findings(pickle.loads(pickle.dumps(each)))) for each in directories]

    def each(self, function: Callable[[Any], list[Finding]], items: Sequence[Any], per_task: int) -> list[Any]:
        return [pickle.loads(pickle.dumps(function(item))) for item in items]


def audit_here(*log_dirs: Path, **options: Any) -> Audit:
    """The audit of log directories in this process."""
    return audit_with(OneProcess(), [str(path) for path in log_dirs], AuditOptions(**options))
