"""Findings about data on disk, as values: the closed list of kinds, the severity of each, and the advice about it.

Readers that continue after damage yield findings; their callers print and count them. ``kafka-dump-log``, the Spark
audit and the bundled broker's recovery share the list; ``docs/findings.md`` is generated from it.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_tools import KAFKA_MINOR
from kafka_tools.errors import DecompressesToMore
from kafka_tools.protocol.feature_levels import NEWER

INFO, WARNING, ERROR = "info", "warning", "error"
SEVERITIES = (INFO, WARNING, ERROR)
"""In this order: good to know; a broker repairs it; records are lost or misplaced."""

# The advice, in the words that the page of findings prints. tests/against_kafka/test_advice*.py follows each advice on
# a real broker, and checks that only the data that the advice names is lost.
_CUT = (
    "Stop the broker, delete the .index of this segment, and start the broker again. It then reads the whole segment "
    "and cuts off the incomplete end, which it otherwise does only after a crash. Complete batches stay. The bytes "
    "that are cut off are lost on this broker; a follower fetches them from the leader."
)
_REPLICA = (
    "Look up the Isr of the partition with kafka-topics --describe. If it contains other replicas, stop this broker "
    "with a controlled shutdown, move the partition's directory out of the log directory, and start the broker again. "
    "It fetches the whole partition from the leader. Never do this if the replica is alone in the Isr: it would lead "
    "with an empty log, and the other replicas would delete theirs. In that case, first copy the readable records "
    "(kafka-dump-log --print-data-log continues after damage)."
)
_REBUILD = (
    "Stop the broker, delete the .index of this segment, even if another of its indexes is wrong, and start the "
    "broker again. It rebuilds all indexes of the segment from the log. It does not rebuild them if only the "
    ".timeindex or .txnindex is missing."
)
_NEWER_INDEX = (
    "If a broker of a later release wrote it, leave it and inspect it with that release's tools. Otherwise it is "
    f"damaged. {_REBUILD}"
)
_LEAVE = (
    "Leave it. At its next start the broker discards the file and rebuilds the producer state from the log. If you "
    "delete the file and there is no other snapshot, the broker forgets open transactions and sequence numbers."
)
_SNAPSHOT = (
    "Stop the broker, delete this file and the .index of the partition's last segment, and start the broker again. "
    "Without the index it rebuilds the producer state from the log. If you delete only the snapshots, it forgets open "
    "transactions and sequence numbers."
)
_EPOCHS = (
    "Stop the broker, delete this file and every .index in the directory, and start the broker again. Without the "
    "indexes it rebuilds the epochs from the batches."
)
_TOPIC_ID = (
    "Stop the broker, write the file again with two lines, 'version: 0' and 'topic_id: ' with the TopicId that "
    "kafka-topics --describe shows, and start the broker again. Do not delete the file: a broker treats a partition "
    "without it as stray and moves it aside."
)
_KRAFT_SNAPSHOT = (
    "Stop the node, move this file away, and start the node again. It loads an older snapshot and the log after it. If "
    "the log begins after the older snapshot and another node leads the quorum, move the whole directory "
    "__cluster_metadata-0 away instead. The node then fetches it again."
)
_CHECKPOINT = (
    "Stop the broker, delete this file, and start the broker again. No record is lost, and the broker writes the file "
    "again. Without log-start-offset-checkpoint, deleted records can be read again if their segment still exists."
)
_BEYOND = (
    "Stop the broker and keep a copy of the partition's directory. If the file is log-start-offset-checkpoint or "
    "cleaner-offset-checkpoint, delete it before the broker starts again: a broker deletes a whole log that ends "
    "before its log start offset. Deleted records can then be read again if their segment still exists. The broker "
    "corrects other checkpoints itself, but records that had reached the disk are missing from the log. "
    f"{_REPLICA}"
)
_META = (
    "Write the file again: version=1, cluster.id from another node's file, node.id from the server's properties, and "
    "directory.id from logDirs of the node's last REGISTER_BROKER_RECORD. To find that record, run kafka-dump-log "
    "--cluster-metadata-decoder --files __cluster_metadata-0/*.log, here or on another node. With a different "
    "directory.id the partitions stay offline. Do not format the directory."
)
_QUORUM = (
    "If there are other controllers, check that they have a leader (kafka-metadata-quorum describe --status). "
    "Then move the file away and start the node. The node then reads its epoch from the log."
)
_ORPHAN = (
    "Stop the broker and move the file out of the log directory. If nobody removed the segment's log on purpose, its "
    f"records are missing from this broker. {_REPLICA}"
)
_FORMAT = (
    "Find out what wrote the file: a newer Kafka, another program, or a failing disk. If it is damaged, repair the "
    f"replica. {_REPLICA}"
)
_OFFSETS = (
    "Inspect the batches around it (kafka-dump-log --files SEGMENT --print-data-log), and the application logs of the "
    "producer and the leader from that time. The producer must send missing records again; the broker does not have "
    "them. The files need no repair."
)
_REFUSE = (
    "Make the broker refuse such timestamps (kafka-configs --alter --add-config "
    "message.timestamp.after.max.ms=3600000; before 3.6 message.timestamp.difference.max.ms), or write its own "
    "(message.timestamp.type=LogAppendTime). Existing records stay until kafka-delete-records removes them "
    "permanently, together with everything before them."
)

REMEDIES = {
    "Re-replicate": _REPLICA,
    "Cut the end": _CUT,
    "Rebuild the index": _REBUILD,
    "Rebuild the epochs": _EPOCHS,
    "Inspect the batches": _OFFSETS,
    "Limit timestamps": _REFUSE,
}
"""The advice that several kinds share, by its name in docs/findings.md."""


NO_PARTITIONS = "no-partitions"


class Kind(NamedTuple):
    """The meaning of a kind of finding. ``severity`` is its default: some places make it milder or worse."""

    severity: str
    meaning: str
    advice: str | None = None


_LOG = {
    "torn-tail": Kind(ERROR, "the file ends within a batch", _CUT),
    "zero-tail": Kind(
        ERROR, "the file ends in zeros: preallocated or sparse space that was not written before a crash", _CUT
    ),
    "bad-length": Kind(ERROR, "a batch's length is impossible", _REPLICA),
    "skipped": Kind(INFO, "bytes between damage and the next batch, which were skipped"),
    "unknown-magic": Kind(ERROR, f"the format of a batch is unknown to Kafka up to {KAFKA_MINOR}", _FORMAT),
    "crc-mismatch": Kind(ERROR, "the CRC in the header does not match the bytes of the batch", _REPLICA),
    "unknown-codec": Kind(ERROR, f"the compression codec of a batch is unknown to Kafka up to {KAFKA_MINOR}", _FORMAT),
    "bad-count": Kind(ERROR, "the record count of a batch exceeds its range of offsets", _REPLICA),
    "large-records": Kind(
        WARNING,
        "the records of a batch exceed the size limit when decompressed, so they were not checked",
        "Check them with kafka-dump-log --deep-iteration --max-decompressed-bytes.",
    ),
    "unreadable-records": Kind(ERROR, "the records of a batch cannot be decompressed or parsed", _REPLICA),
    "bad-timestamp": Kind(
        WARNING,
        "a batch's maximum timestamp differs from that of its records; retention and searches by time use it",
        "No record is lost. If records are kept for too long because of it, delete them with kafka-delete-records.",
    ),
    "bad-marker": Kind(ERROR, "a control batch contains no readable control record", _REPLICA),
    "offset-order": Kind(ERROR, "the offsets of a batch are not above those of the previous batch", _REPLICA),
    "offset-below-segment": Kind(ERROR, "an offset is below the base offset in the segment's name", _REPLICA),
    "offset-beyond-segment": Kind(
        ERROR, "an offset is too far above the segment's base offset for an index entry", _REPLICA
    ),
    "offset-gap": Kind(INFO, "offsets are missing, as after compaction"),
    "newer-records": Kind(
        INFO,
        f"the type or version of metadata records is {NEWER}; they may be valid",
    ),
}
_INDEXES = {
    "index-missing": Kind(INFO, "a segment has no offset index; a broker builds it when it starts"),
    "index-size": Kind(WARNING, "the size of an offset index is not a multiple of the entry size", _REBUILD),
    "index-order": Kind(ERROR, "the entries of an offset index are not in ascending order", _REBUILD),
    "index-nowhere": Kind(ERROR, "an entry of an offset index points to a position where no batch starts", _REBUILD),
    "index-mismatch": Kind(ERROR, "an entry of an offset index has an offset that is not in its batch", _REBUILD),
    "index-batch-range": Kind(INFO, "an index entry covers several batches or part of one, as old brokers wrote it"),
    "timeindex-missing": Kind(INFO, "a segment has no time index; a broker builds it when it starts"),
    "timeindex-size": Kind(WARNING, "the size of a time index is not a multiple of the entry size", _REBUILD),
    "timeindex-order": Kind(WARNING, "the entries of a time index are not in ascending order", _REBUILD),
    "timeindex-offset": Kind(WARNING, "an entry of a time index has an offset that no batch contains", _REBUILD),
    "timeindex-mismatch": Kind(
        WARNING, "an entry of a time index has a timestamp that the log does not have at that offset", _REBUILD
    ),
    "txnindex-size": Kind(WARNING, "the size of a transaction index is not a multiple of the entry size", _REBUILD),
    "txnindex-version": Kind(ERROR, "an entry of a transaction index has an unknown version", _NEWER_INDEX),
    "txnindex-order": Kind(ERROR, "the entries of a transaction index are invalid or not in ascending order", _REBUILD),
    "txnindex-mismatch": Kind(
        ERROR, "a transaction index contains an aborted transaction that is not in the log", _REBUILD
    ),
    "txnindex-missing": Kind(
        ERROR,
        "an aborted transaction is missing from the transaction index; read_committed consumers get its records",
        _REBUILD,
    ),
}
_BESIDE_THE_LOG = {
    "producer-snapshot": Kind(WARNING, "a producer snapshot is unreadable", _LEAVE),
    "producer-snapshot-mismatch": Kind(WARNING, "a producer snapshot contradicts the log", _SNAPSHOT),
    "leader-epochs": Kind(
        WARNING, "the leader-epoch checkpoint is unreadable, or its epochs are not in ascending order", _EPOCHS
    ),
    "leader-epochs-mismatch": Kind(WARNING, "the leader-epoch checkpoint contradicts the log", _EPOCHS),
    "partition-metadata": Kind(ERROR, "the file with the topic id is unreadable", _TOPIC_ID),
    "kraft-snapshot": Kind(ERROR, "a metadata snapshot is damaged or incomplete", _KRAFT_SNAPSHOT),
}
_LOG_DIR = {
    "offset-checkpoint": Kind(WARNING, "a checkpoint file of offsets is unreadable", _CHECKPOINT),
    "offset-checkpoint-mismatch": Kind(WARNING, "a checkpoint has an offset that is not in the log", _BEYOND),
    "meta-properties": Kind(
        ERROR, "meta.properties is unreadable; the broker will not start with this directory", _META
    ),
    "quorum-state": Kind(ERROR, "the quorum state is unreadable; the node will not start with it", _QUORUM),
}
_FILES = {
    "segment-overlap": Kind(ERROR, "a segment contains offsets of the next segment", _REPLICA),
    "orphan-file": Kind(WARNING, "a file belongs to a segment whose log is missing", _ORPHAN),
    "newer-file": Kind(
        WARNING,
        f"the version of a small file is {NEWER}; its contents were not checked",
        "Leave it, and inspect it with the tools of the release that wrote it. If no broker of such a release has used "
        "this directory, the file is damaged.",
    ),
    "leftover-file": Kind(
        INFO, "a file that was being removed or replaced; the broker completes the removal at its next start"
    ),
    "leftover-directory": Kind(INFO, "a partition that was being deleted or moved, or whose topic no longer exists"),
    "unknown-file": Kind(INFO, "a file that is unknown to Kafka"),
    "unreadable": Kind(
        ERROR,
        "the operating system refused to open or read the file, or it is a FIFO, a device or a directory, or is too "
        "large for its kind",
        "Check what is at this path, its permissions and its disk.",
    ),
    "vanished": Kind(INFO, "the file was removed during the check: a broker is running"),
    "unseen": Kind(
        ERROR,
        "an executor of the audit did not find a file that the driver found; its records were not checked",
        "Give every executor the same files at the same path: mount the directory there, or audit a store. Then run "
        "the audit again.",
    ),
    "growing": Kind(INFO, "a broker appended to the file during the check"),
    "shrunk": Kind(INFO, "a broker truncated the file during the check"),
    "unlisted": Kind(INFO, "a file has more findings of one kind than are listed"),
}
# Only an audit finds these, because it knows configs, replicas and the contents of records.
_PRODUCERS = {
    "sequence-gap": Kind(
        ERROR, "sequence numbers of a producer are missing: records that it wrote are not in the log", _OFFSETS
    ),
    "sequence-duplicate": Kind(
        WARNING, "sequence numbers of a producer occur twice: the log contains duplicate records", _OFFSETS
    ),
    "producer-epoch": Kind(ERROR, "a producer wrote with an epoch that was already fenced", _OFFSETS),
    "open-transaction": Kind(INFO, "a transaction is open at the end of the log"),
    "hanging-transaction": Kind(
        WARNING,
        "a transaction is open for longer than the maximum timeout; read_committed consumers wait for its end",
        "If its producer is no longer running, abort it: kafka-transactions find-hanging --broker-id ID lists it, "
        "and abort --topic T --partition P --start-offset OFFSET aborts it. read_committed consumers then skip "
        "its uncommitted records permanently. Find out why its coordinator did not abort it.",
    ),
}
_TIME = {
    "timestamp-future": Kind(
        WARNING,
        "timestamps are in the future; retention by time does not remove the segment until they have passed",
        _REFUSE,
    ),
    "timestamp-unit": Kind(
        WARNING,
        "timestamps are not in milliseconds; retention removes such records immediately or never",
        f"Correct the producer. {_REFUSE}",
    ),
    "retention-overdue": Kind(
        WARNING,
        "segments are older than retention.ms, or a partition is larger than retention.bytes, but nothing was deleted",
        "Check log.retention.check.interval.ms of the broker, and look for failed deletions in its application "
        "log. The usual reasons are a timestamp in the future and a broker that was down. If the disk is nearly "
        "full, kafka-delete-records permanently removes everything before an offset.",
    ),
    "old-data": Kind(
        INFO, "segments are older than Kafka's default retention, and the topic's own retention is unknown"
    ),
}
_COMPACTION = {
    "compaction-lag": Kind(
        WARNING,
        "a large part of a compacted partition is not compacted yet",
        "Check that the broker's cleaner threads are alive (log-cleaner.log) and that no open transaction blocks them. "
        "With max.compaction.lag.ms on the topic, the cleaner compacts even a small dirty part in time.",
    ),
    "tombstones-overdue": Kind(
        WARNING,
        "tombstones are past their delete horizon but not removed",
        "The partition was not compacted since then: see compaction-lag.",
    ),
    "reclaimable": Kind(INFO, "compaction would free a large part of a compacted partition"),
    "offsets-bloat": Kind(
        WARNING,
        "a partition of __consumer_offsets is far larger than its live records",
        "Check that its cleanup.policy is compact (kafka-configs --describe --entity-type topics --entity-name "
        "__consumer_offsets) and that the cleaner runs. Make the busiest groups commit less often. Do not delete "
        "anything here: groups would lose their offsets.",
    ),
}
_SIZES = {
    "oversized-batch": Kind(
        WARNING,
        "a batch is larger than the topic's max.message.bytes",
        "Replication and consumers accept it, but another cluster that gets a copy may not. Raise max.message.bytes of "
        "the topic there too (kafka-configs --alter --add-config).",
    ),
    "near-limit": Kind(INFO, "the size of a batch is close to the topic's max.message.bytes"),
    "tiny-batches": Kind(
        WARNING,
        "most batches contain one or two records; their headers cost space, network and time",
        "Make the producers wait a little and send larger batches (linger.ms, batch.size).",
    ),
    "uncompressed": Kind(
        INFO, "records are not compressed", "Try compression.type=zstd or lz4 on the producers or the topic."
    ),
    "poor-compression": Kind(
        WARNING,
        "compression saves almost nothing",
        "Compress larger batches (linger.ms, batch.size), or disable it if the values are already compressed.",
    ),
    "header-bloat": Kind(
        WARNING, "record headers take more space than keys and values", "Shorten or remove headers at the producer."
    ),
}
_SPREAD = {
    "hot-key": Kind(
        WARNING,
        "a large part of a partition's records have the same key",
        "If the order of these records does not matter, spread them over several keys, for example with a suffix.",
    ),
    "partition-skew": Kind(
        WARNING, "one partition contains far more data than the others", "Check how the producers choose partitions."
    ),
    "empty-partition": Kind(INFO, "a partition contains no records"),
    "idle-partition": Kind(INFO, "no records were written to a partition for a long time"),
}
_COPIES = {
    "replica-divergence": Kind(
        ERROR,
        "two replicas of a partition have different batches at the same offsets",
        "Compare both with what consumers received, if you know it. All clients read the leader's replica "
        "(kafka-topics --describe); records that only the other replica has are lost. Repair the replica on the other "
        "broker. "
        f"{_REPLICA}",
    ),
    "replica-behind": Kind(
        INFO, "replicas of a partition end at different offsets: one is behind, or was copied at another time"
    ),
    "unflushed": Kind(INFO, "bytes after the recovery point, which a broker must read again after a crash"),
    "unfollowed": Kind(INFO, "there are more producers than the audit tracks"),
    "left-out": Kind(INFO, "segments that end before --since were not read"),
    NO_PARTITIONS: Kind(
        ERROR,
        "nothing to audit: the directory contains no partition, or none of the selected topics",
        "Check the path, which is one of the broker's log.dirs or one partition's directory, and --topics.",
    ),
}

_OF_FILES = {
    "A log file": _LOG,
    "Indexes": _INDEXES,
    "Other files of a partition": _BESIDE_THE_LOG,
    "Files of a log directory": _LOG_DIR,
    "Files in general": _FILES,
}
CHAPTERS = _OF_FILES | {
    "Producers": _PRODUCERS,
    "Time and retention": _TIME,
    "Compaction": _COMPACTION,
    "Sizes": _SIZES,
    "Keys and partitions": _SPREAD,
    "Replicas and disks": _COPIES,
}
"""The chapters of docs/findings.md, each with its kinds."""
KINDS = {name: kind for chapter in CHAPTERS.values() for name, kind in chapter.items()}
"""Every kind by its name, which is stable for scripts."""
FILE_KINDS = frozenset(name for chapter in _OF_FILES.values() for name in chapter)
"""The kinds that ``check`` can find."""


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
    """The kind of finding about a batch whose records were not read: they are damaged, or exceed the size limit."""
    return "large-records" if isinstance(error, DecompressesToMore) else "unreadable-records"


class Finding(_Fields):
    """One problem, or one fact worth knowing, and its place.

    ``path`` is None if the finding is about no single file. ``kind`` is a key of KINDS, and ``severity`` one of
    SEVERITIES. ``text`` is one sentence for people, without the path. ``position`` is a byte offset in the file, and
    ``offset`` a record offset. An audit also sets ``topic``, ``partition`` and ``size_bytes``, the number of bytes that
    are affected. A field without a known value is None.
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
        """``severity`` None: the severity of the kind. Raises KeyError for an unknown kind."""
        how_bad = severity or KINDS[kind].severity
        return super().__new__(cls, path, kind, text, position, offset, how_bad, topic, partition, size_bytes)

    def with_severity(self, severity: str) -> Finding:
        """The same finding, but with another severity."""
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
        """Whether the finding is more severe than an info."""
        return self.severity != INFO

    @property
    def advice(self) -> str | None:
        """The remedy, as text. None if nothing needs to be done, or if there is no general remedy."""
        return KINDS[self.kind].advice if self.is_damage else None

    def __str__(self) -> str:
        at = "" if self.position is None else f" at {self.position}"
        return f"{self.path}{at}: {self.text}"
