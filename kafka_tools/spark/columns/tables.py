"""Columns of the tables that the data sources yield: names, types, meanings. Plain data, no PySpark.

Names are Kafka's words in snake case; ``_ms`` is milliseconds since the epoch as written in the log, ``_bytes`` a size.
A table's columns are its contract: new ones are added at the end, none changes its meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kafka_tools.errors import InputError

# The times that Spark can show: years 1 to 9999.
OLDEST_MS = -62_135_596_800_000
NEWEST_MS = 253_402_300_799_999


class Column(NamedTuple):
    """A column: its name, its Spark SQL type, and its meaning."""

    name: str
    type: str
    meaning: str


BATCH_COLUMNS: tuple[Column, ...] = (
    Column("topic", "string", "topic of the partition directory"),
    Column("partition", "int", "partition number of the partition directory"),
    Column("log_dir", "string", "the log directory that contains the partition, as given"),
    Column("file", "string", "path of the segment"),
    Column("position", "long", "position of the batch in the file, in bytes"),
    Column("size_bytes", "long", "size of the batch with its header; for damage, the size of the damaged part"),
    Column("base_offset", "long", "first offset of the batch; null for compressed magic 0 and 1 (see countLegacy)"),
    Column("last_offset", "long", "last offset of the batch"),
    Column("magic", "int", "format of the batch: 0, 1 or 2"),
    Column("codec", "string", "none, gzip, snappy, lz4, zstd, or unknown(N)"),
    Column("crc_ok", "boolean", "whether the CRC is valid; null if it was not checked (checkCrc=false)"),
    Column("timestamp_type", "string", "CreateTime or LogAppendTime; null for magic 0"),
    Column("base_timestamp_ms", "long", "timestamp of the first record; null if the header lacks it"),
    Column("max_timestamp_ms", "long", "largest timestamp of the batch, -1 for none; null for magic 0"),
    Column(
        "max_timestamp", "timestamp", "max_timestamp_ms as a time; null if there is none or it is outside Spark's range"
    ),
    Column("producer_id", "long", "id of the producer, -1 for none; null for magic 0 and 1"),
    Column("producer_epoch", "int", "epoch of the producer, -1 for none; null for magic 0 and 1"),
    Column("base_sequence", "int", "sequence number of the first record, -1 for none; null for magic 0 and 1"),
    Column("last_sequence", "int", "sequence number of the last record, wrapped at 2^31; -1 for none"),
    Column("leader_epoch", "int", "epoch of the leader that wrote the batch; null for magic 0 and 1"),
    Column("record_count", "int", "records in the batch; null for compressed magic 0 and 1 (see countLegacy)"),
    Column("is_transactional", "boolean", "whether the batch belongs to a transaction"),
    Column("is_control", "boolean", "whether the batch contains control records: transaction markers, quorum records"),
    Column(
        "delete_horizon_ms", "long", "time from which tombstones of a compacted batch can be removed; null if not set"
    ),
    Column("damage", "string", "kind of damage; null for a valid batch"),
    Column("severity", "string", "info, warning or error; null for a valid batch"),
    Column("detail", "string", "description of the damage; null for a valid batch"),
)


RECORD_COLUMNS: tuple[Column, ...] = (
    *BATCH_COLUMNS[:4],
    Column("position", "long", "position of the record's batch in the file, in bytes"),
    Column("offset", "long", "offset of the record; for damage, the first offset of the batch or null"),
    Column("timestamp_ms", "long", "timestamp of the record, -1 for none (magic 0)"),
    Column("timestamp", "timestamp", "timestamp_ms as a time; null if there is none or it is outside Spark's range"),
    Column("timestamp_type", "string", "CreateTime or LogAppendTime; null for magic 0"),
    Column("key_bytes", "int", "size of the key; null for a null key"),
    Column("key_hash", "long", "XXH64 with seed 42 of the key, as Spark's xxhash64 gives it; null for a null key"),
    Column("value_bytes", "int", "size of the value; null for a null value (a tombstone)"),
    Column("value_hash", "long", "XXH64 with seed 42 of the value; null for a null value"),
    Column("header_count", "int", "number of headers"),
    Column("headers_bytes", "int", "size of the headers in the decompressed record, without their count"),
    Column("magic", "int", "format of the batch: 0, 1 or 2"),
    Column("codec", "string", "none, gzip, snappy, lz4, zstd"),
    Column("leader_epoch", "int", "epoch of the leader that wrote the batch; null for magic 0 and 1"),
    Column("producer_id", "long", "id of the producer, -1 for none; null for magic 0 and 1"),
    Column("producer_epoch", "int", "epoch of the producer, -1 for none; null for magic 0 and 1"),
    Column("sequence", "int", "sequence number of the record, -1 for none; null for magic 0 and 1"),
    Column("is_transactional", "boolean", "whether the record belongs to a transaction"),
    Column("is_control", "boolean", "whether it is a control record"),
    Column("record_type", "string", "type of a control record or of a record in an internal topic; null for others"),
    Column("coordinator_epoch", "int", "transaction markers: epoch of the coordinator that wrote it"),
    Column("group_id", "string", "__consumer_offsets: the group"),
    Column("committed_topic", "string", "committed offsets: the topic"),
    Column("committed_partition", "int", "committed offsets: the partition"),
    Column("committed_offset", "long", "committed offsets: the offset; null if it was deleted"),
    Column("commit_timestamp_ms", "long", "committed offsets: when it was committed"),
    Column("transactional_id", "string", "__transaction_state: the transactional id"),
    Column("transaction_state", "string", "__transaction_state: the state, for example Empty, Ongoing, PrepareCommit"),
    Column("transaction_producer_id", "long", "__transaction_state: the producer id"),
    Column("transaction_producer_epoch", "int", "__transaction_state: the producer epoch"),
    Column("decoded", "string", "the whole control or internal record as JSON, secrets masked; null for others"),
    *BATCH_COLUMNS[-3:],
)

CONTENT_COLUMNS: tuple[Column, ...] = (
    Column("key", "binary", "the key"),
    Column("value", "binary", "the value"),
    Column("headers", "array<struct<name:string,value:binary>>", "the headers, in order"),
)
"""The further columns of the table of records when content is requested."""

FILE_COLUMNS: tuple[Column, ...] = (
    Column("log_dir", "string", "the log directory that contains the file, as given"),
    Column("topic", "string", "topic of the partition directory; null for files of the log directory itself"),
    Column("partition", "int", "partition number; null for files of the log directory itself"),
    Column("directory_state", "string", "delete, future or stray for a directory in transit; null for one in use"),
    Column("file", "string", "path of the file"),
    Column("kind", "string", "log, index, timeindex, txnindex, snapshot, checkpoint, or the name of another file"),
    Column("file_state", "string", "deleted, cleaned, swap, part or delete for a file in transit; null for one in use"),
    Column("base_offset", "long", "the offset in the file's name; null for a name without one"),
    Column("is_last", "boolean", "logs: whether it is the last segment, which a broker may be writing to"),
    Column("is_known", "boolean", "whether Kafka uses files with this name"),
    Column("size_bytes", "long", "size of the file"),
    Column("modified_ms", "long", "time of the last write"),
    Column("modified", "timestamp", "modified_ms as a time"),
)


def select(columns: Sequence[Column], names: Iterable[str]) -> tuple[Column, ...]:
    """The columns named, in the order of the names; InputError for an unknown one, or for none at all."""
    by_name = {column.name: column for column in columns}
    chosen = []
    for name in names:
        if name not in by_name:
            raise InputError(f"unknown column '{name}': expected one of {', '.join(by_name)}")
        chosen.append(by_name[name])
    if not chosen:
        raise InputError(f"no column selected: expected one or more of {', '.join(by_name)}")
    return tuple(chosen)


def spark_schema(columns: Iterable[Column]) -> str:
    """The columns as a Spark DDL string."""
    return ", ".join(f"`{column.name}` {column.type}" for column in columns)


def spark_time(milliseconds: int | None) -> int | None:
    """Microseconds since the epoch, or None where there is no time or Spark cannot show it."""
    if milliseconds is None or milliseconds == -1 or not OLDEST_MS <= milliseconds <= NEWEST_MS:
        return None
    return milliseconds * 1000
