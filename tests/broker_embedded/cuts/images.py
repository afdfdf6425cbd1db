"""What may be on the disk after a loss of power, as POSIX lets it.

What was forced is there. Of everything else each write may be there whole, in part (sectors of 512 bytes) or not at
all, and each change of a name or of a size may be there or not, whatever came before or after it.
"""

from __future__ import annotations

import random
from pathlib import Path

from kafka_tools.broker_embedded.directories.reached import BOOT_END_FILE
from tests.broker_embedded.cuts.recording import (
    Directory,
    Event,
    File,
    Forced,
    Named,
    Node,
    Recorder,
    Resized,
    Written,
    resize_to,
    write_into,
)

SECTOR_BYTES = 512


class CutDisk:
    """Follows a trace: for each file and directory what is certainly on the disk, and what may be."""

    def __init__(self, recorder: Recorder) -> None:
        self._root = recorder.root
        self._contents: dict[File, bytes] = dict(recorder.initial_contents)
        self._entries: dict[Directory, dict[str, Node]] = {
            directory: dict(entries) for directory, entries in recorder.initial_entries.items()
        }
        self._pending: dict[Node, list[Written | Resized | Named]] = {}

    def happen(self, event: Event) -> None:
        """The next event of the trace."""
        if isinstance(event, Forced):
            node = event.node
            changes = self._pending.pop(node, [])
            if isinstance(node, File):
                self._contents[node] = self._content(node, changes)
            else:
                self._entries[node] = self._names(node, changes)
        elif isinstance(event, Named):
            self._pending.setdefault(event.directory, []).append(event)
        else:
            self._pending.setdefault(event.file, []).append(event)

    def write(self, path: Path, dice: random.Random, kept: float) -> None:
        """Make one of the images, in a directory that is not there yet; ``kept``: how likely a change is on it.

        A loss of power is the end of a boot: what was noted for it says nothing any more.
        """
        self._write_directory(self._root, path, dice, kept)
        for note in path.rglob(BOOT_END_FILE):
            note.unlink()

    def _write_directory(self, directory: Directory, path: Path, dice: random.Random, kept: float) -> None:
        path.mkdir()
        chosen = [each for each in self._pending.get(directory, []) if dice.random() < kept]
        for name, node in self._names(directory, chosen).items():
            if isinstance(node, Directory):
                self._write_directory(node, path / name, dice, kept)
            else:
                (path / name).write_bytes(self._content(node, self._survivors(node, dice, kept)))

    def _survivors(self, file: File, dice: random.Random, kept: float) -> list[Written | Resized | Named]:
        found: list[Written | Resized | Named] = []
        for each in self._pending.get(file, []):
            if dice.random() < kept:
                found.append(each)
            elif isinstance(each, Written) and kept and dice.random() < 0.5:
                found += _torn(each, dice)
        return found

    def _content(self, file: File, changes: list[Written | Resized | Named]) -> bytes:
        content = bytearray(self._contents.get(file, b""))
        for change in changes:
            if isinstance(change, Written):
                write_into(content, change.position, change.data)
            elif isinstance(change, Resized):
                resize_to(content, change.size)
        return bytes(content)

    def _names(self, directory: Directory, changes: list[Written | Resized | Named]) -> dict[str, Node]:
        names = dict(self._entries.get(directory, {}))
        for change in changes:
            assert isinstance(change, Named)
            for name, node in change.changes.items():
                if node is None:
                    names.pop(name, None)
                else:
                    names[name] = node
        return names


def _torn(written: Written, dice: random.Random) -> list[Written]:
    """Some of the sectors of a write."""
    file, position, data = written
    pieces, at = [], 0
    while at < len(data):
        size = SECTOR_BYTES - (position + at) % SECTOR_BYTES
        if dice.random() < 0.5:
            pieces.append(Written(file, position + at, data[at : at + size]))
        at += size
    return pieces
