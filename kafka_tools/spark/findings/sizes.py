"""Findings about sizes: large and tiny batches, compression that saves nothing, headers that are larger than data."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_tools.records.chain import HEADER_BYTES
from kafka_tools.spark.findings.facts import Around, PartitionFacts
from kafka_tools.storage.findings import INFO, KINDS, WARNING, Finding

DEFAULT_LIMIT_BYTES = 1_048_588
"""Kafka's message.max.bytes."""

NEAR = 0.8
TINY_RECORDS = 2
_TINY_BATCHES = (1000, 20_000)
"""From how many batches on tiny ones are worth a remark, a warning."""

_MIB = 1024 * 1024
_POOR_RATIO = 0.95


def limit_findings(facts: PartitionFacts, around: Around) -> Iterator[Finding]:
    """The largest batches compared with the topic's limit."""
    own = around.configs.number(facts.topic, "max.message.bytes")
    limit = DEFAULT_LIMIT_BYTES if own is None else own
    source = f"max.message.bytes={limit}" if own is not None else f"Kafka's default limit of {limit} bytes"
    for batch in facts.batches.largest:
        if batch.size_bytes <= NEAR * limit:
            continue
        over = batch.size_bytes > limit
        kind = "oversized-batch" if over else "near-limit"
        severity = KINDS[kind].severity if own is not None else INFO
        text = f"a batch of {batch.size_bytes} bytes with {batch.records} records; {source}"
        yield facts.finding(
            kind,
            text,
            path=batch.file,
            position=batch.position,
            offset=batch.offset,
            size_bytes=batch.size_bytes,
            severity=severity,
        )


def batching_findings(facts: PartitionFacts) -> Iterator[Finding]:
    """Batches of one or two records, and what their headers cost."""
    counts = facts.batches.records_per_batch
    if facts.topic.startswith("__") or counts.count < _TINY_BATCHES[0]:
        return
    mean = counts.total / counts.count
    half = counts.percentile(50)
    if half is None or half > TINY_RECORDS or mean > 2 * TINY_RECORDS:
        return
    header_bytes = HEADER_BYTES * counts.count
    share = round(100 * header_bytes / max(1, facts.summary.batch_bytes))
    severity = WARNING if counts.count >= _TINY_BATCHES[1] and share >= 10 else INFO
    text = (
        f"{counts.count} batches of {mean:.1f} records on average; their headers take {header_bytes} bytes ({share} %)"
    )
    yield facts.finding("tiny-batches", text, size_bytes=header_bytes, severity=severity)


def compression_findings(facts: PartitionFacts) -> Iterator[Finding]:
    """Codecs that save nothing, and topics without any."""
    if facts.topic.startswith("__"):
        return
    for codec, plain in facts.records.plain.items():
        stored = facts.records.stored[codec]
        if codec == "none":
            if stored >= 100 * _MIB:
                yield facts.finding("uncompressed", f"{stored} bytes are not compressed", size_bytes=stored)
        elif stored >= _POOR_RATIO * plain and plain >= _MIB // 16:
            severity = WARNING if stored >= 10 * _MIB else INFO
            text = f"{codec}: {stored} bytes stored for {plain} bytes of records (ratio {stored / plain:.2f})"
            yield facts.finding("poor-compression", text, size_bytes=stored, severity=severity)


def header_findings(facts: PartitionFacts) -> Iterator[Finding]:
    """Headers that take more than keys and values."""
    headers, records = facts.records.header_sizes.total, facts.records.record_sizes.total
    if facts.records.with_headers < 100 or headers * 2 <= records:
        return
    names = ", ".join(f"'{name}'" for name, _ in facts.records.header_names.most_common(3))
    text = f"headers are {headers} of {records} bytes ({round(100 * headers / records)} %); most often {names}"
    severity = WARNING if headers >= _MIB else INFO
    yield facts.finding("header-bloat", text, size_bytes=headers, severity=severity)
