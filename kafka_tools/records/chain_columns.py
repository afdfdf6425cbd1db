"""Headers of many magic 2 batches at once, as numpy columns: the vectorised twin of ``chain``.

Finds small batches in a buffer without a step for each batch, and reads fields of all batches together. The result
equals that of ``chain.follow`` on every buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import calcsize
from typing import TYPE_CHECKING, Any

import numpy as np

from kafka_tools.records.chain import (
    FIELDS,
    HEADER_BYTES,
    MAGIC_POSITION,
    OF_MAGIC_2,
    POSITIONS,
    PREFIX_BYTES,
    Buffer,
    follow,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADER = np.dtype([(name, f">{'u' if kind.isupper() else 'i'}{calcsize('>' + kind)}") for name, kind in FIELDS])
"""``chain.HEADER`` as a numpy type."""

_LEAST_LENGTH = HEADER_BYTES - PREFIX_BYTES
_FIRST_BYTES = 16 * 1024
_MANY = 16
"""If the first bytes contain more batches, a search at all positions together is faster than following each batch."""
_SIEVES = 4


def follow_many(buffer: Buffer, at: int = 0, end: int | None = None) -> tuple[list[int], int]:
    """``chain.follow`` for magic 2, up to ``end`` within the buffer."""
    end = len(buffer) if end is None else end
    starts, at = follow(buffer, at, min(end, at + _FIRST_BYTES), OF_MAGIC_2)
    if len(starts) > _MANY:
        more, at = _leap(np.frombuffer(buffer, np.uint8, end), at)
        starts += more
    more, at = follow(buffer, at, end, OF_MAGIC_2)
    return starts + more if starts else more, at


def gather(data: NDArray[np.uint8] | Buffer, starts: Sequence[int] | NDArray[np.int64]) -> NDArray[np.void]:
    """The headers (dtype HEADER) that begin at ``starts``; ``data`` must contain all of them."""
    every: Any = np.ndarray((max(0, len(data) - HEADER_BYTES + 1),), HEADER, data, strides=(1,))
    headers: NDArray[np.void] = every[np.asarray(starts, np.int64)]
    return headers


def field(data: NDArray[np.uint8] | Buffer, name: str, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """One field of the headers at ``starts``; ``data`` needs to contain only that field of each header."""
    return number(data, POSITIONS[name], HEADER[name].str, starts)


def number(data: NDArray[np.uint8] | Buffer, position: int, kind: str, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of a numpy type, ``position`` bytes after each of ``starts``."""
    of_kind = np.dtype(kind)
    count = max(0, len(data) - position - of_kind.itemsize + 1)
    every: Any = np.ndarray((count,), of_kind, data, position if count else 0, (1,))
    found: NDArray[np.int64] = every[starts].astype(np.int64)
    return found


def _leap(data: NDArray[np.uint8], start: int) -> tuple[list[int], int]:
    """The starts of complete batches from ``start`` on, and the start of the next one, without a step for each batch.

    Every position with magic 2 and a possible length is a candidate. A candidate that no other candidate's length leads
    to is dropped. Of the others, each must lead to the next one, so the chain is certain.
    """
    behind = max(start, len(data) - HEADER_BYTES + 1)
    at = start + np.flatnonzero(data[start + MAGIC_POSITION : behind + MAGIC_POSITION] == 2)
    length = field(data, "length", at)
    at = at[length >= _LEAST_LENGTH]
    after = at + PREFIX_BYTES + length[length >= _LEAST_LENGTH]
    for _ in range(_SIEVES):
        found = np.searchsorted(at, after)
        led_to = found[(found < len(at)) & (at[np.minimum(found, len(at) - 1)] == after)]
        kept = at == start
        kept[led_to] = True
        if kept.all():
            break
        at, after = at[kept], after[kept]
    if not len(at) or at[0] != start:
        return [], start
    breaks = np.flatnonzero((after[:-1] != at[1:]) | (after[:-1] > len(data)))
    count = int(breaks[0]) + 1 if len(breaks) else len(at)
    if after[count - 1] > len(data):
        count -= 1
    return at[:count].tolist(), int(after[count - 1]) if count else start
