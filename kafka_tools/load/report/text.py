"""The report of a run as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka_tools.shown_text import one_line

LATENCIES = {
    "averageLatencyMs": "average", "p50LatencyMs": "p50", "p95LatencyMs": "p95", "p99LatencyMs": "p99",
    "p999LatencyMs": "p99.9", "maxLatencyMs": "max",
}  # fmt: skip
"""Members of a status -> their headings."""


def verdict(task: dict[str, Any]) -> str:
    """FINISHED, CANCELLED or FAILED, as Trogdor's client calls the end of a task."""
    if task["error"]:
        return "FAILED"
    return "CANCELLED" if task["cancelled"] else "FINISHED"


def lines(data: dict[str, Any]) -> Iterator[str]:
    """The lines of the report's ``data``."""
    for task in data["tasks"]:
        elapsed_s = (task["done_ms"] - max(task["started_ms"], 0)) / 1000 if task["started_ms"] >= 0 else 0.0
        yield one_line(f"{task['id']} ({task['class']}): {verdict(task)} after {elapsed_s:.1f} s")
        if task["error"]:
            yield f"  error: {one_line(task['error'])}"
        if task["operations_per_s"] is not None:
            yield f"  {task['operations']} operations, {task['operations_per_s']:.1f} per second"
        yield from _status(task["status"], "  ")
    if any(_has_latencies(task["status"]) for task in data["tasks"]):
        yield ""
        yield data["latency_note"]


def _has_latencies(status: Any) -> bool:
    return isinstance(status, dict) and (
        "averageLatencyMs" in status or any(_has_latencies(each) for each in status.values())
    )


def _status(status: Any, indent: str) -> Iterator[str]:
    """A status: latencies in one line, other figures in another, objects of several consumers below their names."""
    if not isinstance(status, dict):
        if status is not None:
            yield f"{indent}{one_line(str(status))}"
        return
    plain = {name: value for name, value in status.items() if name not in LATENCIES and not isinstance(value, dict)}
    if plain:
        yield indent + ", ".join(f"{name} {_value(value)}" for name, value in plain.items())
    if "averageLatencyMs" in status:
        yield f"{indent}latency in ms: " + ", ".join(
            f"{heading} {status[name]:g}" for name, heading in LATENCIES.items() if name in status
        )
    for name, value in status.items():
        if isinstance(value, dict):
            yield f"{indent}{one_line(name)}:"
            yield from _status(value, indent + "  ")


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(one_line, map(str, value[:20])))}{', ...' if len(value) > 20 else ''}]"
    return one_line(str(value))
