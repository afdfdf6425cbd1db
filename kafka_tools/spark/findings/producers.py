"""Findings about producers: sequence numbers that do not follow, transactions that stay open.

Compaction removes whole batches, so sequences of a compacted topic are not checked.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_tools.spark.findings.facts import Around, PartitionFacts
from kafka_tools.spark.measures.producers import DUPLICATE, GAP, OLD_EPOCH
from kafka_tools.storage.findings import ERROR, KINDS, WARNING, Finding

LONGEST_TRANSACTION_MS = 20 * 60_000
"""transaction.max.timeout.ms (15 minutes) and what KIP-664 adds for the coordinator to act: 5 minutes."""

_KINDS = {GAP: "sequence-gap", DUPLICATE: "sequence-duplicate", OLD_EPOCH: "producer-epoch"}
_TEXTS = {
    GAP: "producer {id}: sequence {found}, expected {expected}",
    DUPLICATE: "producer {id}: sequence {found} again, expected {expected}",
    OLD_EPOCH: "producer {id}: epoch {found} after epoch {expected}",
}


def sequence_findings(facts: PartitionFacts, around: Around) -> Iterator[Finding]:
    """Gaps and duplicates of a partition that is not compacted."""
    if around.compacted(facts):
        return
    # Offsets that are missing as well may be compaction's doing, where the policy is not known.
    sure = around.configs.compacted(facts.topic) is not None or not any(piece.gaps for piece in facts.pieces)
    for each in facts.producers.anomalies:
        kind = _KINDS[each.way]
        severity = KINDS[kind].severity
        if severity == ERROR and not sure:
            severity = WARNING
        text = _TEXTS[each.way].format(id=each.producer_id, found=each.found, expected=each.expected)
        yield facts.finding(kind, text, path=each.file, position=each.position, offset=each.offset, severity=severity)
    if facts.producers.unfollowed:
        text = f"{facts.producers.unfollowed} producers were not tracked: their sequences and transactions are unknown"
        yield facts.finding("unfollowed", text)


def transaction_findings(facts: PartitionFacts, around: Around, transactional_ids: dict[int, str]) -> Iterator[Finding]:
    """Transactions without a marker, and transactions that are open for longer than allowed."""
    as_of_ms = around.log_dir(facts).as_of_ms
    end = facts.next_offset or 0
    for producer in facts.producers.open:
        opening = producer.opening
        assert opening is not None
        open_ms = as_of_ms - opening.time_ms
        hangs = open_ms > LONGEST_TRANSACTION_MS
        name = transactional_ids.get(producer.producer_id)
        who = f"producer {producer.producer_id}" + (f" (transactional id '{name}')" if name else "")
        text = (
            f"{who} opened a transaction {duration(open_ms)} before; {end - opening.offset} offsets after it "
            "wait for its end"
        )
        kind = "hanging-transaction" if hangs else "open-transaction"
        yield facts.finding(kind, text, path=opening.file, position=opening.position, offset=opening.offset)


def duration(milliseconds: int) -> str:
    """A length of time in the largest unit that fits it, for people."""
    for unit, name in ((86_400_000, "days"), (3_600_000, "hours"), (60_000, "minutes"), (1000, "seconds")):
        if abs(milliseconds) >= 2 * unit:
            return f"{milliseconds // unit} {name}"
    return f"{milliseconds} ms"
