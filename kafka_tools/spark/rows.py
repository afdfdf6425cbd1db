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

TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")


class Column(NamedTuple):
    """A column: its name, its Spark SQL type, and what it holds."""

    name: str
    type: str
    meaning: str


BATCH_COLUMNS: tuple[Column, ...] = (
    Column("topic", "string", "topic of the partition directory"),
    Column("partition", "int", "partition number of the partition directory"),
    Column("log_dir", "string", "the directory given, in which the partition was found"),
    Column("file", "string", "path of the segment"),
    Column("position", "long", "where the batch starts in the file, in bytes"),
    Column("size_bytes", "long", "size of the batch with its header; of the stretch that is no batch, for damage"),
    Column("base_offset", "long", "first offset of the batch; null for compressed magic 0 and 1 (see countLegacy)"),
    Column("last_offset", "long", "last offset of the batch"),
    Column("magic", "int", "format of the batch: 0, 1 or 2"),
    Column("codec", "string", "none, gzip, snappy, lz4, zstd, or unknown(N)"),
    Column("crc_ok", "boolean", "whether the CRC fits the bytes; null when it was not checked (checkCrc=false)"),
    Column("timestamp_type", "string", "CreateTime or LogAppendTime; null for magic 0"),
    Column("base_timestamp_ms", "long", "timestamp of the first record; null where the header lacks it"),
    Column("max_timestamp_ms", "long", "largest timestamp of the batch, -1 for none; null for magic 0"),
    Column("max_timestamp", "timestamp", "max_timestamp_ms as a time; null for none and outside of Spark's range"),
    Column("producer_id", "long", "id of the producer, -1 for none; null for magic 0 and 1"),
    Column("producer_epoch", "int", "epoch of the producer, -1 for none; null for magic 0 and 1"),
    Column("base_sequence", "int", "sequence number of the first record, -1 for none; null for magic 0 and 1"),
    Column("last_sequence", "int", "sequence number of the last record, wrapped at 2^31; -1 for none"),
    Column("leader_epoch", "int", "epoch of the leader that wrote the batch; null for magic 0 and 1"),
    Column("record_count", "int", "records in the batch; null for compressed magic 0 and 1 (see countLegacy)"),
    Column("is_transactional", "boolean", "whether the batch belongs to a transaction"),
    Column("is_control", "boolean", "whether the batch holds control records: transaction markers, quorum records"),
    Column("delete_horizon_ms", "long", "when tombstones of a compacted batch may go; null where it has none"),
    Column("damage", "string", "kind of damage; null for a sound batch"),
    Column("severity", "string", "info, warning or error; null for a sound batch"),
    Column("detail", "string", "one line about the damage; null for a sound batch"),
)


def select(columns: Sequence[Column], names: Iterable[str]) -> tuple[Column, ...]:
    """The columns named, in the order of the names; InputError for an unknown one, or for none at all."""
    by_name = {column.name: column for column in columns}
    chosen = []
    for name in names:
        if name not in by_name:
            raise InputError(f"column '{name}' does not exist: the columns are {', '.join(by_name)}")
        chosen.append(by_name[name])
    if not chosen:
        raise InputError(f"no column is chosen: the columns are {', '.join(by_name)}")
    return tuple(chosen)


def spark_schema(columns: Iterable[Column]) -> str:
    """The columns as a Spark DDL string."""
    return ", ".join(f"`{column.name}` {column.type}" for column in columns)


def spark_time(milliseconds: int | None) -> int | None:
    """Microseconds since the epoch, or None where there is no time or Spark cannot show it."""
    if milliseconds is None or milliseconds == -1 or not OLDEST_MS <= milliseconds <= NEWEST_MS:
        return None
    return milliseconds * 1000
