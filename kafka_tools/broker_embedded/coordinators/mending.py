"""Runs ``broker mend``: repairs the cluster metadata first, then the logs of the coordinators.

A start does not serve a partition with a wrong CRC, since records may be missing. It skips records that no broker
writes. Mending rewrites such a log without these bytes and records, and renames the old directory. It validates records
with the same functions as a start.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from typing import NamedTuple

from kafka_tools.broker_embedded.coordinators import group_store
from kafka_tools.broker_embedded.coordinators.loaded_groups import ReadGroups
from kafka_tools.broker_embedded.coordinators.replaying import KeyTypes, LeftOut, Reader, named, replay_batch
from kafka_tools.broker_embedded.coordinators.transactions.loaded_transactions import ReadTransactions
from kafka_tools.broker_embedded.directories.data_dirs import DataDirs, remove_directory, retire_directory
from kafka_tools.broker_embedded.directories.state_mending import MendedState, broker_dirs, mend_state
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.clock import Clock
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, TRANSACTION_STATE
from kafka_tools.protocol.stored import transaction_log
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import build_batch
from kafka_tools.shown_text import counted
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog
from kafka_tools.storage.names import PARTITION_METADATA, directory_name
from kafka_tools.storage.salvage import Salvage


class MendedLog(NamedTuple):
    """One partition of an internal topic that was rewritten."""

    directory: str
    kept: int
    """The number of batches in the new log."""
    damaged_spans: int
    left_out: Sequence[LeftOut]
    """Records that no broker writes, by the offsets that they had."""
    moved_to: str

    def lines(self) -> list[str]:
        """The report for the operator."""
        kept = counted(self.kept, "batch", "batches")
        lines = [f"{self.directory}: rewritten with {kept}. The old directory was renamed to {self.moved_to}."]
        if self.damaged_spans:
            spans = counted(self.damaged_spans, "damaged span", "damaged spans")
            lines.append(f"{self.directory}: removed {spans} and the records there.")
        shown, others = named(self.left_out)
        lines += [f"{self.directory}: {each}." for each in shown]
        if others:
            lines.append(f"{self.directory}: {counted(others, 'more record was', 'more records were')} omitted.")
        return lines


class Mended(NamedTuple):
    """The results of ``mend``."""

    state: MendedState
    logs: Sequence[MendedLog]

    def lines(self) -> list[str]:
        """The report for the operator."""
        lines = [line for found in self.logs for line in found.lines()]
        return lines if lines and not self.state.changed else [*lines, *self.state.lines()]


def mend(paths: Sequence[str], clock: Clock, *, lost: Collection[str] = ()) -> Mended:
    """Repair the directories of a broker that does not run. ``lost``: see ``DataDirs``.

    Raises ConfigError for directories that are not this broker's or are in use; LogError or OSError if the repair
    fails. It can then be repeated.
    """
    dirs = broker_dirs(paths, lost=lost)
    try:
        state = mend_state(dirs, clock)
        return Mended(state, mend_logs(dirs, state.next_producer_id, clock))
    finally:
        dirs.unlock()


def mend_logs(dirs: DataDirs, next_producer_id: int, clock: Clock) -> list[MendedLog]:
    """Rewrite every damaged partition of an internal topic, or with records that no broker writes. Raises OSError.

    ``next_producer_id``: the first producer id that the cluster has not allocated.
    """

    def transactions(partition: int) -> Reader:
        return ReadTransactions(lambda id: id < next_producer_id)

    kinds: dict[str, tuple[KeyTypes, KeyTypes, Callable[[int], Reader]]] = {
        CONSUMER_OFFSETS: (group_store.KEYS, group_store.VALUES, ReadGroups),
        TRANSACTION_STATE: (transaction_log.KEYS, transaction_log.VALUES, transactions),
    }
    _finish_earlier(dirs, kinds)
    done = []
    for log_dir, name, parsed in dirs.partition_dirs():
        id = parsed.topic_partition
        if parsed.state or id.topic not in kinds:
            continue
        path = os.path.join(log_dir, name)
        keys, values, reader = kinds[id.topic]
        judged = _Judged(path, keys, values, reader(id.partition))
        kept = sum(1 for _ in judged)
        if not judged.damaged_spans and not judged.left_out:
            continue
        damaged_spans, left_out = judged.damaged_spans, judged.left_out
        fresh = os.path.join(log_dir, directory_name(id, state="future", unique_id=uuid.uuid4().hex))
        log = PartitionLog.open(fresh, LogConfig(), clock, clean=True)
        for view, data in _Judged(path, keys, values, reader(id.partition)):
            log.append(bytearray(data), leader_epoch=view.partition_leader_epoch, from_client=False)
        log.close()
        metadata = os.path.join(path, PARTITION_METADATA)
        if os.path.exists(metadata):
            shutil.copy(metadata, fresh)
        dirs.forget_checkpoints(log_dir, id)  # their offsets may be beyond the end of the new log
        moved_to = retire_directory(path, state="stray")
        os.rename(fresh, path)
        done.append(MendedLog(path, kept, damaged_spans, left_out, moved_to))
    return done


def _finish_earlier(dirs: DataDirs, topics: Container[str]) -> None:
    """Finish an interrupted mending: rename a new log if the old one is already renamed, otherwise delete it."""
    for log_dir, name, parsed in dirs.partition_dirs():
        if parsed.state == "future" and parsed.topic_partition.topic in topics:
            place = os.path.join(log_dir, str(parsed.topic_partition))
            if os.path.exists(place):
                remove_directory(os.path.join(log_dir, name))
            else:
                os.rename(os.path.join(log_dir, name), place)


class _Judged:
    """Iterates the valid batches of a log without the records to skip; afterwards, ``left_out`` contains these."""

    def __init__(self, path: str, keys: KeyTypes, values: KeyTypes, reader: Reader) -> None:
        self._salvage = Salvage(path)
        self._keys, self._values, self._reader = keys, values, reader
        self.left_out: list[LeftOut] = []

    @property
    def damaged_spans(self) -> int:
        return self._salvage.damaged_spans

    def __iter__(self) -> Iterator[tuple[BatchView, bytes]]:
        for data in self._salvage:
            (view,) = batches(data)
            left_out = whole(replay_batch(view, self._keys, self._values, self._reader))
            self.left_out += left_out
            kept = _without(view, left_out) if left_out else data
            if kept is not None:
                yield view, kept


def _without(view: BatchView, left_out: Sequence[LeftOut]) -> bytes | None:
    """The batch without the records in ``left_out``; None if no record remains."""
    if left_out[0].is_batch:
        return None
    gone = {each.offset for each in left_out}
    rows = [
        (record.timestamp, record.key, record.value, record.headers)
        for record in view.records()
        if record.offset not in gone
    ]
    if not rows:
        return None
    return build_batch(
        rows, codec=view.codec, producer_id=view.producer_id, producer_epoch=view.producer_epoch,
        transactional=view.is_transactional,
    )  # fmt: skip
