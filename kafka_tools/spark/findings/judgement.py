"""All families of findings together: about one partition, about all of them, and the copies to compare again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafka_tools.protocol.enums import CLUSTER_METADATA
from kafka_tools.spark.findings import compaction, copies, files, producers, sizes, spread, times
from kafka_tools.spark.findings.facts import Around, PartitionFacts
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.kraft_snapshots import newer_text

MOST_DOUBTFUL = 200


def of_partition(facts: PartitionFacts, around: Around, transactional_ids: dict[int, str]) -> Iterator[Finding]:
    """The findings about one partition directory that its own numbers show."""
    for found in facts.records.faults.values():
        for fault in found:
            yield fault._replace(topic=facts.topic, partition=facts.partition)
    yield from _gaps(facts, around)
    yield from producers.sequence_findings(facts, around)
    yield from producers.transaction_findings(facts, around, transactional_ids)
    yield from times.timestamp_findings(facts, around)
    yield from times.retention_findings(facts, around)
    yield from times.idle_findings(facts, around)
    yield from compaction.compaction_findings(facts, around)
    yield from compaction.offsets_findings(facts, around)
    yield from sizes.limit_findings(facts, around)
    yield from sizes.batching_findings(facts)
    yield from sizes.compression_findings(facts)
    yield from sizes.header_findings(facts)
    yield from spread.hot_key_findings(facts)
    yield from files.checkpoint_findings(facts, around)


def of_all(every: Sequence[PartitionFacts], around: Around) -> Iterator[Finding]:
    """The findings that compare partitions and copies with each other."""
    topics: dict[str, list[PartitionFacts]] = {}
    for group in by_partition(every).values():
        if len(group) > 1:
            yield from copies.behind_findings(group)
        topics.setdefault(group[0].topic, []).append(fullest(group))
        if group[0].topic == CLUSTER_METADATA and around.configs.newer.counts:
            yield fullest(group).finding("newer-records", newer_text(around.configs.newer.counts))
    for topic, partitions in topics.items():
        yield from spread.skew_findings(topic, partitions)
    yield from copies.unflushed_findings(every, around)


def doubtful_copies(every: Sequence[PartitionFacts], around: Around) -> list[copies.Suspect]:
    """Copies that differ, to be read again to find the place."""
    found = [
        suspect
        for group in by_partition(every).values()
        if len(group) > 1
        for suspect in copies.suspects(group, around)
    ]
    return found[:MOST_DOUBTFUL]


def transactional_ids(every: Sequence[PartitionFacts]) -> dict[int, str]:
    """Transactional ids by producer id, from the partitions of ``__transaction_state``."""
    found: dict[int, str] = {}
    for facts in every:
        found |= facts.internal.transactional_ids
    return found


def by_partition(every: Sequence[PartitionFacts]) -> dict[tuple[str, int], list[PartitionFacts]]:
    """The copies of each partition, in the order of the log directories' names."""
    groups: dict[tuple[str, int], list[PartitionFacts]] = {}
    for facts in sorted(every, key=lambda each: (each.topic, each.partition, each.log_dir)):
        # Every node has a metadata log of its own cluster; the quorum compares its contents.
        groups.setdefault((facts.topic, facts.partition), []).append(facts)
    return groups


def fullest(group: Sequence[PartitionFacts]) -> PartitionFacts:
    """The copy that represents a partition if only one is counted."""
    return max(group, key=lambda facts: (facts.summary.records, facts.summary.batch_bytes))


def _gaps(facts: PartitionFacts, around: Around) -> Iterator[Finding]:
    """Missing offsets of a partition that is not compacted: within a range, and from one to the next.

    Batches that the broker removed during the read are not missing.
    """
    if around.compacted(facts):
        return
    before: int | None = None
    lost = False
    for piece in facts.pieces:
        if piece.first_offset is None:
            lost = lost or piece.lost
            continue
        if before is not None and piece.first_offset > before and not lost:
            text = f"offsets {before} to {piece.first_offset - 1} are missing"
            yield facts.finding("offset-gap", text, path=piece.file, position=piece.start, offset=before)
        if piece.gaps:
            text = f"{piece.gaps} offsets are missing, the first is {piece.gap_offset}"
            yield facts.finding("offset-gap", text, path=piece.file, offset=piece.gap_offset)
        before, lost = piece.next_offset, piece.lost
