"""Logs to compact, made at random from a seed: keys that come again, tombstones, transactions, codecs, old magics."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

from kafka_tools.clock import ManualClock
from kafka_tools.records.batches import batches
from kafka_tools.records.build import BatchBuilder, build_batch
from kafka_tools.records.control import build_marker
from kafka_tools.storage.cleaner.cleanable import Cleanable, cleanable
from kafka_tools.storage.cleaner.rounds import MapSize, Round, clean
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog

START_MS = ManualClock().now_ms()
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
COMPACT = LogConfig(
    segment_bytes=6000, index_interval_bytes=300, compact=True, delete=False, delete_retention_ms=100_000
)

T = TypeVar("T")


def clock_at(now_ms: int) -> ManualClock:
    clock = ManualClock()
    clock.advance((now_ms - clock.now_ms()) / 1000)
    return clock


def driven(work: Generator[Any, Any, T], between: Callable[[], None] = lambda: None) -> T:
    """All of work in pieces at once; ``between`` is called after each, before what it hands out is done."""
    sent: Any = None
    failure: OSError | None = None
    while True:
        try:
            step = work.send(sent) if failure is None else work.throw(failure)
        except StopIteration as over:
            return over.value  # type: ignore[no-any-return]
        between()
        sent = failure = None
        try:
            sent = step() if callable(step) else None
        except OSError as error:
            failure = error


def opened(directory: Path, now_ms: int = START_MS, config: LogConfig = COMPACT, **options: Any) -> PartitionLog:
    return PartitionLog.open(str(directory), config, clock_at(now_ms), clean=options.pop("clean", True), **options)


def clean_once(log: PartitionLog, cleaned_to: int | None, now_ms: int, size: MapSize) -> tuple[Cleanable, Round | None]:
    """One round, if there is anything to clean."""
    found = cleanable(log, cleaned_to, now_ms)
    return found, driven(clean(log, found, size, now_ms)) if found.cleanable_bytes else None


class Writers:
    """Who writes into a log: plain, idempotent and transactional producers, each with its state."""

    def __init__(
        self, seed: int, *, codec: str | None = None, keys: int = 12, null_keys: bool = False, transactions: bool = True
    ) -> None:
        """``codec``: every batch's, any if it is None."""
        self.random = random.Random(seed)
        self.codec = codec
        self.keys = keys
        self.null_keys = null_keys
        self.producers = (-1, -1, 1, 2, 11, 12, 13) if transactions else (-1, 1, 2)
        self.now_ms = START_MS
        self.sequences: dict[int, int] = {}
        self.epochs: dict[int, int] = {}
        self.in_transaction: set[int] = set()

    def rows(self, count: int) -> list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]]:
        rng, rows = self.random, []
        for _ in range(count):
            self.now_ms += rng.randrange(50)
            key: bytes | None = b"k%d" % rng.randrange(self.keys)
            if self.null_keys and rng.random() < 0.05:
                key = None
            value = None if rng.random() < 0.2 else rng.randbytes(rng.randrange(1, 30)) * rng.randrange(1, 4)
            headers: list[tuple[str, bytes | None]] = [("h", b"1"), ("n", None)] if rng.random() < 0.1 else []
            rows.append((self.now_ms - rng.randrange(200), key, value, headers))
        return rows

    def write(self, log: PartitionLog, count: int) -> None:
        """Append so many batches, markers among them."""
        for _ in range(count):
            self._write_one(log)

    def _write_one(self, log: PartitionLog) -> None:
        rng = self.random
        codec = self.codec or rng.choice(CODECS)
        append_time_ms = self.now_ms if rng.random() < 0.1 else None
        producer = rng.choice(self.producers)
        if producer > 10 and producer in self.in_transaction and rng.random() < 0.4:
            self.end(log, producer, committed=rng.random() < 0.5)
            return
        rows = self.rows(rng.randrange(1, 6))
        if producer < 0:
            log.append(
                bytearray(build_batch(rows, codec=codec)), leader_epoch=rng.choice((0, 0, 1)) and log.epochs.latest,
                append_time_ms=append_time_ms,
            )  # fmt: skip
            return
        if producer not in self.in_transaction and rng.random() < 0.1:
            self.epochs[producer] = self.epochs.get(producer, 0) + 1
            self.sequences[producer] = 0
        sequence = self.sequences.get(producer, 0)
        batch = build_batch(
            rows,
            codec=codec,
            producer_id=producer,
            producer_epoch=self.epochs.get(producer, 0),
            base_sequence=sequence,
            transactional=producer > 10,
        )
        log.append(bytearray(batch), leader_epoch=0, append_time_ms=append_time_ms)
        self.sequences[producer] = sequence + len(rows)
        if producer > 10:
            self.in_transaction.add(producer)

    def end(self, log: PartitionLog, producer: int, *, committed: bool) -> None:
        self.in_transaction.discard(producer)
        marker = build_marker(
            producer, self.epochs.get(producer, 0), committed=committed, coordinator_epoch=1, timestamp=self.now_ms
        )
        log.append(bytearray(marker), leader_epoch=0, from_client=False)

    def end_all(self, log: PartitionLog) -> None:
        for producer in sorted(self.in_transaction):
            self.end(log, producer, committed=self.random.random() < 0.5)


def old_messages(seed: int, magic: int, first_offset: int, count: int) -> bytes:
    """Messages of magic 0 or 1, wrapped in a codec or not, as a broker of that time stored them."""
    rng, found, offset = random.Random(seed), [], first_offset
    while offset < first_offset + count:
        codec = rng.choice(("none", "gzip", "snappy", "lz4"))
        builder = BatchBuilder(codec=codec, magic=magic)
        for at in range(rng.randrange(1, 5)):
            value = None if rng.random() < 0.2 else rng.randbytes(20)
            builder.append(START_MS + offset + at, b"k%d" % rng.randrange(8), value)
        found.append(builder.build(base_offset=offset))
        offset += builder.record_count
    return b"".join(found)


def batches_of(log: Path) -> list[tuple[Any, ...]]:
    """What the batches of a log file say and hold, but for their size and CRC."""
    found = []
    for view in batches(log.read_bytes()):
        assert view.crc_ok()
        found.append(
            (
                view.base_offset, view.last_offset, view.magic, view.attributes, view.base_timestamp,
                view.max_timestamp, view.partition_leader_epoch, view.producer_id, view.producer_epoch,
                view.base_sequence, list(view.records()),
            )
        )  # fmt: skip
    return found
