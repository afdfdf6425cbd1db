"""A matrix of bytes gives the lines that joining strings one by one gives."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.dump.byte_rows import WIDEST, ByteRows

INT64 = st.integers(-(2**63) + 1, 2**63 - 1)
TEXTS = st.text(max_size=6)


@given(
    rows=st.lists(
        st.tuples(
            INT64 | st.integers(0, 120),
            st.none() | st.binary(max_size=6) | st.just(b"long" * WIDEST),
            TEXTS,
            st.booleans(),
        ),
        min_size=1,
        max_size=12,
    ),
    masked=st.booleans(),
    cuts=st.lists(st.integers(0, 12), max_size=4),
)
def test_lines_are_those_of_joined_strings(
    rows: list[tuple[int, bytes | None, str, bool]], masked: bool, cuts: list[int]
) -> None:
    numbers, spans, texts, flags = zip(*rows, strict=True)
    where = np.array(flags) if masked else None
    arena = b"".join(span or b"" for span in spans) + bytes(WIDEST)
    sizes = np.array([-1 if span is None else len(span) for span in spans])
    starts = np.cumsum(np.maximum(sizes, 0)) - np.maximum(sizes, 0)

    lines = ByteRows(len(rows))
    lines.constant(b"| ")
    lines.number(np.array(numbers, np.int64), where)
    lines.constant(b" of ", where)
    lines.span(arena, starts, sizes, where)
    lines.texts(texts, where)
    lines.constant(b" end\n")
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    found = [bytes(piece) for piece in lines.cut(bounds)]

    expected = [
        b"| " + (b"%d of %b%b" % (number, span or b"", text.encode()) if flag or not masked else b"") + b" end\n"
        for number, span, text, flag in rows
    ]
    assert found == [b"".join(expected[a:b]) for a, b in pairwise(bounds)]


@pytest.mark.parametrize("least, most", [(0, 10**4), (9_998, 10_002), (0, 2**62), (-5, 5)])
def test_numbers_of_every_width(least: int, most: int) -> None:
    rng = np.random.default_rng(1)
    numbers = np.append(rng.integers(least, most, 300), [least, most])
    lines = ByteRows(len(numbers))
    lines.number(numbers)
    lines.constant(b"\n")
    (text,) = lines.cut([0, len(numbers)])
    assert [int(line) for line in bytes(text).split()] == numbers.tolist()
    assert bytes(text).split() == [b"%d" % number for number in numbers.tolist()]


def test_lines_of_nothing_but_the_same_words() -> None:
    lines = ByteRows(3)
    lines.constant(b"ab\n")
    assert [bytes(piece) for piece in lines.cut([0, 1, 3])] == [b"ab\n", b"ab\nab\n"]
