"""What is wrong with a batch as far as its header, its CRC and its neighbour show: kinds, severities, sentences.

The kinds are stable words for scripts. Those of ``storage.segment`` (a torn tail, a length that cannot be) come from
there; here is what the fast path over sound-looking batches finds, and how bad each kind is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.spark.headers import Headers

INFO, WARNING, ERROR = "info", "warning", "error"
SEVERITIES = (INFO, WARNING, ERROR)
"""From what is only worth knowing to what is broken."""

KINDS = (
    ("crc-mismatch", "the CRC in the header does not fit the bytes of the batch"),
    ("unknown-codec", "the header names a compression codec that no Kafka knows"),
    ("bad-count", "the header claims a number of records that its offsets have no room for"),
    ("offset-order", "the first offset does not follow the last offset of the batch before"),
    ("offset-below-segment", "the first offset is below the one in the segment's name"),
)
"""(kind, sentence) of what a header shows. Only the first that applies is told; all are errors."""

SOUND = -1
"""The code of a batch in which nothing is wrong; others are indexes into KINDS."""

_LARGEST_CODEC = 4
_TAILS = ("torn-tail", "zero-tail")


def judge(headers: Headers, last_offset: int | None, segment_base_offset: int) -> NDArray[np.int8]:
    """A code per batch: SOUND, or the index in KINDS of what is wrong.

    ``last_offset`` is that of the batch before the first one, None at the start of a range.
    """
    base = headers.fields["base_offset"].astype(np.int64)
    delta = headers.fields["last_offset_delta"].astype(np.int64)
    count = headers.fields["record_count"].astype(np.int64)
    before = np.empty_like(base)
    before[1:] = (base + delta)[:-1]
    before[0] = -1 if last_offset is None else last_offset
    tests = (
        np.zeros(len(base), np.bool_) if headers.crc_ok is None else ~headers.crc_ok,
        (headers.fields["attributes"] & 0x07) > _LARGEST_CODEC,
        (delta < 0) | (count < 0) | (count > delta + 1),
        base <= before,
        base < segment_base_offset,
    )
    codes = np.full(len(base), SOUND, np.int8)
    for code in reversed(range(len(tests))):
        codes[tests[code]] = code
    return codes


def severity(kind: str, *, at_open_end: bool) -> str:
    """How bad a kind of damage is; ``at_open_end``: at the end of a partition's last segment.

    There a crash or a preallocated file leaves a tail that the broker cuts by itself when it starts.
    """
    return WARNING if kind in _TAILS and at_open_end else ERROR
