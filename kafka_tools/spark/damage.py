"""Damage of a batch that its header, its CRC or its neighbour shows: kinds, severities, sentences.

The kinds are stable words for scripts. ``storage.segment`` defines some of them (a torn tail, an impossible length).
This module defines the kinds that the fast path over sound-looking batches finds, and the severity of each kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kafka_tools import KAFKA_MINOR
from kafka_tools.protocol.enums import CODEC_BITS, CODECS
from kafka_tools.records.chain import HEADER_BYTES
from kafka_tools.storage.findings import ERROR, WARNING
from kafka_tools.storage.layout import MAX_RELATIVE_OFFSET

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.spark.headers import Headers

HEADER_FAULTS = (
    ("crc-mismatch", "the CRC of the batch does not match its contents"),
    ("unknown-codec", f"the batch has a compression codec that is unknown to Kafka up to {KAFKA_MINOR}"),
    ("bad-count", "the batch claims a number of records that does not match its offsets or its bytes"),
    ("offset-below-segment", "the first offset is below the base offset in the segment's name"),
    (
        "offset-beyond-segment",
        "the last offset is too far above the base offset in the segment's name for an index entry",
    ),
    ("offset-order", "the offsets are not in ascending order from the previous batch to the next"),
)
"""(kind, sentence) of each fault that a header shows. Only the first one of a batch is reported; all are errors."""

WRONG_CRC, UNKNOWN_CODEC, _, BELOW, BEYOND, _ = range(len(HEADER_FAULTS))

SOUND = -1
"""The code of a sound batch; others are indexes into HEADER_FAULTS."""

_TAILS = ("torn-tail", "zero-tail")


def judge(headers: Headers, last_offset: int | None, segment_base_offset: int) -> NDArray[np.int8]:
    """A code per batch: SOUND, or the index of its fault in HEADER_FAULTS.

    ``last_offset`` is that of the batch before the first one, None at the start of a range.
    """
    base, delta, count = (headers.column(name) for name in ("base_offset", "last_offset_delta", "record_count"))
    before = np.empty_like(base)
    before[1:] = (base + delta)[:-1]
    at_start = last_offset is None and len(base) and int(headers.positions[0]) == 0
    before[0] = -1 if last_offset is None else last_offset
    tests = (
        np.zeros(len(base), np.bool_) if headers.crc_ok is None else ~headers.crc_ok,
        (headers.fields["attributes"] & CODEC_BITS) >= len(CODECS),
        (delta < 0) | (count < 0) | (count > delta + 1) | ((count == 0) & (headers.sizes > HEADER_BYTES)),
        base < segment_base_offset,
        base - segment_base_offset > MAX_RELATIVE_OFFSET - delta,
        _out_of_order(base, before, count, segment_base_offset - 1 if at_start else last_offset),
    )
    codes = np.full(len(base), SOUND, np.int8)
    for code in reversed(range(len(tests))):
        codes[tests[code]] = code
    return codes


def _out_of_order(
    base: NDArray[np.int64], before: NDArray[np.int64], count: NDArray[np.int64], ahead: int | None
) -> NDArray[np.bool_]:
    """Batches whose offsets do not ascend: of two neighbours the first one, where it alone explains it.

    ``before`` has the last offset of the batch before each; ``ahead`` is what lies ahead of the first one, None if that
    is not known.
    """
    wrong = base <= before
    later = np.flatnonzero(wrong[1:]) + 1
    if not len(later):
        return wrong
    first = later - 1
    expected = before[first] + 1
    if ahead is not None:
        expected[first == 0] = ahead + 1
    too_far = (base[first] > expected) & (base[later] >= expected) & ((first > 0) | (ahead is not None))
    too_long = (base[first] < base[later]) & (base[first] + count[first] <= base[later])
    blamed = (too_far | too_long) & ~wrong[first]
    wrong[later[blamed]] = False
    wrong[first[blamed]] = True
    return wrong


def severity(kind: str, *, at_open_end: bool) -> str:
    """The severity of a kind of damage; ``at_open_end``: at the end of a partition's last segment.

    There a crash or a preallocated file leaves a tail that the broker cuts by itself when it starts.
    """
    return WARNING if kind in _TAILS and at_open_end else ERROR
