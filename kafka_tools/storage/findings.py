"""Findings about data on disk, as values: the closed list of kinds, the severity of each, and the advice about it.

Whoever reads tolerantly yields these; printing and counting are the caller's business. The list is the same for
``kafka-dump-log``, the Spark audit and the bundled broker's recovery; ``docs/findings.md`` is made from it.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_tools import KAFKA_MINOR
from kafka_tools.errors import DecompressesToMore
from kafka_tools.protocol.feature_levels import NEWER

INFO, WARNING, ERROR = "info", "warning", "error"
SEVERITIES = (INFO, WARNING, ERROR)
"""From what is only worth knowing, over what a broker mends by itself, to what loses or misplaces records."""

# What to do, in the words that the findings' page prints. Each is carried out on a real broker by
# tests/against_kafka/test_advice*.py: what is said to be kept is kept there.
_AGAIN = (
    "if kafka-topics --describe shows other replicas of the partition in the Isr, stop this broker in order, move the "
    "partition's directory out of the log directory and start the broker again: it fetches everything anew from the "
    "leader"
)
_CUT = (
    "stop the broker, delete the .index of this segment and start the broker again: it reads the segment anew and cuts "
    "off what is not whole, which it does by itself only after a crash; whole batches stay, what is cut off is lost "
    "here, and a follower fetches it from the leader"
)
_REPLICA = (
    f"{_AGAIN}; never do so where this replica is alone in the Isr: it would lead with an empty log, and the others "
    "would delete theirs; there copy out first what can be read (kafka-dump-log --print-data-log goes on behind damage)"
)
_REBUILD = (
    "stop the broker, delete the .index of this segment, whichever of its indexes is wrong, and start the broker "
    "again: it builds all indexes of the segment anew from the log, which it does not for a missing .timeindex or "
    ".txnindex alone"
)
_NEWER_INDEX = (
    "if a broker of a later release wrote it, leave it and look with that release's tools; else it is damage: "
    f"{_REBUILD}"
)
_LEAVE = (
    "leave it: at its next start the broker discards it and builds the producers' state anew from the log; where it is "
    "deleted by hand and no other snapshot is there, open transactions and sequence numbers are forgotten"
)
_SNAPSHOT = (
    "stop the broker, delete this file and the .index of the partition's last segment, and start the broker again: "
    "with the index it builds the producers' state anew from the log; with the snapshots alone gone it would forget "
    "open transactions and sequence numbers"
)
_EPOCHS = (
    "stop the broker, delete this file and every .index in the directory, and start it again: with the indexes the "
    "epochs are built anew from the batches"
)
_TOPIC_ID = (
    "stop the broker, write the file anew in two lines, 'version: 0' and 'topic_id: ' with the TopicId that "
    "kafka-topics --describe shows, and start the broker again; do not delete it: a broker takes a partition without "
    "it for stray and sets it aside"
)
_KRAFT_SNAPSHOT = (
    "stop the node, move this file away and start the node again: it loads an older snapshot and the log behind it; "
    "where the log begins behind the older snapshot and another node leads the quorum, move the whole directory "
    "__cluster_metadata-0 away instead: the node fetches it anew"
)
_CHECKPOINT = (
    "stop the broker, delete this file and start it again: no record is lost, and the broker writes the file anew; "
    "without log-start-offset-checkpoint, deleted records that lie in a segment which is still there can be read again"
)
_BEYOND = (
    "stop the broker and keep a copy of the partition's directory; if it is log-start-offset-checkpoint or "
    "cleaner-offset-checkpoint, delete that file before the broker starts again: a broker deletes a whole log that "
    "ends before its log start offset, and deleted records in segments that are still there can be read again; "
    f"the others the broker corrects by itself, but what had reached the disk is gone from it: {_AGAIN}"
)
_META = (
    "write it anew: version=1, cluster.id as another node's file has it, node.id as in the server's properties, and "
    "directory.id as the last REGISTER_BROKER_RECORD of the node has it in logDirs (kafka-dump-log "
    "--cluster-metadata-decoder --files __cluster_metadata-0/*.log, here or on another node): with another one the "
    "partitions stay offline; do not format the directory"
)
_QUORUM = (
    "see that the other controllers, if there are any, have a leader (kafka-metadata-quorum describe --status), then "
    "move the file away and start the node: it takes its epoch from the log"
)
_ORPHAN = (
    "stop the broker and move the file out of the log directory; if nobody took the segment's log away on purpose, its "
    f"records are gone from this broker: {_AGAIN}"
)
_FORMAT = (
    f"find out what wrote the file: a newer Kafka, another program, or a failing disk; if it is damage, {_REPLICA}"
)


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


class Kind(NamedTuple):
    """The meaning of a kind of finding. ``severity`` is how bad it is unless the place makes it milder."""

    severity: str
    meaning: str
    advice: str | None = None


_LOG = {
    "torn-tail": Kind(ERROR, "the file ends within a batch", _CUT),
    "zero-tail": Kind(ERROR, "the file ends in zeros: preallocated or sparse, not written before a crash", _CUT),
    "bad-length": Kind(ERROR, "a batch's length is impossible", _REPLICA),
    "skipped": Kind(INFO, "bytes that were left out up to the next batch after damage"),
    "unknown-magic": Kind(ERROR, f"a batch is of a format that no Kafka up to {KAFKA_MINOR} writes", _FORMAT),
    "crc-mismatch": Kind(ERROR, "the CRC in the header does not fit the bytes of the batch", _REPLICA),
    "unknown-codec": Kind(ERROR, f"a batch names a compression codec that no Kafka up to {KAFKA_MINOR} knows", _FORMAT),
    "bad-count": Kind(ERROR, "a batch claims a number of records that its offsets have no room for", _REPLICA),
    "large-records": Kind(
        WARNING,
        "the records of a batch are more bytes, once decompressed, than are read of one: nothing is known to be wrong "
        "with them, they were not looked at",
        "look at them with kafka-dump-log --deep-iteration --max-decompressed-bytes",
    ),
    "unreadable-records": Kind(ERROR, "the records of a batch cannot be decompressed or parsed", _REPLICA),
    "bad-timestamp": Kind(
        WARNING,
        "a batch's newest timestamp is not that of its records: retention and searches by time go by it",
        "no record is lost; what is kept for too long because of it can be deleted with kafka-delete-records",
    ),
    "bad-marker": Kind(ERROR, "a control batch holds no readable control record", _REPLICA),
    "offset-order": Kind(ERROR, "a batch does not follow the last offset of the batch before", _REPLICA),
    "offset-below-segment": Kind(ERROR, "an offset is below the one in the segment's name", _REPLICA),
    "offset-beyond-segment": Kind(
        ERROR, "an offset is further from the segment's first than an index can say", _REPLICA
    ),
    "offset-gap": Kind(INFO, "offsets are missing, as compaction leaves them"),
    "newer-records": Kind(
        INFO,
        f"records of the metadata log have a type or a version that is {NEWER}: nothing is known to be wrong with them",
    ),
}
_INDEXES = {
    "index-missing": Kind(INFO, "a segment has no offset index; a broker builds it when it starts"),
    "index-size": Kind(WARNING, "the size of an offset index is not a multiple of its entries'", _REBUILD),
    "index-order": Kind(ERROR, "the entries of an offset index do not ascend", _REBUILD),
    "index-nowhere": Kind(ERROR, "an offset index points where no batch starts", _REBUILD),
    "index-mismatch": Kind(ERROR, "an offset index names an offset that is not in the batch it points at", _REBUILD),
    "index-batch-range": Kind(INFO, "an index entry is about several batches or within one, as old brokers wrote it"),
    "timeindex-missing": Kind(INFO, "a segment has no time index; a broker builds it when it starts"),
    "timeindex-size": Kind(WARNING, "the size of a time index is not a multiple of its entries'", _REBUILD),
    "timeindex-order": Kind(WARNING, "the entries of a time index do not ascend", _REBUILD),
    "timeindex-offset": Kind(WARNING, "a time index names an offset that no batch holds", _REBUILD),
    "timeindex-mismatch": Kind(WARNING, "a time index names a timestamp that the log does not have there", _REBUILD),
    "txnindex-size": Kind(WARNING, "the size of a transaction index is not a multiple of its entries'", _REBUILD),
    "txnindex-version": Kind(ERROR, "an entry of a transaction index is of an unknown version", _NEWER_INDEX),
    "txnindex-order": Kind(ERROR, "the entries of a transaction index do not ascend or are impossible", _REBUILD),
    "txnindex-mismatch": Kind(ERROR, "a transaction index lists an abort that the log does not have", _REBUILD),
    "txnindex-missing": Kind(
        ERROR, "an aborted transaction is not in the transaction index: read_committed consumers get it", _REBUILD
    ),
}
_BESIDE_THE_LOG = {
    "producer-snapshot": Kind(WARNING, "a producer snapshot cannot be read", _LEAVE),
    "producer-snapshot-mismatch": Kind(WARNING, "a producer snapshot contradicts the log", _SNAPSHOT),
    "leader-epochs": Kind(WARNING, "the leader-epoch checkpoint cannot be read, or its epochs do not ascend", _EPOCHS),
    "leader-epochs-mismatch": Kind(WARNING, "the leader-epoch checkpoint contradicts the log", _EPOCHS),
    "partition-metadata": Kind(ERROR, "the file with the topic's id cannot be read", _TOPIC_ID),
    "kraft-snapshot": Kind(ERROR, "a snapshot of the metadata is damaged or not complete", _KRAFT_SNAPSHOT),
}
_LOG_DIR = {
    "offset-checkpoint": Kind(WARNING, "a checkpoint file of offsets cannot be read", _CHECKPOINT),
    "offset-checkpoint-mismatch": Kind(WARNING, "a checkpoint names an offset that the log does not have", _BEYOND),
    "meta-properties": Kind(
        ERROR, "meta.properties cannot be read: the broker will not start with this directory", _META
    ),
    "quorum-state": Kind(ERROR, "the quorum state cannot be read: the node will not start with it", _QUORUM),
}
_FILES = {
    "segment-overlap": Kind(ERROR, "a segment reaches beyond the first offset of the next one", _REPLICA),
    "orphan-file": Kind(WARNING, "a file belongs to a segment whose log is not there", _ORPHAN),
    "newer-file": Kind(
        WARNING,
        f"the version of a small file is {NEWER}: what is in it was not looked at",
        "look at it with the tools of the release that wrote it, and leave it; if no broker of such a release has been "
        "here, it is damage",
    ),
    "leftover-file": Kind(INFO, "a file that was being removed or replaced; a broker's start finishes that"),
    "leftover-directory": Kind(INFO, "a partition that was being deleted or moved, or that no topic has any more"),
    "unknown-file": Kind(INFO, "a file that Kafka does not know"),
    "unreadable": Kind(
        ERROR,
        "the operating system refused to open or read the file, or it is a FIFO, a device, a directory, or larger than "
        "any of its kind",
        "look at what stands there, at its rights and its disk",
    ),
    "vanished": Kind(INFO, "the file was removed while it was being read: a broker is at work"),
    "unseen": Kind(
        ERROR,
        "an executor of the audit did not find what the driver lists: nothing is known of the records in it",
        "give every executor the same files at the same path (mount the directory there, or audit a store), and run "
        "the audit again",
    ),
    "growing": Kind(INFO, "a broker was writing here while the file was being read"),
    "shrunk": Kind(INFO, "a broker cut the file while it was being read"),
    "unlisted": Kind(INFO, "more findings of one kind in one file than are listed"),
}
# What only an audit can find, which knows configs and copies, and what is in the records.
_PRODUCERS = {
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
        "if its producer does not run any more, abort it with kafka-transactions (find-hanging "
        "--broker-id ID lists it; abort --topic T --partition P --start-offset OFFSET): its records, which nobody had "
        "committed, are then passed over by read_committed consumers for good; find out why its coordinator did not",
    ),
}
_TIME = {
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
}
_COMPACTION = {
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
}
_SIZES = {
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
}
_SPREAD = {
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
}
_COPIES = {
    "replica-divergence": Kind(
        ERROR,
        "two copies of a partition hold different batches at the same offsets",
        "compare both with what consumers got, if that is known: the leader's copy (kafka-topics --describe) is what "
        f"everybody reads, and what only the other copy has is lost; on the other broker: {_AGAIN}",
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

_OF_FILES = {
    "A log file": _LOG,
    "Its indexes": _INDEXES,
    "What else lies in a partition's directory": _BESIDE_THE_LOG,
    "A log directory's own files": _LOG_DIR,
    "Files as such": _FILES,
}
CHAPTERS = _OF_FILES | {
    "Producers": _PRODUCERS,
    "Time and retention": _TIME,
    "Compaction": _COMPACTION,
    "Sizes": _SIZES,
    "Keys and partitions": _SPREAD,
    "Copies and disks": _COPIES,
}
"""The kinds by what they are about, as docs/findings.md has them."""
KINDS = {name: kind for chapter in CHAPTERS.values() for name, kind in chapter.items()}
"""Every kind there is, by its name; a stable word for scripts."""
FILE_KINDS = frozenset(name for chapter in _OF_FILES.values() for name in chapter)
"""Those that ``check`` can find."""


class _Fields(NamedTuple):
    path: str | None
    kind: str
    text: str
    position: int | None
    offset: int | None
    severity: str
    topic: str | None
    partition: int | None
    size_bytes: int | None


def kind_of_unread(error: Exception) -> str:
    """The kind of finding about a batch whose records were not read: damaged, or only larger than what is read."""
    return "large-records" if isinstance(error, DecompressesToMore) else "unreadable-records"


class Finding(_Fields):
    """One thing wrong, or worth knowing, and its place.

    ``path`` is the file's, None where it is about no single file; ``kind`` a key of KINDS, ``text`` one sentence for
    people, without the path; ``position`` a byte offset in the file and ``offset`` a record offset; ``severity`` one
    of SEVERITIES. ``topic``, ``partition`` and ``size_bytes``, how much is concerned, are what an audit knows. None
    where there is none, or it is unknown.
    """

    __slots__ = ()

    def __new__(
        cls,
        path: str | None,
        kind: str,
        text: str,
        position: int | None = None,
        offset: int | None = None,
        severity: str | None = None,
        topic: str | None = None,
        partition: int | None = None,
        size_bytes: int | None = None,
    ) -> Finding:
        """``severity`` None: that of the kind. Raises KeyError for a kind that is not in the list."""
        how_bad = severity or KINDS[kind].severity
        return super().__new__(cls, path, kind, text, position, offset, how_bad, topic, partition, size_bytes)

    def with_severity(self, severity: str) -> Finding:
        """The same finding in a place where it is worse or milder."""
        return self._replace(severity=severity)

    @property
    def place(self) -> tuple[str, int, str, int]:
        """The sort key of findings: partition, file, position."""
        return (
            self.topic or "",
            -1 if self.partition is None else self.partition,
            self.path or "",
            -1 if self.position is None else self.position,
        )

    @property
    def is_damage(self) -> bool:
        """Whether it is more severe than an info."""
        return self.severity != INFO

    @property
    def advice(self) -> str | None:
        """What to do about it, None where nothing needs doing or nothing general can be said."""
        return KINDS[self.kind].advice if self.is_damage else None

    def __str__(self) -> str:
        at = "" if self.position is None else f" at {self.position}"
        return f"{self.path}{at}: {self.text}"
