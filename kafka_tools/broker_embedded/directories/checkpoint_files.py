"""The checkpoint files of a log directory. Another thread replaces them, because a disk may be slow.

Several writes of one file may be in progress: newer offsets are never replaced by older ones.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Collection, Mapping
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.slices import to_thread
from kafka_tools.errors import CorruptIndex
from kafka_tools.storage.checkpoints import offset_checkpoint, read_offset_checkpoint, replace_file

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.slices import Slices, Work
    from kafka_tools.values import TopicPartition

log = logging.getLogger(__name__)

_FEW = 500
"""The text of at most so many offsets is created on the broker's thread: about a millisecond."""


class CheckpointFile:
    """One file of offsets. ``begin`` and ``end`` are called on the broker's thread."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.at_start = read_checkpoint(path)
        """The offsets that the file contained at the start."""
        self._numbers = count(1)
        self._names: dict[int, Collection[TopicPartition]] = {0: self.at_start}
        """The partitions that the file contains, or will contain if a write succeeds, by the number of the write."""
        self._writing = threading.Lock()
        """Held while the file is replaced, and while the two fields below are used."""
        self._written = 0
        self._holds: bytes | None = None
        """The bytes that this object wrote last."""

    def begin(self, named: Collection[TopicPartition]) -> int:
        """Begin a write with offsets of these partitions; returns its number. The caller reads the offsets later."""
        number = next(self._numbers)
        self._names[number] = named
        return number

    def end(self, number: int, offsets: Mapping[TopicPartition, int], slices: Slices) -> Work[None]:
        """Replace the file. Afterwards these offsets, or those of a later write, are on disk. Raises OSError."""
        make = partial(offset_checkpoint, offsets)
        try:
            data = make() if len(offsets) <= _FEW else (yield from to_thread(make))
            yield from slices.on_disk(partial(self._write, number, data))
        except BaseException:
            self._names.pop(number, None)  # a later write may have succeeded
            raise
        for older in [each for each in self._names if each < self._written]:
            del self._names[older]

    def may_name(self, id: TopicPartition) -> bool:
        """Whether a start would find an offset of this partition, now or after the writes in progress."""
        return any(id in names for names in self._names.values())

    def write_now(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Replace the file on this thread, while no requests are served. Raises OSError."""
        self._write(self.begin(offsets), offset_checkpoint(offsets))

    def _write(self, number: int, data: bytes) -> None:
        """On any thread. After a crash or an OSError, the file is unchanged."""
        with self._writing:
            if number < self._written:
                return
            if self._holds != data or not os.path.exists(self.path):
                self._holds = None
                replace_file(self.path, data)
                self._holds = data
            self._written = number


def read_checkpoint(path: str) -> dict[TopicPartition, int]:
    """Topic-partition -> offset of a checkpoint file. A missing or damaged file counts as empty."""
    try:
        return read_offset_checkpoint(path)
    except FileNotFoundError:
        return {}
    except CorruptIndex as error:
        log.warning("ignoring a checkpoint file: %s", error)
        return {}
