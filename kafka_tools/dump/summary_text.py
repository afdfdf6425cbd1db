"""The text of ``kafka-dump-log --summary``: a few lines per file, and the totals of several files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from kafka_tools.dump.log_sum import LogSum
from kafka_tools.dump.summary import FileSum
from kafka_tools.shown_text import counted

_MOST_LISTED = 10


def summary_text(summary: FileSum) -> str:
    """The lines of one summary, with a line end after the last one."""
    every = f"Total of {counted(summary.files, 'file', 'files')}"
    title = every if summary.path is None else f"{summary.path} ({summary.kind})"
    lines = [f"{title}: {_size(summary.size_bytes)}"]
    if summary.log is not None:
        lines += [f"  {name + ':':14}{text}" for name, text in _log_lines(summary.log) if text]
    if summary.entries:
        lines.append(f"  {'entries:':14}{summary.entries}")
    if summary.findings:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(summary.findings.items()))
        lines.append(f"  {'findings:':14}{kinds}")
    return "\n".join(lines) + "\n"


def _log_lines(log: LogSum) -> list[tuple[str, str]]:
    document = log.document()
    batches = [f"{log.batches} (magic {', '.join(sorted(log.magics))})" if log.batches else "none"]
    for count, word in ((log.control_batches, "control"), (log.transactional_batches, "transactional")):
        if count:
            batches.append(f"{count} {word}")
    damaged = f"; {log.damaged_batches} more with a wrong CRC are not added up" if log.damaged_batches else ""
    records = [str(log.records)]
    if log.records and log.first_offset is not None:
        records.append(f"offsets {log.first_offset} to {log.last_offset}")
    if log.without_key is not None:
        records += [f"{log.without_key} without key", counted(log.tombstones or 0, "tombstone", "tombstones")]
    sizes = ""
    if log.batches:
        sizes = f"{_size(log.size_bytes)} in batches, {_size(document['uncompressed_bytes'])} uncompressed"
        sizes += f", ratio {document['ratio']:.2f}" if document["ratio"] is not None else ""
    return [
        ("batches", ", ".join(batches) + damaged),
        ("records", ", ".join(records)),
        ("bytes", sizes),
        ("codecs", "; ".join(_codec(name, row) for name, row in document["codecs"].items())),
        ("timestamps", _times(log)),
        ("producers", _producers(log)),
        ("transactions", _transactions(log)),
    ]


def _codec(name: str, row: dict[str, Any]) -> str:
    ratio = "" if row["ratio"] is None or name == "none" else f", ratio {row['ratio']:.2f}"
    batches, records = counted(row["batches"], "batch", "batches"), counted(row["records"], "record", "records")
    return f"{name} {batches}, {records}{ratio}"


def _times(log: LogSum) -> str:
    if log.last_timestamp_ms is None:
        return ""
    kinds = ", ".join(sorted(log.timestamp_types))
    return f"{_time(log.first_timestamp_ms)} to {_time(log.last_timestamp_ms)} ({kinds})"


def _time(timestamp_ms: int | None) -> str:
    if timestamp_ms is None:
        return "?"
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return str(timestamp_ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{timestamp_ms % 1000:03d}Z"


def _producers(log: LogSum) -> str:
    rows = [
        f"{producer_id} (epoch {producer.producer_epoch}, {counted(producer.records, 'record', 'records')})"
        for producer_id, producer in sorted(log.producers.items())[:_MOST_LISTED]
    ]
    more = len(log.producers) - len(rows)
    if more or log.more_producers:
        rows.append(f"{more}{' or more' if log.more_producers else ''} others")
    return f"{len(log.producers)}: {', '.join(rows)}" if rows else ""


def _transactions(log: LogSum) -> str:
    parts = [f"{count} {word}" for count, word in ((log.committed, "committed"), (log.aborted, "aborted")) if count]
    for producer_id, offset in sorted(log.open.items())[:_MOST_LISTED]:
        parts.append(f"open: producer {producer_id} since offset {offset}")
    if len(log.open) > _MOST_LISTED:
        parts.append(f"open: {len(log.open) - _MOST_LISTED} more")
    return ", ".join(parts)


def _size(size_bytes: int) -> str:
    if size_bytes < 10 * 1024:
        return f"{size_bytes} bytes"
    amount = float(size_bytes)
    for unit in ("KiB", "MiB", "GiB"):
        amount /= 1024
        if amount < 10_000 or unit == "GiB":
            break
    return f"{amount:.1f} {unit}"
