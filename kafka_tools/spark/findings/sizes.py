"""Findings about sizes: large and tiny batches, compression that does nothing, headers that weigh more than data."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_tools.records.chain import HEADER_BYTES
from kafka_tools.spark.findings.facts import Around, PartitionFacts
from kafka_tools.spark.findings.kinds import INFO, KINDS, WARNING
from kafka_tools.spark.summary import AuditFinding

DEFAULT_LIMIT_BYTES = 1_048_588
"""Kafka's message.max.bytes."""

NEAR = 0.8
TINY_RECORDS = 2
_TINY_BATCHES = (1000, 20_000)
"""From how many batches on tiny ones are worth a remark, a warning."""

_MIB = 1024 * 1024
_POOR_RATIO = 0.95


def limit_findings(facts: PartitionFacts, around: Around) -> Iterator[AuditFinding]:
    """The largest batches beside the topic's limit."""
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
        place = facts.topic, facts.partition, batch.file, batch.position, batch.size_bytes, batch.offset
        yield AuditFinding(severity, kind, *place, text)


def batching_findings(facts: PartitionFacts) -> Iterator[AuditFinding]:
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
    yield AuditFinding(severity, "tiny-batches", facts.topic, facts.partition, None, None, header_bytes, None, text)


def compression_findings(facts: PartitionFacts) -> Iterator[AuditFinding]:
    """Codecs that save nothing, and topics without any."""
    if facts.topic.startswith("__"):
        return
    place = facts.topic, facts.partition, None, None
    for codec, plain in facts.records.plain.items():
        stored = facts.records.stored[codec]
        if codec == "none":
            if stored >= 100 * _MIB:
                yield AuditFinding(INFO, "uncompressed", *place, stored, None, f"{stored} bytes are not compressed")
        elif stored >= _POOR_RATIO * plain and plain >= _MIB // 16:
            severity = WARNING if stored >= 10 * _MIB else INFO
            text = f"{codec}: {stored} bytes stored for {plain} bytes of records ({stored / plain:.2f} of them)"
            yield AuditFinding(severity, "poor-compression", *place, stored, None, text)


def header_findings(facts: PartitionFacts) -> Iterator[AuditFinding]:
    """Headers that take more than keys and values."""
    headers, records = facts.records.header_sizes.total, facts.records.record_sizes.total
    if facts.records.with_headers < 100 or headers * 2 <= records:
        return
    names = ", ".join(f"'{name}'" for name, _ in facts.records.header_names.most_common(3))
    text = f"headers are {headers} of {records} bytes ({round(100 * headers / records)} %); most often {names}"
    severity = WARNING if headers >= _MIB else INFO
    yield AuditFinding(severity, "header-bloat", facts.topic, facts.partition, None, None, headers, None, text)
