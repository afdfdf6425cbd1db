"""Log directories with one thing wrong, each made on the spot: what was planted, and where it has to be found."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from kafka_tools.protocol.codec import encode, encode_versioned
from kafka_tools.protocol.stored.cluster_metadata import ConfigRecord
from kafka_tools.protocol.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from kafka_tools.protocol.stored.transaction_log import TransactionLogKey, TransactionLogValue
from kafka_tools.records.build import build_batch, set_times
from kafka_tools.records.control import build_marker
from kafka_tools.storage.checkpoints import write_offset_checkpoint
from kafka_tools.storage.names import log_file_name
from kafka_tools.values import TopicPartition

NOW_MS = 1_790_000_000_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
MIB = 1024 * 1024


class Expected(NamedTuple):
    """A finding that has to be there: kind, severity, offset, position (None where it has none)."""

    kind: str
    severity: str
    offset: int | None
    position: int | None = None
    partition: int | None = 0


Plant = Callable[[Path], list[Expected]]
PLANTS: dict[str, Plant] = {}


def plant(function: Plant) -> Plant:
    """Add a way of going wrong to the table."""
    PLANTS[function.__name__] = function
    return function


def rows(count: int, *, time_ms: int = NOW_MS - HOUR_MS, size: int = 20, key: bytes | None = None) -> list:
    return [(time_ms, key or b"k%d" % number, b"v" * size, ()) for number in range(count)]


def write(log_dir: Path, name: str, batches: Iterable[bytes], base_offset: int = 0) -> Path:
    """A segment, written when the audit is said to take place."""
    folder = log_dir / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / log_file_name(base_offset)
    path.write_bytes(b"".join(batches))
    os.utime(path, (NOW_MS / 1000, NOW_MS / 1000))
    return path


def checkpoint(log_dir: Path, name: str, offsets: dict[tuple[str, int], int]) -> None:
    path = log_dir / f"{name}-offset-checkpoint"
    write_offset_checkpoint(str(path), {TopicPartition(*key): offset for key, offset in offsets.items()})
    os.utime(path, (NOW_MS / 1000, NOW_MS / 1000))


def configs(log_dir: Path, topic: str, **values: str) -> None:
    """A metadata log that holds a topic's configs; names with _ for dots."""
    found = []
    for name, value in values.items():
        record = ConfigRecord(resource_type=2, resource_name=topic, name=name.replace("_", "."), value=value)
        found.append((NOW_MS, None, bytes([1, 4, 0]) + encode(record, 0), ()))
    write(log_dir, "__cluster_metadata-0", [build_batch(found)])


def sequenced(numbers: Iterable[tuple[int, int, int]], **more: object) -> list[bytes]:
    """Batches of one record of producer 7: (offset, epoch, sequence)."""
    return [
        build_batch(rows(1), base_offset=offset, producer_id=7, producer_epoch=epoch, base_sequence=sequence, **more)
        for offset, epoch, sequence in numbers
    ]


@plant
def sequence_gap(log_dir: Path) -> list[Expected]:
    batches = sequenced([(0, 0, 0), (1, 0, 1), (2, 0, 3), (3, 0, 4)])
    write(log_dir, "t-0", batches)
    return [Expected("sequence-gap", "error", 2, len(batches[0]) * 2)]


@plant
def sequence_gap_between_segments(log_dir: Path) -> list[Expected]:
    write(log_dir, "t-0", sequenced([(0, 0, 2**31 - 2), (1, 0, 2**31 - 1), (2, 0, 0)]))
    write(log_dir, "t-0", sequenced([(3, 0, 5)]), 3)
    return [Expected("sequence-gap", "error", 3, 0)]


@plant
def sequence_duplicate(log_dir: Path) -> list[Expected]:
    batches = sequenced([(0, 0, 0), (1, 0, 1), (2, 0, 1)])
    write(log_dir, "t-0", batches)
    return [Expected("sequence-duplicate", "warning", 2, len(batches[0]) * 2)]


@plant
def fenced_producer(log_dir: Path) -> list[Expected]:
    batches = sequenced([(0, 1, 0), (1, 2, 0), (2, 1, 1)])
    write(log_dir, "t-0", batches)
    return [Expected("producer-epoch", "error", 2, len(batches[0]) * 2)]


@plant
def hanging_transaction(log_dir: Path) -> list[Expected]:
    first = build_batch(rows(2))
    started = NOW_MS - 2 * HOUR_MS
    opened = build_batch(
        rows(3, time_ms=started), base_offset=2, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True
    )
    name = encode_versioned(TransactionLogKey(transactional_id="billing"), 0)
    state = TransactionLogValue(
        producer_id=7, producer_epoch=0, transaction_timeout_ms=60_000, transaction_status=1,
        transaction_partitions=[], transaction_last_update_timestamp_ms=started, transaction_start_timestamp_ms=started,
    )  # fmt: skip
    write(log_dir, "__transaction_state-0", [build_batch([(started, name, encode_versioned(state, 1), ())])])
    write(log_dir, "t-0", [first, opened, build_batch(rows(1), base_offset=5)])
    return [Expected("hanging-transaction", "warning", 2, len(first))]


@plant
def open_transaction(log_dir: Path) -> list[Expected]:
    batches = [
        build_batch(
            rows(1, time_ms=NOW_MS - 9 * HOUR_MS), base_offset=offset, producer_id=7, producer_epoch=0,
            base_sequence=sequence, transactional=True,
        )
        for offset, sequence in ((0, 0), (2, 1))
    ]  # fmt: skip
    marker = build_marker(7, 0, committed=True, coordinator_epoch=0, timestamp=NOW_MS - 60_000, base_offset=1)
    write(log_dir, "t-0", [batches[0], marker, batches[1]])
    # The marker's time is the broker's: the transaction behind it is younger than the producer's clock says.
    return [Expected("open-transaction", "info", 2, len(batches[0]) + len(marker))]


@plant
def future_timestamps(log_dir: Path) -> list[Expected]:
    good = build_batch(rows(1, size=MIB))
    write(log_dir, "t-0", [good, build_batch(rows(1, time_ms=NOW_MS + 90 * DAY_MS), base_offset=1)])
    return [Expected("timestamp-future", "warning", 1, len(good))]


@plant
def microseconds(log_dir: Path) -> list[Expected]:
    good = build_batch(rows(1))
    write(log_dir, "t-0", [good, build_batch(rows(1, time_ms=NOW_MS * 1000, size=MIB), base_offset=1)])
    return [Expected("timestamp-unit", "warning", 1, len(good))]


@plant
def seconds(log_dir: Path) -> list[Expected]:
    good = build_batch(rows(1))
    write(log_dir, "t-0", [good, build_batch(rows(1, time_ms=NOW_MS // 1000), base_offset=1)])
    return [Expected("timestamp-unit", "info", 1, len(good))]


@plant
def retention_by_time(log_dir: Path) -> list[Expected]:
    configs(log_dir, "t", retention_ms=str(DAY_MS))
    write(log_dir, "t-0", [build_batch(rows(1, time_ms=NOW_MS - 3 * DAY_MS, size=2 * MIB))])
    write(log_dir, "t-0", [build_batch(rows(1), base_offset=1)], 1)
    return [Expected("retention-overdue", "warning", 0, 0)]


@plant
def retention_by_size(log_dir: Path) -> list[Expected]:
    configs(log_dir, "t", retention_bytes="1000", retention_ms="-1")
    for offset in range(3):
        path = write(log_dir, "t-0", [build_batch(rows(1, size=2 * MIB), base_offset=offset)], offset)
        os.utime(path, (NOW_MS / 1000, NOW_MS / 1000 - 3600))
    checkpoint(log_dir, "replication", {("t", 0): 3})  # the broker was at work after that
    return [Expected("retention-overdue", "warning", 0, 0)]


@plant
def old_data(log_dir: Path) -> list[Expected]:
    write(log_dir, "t-0", [build_batch(rows(1, time_ms=NOW_MS - 9 * DAY_MS))])
    write(log_dir, "t-0", [build_batch(rows(1), base_offset=1)], 1)
    return [Expected("old-data", "info", 0, 0)]


@plant
def compaction_lag(log_dir: Path) -> list[Expected]:
    configs(log_dir, "t", cleanup_policy="compact")
    for number in range(4):
        write(log_dir, "t-0", [build_batch(rows(1, size=MIB, key=b"k"), base_offset=number)], number)
    checkpoint(log_dir, "cleaner", {("u", 0): 1})
    return [Expected("compaction-lag", "warning", 0, 0), Expected("reclaimable", "info", None)]


@plant
def tombstones(log_dir: Path) -> list[Expected]:
    kept = build_batch(rows(1, size=2 * MIB))
    late = build_batch([(NOW_MS - 60 * DAY_MS, b"k", None, ())], base_offset=1, delete_horizon_ms=NOW_MS - 30 * DAY_MS)
    write(log_dir, "t-0", [kept, late])
    return [Expected("tombstones-overdue", "warning", 1, len(kept))]


@plant
def bloated_offsets(log_dir: Path) -> list[Expected]:
    key = encode_versioned(OffsetCommitKey(group="busy", topic="t", partition=0), 0)
    value = encode_versioned(OffsetCommitValue(offset=1, metadata="", commit_timestamp=NOW_MS), 3)
    write(log_dir, "__consumer_offsets-0", [build_batch([(NOW_MS - HOUR_MS, key, value, ())] * 50)])
    return [Expected("offsets-bloat", "info", None)]


@plant
def oversized(log_dir: Path) -> list[Expected]:
    configs(log_dir, "t", max_message_bytes="1000")
    small, near = build_batch(rows(1)), build_batch(rows(1, size=800), base_offset=1)
    write(log_dir, "t-0", [small, near, build_batch(rows(1, size=1000), base_offset=2)])
    at = len(small)
    return [Expected("near-limit", "info", 1, at), Expected("oversized-batch", "warning", 2, at + len(near))]


@plant
def tiny_batches(log_dir: Path) -> list[Expected]:
    write(log_dir, "t-0", [build_batch(rows(1), base_offset=offset) for offset in range(1100)])
    return [Expected("tiny-batches", "info", None)]


@plant
def random_values(log_dir: Path) -> list[Expected]:
    noise = random.Random(1).randbytes(100_000)
    write(log_dir, "t-0", [build_batch([(NOW_MS, b"k", noise, ())], codec="zstd")])
    return [Expected("poor-compression", "info", None)]


@plant
def header_bloat(log_dir: Path) -> list[Expected]:
    headers = (("traceparent", b"x" * 200),)
    write(log_dir, "t-0", [build_batch([(NOW_MS, b"k%d" % n, b"v", headers) for n in range(200)])])
    return [Expected("header-bloat", "info", None)]


@plant
def hot_key(log_dir: Path) -> list[Expected]:
    found = rows(1500)
    found[5::2] = rows(len(found[5::2]), key=b"everyone")
    write(log_dir, "t-0", [build_batch(found)])
    return [Expected("hot-key", "info", 5)]


@plant
def skewed_partitions(log_dir: Path) -> list[Expected]:
    for number in range(4):
        write(log_dir, f"t-{number}", [build_batch(rows(1, size=100_000 if number == 2 else 100))])
    return [Expected("partition-skew", "info", None, None, 2)]


@plant
def empty_and_idle(log_dir: Path) -> list[Expected]:
    write(log_dir, "t-0", [])
    write(log_dir, "t-1", [], 40)
    write(log_dir, "t-2", [build_batch(rows(3, time_ms=NOW_MS - 90 * DAY_MS))])
    return [
        Expected("empty-partition", "info", 0),
        Expected("empty-partition", "info", 40, None, 1),
        Expected("idle-partition", "info", 2, None, 2),
    ]


@plant
def missing_offsets(log_dir: Path) -> list[Expected]:
    write(log_dir, "t-0", [build_batch(rows(2)), build_batch(rows(1), base_offset=4)])
    write(log_dir, "t-0", [build_batch(rows(1), base_offset=9)], 9)
    return [Expected("offset-gap", "info", 2), Expected("offset-gap", "info", 5, 0)]


@plant
def unreadable_records(log_dir: Path) -> list[Expected]:
    from kafka_tools.records.crc32c import crc32c

    good = build_batch(rows(2))
    bad = bytearray(build_batch(rows(2), base_offset=2))
    bad[61] = 0x7F  # the length of the first record
    bad[17:21] = crc32c(bytes(bad[21:])).to_bytes(4, "big")
    write(log_dir, "t-0", [good, bytes(bad)])
    return [Expected("unreadable-records", "error", 3, len(good))]


@plant
def newest_timestamps_of_no_record(log_dir: Path) -> list[Expected]:
    producer = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    marker = build_marker(
        7, 0, committed=True, coordinator_epoch=0, timestamp=NOW_MS - HOUR_MS, base_offset=6, leader_epoch=0
    )
    batches = [
        build_batch(rows(2)),
        misdated(build_batch(rows(2), base_offset=2, codec="gzip")),
        build_batch(rows(2), base_offset=4, base_sequence=0, **producer),
        misdated(marker),
        misdated(build_batch([(NOW_MS - HOUR_MS, b"k", b"v", [("h", b"")] * 65)], base_offset=7)),
    ]
    write(log_dir, "t-0", batches)
    position = [sum(map(len, batches[:number])) for number in range(5)]
    return [Expected("bad-timestamp", "warning", offset, position[at]) for offset, at in ((2, 1), (6, 3), (7, 4))]


def misdated(batch: bytes) -> bytes:
    """The batch with a newest timestamp in its header that none of its records has."""
    changed = bytearray(batch)
    set_times(changed, 0, max_timestamp=NOW_MS - HOUR_MS + 1)
    return bytes(changed)


@plant
def files_of_nobody(log_dir: Path) -> list[Expected]:
    folder = write(log_dir, "t-0", [build_batch(rows(2))]).parent
    (folder / "notes.txt").write_text("mine")
    (folder / "00000000000000000009.timeindex").write_bytes(bytes(12))
    (folder / "00000000000000000001.log.deleted").write_bytes(b"")
    (log_dir / "t-1.0123456789abcdef0123456789abcdef-delete").mkdir()
    return [
        Expected("unknown-file", "info", None),
        Expected("orphan-file", "warning", None),
        Expected("leftover-file", "info", None),
        Expected("leftover-directory", "info", None, None, 1),
    ]


@plant
def checkpoints_ahead(log_dir: Path) -> list[Expected]:
    write(log_dir, "t-0", [build_batch(rows(2))])
    checkpoint(log_dir, "recovery-point", {("t", 0): 5})
    checkpoint(log_dir, "replication", {("t", 0): 6})
    return [
        Expected("offset-checkpoint-mismatch", "error", 5),
        Expected("offset-checkpoint-mismatch", "warning", 6),
    ]


@plant
def beyond_the_recovery_point(log_dir: Path) -> list[Expected]:
    write(log_dir, "t-0", [build_batch(rows(2))])
    write(log_dir, "t-0", [build_batch(rows(2), base_offset=2)], 2)
    checkpoint(log_dir, "recovery-point", {("t", 0): 2})
    return [Expected("unflushed", "info", None, None, None)]
