"""Checks the disk several times a second for files that were lost under the running broker, and takes them offline.

It checks the log directories (``DirectoryLock.why_lost``), the cluster's state, and whether the paths of partitions'
log files still lead to these files. Each check covers all files written since the last check, and some of the others
in turn, so that ten thousand partitions cost less than a hundredth of the broker's time. Requests for lost partitions
get KAFKA_STORAGE_ERROR. The broker no longer writes to their paths, because other files may be there. The next start
checks the files.

A partition without its files goes offline alone. A lost directory takes all of its partitions offline. The loss of the
directory of the cluster's state stops the broker, as in Kafka (``LogDirFailureChannel``,
``LogManager.handleLogDirFailure``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.slices import Slices, whole
from kafka_tools.errors import LogError
from kafka_tools.shown_text import counted

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.store import ClusterStore
    from kafka_tools.broker_embedded.directories.data_dirs import DataDirs
    from kafka_tools.broker_embedded.partitions.hosted import Partitions
    from kafka_tools.broker_embedded.partitions.partition import Partition
    from kafka_tools.broker_embedded.purgatory import Purgatory
    from kafka_tools.broker_embedded.slices import Work
    from kafka_tools.broker_embedded.timers import Timers
    from kafka_tools.storage.log.segment import LogSegment

log = logging.getLogger(__name__)

CallLater = Callable[[float, Callable[[], object]], object]

_INTERVAL_S = 0.25
"""The time between checks: writes acknowledged between a loss and the next check are lost too."""
_IN_TURN = 100
"""The number of files without new writes in each check."""
_NAMED = 3
"""The number of partitions that a log line names."""


class DiskWatch:
    """Checks the disk, and takes lost partitions and directories offline. Runs on the broker's thread."""

    def __init__(
        self,
        dirs: DataDirs,
        partitions: Partitions,
        store: ClusterStore,
        purgatory: Purgatory,
        timers: Timers,
        answering_s: float,
    ) -> None:
        """``answering_s``: as in ``BrokerLimits``."""
        self._dirs = dirs
        self._partitions = partitions
        self._store = store
        self._purgatory = purgatory
        self._answering_s = answering_s
        self.state_dir = dirs.metadata_dir
        """The directory with the cluster's state."""
        self._line = Slices(timers)
        """A separate line, so that the check waits behind no request."""
        self._in_turn: Iterator[tuple[Partition, LogSegment]] = iter(())
        self._untold: list[Partition] = []
        """Lost partitions that are not logged yet: their directory may be lost too."""
        self._failure: LogError | None = None
        """The reason why the broker has to stop."""
        self._call_later: CallLater | None = None
        self._stop: Callable[[], object] = lambda: None

    def start(self, call_later: CallLater, stop: Callable[[], object]) -> None:
        """Start to check. If the cluster's state is lost, ``stop`` is called after a time for clients to get errors.

        ``call_later`` uses real time, in seconds, not a clock that a test moves.
        """
        self._call_later, self._stop = call_later, stop
        for partition in self._partitions:
            partition.looked_to = partition.log.log_end_offset
        call_later(_INTERVAL_S, self._look_again)

    def _look_again(self) -> None:
        if self._call_later is not None:
            self._call_later(_INTERVAL_S, self._look_again)
            self.look()

    def end(self) -> LogError | None:
        """Check everything once more, and stop. Returns an error if anything is lost or offline."""
        self._call_later, self._stop = None, lambda: None
        self.look(at_all=True)
        offline = [str(each.id) for each in self._partitions if each.log.offline and not each.log.waits_for_room]
        if self._failure is not None or not (offline or self._dirs.lost):
            return self._failure
        counts = [counted(len(self._dirs.lost), "log directory", "log directories")] if self._dirs.lost else []
        counts += [counted(len(offline), "partition", "partitions")] if offline else []
        shown = ", ".join([*self._dirs.lost, *offline[:_NAMED], *(["..."] if len(offline) > _NAMED else [])])
        return LogError(
            f"the broker stopped with {' and '.join(counts)} offline: {shown}",
            hint="see the log for the reason; the next start checks the logs",
        )

    def look(self, *, at_all: bool = False) -> None:
        """Check the directories, the state and partitions; with ``at_all`` every file of all partitions."""
        for path, why in self._dirs.look().items():
            self._lose_directory(path, why)
        self._look_at_state()
        self._tell()
        if at_all:
            whole(self._look_at(self._files()))
            self._tell()
        elif not self._line:
            self._line.begin(self._look_at(chain(self._written(), self._next_in_turn())), _looked)

    def _lose_directory(self, path: str, why: str) -> None:
        lost = [each for each in self._partitions if each.log_dir == path and not each.log.closed]
        for partition in lost:
            self._lose(partition, why)
        self._untold = [partition for partition in self._untold if partition.log_dir != path]
        if path == self.state_dir:
            return  # logged with the state
        log.error(
            "the log directory %s is offline: %s. Requests for its contents (%s) fail with KAFKA_STORAGE_ERROR. "
            "Writes acknowledged shortly before may be lost. Restore the directory and restart the broker, which "
            "checks its logs",
            path, why, counted(len(lost), "partition", "partitions"),
        )  # fmt: skip

    def _look_at_state(self) -> None:
        if self._failure is not None:
            return
        why = self._dirs.lost.get(self.state_dir) or self._store.why_lost()
        if why is None:
            return
        self._store.lose(why)
        log.critical(
            "the log directory %s, which contains the cluster metadata, is offline: %s. The metadata can no "
            "longer change, and the broker stops with status 1. Check the disk and restore what is missing before "
            "the next start: a start on an empty directory creates a new cluster",
            self.state_dir, why,
        )  # fmt: skip
        self._failure = LogError(f"the broker stopped: the cluster metadata is lost: {why}", path=self.state_dir)
        if self._call_later is not None:
            self._call_later(self._answering_s, lambda: self._stop())

    def _look_at(self, files: Iterable[tuple[Partition, LogSegment]]) -> Work[None]:
        """Take the partitions of missing log files offline."""
        for partition, segment in files:
            opened = partition.log
            if not opened.closed and opened.holds(segment) and (why := segment.why_gone()) is not None:
                self._lose(partition, why)
                self._untold.append(partition)
            yield

    def _written(self) -> Iterator[tuple[Partition, LogSegment]]:
        """The active segments of partitions with writes since the last check."""
        for partition in list(self._partitions):
            end_offset = partition.log.log_end_offset
            if partition.looked_to != end_offset:
                partition.looked_to = end_offset
                yield partition, partition.log.active

    def _next_in_turn(self) -> list[tuple[Partition, LogSegment]]:
        found = list(islice(self._in_turn, _IN_TURN))
        if not found:
            self._in_turn = self._files()
        return found

    def _files(self) -> Iterator[tuple[Partition, LogSegment]]:
        return ((partition, segment) for partition in list(self._partitions) for segment in partition.log.segments)

    def _lose(self, partition: Partition, why: str) -> None:
        partition.log.lose(why)
        self._purgatory.wake(partition.id)

    def _tell(self) -> None:
        """Log the lost partitions whose directory exists, in one line."""
        lost, self._untold = self._untold, []
        if not lost:
            return
        named = "; ".join(f"{each.id}: {each.log.offline}" for each in lost[:_NAMED])
        more = f"; and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
        log.error(
            "%s offline, because files are missing or were replaced (%s%s). Requests for them fail with "
            "KAFKA_STORAGE_ERROR. Writes acknowledged shortly before may be lost. Restore the files and restart "
            "the broker, which checks them; a partition without its files starts empty",
            counted(len(lost), "partition is", "partitions are"), named, more,
        )  # fmt: skip


def _looked(_: None, error: BaseException | None) -> None:
    if error is not None:
        log.error("cannot check the disk for lost files, trying again: %s", error, exc_info=error)
