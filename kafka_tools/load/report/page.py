"""The report of a run as one self-contained HTML page, in the style of the audit's: no network, no files, no fonts.

The template engine escapes everything. Characters that could deceive the eye are written as their codes.
"""

from __future__ import annotations

import json
from typing import Any

from kafka_tools.errors import InputError
from kafka_tools.load.report import plots
from kafka_tools.load.report.text import LATENCIES, verdict
from kafka_tools.shown_text import printable

TASKS_SHOWN = 200
_LONGEST_SPEC = 20_000


def write_page(report: dict[str, Any], path: str) -> None:
    """Write the page of a report (``report/document.py``) to a file. Raises InputError."""
    text = page(report)
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"cannot write the report to {path}: {error.strerror}") from error


def page(report: dict[str, Any]) -> str:
    """The page's HTML."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("kafka_tools.load.report", ""), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"time": plots.time_text, "figure": plots.figure_text}
    data = _visible(report["data"])
    tasks = data["tasks"]
    failed = sum(1 for task in tasks if task["error"])
    return environment.get_template("page.html.j2").render(
        data=data,
        tasks=[_shown(task) for task in tasks[:TASKS_SHOWN]],
        hidden=len(tasks) - TASKS_SHOWN,
        failed=failed,
        title=f"{failed} of {len(tasks)} tasks failed" if failed else f"{len(tasks)} tasks without an error",
        stylesheet=_stylesheet(),
    )


def _shown(task: dict[str, Any]) -> dict[str, Any]:
    spec = json.dumps(task["spec"], indent=2, ensure_ascii=False)
    return task | {
        "verdict": verdict(task),
        "seconds": (task["done_ms"] - task["started_ms"]) / 1000 if task["started_ms"] >= 0 else 0.0,
        "parts": list(_parts("", task["status"])),
        "columns": plots.columns(task["timeline"], f"Messages per second of {task['id']}"),
        "spec_text": spec if len(spec) <= _LONGEST_SPEC else f"{spec[:_LONGEST_SPEC]} ...",
    }


def _parts(name: str, status: Any) -> Any:
    """The status and the objects in it, each with its latencies and its other figures."""
    if not isinstance(status, dict):
        if status is not None:
            yield {"name": name, "figures": {"status": status}, "bars": ""}
        return
    figures = {key: value for key, value in status.items() if key not in LATENCIES and not isinstance(value, dict)}
    latencies = [(heading, status[key]) for key, heading in LATENCIES.items() if key in status]
    if figures or latencies:
        yield {"name": name, "figures": figures, "bars": plots.bars(latencies, "Latency in ms")}
    for key, value in status.items():
        if isinstance(value, dict):
            yield from _parts(f"{name} {key}".strip(), value)


def _visible(value: Any) -> Any:
    """The same data with control characters and marks of the text direction replaced by their codes."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {_visible(key): _visible(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_visible(each) for each in value]
    return value


def _stylesheet() -> str:
    """The audit's."""
    from importlib.resources import files

    return files("kafka_tools.spark.report").joinpath("page.css").read_text(encoding="utf-8")
