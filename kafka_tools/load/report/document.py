"""The report of a run as a JSON document, ``schemas/load-report.v1.schema.json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_tools.load.local_run import TaskResult
from kafka_tools.load.specs.classes import short_name

SCHEMA = "kafka-tools/load-report/v1"
LATENCY_NOTE = (
    "Latencies of messages with a target rate count from the intended send time, so that waiting behind slow messages "
    "is included (no coordinated omission). Percentiles are at most 1.6 % too large."
)


def document(results: Sequence[TaskResult], started_ms: int, done_ms: int) -> dict[str, Any]:
    """The document. Its data has a row for each task."""
    tasks = [_task(result) for result in results]
    errors = [
        {"item": task["id"], "error": None, "message": task["error"]} for task in tasks if task["error"]
    ]  # fmt: skip
    data = {"started_ms": started_ms, "done_ms": done_ms, "latency_note": LATENCY_NOTE, "tasks": tasks}
    return {"schema": SCHEMA, "data": data, "errors": errors}


def _task(result: TaskResult) -> dict[str, Any]:
    task = result.task
    elapsed_s = (task.done_ms - task.started_ms) / 1000
    operations = result.measured.get("operations")
    per_second = round(operations / elapsed_s, 1) if operations is not None and elapsed_s > 0 else None
    return {
        "id": task.task_id,
        "class": short_name(task.spec.CLASS),
        "state": task.state,
        "error": task.error,
        "cancelled": task.cancelled,
        "started_ms": task.started_ms,
        "done_ms": task.done_ms,
        "operations": operations,
        "operations_per_s": per_second,
        "spec": task.spec.to_json(),
        "status": task.status,
        "timeline": result.measured.get("timeline"),
    }
