"""The part of a range that belongs to one step of a stream: each batch and each damage to exactly one.

A batch belongs to the step with its last offset, which compaction keeps. Damage has no offset that can be trusted. It
belongs to the step of the next sound batch. Damage at the end of a log waits until a sound batch follows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from kafka_tools.errors import KafkaToolsError
from kafka_tools.spark.damage import SOUND
from kafka_tools.spark.scan import HeaderRun, Row

if TYPE_CHECKING:
    from kafka_tools.spark.segments import Range

_NONE_YET = 2**63 - 1


def within(
    parts: Iterable[HeaderRun | list[Row]], range_: Range, interval: tuple[int, int]
) -> Iterator[HeaderRun | list[Row]]:
    """The rows of a range's parts that lie in ``[first, end)`` by offset.

    A file that vanished has no rows: retention removed it before the stream read it. Raises KafkaToolsError for a file
    that cannot be read, so that the stream does not continue without it.
    """
    first, end = interval
    waiting: list[HeaderRun | list[Row]] = []
    before = first - 1
    for part in parts:
        for piece, decided_by in _pieces(part):
            if decided_by is None:
                waiting.append(piece)
                continue
            if first <= decided_by[0] < end:
                yield from waiting
            waiting = []
            chosen = _chosen(piece, first, end)
            if chosen is not None:
                yield chosen
            before = decided_by[1]
            if before >= end:
                return
    if range_.end < range_.size and first - 1 <= before < end - 1:
        yield from waiting  # the next range begins with a sound batch


def _pieces(part: HeaderRun | list[Row]) -> Iterator[tuple[HeaderRun | list[Row], tuple[int, int] | None]]:
    """(piece of a part, last offsets of its first and last sound batch), None for damage that nothing follows in it."""
    if isinstance(part, HeaderRun):
        sound = np.flatnonzero(part.codes == SOUND)
        decided = int(sound[-1]) + 1 if len(sound) else 0
        if decided:
            last = part.headers.last_offsets
            yield part.take(np.arange(decided)), (int(last[sound[0]]), int(last[sound[-1]]))
        if decided < len(part.codes):
            yield part.take(np.arange(decided, len(part.codes))), None
        return
    for row in part:
        if row.get("damage") is None:
            yield [row], (row["last_offset"], row["last_offset"])
        elif row["damage"] == "unreadable":
            raise KafkaToolsError(f"{row['file']}: {row['detail']}")
        elif row["damage"] != "vanished":
            yield [row], None


def _chosen(piece: HeaderRun | list[Row], first: int, end: int) -> HeaderRun | list[Row] | None:
    """The rows of a piece that are in the interval; damaged batches go with the next sound one."""
    if isinstance(piece, HeaderRun):
        last = np.where(piece.codes == SOUND, piece.headers.last_offsets, _NONE_YET)
        deciding = np.minimum.accumulate(last[::-1])[::-1]
        at = np.flatnonzero((deciding >= first) & (deciding < end))
        return piece.take(at) if len(at) else None
    return piece if first <= piece[0]["last_offset"] < end else None
