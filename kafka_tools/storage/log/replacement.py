"""Replaces several segments by one, so that a kill at any point leaves either the old segments or the new one.

The order is that of Kafka's ``LocalLog.replaceSegments``. The new files are written and synced as ``.cleaned``. They
are renamed to ``.swap``, from which a start completes the replacement, and the names are synced. Then the old files are
renamed to ``.deleted``, and the new ones lose their suffix. A reader of an old segment continues with its file, which
stays open as long as anything refers to it.
"""

from __future__ import annotations

import contextlib
import logging
import os
from typing import TYPE_CHECKING

from kafka_tools.storage.log.segment import LogSegment, remove_files
from kafka_tools.storage.names import SNAPSHOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafka_tools.storage.log.partition_log import PartitionLog

log = logging.getLogger(__name__)

CLEANED = ".cleaned"
SWAP = ".swap"


def promise(opened: PartitionLog, new: LogSegment) -> None:
    """Rename the ``.cleaned`` files of ``new`` to ``.swap``, so that the next start replaces other segments by it.

    Call ``replace`` once the names are on the disk, or ``take_back``. After an OSError the log is unchanged, or offline
    if the state of its files is unknown.
    """
    try:
        new.rename(SWAP)
    except OSError as error:
        take_back(opened, new, error)
        raise


def take_back(opened: PartitionLog, new: LogSegment, because: Exception) -> None:
    """Remove the files of ``new``. The next start would use a remaining ``.swap``, even after later compactions. So the
    log is offline if a file cannot be removed.
    """
    try:
        remove_files([*new.files(CLEANED), *new.files(SWAP)])
    except OSError as error:
        opened.take_offline(because if isinstance(because, OSError) else error)


def replace(opened: PartitionLog, new: LogSegment, old: Sequence[LogSegment]) -> None:
    """Replace ``old`` by the promised ``new``. ``old``: successive segments; the first has the base offset of ``new``.

    After an OSError the log is offline, because the state of its files is unknown. A start completes the replacement.
    """
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


def remove_retired(paths: Sequence[str]) -> None:
    """Delete the files of retired segments. If that fails, the next start deletes them."""
    for path in paths:
        try:
            remove_files([path])
        except OSError as error:
            log.warning("cannot delete %s: %s", path, error)
