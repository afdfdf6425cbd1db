"""Kinds of findings that only an audit can make; those about single files are ``storage.findings``'.

The words are stable for scripts. How bad a kind is may depend on how much is at stake: what concerns few bytes is
only worth knowing.
"""

from __future__ import annotations

from kafka_tools.storage import findings as storage
from kafka_tools.storage.findings import ERROR, INFO, WARNING, Kind

_OFFSETS = (
    "look at the batches around it (kafka-dump-log --files SEGMENT --print-data-log), and at the producer's and the "
    "leader's log of that time: what is missing must be sent again by its producer, the broker has it no more; nothing "
    "has to be done to the files"
)
_REFUSE = (
    "let the broker refuse such timestamps (kafka-configs --alter --add-config message.timestamp.after.max.ms=3600000, "
    "before 3.6 message.timestamp.difference.max.ms) or write its own (message.timestamp.type=LogAppendTime); what is "
    "there already stays until kafka-delete-records removes it, for good, together with everything before it"
)

NO_PARTITIONS = "no-partitions"

AUDIT_KINDS: dict[str, Kind] = {
    # Producers
    "sequence-gap": Kind(
        ERROR, "sequence numbers of a producer are missing: records it wrote are not in the log", _OFFSETS
    ),
    "sequence-duplicate": Kind(
        WARNING, "a producer's sequence numbers come again: records are in the log twice", _OFFSETS
    ),
    "producer-epoch": Kind(ERROR, "a producer wrote with an epoch that was fenced before", _OFFSETS),
    "open-transaction": Kind(INFO, "a transaction is open at the end of the log"),
    "hanging-transaction": Kind(
        WARNING,
        "a transaction is open for longer than any may be: read_committed consumers wait behind it",
        "if its producer does not run any more, abort it with Kafka's own kafka-transactions (find-hanging "
        "--broker-id ID lists it; abort --topic T --partition P --start-offset OFFSET): its records, which nobody had "
        "committed, are then passed over by read_committed consumers for good; find out why its coordinator did not",
    ),
    # Time
    "timestamp-future": Kind(
        WARNING,
        "timestamps lie in the future: retention by time does not remove the segment until they have passed",
        _REFUSE,
    ),
    "timestamp-unit": Kind(
        WARNING,
        "timestamps are not in milliseconds: retention removes such records at once or never",
        f"correct the producer; {_REFUSE}",
    ),
    "retention-overdue": Kind(
        WARNING,
        "segments are older than retention.ms, or a partition larger than retention.bytes, and still there",
        "look for log.retention.check.interval.ms in the broker's configs and for failures of deletion in its log; a "
        "timestamp in the future or a broker that was down are the usual reasons; if the disk is short of space, "
        "kafka-delete-records removes what lies before an offset, for good",
    ),
    "old-data": Kind(INFO, "segments are older than Kafka's default retention, and the topic's own is not known here"),
    # Compaction
    "compaction-lag": Kind(
        WARNING,
        "much of a compacted partition was not compacted yet",
        "look whether the broker's cleaner threads are alive (log-cleaner.log) and whether an open transaction holds "
        "them; max.compaction.lag.ms on the topic makes the cleaner come however little there is to clean",
    ),
    "tombstones-overdue": Kind(
        WARNING,
        "tombstones are past their delete horizon and still there",
        "the partition was not compacted since: see compaction-lag",
    ),
    "reclaimable": Kind(INFO, "compaction would free a good part of a compacted partition"),
    "offsets-bloat": Kind(
        WARNING,
        "a partition of __consumer_offsets is far larger than what it has to keep",
        "see that its cleanup.policy is compact (kafka-configs --describe --entity-type topics --entity-name "
        "__consumer_offsets) and the cleaner runs; let the busiest groups commit less often; delete nothing here: "
        "groups would begin anew",
    ),
    # Sizes
    "oversized-batch": Kind(
        WARNING,
        "a batch is larger than the topic's max.message.bytes",
        "replication and consumers take it, a copy to another cluster may not: raise max.message.bytes of the topic "
        "there too (kafka-configs --alter --add-config)",
    ),
    "near-limit": Kind(INFO, "a batch comes close to the topic's max.message.bytes"),
    "tiny-batches": Kind(
        WARNING,
        "most batches hold one or two records: their headers cost space, network and time",
        "let the producers wait a little and collect more (linger.ms, batch.size)",
    ),
    "uncompressed": Kind(
        INFO, "records are stored as they are", "try compression.type=zstd or lz4 on the producers or the topic"
    ),
    "poor-compression": Kind(
        WARNING,
        "compression saves next to nothing",
        "compress larger batches (linger.ms, batch.size), or switch it off if the values are compressed already",
    ),
    "header-bloat": Kind(
        WARNING, "record headers take more space than keys and values", "shorten or drop headers at the producer"
    ),
    # Keys and partitions
    "hot-key": Kind(
        WARNING,
        "one key has a large part of a partition's records",
        "spread it (a suffix in the key), if the order of its records does not matter",
    ),
    "partition-skew": Kind(
        WARNING, "one partition holds far more than the others", "look at how the producers choose partitions"
    ),
    "empty-partition": Kind(INFO, "a partition has never held a record, or holds none any more"),
    "idle-partition": Kind(INFO, "nothing was written to a partition for a long time"),
    # Copies and disks
    "replica-divergence": Kind(
        ERROR,
        "two copies of a partition hold different batches at the same offsets",
        "compare both with what consumers got, if that is known: the leader's copy (kafka-topics --describe) is what "
        f"everybody reads, and what only the other copy has is lost; on the other broker: {storage._AGAIN}",
    ),
    "replica-behind": Kind(
        INFO, "copies of a partition end at different offsets: one was behind, or is of another time"
    ),
    "unflushed": Kind(INFO, "what a broker has to read again after a crash: bytes beyond the recovery point"),
    "unfollowed": Kind(INFO, "there are more producers than the audit follows"),
    "left-out": Kind(INFO, "segments that end before --since were not read"),
    NO_PARTITIONS: Kind(
        ERROR,
        "there is nothing to audit: the directory holds no partition, or none of the topics asked for",
        "check the path (it is one of the broker's log.dirs, or one partition's directory) and --topics",
    ),
}
"""Every kind that the audit adds, by name."""

KINDS: dict[str, Kind] = storage.KINDS | AUDIT_KINDS
"""Every kind a finding of the audit may have."""

SMALL_BYTES = 1024 * 1024
"""What concerns less than this is worth knowing and no more: three screens of log pin no disk."""


def by_stake(kind: str, size_bytes: int) -> str:
    """The severity of a kind of finding that concerns ``size_bytes`` of log."""
    severity = KINDS[kind].severity
    return INFO if severity == WARNING and size_bytes < SMALL_BYTES else severity


__all__ = ["AUDIT_KINDS", "ERROR", "INFO", "KINDS", "NO_PARTITIONS", "SMALL_BYTES", "WARNING", "by_stake"]
