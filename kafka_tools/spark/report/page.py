"""The audit as one self-contained HTML page: no network, no files, no fonts.

Everything in it is escaped by the template engine; what could deceive the eye (control characters, marks that turn the
writing direction) is written as its code. Its size is bounded: long lists end with how much was left out.
"""

from __future__ import annotations

import re
from typing import Any

from kafka_tools.spark.audit import Audit
from kafka_tools.spark.measures.times import DAY_MS, HOUR_MS
from kafka_tools.spark.report import charts
from kafka_tools.spark.report.document import data
from kafka_tools.texts.quantities import bytes_text

FINDINGS_SHOWN = 2500
ROWS_SHOWN = 500
TIMELINES_SHOWN = 60
TIMELINE_DAYS = 60
SKEWS_SHOWN = 24

# C0 and C1 controls, bidirectional marks, line and paragraph separators, halves of surrogate pairs.
_DECEIVING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def write_page(result: Audit, path: str) -> None:
    """Write the page to a file. Raises OSError."""
    text = page(result)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def page(result: Audit) -> str:
    """The page's HTML."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("kafka_tools.spark.report", ""), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"size": bytes_text, "count": charts.count_text, "time": charts.time_text}
    found = _visible(data(result))
    return environment.get_template("page.html.j2").render(
        data=found,
        charts=_charts(found),
        shown={"findings": FINDINGS_SHOWN, "rows": ROWS_SHOWN, "timelines": TIMELINES_SHOWN},
        severities=_by_severity(found),
        timelines=_timelines(found),
        skews=_skews(found),
        stylesheet=_text("page.css"),
        script=_text("page.js"),
    )


def _charts(found: dict[str, Any]) -> dict[str, Any]:
    topics = sorted(found["topics"], key=lambda topic: -topic["size_bytes"])[:15]
    sizes = [
        (
            topic["topic"],
            topic["size_bytes"],
            (topic["content"] or {}).get("reclaimable_bytes", 0) if topic["compacted"] else 0,
        )
        for topic in topics
        if topic["size_bytes"]
    ]
    whole = found["total"]
    codecs = sorted(whole["codecs"].items(), key=lambda item: -item[1]["size_bytes"])
    return {
        "sizes": charts.bars(sizes, bytes_text, "reclaimable by compaction", "Largest topics"),
        "days": _columns(whole["days"], DAY_MS, 120, "Bytes per day"),
        "hours": _columns(whole["hours"], HOUR_MS, 168, "Bytes per hour"),
        "codecs": charts.shares(
            [(name, codec["size_bytes"]) for name, codec in codecs if codec["size_bytes"]], bytes_text, "Codecs"
        ),
    }


def _columns(spans: dict[str, Any], span_ms: int, most: int, label: str) -> Any:
    """Columns for the newest spans that lie together: one stray timestamp must not squeeze all others."""
    rows = [(row["start_ms"], row["size_bytes"]) for row in spans["spans"]]
    best: list[tuple[int, int]] = []
    for start in range(len(rows)):
        window = [row for row in rows[start:] if row[0] < rows[start][0] + most * span_ms]
        if sum(size for _, size in window) > sum(size for _, size in best):
            best = window
    return charts.columns(best, span_ms, bytes_text, label)


def _timelines(found: dict[str, Any]) -> list[dict[str, Any]]:
    """A strip per partition directory, the largest ones, over the newest days that any of them has."""
    rows = [row for row in found["partitions"] if row["days"]]
    rows = sorted(rows, key=lambda row: -row["size_bytes"])[:TIMELINES_SHOWN]
    now = found["as_of_ms"]
    days = [day["start_ms"] for row in rows for day in row["days"] if day["start_ms"] <= now]
    if not days:
        return []
    last = max(days)
    first = max(min(days), last - (TIMELINE_DAYS - 1) * DAY_MS)
    count = (last - first) // DAY_MS + 1
    return [
        {
            "name": f"{row['topic']}-{row['partition']}",
            "log_dir": row["log_dir"],
            "size_bytes": row["size_bytes"],
            "first_ms": first,
            "last_ms": last,
            "strip": charts.timeline(
                [(day["start_ms"], day["size_bytes"]) for day in row["days"]],
                first,
                count,
                DAY_MS,
                f"Bytes per day of {row['topic']}-{row['partition']}",
            ),
        }
        for row in rows
    ]


def _skews(found: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [topic for topic in found["topics"] if len(topic["partition_bytes"]) > 1 and topic["size_bytes"]]
    rows = sorted(rows, key=lambda topic: -topic["size_bytes"])[:SKEWS_SHOWN]
    return [
        {
            "topic": topic["topic"],
            "least": min(topic["partition_bytes"]),
            "most": max(topic["partition_bytes"]),
            "chart": charts.skew(topic["partition_bytes"][:200], f"Sizes of the partitions of {topic['topic']}"),
        }
        for topic in rows
    ]


def _by_severity(found: dict[str, Any]) -> dict[str, int]:
    counts = {"error": 0, "warning": 0, "info": 0}
    for row in found["finding_counts"]:
        counts[row["severity"]] += row["count"]
    return counts


def _visible(value: Any) -> Any:
    """The same data with deceptive characters replaced by their codes."""
    if isinstance(value, str):
        return _DECEIVING.sub(lambda match: f"\\u{ord(match[0]):04x}", value)
    if isinstance(value, dict):
        return {_visible(key): _visible(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_visible(each) for each in value]
    return value


def _text(name: str) -> str:
    from importlib.resources import files

    return files("kafka_tools.spark.report").joinpath(name).read_text(encoding="utf-8")
