"""Many records of a magic 2 batch at once: the same bytes as ``build.encode_record``, several times faster.

Records without headers, whose keys are all None or all bytes, take a few passes over whole columns. Others are encoded
one by one. ``tests/records/test_many_records.py`` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add

from kafka_tools.protocol.enums import TRANSACTIONAL_BIT
from kafka_tools.records.build import Row, encode_record, sealed, varint
from kafka_tools.records.compression import codec_id, compress

_MOST_KEPT = 16_384
"""The most entries of a table below: enough for every size that is usual."""
_FEW = 16
"""Fewer records than these take less time one by one."""
_ATTRIBUTES = _SAME_TIME = _NO_HEADERS = b"\0"
_NULL = b"\x01"
_OFFSET_STOPS = ((1, 1 << 6), (2, 1 << 13), (3, 1 << 20), (4, 1 << 27), (5, 1 << 31))
"""(bytes of an offset delta, the first delta that takes more)."""


class _Table(dict[int, bytes]):
    """Number -> its bytes in a record, computed once."""

    def __init__(self, compute: Callable[[int], bytes]) -> None:
        self._compute = compute

    def __missing__(self, number: int) -> bytes:
        found = self._compute(number)
        if len(self) < _MOST_KEPT:
            self[number] = found
        return found


_varints = _Table(varint)
# A record begins with the last byte of the one before, which says that it has no headers.
_heads = _Table(lambda size: _NO_HEADERS + varint(size) + _ATTRIBUTES)
_offsets: list[bytes] = []


def produced_batch(
    rows: Sequence[Row],
    *,
    codec: int | str = "none",
    level: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
) -> bytes:
    """What ``build.build_batch`` returns for the batch of a producer: base offset 0, leader epoch -1."""
    number = codec_id(codec)
    body = compress(number, encode_records(rows), level=level)
    times = [row[0] for row in rows]
    attributes = number | (transactional and TRANSACTIONAL_BIT)
    identity = (producer_id, producer_epoch, base_sequence)
    return sealed(body, 0, -1, attributes, len(rows) - 1, times[0], max(times), *identity, len(rows))


def encode_records(rows: Sequence[Row]) -> bytes:
    """The records of a batch, whose offsets count from its first."""
    if len(rows) < _FEW:
        return _one_by_one(rows)
    times, keys, values, headers = zip(*rows, strict=True)
    kinds = set(map(type, keys))
    if len(kinds) > 1 or set(map(type, values)) != {bytes} or any(headers):
        return _one_by_one(rows)
    columns = _Columns(len(rows))
    columns.add_times(times)
    columns.add_offsets()
    if bytes in kinds:
        columns.add_field(keys)
    else:
        columns.add_same(_NULL)
    columns.add_field(values)
    return columns.joined()


class _Columns:
    """The parts of the records between their heads: a column is a part of every record, or the same bytes in all."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._columns: list[Sequence[bytes] | bytes] = []
        self._same_bytes = len(_ATTRIBUTES) + len(_NO_HEADERS)
        """What all records have, of their sizes without offset deltas."""
        self._sizes: list[int] | None = None
        """The rest of the size of each record, if that differs."""

    def add_times(self, times: Sequence[int]) -> None:
        base = times[0]
        if times.count(base) == self._count:
            self.add_same(_SAME_TIME)
        else:
            deltas = [_varints[time - base] for time in times]
            self._columns.append(deltas)
            self._add_sizes(list(map(len, deltas)))

    def add_offsets(self) -> None:
        count = self._count
        if count > _MOST_KEPT:
            self._columns.append(list(map(varint, range(count))))
            return
        if count > len(_offsets):
            _offsets.extend(map(varint, range(len(_offsets), count)))
        self._columns.append(_offsets[:count])

    def add_same(self, content: bytes) -> None:
        self._same_bytes += len(content)
        before = self._columns[-1] if self._columns else None
        if isinstance(before, bytes):
            self._columns[-1] = before + content
        else:
            self._columns.append(content)

    def add_field(self, contents: Sequence[bytes]) -> None:
        """A column with the length before each."""
        lengths = list(map(len, contents))
        if lengths.count(lengths[0]) == self._count:
            self.add_same(_varints[lengths[0]])
            self._same_bytes += lengths[0]
        else:
            shown = [_varints[length] for length in lengths]
            self._columns.append(shown)
            self._add_sizes([len(prefix) + length for prefix, length in zip(shown, lengths, strict=True)])
        self._columns.append(contents)

    def _add_sizes(self, sizes: list[int]) -> None:
        self._sizes = sizes if self._sizes is None else list(map(add, self._sizes, sizes))

    def joined(self) -> bytes:
        columns = [self._heads(), *self._columns]
        parts: list[bytes] = [b""] * (self._count * len(columns))
        for number, column in enumerate(columns):
            parts[number :: len(columns)] = [column] * self._count if isinstance(column, bytes) else column
        parts[0] = parts[0][len(_NO_HEADERS) :]
        parts.append(_NO_HEADERS)
        return b"".join(parts)

    def _heads(self) -> list[bytes]:
        heads: list[bytes] = []
        for width, stop in _OFFSET_STOPS:
            start, stop = len(heads), min(stop, self._count)
            same_bytes = self._same_bytes + width
            if stop <= start:
                break
            if self._sizes is None:
                heads += [_heads[same_bytes]] * (stop - start)
            else:
                heads += [_heads[same_bytes + size] for size in self._sizes[start:stop]]
        return heads


def _one_by_one(rows: Sequence[Row]) -> bytes:
    base = rows[0][0]
    return b"".join(
        [
            encode_record(time - base, delta, key, value, headers)
            for delta, (time, key, value, headers) in enumerate(rows)
        ]
    )
