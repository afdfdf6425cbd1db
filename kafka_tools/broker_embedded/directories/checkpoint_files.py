"""The checkpoint files of a log directory, replaced beside the broker's thread: a disk may take its time.

Several writes of one file may be under way: what was read of the logs later is never replaced by what was read before.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Mapping
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.slices import to_thread
from kafka_tools.storage.checkpoints import offset_checkpoint, replace_file

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.slices import Slices, Work
    from kafka_tools.values import TopicPartition

_FEW = 500
"""The text of so many offsets is made at once: about a millisecond."""


class CheckpointFile:
    """One file of offsets. Its writes are begun and ended on the broker's thread."""

    def __init__(self, path: str, named: Collection[TopicPartition] = ()) -> None:
        """``named``: the partitions that the file names now."""
        self.path = path
        self._numbers = count(1)
        self._names: dict[int, Collection[TopicPartition]] = {0: named}
        """The partitions that the file names, or will if a write that was begun succeeds, by the number of a write."""
        self._writing = threading.Lock()
        """Held while the file is replaced, and to look at what is below."""
        self._written = 0
        self._holds: bytes | None = None
        """What this object has written there last."""

    def begin(self, named: Collection[TopicPartition]) -> int:
        """The number of a write, of offsets of these partitions that are read from now on."""
        number = next(self._numbers)
        self._names[number] = named
        return number

    def end(self, number: int, offsets: Mapping[TopicPartition, int], slices: Slices) -> Work[None]:
        """Replace the file by these offsets; they are on the disk then, or later ones are. Raises OSError."""
        make = partial(offset_checkpoint, offsets)
        try:
            data = make() if len(offsets) <= _FEW else (yield from to_thread(make))
            yield from slices.on_disk(partial(self._write, number, data))
        except BaseException:
            self._names.pop(number, None)  # a later one may have succeeded
            raise
        for older in [each for each in self._names if each < self._written]:
            del self._names[older]

    def may_name(self, id: TopicPartition) -> bool:
        """Whether a start would find an offset of this partition, now or once the disk has done what it was told."""
        return any(id in names for names in self._names.values())

    def write_now(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Replace the file on this thread, where nobody else is served. Raises OSError."""
        self._write(self.begin(offsets), offset_checkpoint(offsets))

    def _write(self, number: int, data: bytes) -> None:
        """On any thread. A crash, and the OSError it raises, leaves the file what it was."""
        with self._writing:
            if number < self._written:
                return
            if self._holds != data or not os.path.exists(self.path):
                self._holds = None
                replace_file(self.path, data)
                self._holds = data
            self._written = number
