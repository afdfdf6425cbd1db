"""Builds many lines of the same form together, as a matrix of bytes.

Each line is a row. Its parts (constant text, a number, a span of bytes) are added column by column. A column is as wide
as the widest line needs, with a mask if lines differ. The bytes under the mask are the text. So a line costs some
hundred bytes of copying instead of a dozen Python objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.int64]
    Mask = NDArray[np.bool_]
    Cells = NDArray[np.uint8]

WIDEST = 512
"""Wider spans are copied one by one, because a matrix needs space for the widest span in every row."""


class _Block(NamedTuple):
    """Columns of the matrix: cells and mask have the shape (rows or 1, width or 1). No mask: all cells are used."""

    width: int
    cells: Cells
    there: Mask | None


class _Spans(NamedTuple):
    """Pieces of ``data`` from ``start`` on, one per row."""

    data: bytes | memoryview
    start: Column
    size: Column


class ByteRows:
    """Lines that grow to the right. ``where`` (one per row) selects the lines that get a part."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._runs: list[list[_Block] | _Spans] = [[]]
        self._constant = b""

    def constant(self, text: bytes, where: Mask | None = None) -> None:
        """Add the same text to every line."""
        if where is None or where.all():
            self._constant += text
        elif where.any():
            self._add(len(text), np.frombuffer(text, np.uint8).reshape(1, -1), where.reshape(-1, 1))

    def number(self, column: Column, where: Mask | None = None) -> None:
        """Add a number in decimal digits, with a sign if it is negative."""
        if where is not None:
            if not where.any():
                return
            column = np.where(where, column, column[where.argmax()])
        least, most = int(column.min()), int(column.max())
        if least == most:
            self.constant(b"%d" % most, where)
        elif least < 0:
            self.texts([str(number) for number in column.tolist()], where)
        else:
            self._digits(column, len(str(least)), len(str(most)), where)

    def _digits(self, column: Column, always: int, width: int, where: Mask | None) -> None:
        """Add digits. Every line has the last ``always`` of ``width`` digits."""
        cells = _decimal(column, width)
        condition = None if where is None else where.reshape(-1, 1)
        sometimes = width - always
        if sometimes:
            there = column.reshape(-1, 1) >= 10 ** np.arange(width - 1, always - 1, -1, dtype=np.int64)
            self._add(sometimes, cells[:, :sometimes], there if condition is None else there & condition)
        self._add(always, cells[:, sometimes:], condition)

    def span(self, data: bytes | memoryview, start: Column, size: Column, where: Mask | None = None) -> None:
        """Add ``data[start : start + size]``, nothing if the size is negative.

        ``data`` must have WIDEST more bytes after every start.
        """
        size = np.maximum(size, 0) if where is None else np.where(where, np.maximum(size, 0), 0)
        least, width = int(size.min()), int(size.max())
        if width > WIDEST:
            self._flush()
            self._runs += [_Spans(data, start, size), []]
        elif width:
            cells = cells_at(data, start, width)
            if least:
                self._add(least, cells[:, :least], None)
            if least < width:
                there = np.arange(least, width, dtype=np.uint16) < size.astype(np.uint16).reshape(-1, 1)
                self._add(width - least, cells[:, least:], there)

    def cells(self, cells: Cells, where: Mask | None = None) -> None:
        """Add existing cells, one row per line."""
        if where is None or where.any():
            self._add(cells.shape[1], cells, None if where is None else where.reshape(-1, 1))

    def texts(self, texts: Sequence[str], where: Mask | None = None) -> None:
        """Add a different text to every line, as UTF-8."""
        joined = "".join(texts)
        data = joined.encode("utf-8", "replace")
        sizes = map(len, texts) if joined.isascii() else (len(text.encode("utf-8", "replace")) for text in texts)
        size = np.fromiter(sizes, np.int64, len(texts))
        self.span(data + bytes(WIDEST), np.cumsum(size) - size, size, where)

    def cut(self, bounds: Sequence[int]) -> Sequence[bytes | memoryview]:
        """The lines between each pair of successive ``bounds`` (row numbers, ascending)."""
        self._flush()
        if len(self._runs) == 1:
            return _cut_matrix(*_matrix(self.count, self._blocks), bounds)
        every_row = range(self.count + 1)
        columns = [
            _cut_matrix(*_matrix(self.count, run), every_row) if isinstance(run, list) else _pieces(run)
            for run in self._runs
            if run
        ]
        pieces = list(chain.from_iterable(zip(*columns, strict=True)))
        each = len(columns)
        return [b"".join(pieces[a * each : b * each]) for a, b in pairwise(bounds)]

    @property
    def _blocks(self) -> list[_Block]:
        blocks = self._runs[-1]
        assert isinstance(blocks, list)
        return blocks

    def _add(self, width: int, cells: Cells, there: Mask | None) -> None:
        self._flush()
        self._blocks.append(_Block(width, cells, there))

    def _flush(self) -> None:
        if self._constant:
            text, self._constant = self._constant, b""
            self._add(len(text), np.frombuffer(text, np.uint8).reshape(1, -1), None)


def cells_at(data: bytes | bytearray | memoryview, start: Column, width: int) -> Cells:
    """``data[start : start + width]`` as rows. Raises IndexError beyond the data."""
    every: Any = np.ndarray((len(data) - width + 1,), f"V{width}", data, strides=(1,))
    cells: Cells = every[start].view(np.uint8).reshape(-1, width)
    return cells


def _matrix(count: int, blocks: list[_Block]) -> tuple[Cells, Mask | None]:
    width = sum(block.width for block in blocks)
    cells = np.empty((count, width), np.uint8)
    there = np.ones((count, width), np.bool_) if any(block.there is not None for block in blocks) else None
    at = 0
    for block in blocks:
        cells[:, at : at + block.width] = block.cells
        if there is not None and block.there is not None:
            there[:, at : at + block.width] = block.there
        at += block.width
    return cells, there


def _cut_matrix(cells: Cells, there: Mask | None, bounds: Sequence[int]) -> list[memoryview]:
    if there is None:
        text = cells.reshape(-1).data
        ends = [bound * cells.shape[1] for bound in bounds]
    else:
        text = cells[there].data
        ends = np.append(0, np.cumsum(np.count_nonzero(there, axis=1)))[list(bounds)].tolist()
    return [text[a:b] for a, b in pairwise(ends)]


def _pieces(spans: _Spans) -> list[bytes | memoryview]:
    data = spans.data
    return [data[a:b] for a, b in zip(spans.start.tolist(), (spans.start + spans.size).tolist(), strict=True)]


@cache
def _four_digits() -> NDArray[np.uint32]:
    return np.frombuffer(b"".join(b"%04d" % number for number in range(10_000)), np.uint32)


def _decimal(column: Column, width: int) -> Cells:
    """The last ``width`` digits of numbers that are not negative, computed four at a time."""
    table = _four_digits()
    groups = -(-width // 4)
    fours = np.empty((len(column), groups), np.uint32)
    for at in range(groups - 1, 0, -1):
        rest = column // 10_000
        fours[:, at] = table[column - rest * 10_000]
        column = rest
    fours[:, 0] = table[column]
    return fours.view(np.uint8)[:, 4 * groups - width :]
