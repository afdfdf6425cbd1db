"""One segment takes the place of several, so that a kill at any point leaves the old ones or the new one.

The order of Kafka's ``LocalLog.replaceSegments``: the new files are written and synced as ``.cleaned``; they become
``.swap``, which a start completes; the old ones become ``.deleted``; the new ones lose their suffix. Who reads an old
segment goes on with the file, which stays open as long as somebody refers to it.
"""

from __future__ import annotations

import contextlib
import logging
import os
from typing import TYPE_CHECKING

from kafka_tools.storage.names import SNAPSHOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafka_tools.storage.log.partition_log import PartitionLog
    from kafka_tools.storage.log.segment import LogSegment

log = logging.getLogger(__name__)

CLEANED = ".cleaned"
_SWAP = ".swap"


def replace(opened: PartitionLog, new: LogSegment, old: Sequence[LogSegment]) -> None:
    """Put ``new``, whose files are ``.cleaned``, in the place of ``old``: neighbours, the first with its base offset.

    Raises OSError: the log is as it was, or offline where its files are in doubt; a start completes what was begun.
    """
    try:
        new.rename(_SWAP)
    except OSError as error:
        try:  # one that stays would be taken for the newest by the next start, whatever is cleaned until then
            remove_files([*new.files(CLEANED), *new.files(_SWAP)])
        except OSError:
            opened.take_offline(error)
        raise
    try:
        for segment in old:
            segment.hold()
            spared = SNAPSHOT if segment is old[0] else None
            for path in segment.files():
                if spared is None or not path.endswith(spared):
                    _retire(opened, path)
        new.rename("")
    except OSError as error:
        opened.take_offline(error)
        raise
    at = opened.segments.index(old[0])
    opened.set_segments([*opened.segments[:at], new, *opened.segments[at + len(old) :]])


def _retire(opened: PartitionLog, path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.replace(path, path + ".deleted")
        opened.retired(path + ".deleted")


def remove_files(paths: Sequence[str]) -> None:
    """Remove those of these files that are there. Raises OSError."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)


def remove_retired(paths: Sequence[str]) -> None:
    """Delete the files of segments that were retired before; one that cannot be is left to the next start."""
    for path in paths:
        try:
            remove_files([path])
        except OSError as error:
            log.warning("%s cannot be deleted: %s", path, error)


def sync_directory(path: str) -> None:
    """Force the names in a directory to the disk. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
