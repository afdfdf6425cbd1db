"""What is wrong in data on disk, as values: the closed list of kinds, how bad each is, and what to do about it.

Whoever reads tolerantly yields these; printing and counting are the caller's business. The list is the same for
``kafka-dump-log``, the Spark audit and the bundled broker's recovery; ``docs/findings.md`` is checked against it.
"""

from __future__ import annotations

from typing import NamedTuple

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


class Kind(NamedTuple):
    """What a kind of finding means. ``severity`` is how bad it is unless the place makes it milder."""

    severity: str
    meaning: str
    advice: str | None = None


KINDS: dict[str, Kind] = {
    # A log file
    "torn-tail": Kind(ERROR, "the file ends within a batch", _CUT),
    "zero-tail": Kind(ERROR, "the file ends in zeros: preallocated or sparse, not written before a crash", _CUT),
    "bad-length": Kind(ERROR, "a batch's length is impossible", _REPLICA),
    "skipped": Kind(INFO, "bytes that were left out up to the next batch after damage"),
    "unknown-magic": Kind(ERROR, "a batch is of a format that no Kafka writes", _FORMAT),
    "crc-mismatch": Kind(ERROR, "the CRC in the header does not fit the bytes of the batch", _REPLICA),
    "unknown-codec": Kind(ERROR, "a batch names a compression codec that no Kafka knows", _FORMAT),
    "bad-count": Kind(ERROR, "a batch claims a number of records that its offsets have no room for", _REPLICA),
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
    # Its indexes
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
    "txnindex-version": Kind(ERROR, "an entry of a transaction index is of an unknown version", _REBUILD),
    "txnindex-order": Kind(ERROR, "the entries of a transaction index do not ascend or are impossible", _REBUILD),
    "txnindex-mismatch": Kind(ERROR, "a transaction index lists an abort that the log does not have", _REBUILD),
    "txnindex-missing": Kind(
        ERROR, "an aborted transaction is not in the transaction index: read_committed consumers get it", _REBUILD
    ),
    # What else lies in a partition's directory
    "producer-snapshot": Kind(WARNING, "a producer snapshot cannot be read", _LEAVE),
    "producer-snapshot-mismatch": Kind(WARNING, "a producer snapshot contradicts the log", _SNAPSHOT),
    "leader-epochs": Kind(WARNING, "the leader-epoch checkpoint cannot be read, or its epochs do not ascend", _EPOCHS),
    "leader-epochs-mismatch": Kind(WARNING, "the leader-epoch checkpoint contradicts the log", _EPOCHS),
    "partition-metadata": Kind(ERROR, "the file with the topic's id cannot be read", _TOPIC_ID),
    "kraft-snapshot": Kind(ERROR, "a snapshot of the metadata is damaged or not complete", _KRAFT_SNAPSHOT),
    # A log directory's own files
    "offset-checkpoint": Kind(WARNING, "a checkpoint file of offsets cannot be read", _CHECKPOINT),
    "offset-checkpoint-mismatch": Kind(WARNING, "a checkpoint names an offset that the log does not have", _BEYOND),
    "meta-properties": Kind(
        ERROR, "meta.properties cannot be read: the broker will not start with this directory", _META
    ),
    "quorum-state": Kind(ERROR, "the quorum state cannot be read: the node will not start with it", _QUORUM),
    # Files as such
    "segment-overlap": Kind(ERROR, "a segment reaches beyond the first offset of the next one", _REPLICA),
    "orphan-file": Kind(WARNING, "a file belongs to a segment whose log is not there", _ORPHAN),
    "leftover-file": Kind(INFO, "a file that was being removed or replaced; a broker's start finishes that"),
    "leftover-directory": Kind(INFO, "a partition that was being deleted or moved, or that no topic has any more"),
    "unknown-file": Kind(INFO, "a file that Kafka does not know"),
    "unreadable": Kind(
        ERROR, "the operating system refused to open or read the file", "look at its rights and its disk"
    ),
    "vanished": Kind(INFO, "the file was removed while it was being read: a broker is at work"),
    "growing": Kind(INFO, "a broker was writing here while the file was being read"),
    "shrunk": Kind(INFO, "a broker cut the file while it was being read"),
    "unlisted": Kind(INFO, "more findings of one kind in one file than are listed"),
}
"""Every kind there is, by its name; a stable word for scripts."""


class _Fields(NamedTuple):
    path: str
    kind: str
    text: str
    position: int | None
    offset: int | None
    severity: str


class Finding(_Fields):
    """One thing wrong (or remarkable) in a file.

    ``kind`` is a key of KINDS, ``text`` one sentence for people, without the path; ``position`` a byte offset in the
    file and ``offset`` a record offset, None where unknown; ``severity`` one of SEVERITIES.
    """

    __slots__ = ()

    def __new__(
        cls,
        path: str,
        kind: str,
        text: str,
        position: int | None = None,
        offset: int | None = None,
        severity: str | None = None,
    ) -> Finding:
        """``severity`` None: that of the kind. Raises KeyError for a kind that is not in the list."""
        return super().__new__(cls, path, kind, text, position, offset, severity or KINDS[kind].severity)

    def with_severity(self, severity: str) -> Finding:
        """The same finding in a place where it is worse or milder."""
        return Finding(self.path, self.kind, self.text, self.position, self.offset, severity)

    @property
    def is_damage(self) -> bool:
        """Whether it is more than worth knowing."""
        return self.severity != INFO

    @property
    def advice(self) -> str | None:
        """What to do about it, None where nothing needs doing or nothing general can be said."""
        return KINDS[self.kind].advice if self.is_damage else None

    def __str__(self) -> str:
        at = "" if self.position is None else f" at {self.position}"
        return f"{self.path}{at}: {self.text}"
