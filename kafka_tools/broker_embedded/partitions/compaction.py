"""The log cleaner: selects the next log to compact, and handles failures.

It compacts one log at a time, the dirtiest first, in slices of the broker's thread. Long steps (decompression, fsync)
run on the thread for long work. Kafka's ``cleaner-offset-checkpoint`` contains the offset up to which each log is
clean. The rules are those of ``LogCleaner`` and ``LogCleanerManager``. ``storage.cleaner`` compacts a log.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Collection, Generator
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_tools.broker_embedded.directories.checkpoint_files import CheckpointFile
from kafka_tools.broker_embedded.slices import Slices, Work, sleep, to_thread
from kafka_tools.errors import LogError
from kafka_tools.storage.cleaner.cleanable import Cleanable, cleanable
from kafka_tools.storage.cleaner.rounds import CleaningAborted, MapSize, clean
from kafka_tools.storage.log.partition_log import FOR_WANT_OF_ROOM

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.partitions.partition import Partition
    from kafka_tools.broker_embedded.timers import Timers
    from kafka_tools.storage.cleaner.batch_rewrite import Step
    from kafka_tools.values import TopicPartition

log = logging.getLogger(__name__)

CHECKPOINT = "cleaner-offset-checkpoint"
_PAUSE_MS = 4
"""The pause between two slices of 4 ms: cleaning gets half of the broker's time, and requests get the rest."""
_WINDOW_MS = 300
"""The I/O rate applies to this period, as in Kafka: slower I/O before it does not count."""
_AHEAD_MS = 50
"""The cleaner sleeps when it is this far ahead of its rate."""
_LOOK_MS = 1000
"""How often a sleeping cleaner reads the rate again: with a very low rate the sleep might never end."""

T = TypeVar("T")


class LogCleaner:
    """Repeatedly compacts the logs of partitions with ``cleanup.policy=compact``."""

    def __init__(
        self,
        paths: Collection[str],
        partitions: Collection[Partition],
        configs: ConfigStore,
        timers: Timers,
        slices: Slices,
        after_round: Callable[[Partition], Work[None]],
    ) -> None:
        """``partitions``: a live view of served ones. ``after_round`` applies retention and deletes replaced files."""
        self._partitions = partitions
        self._configs = configs
        self._timers = timers
        self._after_round = after_round
        self._background = Slices(timers, threads=slices, pause_ms=_PAUSE_MS)
        self._slices = slices
        self._files = {path: CheckpointFile(os.path.join(path, CHECKPOINT)) for path in paths}
        self._cleaned_to = {path: dict(file.at_start) for path, file in self._files.items()}
        self._uncleanable: set[Partition] = set()
        self._waiting_for_room = False

    def cleaned_to(self, id: TopicPartition, log_dir: str) -> int | None:
        """The offset up to which the log of a partition is clean; None if it was never cleaned."""
        return self._cleaned_to[log_dir].get(id)

    def forget(self, id: TopicPartition, log_dir: str) -> Work[None]:
        """Forget the cleaned offset of a deleted partition before a new one gets its name. Raises OSError."""
        self._cleaned_to[log_dir].pop(id, None)
        if self._files[log_dir].may_name(id):
            yield from self._checkpoint(log_dir)

    def uncleanable(self) -> list[Partition]:
        """The partitions whose logs cannot be compacted because they are damaged."""
        return list(self._uncleanable)

    @property
    def busy(self) -> bool:
        """Whether a log is being cleaned or examined."""
        return len(self._background) > 0

    def start_timers(self) -> None:
        self._reset_beyond_ends()
        if self._configs.broker.get("log.cleaner.enable"):
            self._wait()

    def _reset_beyond_ends(self) -> None:
        """Clean a log that a start has truncated from its start again: appended records are not clean."""
        reset = set()
        for partition in self._partitions:
            id, log_dir, opened = partition.id, partition.log_dir, partition.log
            cleaned_to = self.cleaned_to(id, log_dir)
            if cleaned_to is not None and cleaned_to > opened.log_end_offset:
                log.warning(
                    "%s was cleaned up to offset %d but ends at %d: cleaning it again from offset %d",
                    id, cleaned_to, opened.log_end_offset, opened.log_start_offset,
                )  # fmt: skip
                self._cleaned_to[log_dir][id] = opened.log_start_offset
                reset.add(log_dir)
        for log_dir in reset:
            try:
                self._files[log_dir].write_now(self._served(log_dir))
            except OSError as error:
                self._tell_unwritten(error)

    def _wait(self) -> None:
        self._timers.call_later(self._configs.broker.integer("log.cleaner.backoff.ms"), self.clean_all)

    def clean_all(self) -> None:
        """Clean until no log is dirty enough, then again after ``log.cleaner.backoff.ms``."""
        self._background.later(self._pass(), self._passed)

    def _passed(self, _: None, error: BaseException | None) -> None:
        if error is not None:
            log.error("the log cleaner failed, trying again later: %s", error, exc_info=error)
        self._wait()

    def _pass(self) -> Work[None]:
        while True:
            found = yield from self._dirtiest()
            if found is not None:
                yield from self._clean(*found)
            for partition in self._compacted():
                yield from self._after_round(partition)
                yield
            if found is None:
                return

    def _compacted(self) -> list[Partition]:
        self._uncleanable.intersection_update(self._partitions)
        return [
            partition
            for partition in self._partitions
            if partition.log.config.compact
            and not partition.log.closed
            and not partition.kept_whole
            and partition not in self._uncleanable
        ]

    def _dirtiest(self) -> Work[tuple[Partition, Cleanable] | None]:
        best: tuple[Partition, Cleanable] | None = None
        for partition in self._compacted():
            opened = partition.log
            if len(opened.segments) > 1 and not opened.offline and not opened.closed:
                try:
                    found = cleanable(
                        opened, self.cleaned_to(partition.id, partition.log_dir), self._timers.clock.now_ms()
                    )
                except Exception as error:  # noqa: BLE001 - told of this log, the others are cleaned
                    self._tell(partition, error)
                    continue
                if found.worth_it(opened.config.min_cleanable_dirty_ratio):
                    best = max(best or (partition, found), (partition, found), key=lambda each: each[1].ratio)
            yield
        return best

    def _clean(self, partition: Partition, found: Cleanable) -> Work[None]:
        broker, opened = self._configs.broker, partition.log
        if opened.closed:  # its topic was deleted while others were examined
            return
        size = MapSize(
            broker.integer("log.cleaner.dedupe.buffer.size") // max(1, broker.integer("log.cleaner.threads")),
            broker.number("log.cleaner.io.buffer.load.factor"),
        )
        try:
            done = yield from self._throttled(clean(opened, found, size, self._timers.clock.now_ms()))
        except CleaningAborted as error:
            log.info("%s", error)
            return
        except Exception as error:  # noqa: BLE001 - told of this log, the others are cleaned
            if self._tell(partition, error):
                yield from sleep(broker.integer("log.cleaner.backoff.ms"))
            return
        self._waiting_for_room = False
        if opened.closed:
            return
        self._cleaned_to[partition.log_dir][partition.id] = done.end_offset
        try:
            yield from self._checkpoint(partition.log_dir)
        except OSError as error:  # the log is cleaned once more after a restart
            self._tell_unwritten(error)
        if done.without_key:
            log.warning(
                "%s: compaction removed %d records without a key, written before the topic was compacted",
                partition.id, done.without_key,
            )  # fmt: skip
        log.info(
            "%s: cleaned offsets %d to %d, %d bytes became %d",
            partition.id, found.first_dirty_offset, done.end_offset, done.bytes_read, done.bytes_written,
        )  # fmt: skip

    def _throttled(self, work: Generator[Step, Any, T]) -> Work[T]:
        """Run a round: long steps run on another thread, and I/O is throttled to its rate."""
        now_s = self._timers.clock.monotonic_s
        began_s, moved = now_s(), 0
        sent: Any = None
        failure: Exception | None = None
        while True:
            try:
                step = work.send(sent) if failure is None else work.throw(failure)
            except StopIteration as over:
                return over.value  # type: ignore[no-any-return]
            sent = failure = None
            if callable(step):
                try:
                    sent = yield from to_thread(step)
                except Exception as error:  # noqa: BLE001 - raised within the round
                    failure = error
                continue
            moved += step or 0
            spent_ms = (now_s() - began_s) * 1000
            ahead_ms = self._due_ms(moved) - spent_ms
            if ahead_ms >= _AHEAD_MS or spent_ms >= _WINDOW_MS:
                while ahead_ms > _LOOK_MS:
                    yield from sleep(_LOOK_MS)
                    ahead_ms = self._due_ms(moved) - (now_s() - began_s) * 1000
                if ahead_ms > 0:
                    yield from sleep(ahead_ms)
                began_s, moved = now_s(), 0
            yield

    def _due_ms(self, moved_bytes: int) -> float:
        """The minimum time for ``moved_bytes``. As in Kafka, a rate of 0 stops all I/O; a negative one is no limit."""
        rate = self._configs.broker.number("log.cleaner.io.max.bytes.per.second")
        if not rate:
            return math.inf if moved_bytes else 0.0
        return moved_bytes / rate * 1000

    def _tell(self, partition: Partition, error: Exception) -> bool:
        """Log a failure. Returns whether it is temporary; otherwise the log is not cleaned until the next start."""
        if isinstance(error, OSError) and error.errno in FOR_WANT_OF_ROOM:
            self._wait_for_room(partition, error)
            return True
        self._give_up(partition, error)
        return False

    def _give_up(self, partition: Partition, error: Exception) -> None:
        """Log it once. Until the next start, the log is only appended to and read."""
        self._uncleanable.add(partition)
        foreseen = isinstance(error, LogError | OSError)
        log.error(
            "cannot compact %s, so it keeps growing: %s. Find the damage with kafka-dump-log, repair it and "
            "restart the broker",
            partition.id, error if foreseen else repr(error), exc_info=None if foreseen else error,
        )  # fmt: skip

    def _wait_for_room(self, partition: Partition, error: OSError) -> None:
        if not self._waiting_for_room:
            log.error("cannot compact %s, trying again later: %s", partition.id, error)
        self._waiting_for_room = True

    def _tell_unwritten(self, error: OSError) -> None:
        log.warning("cannot write the cleaner checkpoint: %s", error)

    def _served(self, log_dir: str) -> dict[TopicPartition, int]:
        """The cleaned offsets of the served logs of a directory."""
        served = {partition.id for partition in self._partitions if partition.log_dir == log_dir}
        return {id: offset for id, offset in self._cleaned_to[log_dir].items() if id in served}

    def _checkpoint(self, log_dir: str) -> Work[None]:
        """Write the current checkpoint of a directory. Raises OSError."""
        kept, file = self._served(log_dir), self._files[log_dir]
        return file.end(file.begin(kept), kept, self._slices)
