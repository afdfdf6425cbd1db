"""Offset, time and transaction index files, read.

Layouts of Kafka's ``OffsetIndex`` (relative offset, position), ``TimeIndex`` (timestamp, relative offset) and
``TransactionIndex`` (version, producer id, first, last and last stable offset); big-endian, entries back to back.
A file that a crash left preallocated ends in zero entries.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from kafka_tools.errors import CorruptIndex

OFFSET_ENTRY = Struct(">ii")
TIME_ENTRY = Struct(">qi")
TXN_ENTRY = Struct(">hqqqq")
TXN_VERSION = 0

_READ_BYTES = 1024 * 1024


class OffsetEntry(NamedTuple):
    """A batch whose last offset is ``offset`` starts at byte ``position`` of the log."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """No record up to ``offset`` has a timestamp above ``timestamp`` (ms)."""

    timestamp: int
    offset: int


class AbortedTransaction(NamedTuple):
    """An entry of a .txnindex."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def _entries(path: str, layout: Struct) -> Iterator[tuple[int, ...]]:
    """The whole entries of a file; a remainder is left out."""
    with open(path, "rb") as file:
        whole = _READ_BYTES - _READ_BYTES % layout.size
        while data := file.read(whole):
            yield from layout.iter_unpack(data[: len(data) - len(data) % layout.size])


def read_offset_index(path: str, base_offset: int) -> Iterator[OffsetEntry]:
    """The entries as they are in the file, zero entries of a sparse file included. Raises OSError."""
    for relative, position in _entries(path, OFFSET_ENTRY):
        yield OffsetEntry(base_offset + relative, position)


def read_time_index(path: str, base_offset: int) -> Iterator[TimeEntry]:
    """The entries as they are in the file, zero entries of a sparse file included. Raises OSError."""
    for timestamp, relative in _entries(path, TIME_ENTRY):
        yield TimeEntry(timestamp, base_offset + relative)


def read_txn_index(path: str) -> Iterator[AbortedTransaction]:
    """The aborted transactions, of whatever version they claim to be.

    Raises OSError, and CorruptIndex for a cut entry, after those before it.
    """
    position = 0
    for values in _entries(path, TXN_ENTRY):
        position += TXN_ENTRY.size
        yield AbortedTransaction._make(values)
    left = os.path.getsize(path) - position
    if left:
        raise CorruptIndex(
            f"the last {left} bytes of {path} are no whole entry of {TXN_ENTRY.size} bytes",
            path=path,
            position=position,
        )
