"""The start offset of each leader epoch: the ``leader-epoch-checkpoint`` file of one log.

Rules of Kafka's ``LeaderEpochFileCache`` (KIP-101, KIP-279): entries ascend in epoch and offset, and the next epoch
replaces an epoch without records.
"""

from __future__ import annotations

import logging
import os

from kafka_tools.errors import CorruptIndex
from kafka_tools.storage.snapshots import LeaderEpoch, read_leader_epochs, write_leader_epochs

log = logging.getLogger(__name__)

FILE_NAME = "leader-epoch-checkpoint"


class LeaderEpochs:
    """The epochs of one log, oldest first, and their checkpoint file."""

    def __init__(self, directory: str) -> None:
        self.path = os.path.join(directory, FILE_NAME)
        self.entries: list[tuple[int, int]] = []
        """(epoch, start offset), ascending in both."""
        self.latest = -1
        """The newest epoch, -1 if there is none."""
        self.unsaved = False

    def _keep(self, entries: list[tuple[int, int]]) -> None:
        self.entries = entries
        self.latest = entries[-1][0] if entries else -1

    def load(self) -> None:
        """Read the file; a missing file means no epochs. Raises CorruptIndex for an invalid file."""
        try:
            entries = [(entry.epoch, entry.start_offset) for entry in read_leader_epochs(self.path)]
        except FileNotFoundError:
            return
        if entries != sorted(entries):
            raise CorruptIndex(f"{self.path}: the epochs are not in ascending order", path=self.path)
        self._keep(entries)

    def assign(self, epoch: int, start_offset: int) -> None:
        """Records from ``start_offset`` on have ``epoch``. An epoch that is not newer changes nothing."""
        self.begin(epoch, start_offset)
        if self.unsaved:
            self.save()

    def begin(self, epoch: int, start_offset: int) -> None:
        """As ``assign``, but without writing the file: an epoch without records need not survive."""
        if epoch < 0 or epoch <= self.latest:
            return
        while self.entries and self.entries[-1][1] >= start_offset:
            self.entries.pop()
        self.entries.append((epoch, start_offset))
        self.latest = epoch
        self.unsaved = True

    def truncate_end(self, end_offset: int) -> None:
        """Remove the epochs that start at or after ``end_offset``."""
        kept = [entry for entry in self.entries if entry[1] < end_offset]
        if kept != self.entries:
            self._keep(kept)
            self._save_if_there_is_room()

    def truncate_start(self, start_offset: int) -> None:
        """Remove the epochs before ``start_offset``; the epoch that contains it now starts there."""
        before = [entry for entry in self.entries if entry[1] <= start_offset]
        if before and (len(before) > 1 or before[0][1] < start_offset):
            self._keep([(before[-1][0], start_offset), *self.entries[len(before) :]])
            self._save_if_there_is_room()

    def _save_if_there_is_room(self) -> None:
        """Save, unless the disk refuses it: removed epochs may stay in the file, because a start removes them again."""
        try:
            self.save()
        except OSError as error:
            log.warning("cannot save %s, which still lists removed epochs: %s", self.path, error)

    def end_offset(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(epoch, end offset) of the last records with an epoch not above ``epoch``; (-1, -1) if unknown.

        As ``LeaderEpochFileCache.endOffsetFor``: the response of OffsetForLeaderEpoch.
        """
        if epoch == -1 or epoch > self.latest:
            return -1, -1
        if epoch == self.latest:
            return epoch, log_end_offset
        found = -1
        for known, start_offset in self.entries:
            if known > epoch:
                return (epoch if found < 0 else found), start_offset
            found = known
        return -1, -1

    def epoch_at(self, offset: int) -> int:
        """The epoch of the record at ``offset``, -1 if unknown."""
        found = -1
        for epoch, start_offset in self.entries:
            if start_offset > offset:
                break
            found = epoch
        return found

    def save(self) -> None:
        """Replace the file; a reader sees the old one or the new one. Raises OSError."""
        self.unsaved = True
        write_leader_epochs(self.path, (LeaderEpoch(*entry) for entry in self.entries), sync=False)
        self.unsaved = False
