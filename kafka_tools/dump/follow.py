"""``kafka-dump-log --follow``: shows a log while it grows, and the segments after it.

A batch is shown once it is complete. Bytes that are not a batch yet are read again later. They are damage once a
complete batch, or the next segment, follows them.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from kafka_tools.clock import Clock
from kafka_tools.dump.endings import DumpedFile, Sink
from kafka_tools.dump.files import Dump
from kafka_tools.dump.run import FileOutcome, Reading
from kafka_tools.dump.walk import LogWalk
from kafka_tools.storage import names
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.layout import partition_files
from kafka_tools.storage.segment import Segment

POLL_S = 0.2


class Follower:
    """Follows the last of some logs. With ``directory``, also follows the segments that a broker rolls there.

    ``while_waiting`` is called repeatedly while no segment follows, and may raise to end the run.
    """

    def __init__(
        self,
        dump: Dump,
        output: Sink,
        clock: Clock,
        directory: str | None,
        while_waiting: Callable[[], object] = lambda: None,
    ) -> None:
        self._dump = dump
        self._output = output
        self._clock = clock
        self._directory = directory
        self._while_waiting = while_waiting
        self._stopped = False

    def run(self, readings: list[Reading]) -> FileOutcome:
        """Show the logs and the segments after them, until ``stop`` or the end of the selection."""
        for reading in readings[:-1]:
            if not self._stopped:
                self._dump.file(reading.path, reading.start)
                self._output.flush()
        reading = readings[-1]
        while True:
            outcome, following = self._follow(reading)
            if following is None:
                return outcome
            reading = Reading(following)

    def stop(self) -> None:
        """Stop after the batch that is being shown."""
        self._stopped = True
        if self._dump.walk is not None:
            self._dump.walk.ended = True

    def _follow(self, reading: Reading) -> tuple[FileOutcome, str | None]:
        """Show one log until it ends. Returns its outcome, and the segment after it (None to end the run)."""
        path = reading.path
        name = os.path.basename(path)
        base_offset = int(name.split(".", 1)[0]) if name.split(".", 1)[0].isdecimal() else 0
        self._dump.ending.dumping(path)
        self._dump.ending.file(DumpedFile(path, "log", base_offset), lambda: os.path.getsize(path))
        with Segment(path) as segment:
            walk = self._dump.open_walk(segment, name, reading.start)
            following = None
            while not (walk.ended or self._stopped) and following is None:
                following = self._next_segment(base_offset)  # before reading, so that the log is complete
                self._read_on(segment, walk)
                if following is None and not (walk.ended or self._stopped):
                    self._while_waiting()
                    self._clock.sleep(POLL_S)
            if following is not None and not (walk.ended or self._stopped):
                walk.run(segment.refresh())
            else:
                following = None
                walk.finish()
            self._output.flush()
            return FileOutcome(path, position=walk.position, next_offset=walk.next_offset), following

    def _read_on(self, segment: Segment, walk: LogWalk) -> None:
        known = segment.size_bytes
        if segment.refresh() < walk.position:
            words = f"the file was truncated to {segment.size_bytes} bytes while it was read"
            self._dump.note(Finding(segment.path, "shrunk", words, segment.size_bytes))
            walk.ended = True
            return
        damage = walk.read(segment.size_bytes)
        while damage and damage.kind != "zero-tail" and segment.size_bytes != known and not walk.ended:
            # Nothing follows a batch that is still being written. If a complete batch follows, this is damage.
            found = segment.next_plausible(walk.position + 1)
            if found is None:
                break
            walk.skip(damage, found)
            damage = walk.read(segment.size_bytes)
        self._output.flush()

    def _next_segment(self, base_offset: int) -> str | None:
        if self._directory is None:
            return None
        for segment in partition_files(self._directory).segments:
            if segment.base_offset > base_offset and segment.log is not None:
                return segment.log
        return None


def logs_only(readings: list[Reading]) -> list[Reading]:
    """The logs among the files, because only logs can be followed."""
    return [reading for reading in readings if reading.path.endswith(names.LOG)]
