"""The audit as one JSON document: ``schemas/audit.v1.schema.json``.

Keys keep their order and meaning; new ones are added at the end of an object. Sizes are in bytes, times in milliseconds
since the epoch. Estimates say so: ``accuracy`` has their errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from kafka_tools.spark.audit import Audit, PartitionAudit
from kafka_tools.spark.findings.compaction import reclaimable_bytes
from kafka_tools.spark.findings.copies import unflushed_bytes
from kafka_tools.spark.findings.facts import PartitionFacts
from kafka_tools.spark.findings.producers import LONGEST_TRANSACTION_MS
from kafka_tools.spark.measures.producers import ProducerSpan
from kafka_tools.spark.measures.sketches import Histogram, KeySample
from kafka_tools.spark.measures.summary import LOST, CodecTotals
from kafka_tools.spark.measures.times import HOUR_MS, Spans
from kafka_tools.spark.report.steps import command
from kafka_tools.spark.report.totals import Total, groups, standing
from kafka_tools.storage.findings import KINDS, Finding

SCHEMA = "kafka-tools/audit/v1"
GROUPS_LISTED = 200
PRODUCERS_LISTED = 200

Row = dict[str, Any]


def document(result: Audit) -> Row:
    """The whole document."""
    return {"schema": SCHEMA, "data": data(result), "errors": []}


def data(result: Audit) -> Row:
    """The members of the document, the verdict first."""
    rows = standing(result)
    whole = Total()
    by_topic: dict[str, Total] = {}
    sizes: dict[str, list[int]] = {}
    compacted: set[str] = set()
    for row in rows:
        sizes.setdefault(row.summary.topic, []).append(row.size_bytes)
        facts = row.facts
        reclaimable = reclaimable_bytes(facts) if facts is not None and result.around.compacted(facts) else None
        for total in (whole, by_topic.setdefault(row.summary.topic, Total())):
            total.add(row, reclaimable)
    for row in result.partitions:
        if row.facts is not None and result.around.compacted(row.facts):
            compacted.add(row.summary.topic)
        for total in (whole, by_topic[row.summary.topic]):
            total.copies += 1
            total.copies_bytes += row.size_bytes
    counts = sorted(result.finding_counts.items(), key=lambda item: (_SEVERITY_ORDER[item[0][0]], -item[1], item[0][1]))
    every = [row.facts for row in result.partitions if row.facts is not None]
    kinds = sorted({kind for _, kind in result.finding_counts})
    return {
        "verdict": {"worst": result.worst, "text": verdict(result)},
        "as_of_ms": result.around.now_ms,
        "log_dirs": [
            {
                "path": path,
                "seen_until_ms": None if log_dir.as_of_ms < 0 else log_dir.as_of_ms,
                "clean_shutdown": log_dir.clean_shutdown,
            }
            for path, log_dir in sorted(result.around.log_dirs.items())
        ],
        "records_read": result.options.records,
        "total": _total(whole, result.options.records, result.around.now_ms),
        "finding_counts": [{"severity": severity, "kind": kind, "count": count} for (severity, kind), count in counts],
        "findings": [_finding(finding) for finding in result.findings],
        "topics": [
            {
                "topic": topic,
                "compacted": topic in compacted,
                **_total(total, result.options.records, result.around.now_ms),
                "partition_bytes": sizes[topic],
            }
            for topic, total in sorted(by_topic.items())
        ],
        "partitions": [_partition(row, result) for row in result.partitions],
        "producers": _producers([row.facts for row in rows if row.facts is not None], result.transactional_ids),
        "open_transactions": _open_transactions(every, result),
        "groups": _groups([row.facts for row in rows if row.facts is not None]),
        "kinds": {kind: {"meaning": KINDS[kind].meaning, "advice": KINDS[kind].advice} for kind in kinds},
        "accuracy": {
            "percentiles": Histogram.ERROR,
            "keys": KeySample.ERROR,
            "text": (
                "Counts, sums and sizes of batches, records and bytes are exact. Percentiles are off by at most "
                f"{Histogram.ERROR:.1%}. If keys_exact is true, distinct_keys and reclaimable_bytes are exact. "
                f"Otherwise they are estimates with a standard error of {KeySample.ERROR:.1%}. reclaimable_bytes "
                "assumes that all records of a partition compress equally well. Counts of hot keys are lower "
                "bounds."
            ),
        },
    }


def verdict(result: Audit) -> str:
    """One sentence: the input of the audit, and its result."""
    by_severity: dict[str, int] = {}
    for (severity, _), count in result.finding_counts.items():
        by_severity[severity] = by_severity.get(severity, 0) + count
    counted = ", ".join(
        f"{by_severity[name]} {_PLURALS[name] if by_severity[name] != 1 else name}"
        for name in _SEVERITY_ORDER
        if name in by_severity
    )
    partitions = len(result.partitions)
    if not partitions:
        return f"No partition was found, so nothing was audited. Findings: {counted}."
    looked = f"{partitions} partition{'s' if partitions != 1 else ''}"
    if any(kind in LOST for _, kind in result.finding_counts):
        looked += f", {result.read_bytes} of {result.planned_bytes} bytes of log read"
    if not by_severity:
        return f"{looked}, no problems found."
    if result.worst == "info":
        return f"{looked}, no problems found; {counted}."
    return f"{looked}, findings: {counted}."


_SEVERITY_ORDER = {"error": 0, "warning": 1, "info": 2}
_PLURALS = {"error": "errors", "warning": "warnings", "info": "remarks"}


def _finding(finding: Finding) -> Row:
    return {
        "severity": finding.severity,
        "kind": finding.kind,
        "topic": finding.topic,
        "partition": finding.partition,
        "file": finding.path,
        "position": finding.position,
        "size_bytes": finding.size_bytes,
        "offset": finding.offset,
        "detail": finding.text,
        "advice": KINDS[finding.kind].advice,
        "command": command(finding),
    }


def _total(total: Total, records_read: bool, now_ms: int) -> Row:
    return {
        "partitions": total.partitions,
        "copies": total.copies,
        "copies_bytes": total.copies_bytes,
        "segments": total.segments,
        "size_bytes": total.size_bytes,
        "batches": total.batches,
        "records": total.records,
        "corrupt": total.corrupt,
        "first_timestamp_ms": total.first_ms,
        "last_timestamp_ms": total.last_ms,
        "codecs": _codecs(total.codecs),
        "batch_bytes": total.batch_sizes.numbers(),
        "records_per_batch": _plain_numbers(total.records_per_batch),
        "days": _spans(total.days),
        "hours": _spans(total.hours),
        "growth_bytes_per_day": _growth(total.hours, now_ms),
        "content": _content(total) if records_read else None,
    }


def _content(total: Total) -> Row:
    measured = total.measured
    return {
        "records": measured.records,
        "record_bytes": measured.record_sizes.numbers(),
        "key_bytes": measured.key_sizes.numbers(),
        "value_bytes": measured.value_sizes.numbers(),
        "header_bytes": measured.header_sizes.numbers(),
        "records_with_headers": measured.with_headers,
        "header_names": [name for name, _ in measured.header_names.most_common(20)],
        "null_keys": measured.null_keys,
        "tombstones": measured.tombstones,
        "distinct_keys": total.distinct_keys,
        "keys_exact": total.keys_exact,
        "reclaimable_bytes": total.reclaimable_bytes,
        "compression": [
            {
                "codec": codec,
                "stored_bytes": measured.stored[codec],
                "plain_bytes": plain,
                "stored_share": round(measured.stored[codec] / plain, 4) if plain else None,
            }
            for codec, plain in sorted(measured.plain.items())
        ],
    }


def _partition(row: PartitionAudit, result: Audit) -> Row:
    summary, facts = row.summary, row.facts
    return {
        "topic": summary.topic,
        "partition": summary.partition,
        "log_dir": summary.log_dir,
        "segments": row.segments,
        "batches": summary.batches,
        "records": summary.records,
        "control_records": summary.control_records,
        "first_offset": summary.first_offset,
        "last_offset": summary.last_offset,
        "first_timestamp_ms": summary.first_timestamp_ms,
        "last_timestamp_ms": summary.last_timestamp_ms,
        "size_bytes": row.size_bytes,
        "codecs": _codecs(summary.codecs),
        "corrupt": summary.corrupt,
        "segments_left_out": row.left_out,
        "compacted": None if facts is None else result.around.compacted(facts),
        "producers": 0 if facts is None else facts.producers.different,
        "open_transactions": 0 if facts is None else facts.producers.open_count,
        "null_keys": None if facts is None else facts.records.null_keys,
        "tombstones": None if facts is None else facts.records.tombstones,
        "distinct_keys": None if facts is None else facts.keys.distinct,
        "keys_exact": None if facts is None else facts.keys.exact,
        "reclaimable_bytes": None if facts is None else reclaimable_bytes(facts),
        "beyond_recovery_point_bytes": None if facts is None else unflushed_bytes(facts, result.around),
        "days": [] if facts is None else _spans(facts.batches.days)["spans"][-60:],
    }


def _producers(every: Sequence[PartitionFacts], names: dict[int, str]) -> list[Row]:
    """The producers with the most bytes, over all partitions (of each partition's first ones)."""
    spans: dict[int, ProducerSpan] = {}
    partitions: Counter[int] = Counter()
    for each in (each for facts in every for each in facts.producers.top):
        before = spans.get(each.producer_id)
        spans[each.producer_id] = before.then(each) if before else each
        partitions[each.producer_id] += 1
    largest = sorted(spans.values(), key=lambda span: (-span.size_bytes, span.producer_id))[:PRODUCERS_LISTED]
    return [
        {
            "producer_id": span.producer_id,
            "transactional_id": names.get(span.producer_id),
            "first_epoch": span.epochs[0],
            "last_epoch": span.epochs[1],
            "partitions": partitions[span.producer_id],
            "batches": span.batches,
            "records": span.records,
            "size_bytes": span.size_bytes,
            "markers": span.markers,
        }
        for span in largest
    ]


def _open_transactions(every: Sequence[PartitionFacts], result: Audit) -> list[Row]:
    rows = []
    for facts in every:
        for producer in facts.producers.open:
            opening = producer.opening
            assert opening is not None
            open_ms = result.around.log_dir(facts).as_of_ms - opening.time_ms
            rows.append(
                {
                    "topic": facts.topic,
                    "partition": facts.partition,
                    "log_dir": facts.log_dir,
                    "producer_id": producer.producer_id,
                    "transactional_id": result.transactional_ids.get(producer.producer_id),
                    "first_offset": opening.offset,
                    "open_ms": open_ms,
                    "hanging": open_ms > LONGEST_TRANSACTION_MS,
                }
            )
    return rows


def _groups(every: Sequence[PartitionFacts]) -> list[Row]:
    rows: list[Row] = []
    for name, group in groups(every).items():
        hours = (group.last_ms - group.first_ms) / HOUR_MS
        rows.append(
            {
                "group": name,
                "commits": group.commits,
                "tombstones": group.tombstones,
                "size_bytes": group.size_bytes,
                "first_timestamp_ms": group.first_ms,
                "last_timestamp_ms": group.last_ms,
                "commits_per_hour": round(group.commits / hours, 1) if hours >= 1 else None,
            }
        )
    return sorted(rows, key=lambda row: (-row["size_bytes"], row["group"]))[:GROUPS_LISTED]


def _codecs(codecs: dict[str, CodecTotals]) -> Row:
    return {
        name: {"batches": codec.batches, "records": codec.records, "size_bytes": codec.size_bytes}
        for name, codec in sorted(codecs.items())
    }


def _plain_numbers(histogram: Histogram) -> Row:
    """The same as for sizes, of a plain number."""
    return {name.removesuffix("_bytes"): value for name, value in histogram.numbers().items()}


def _spans(spans: Spans) -> Row:
    return {
        "spans": [{"start_ms": start, "records": records, "size_bytes": size} for start, records, size in spans.rows()],
        "older_records": spans.older[0],
        "older_bytes": spans.older[1],
    }


def _growth(hours: Spans, now_ms: int) -> int | None:
    """Bytes per day over the newest hours that are not ahead; None where there are less than two."""
    rows = [row for row in hours.rows() if row[0] <= now_ms]
    if len(rows) < 2:
        return None
    span_ms = rows[-1][0] - rows[0][0] + HOUR_MS
    # Only as far back as the hours are a week at most: one odd timestamp would stretch it to nothing.
    if span_ms > 169 * HOUR_MS:
        rows = [row for row in rows if row[0] > rows[-1][0] - 168 * HOUR_MS]
        span_ms = max(HOUR_MS, rows[-1][0] - rows[0][0] + HOUR_MS)
    return round(sum(row[2] for row in rows) * 24 * HOUR_MS / span_ms)
