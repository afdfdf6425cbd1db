"""The values and keys of a load: random letters, the lines of a file, numbers (``ProducerPerformance`` of Kafka).

The same seed gives the same records. The sequences are not those of Java's generator.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from random import Random

from kafka_tools.errors import InputError, UsageError

DISTRIBUTIONS = ("none", "range", "random", "zipf")
MOST_SKEWED_KEYS = 10_000_000
"""The largest key range of ``zipf``, which keeps eight bytes for each key."""
LARGEST_FILE_BYTES = 1024 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_LETTERS = bytes(ord("A") + byte % 26 for byte in range(256))

Source = Callable[[int], bytes]
"""The number of a record, from 0 -> its value."""
Keys = Callable[[int], "bytes | None"]
"""The number of a record, from 0 -> its key."""


def monotonic(number: int) -> bytes:
    """The record's number as text."""
    return b"%d" % number


def letters(size_bytes: int, random: Random) -> Source:
    """Random letters from A to Z, other ones in each record."""
    chunk, at = b"", 0

    def value(_: int) -> bytes:
        nonlocal chunk, at
        if at + size_bytes > len(chunk):
            # Generated in large pieces: a thousand small ones take five times as long.
            chunk, at = random.randbytes(max(_CHUNK_BYTES, size_bytes)).translate(_LETTERS), 0
        at += size_bytes
        return chunk[at - size_bytes : at]

    return value


def one_of(values: Sequence[bytes], random: Random) -> Source:
    """One of ``values`` at random for each record."""
    count = len(values)
    return lambda _: values[int(random.random() * count)]


def keys(distribution: str, key_range: int, skew: float, random: Random) -> Keys:
    """Keys that are numbers in [0, ``key_range``) as text; none for the distribution ``none``.

    ``zipf``: key 0 is the most frequent, and key k is 1 / (k + 1) ** ``skew`` times as frequent.
    """
    if distribution == "range":
        return lambda number: b"%d" % (number % key_range)
    if distribution == "random":
        return lambda _: b"%d" % int(random.random() * key_range)
    if distribution == "zipf":
        from array import array

        bounds = array("d", itertools.accumulate((key + 1) ** -skew for key in range(key_range)))
        total = bounds[-1]
        return lambda _: b"%d" % min(bisect_right(bounds, random.random() * total), key_range - 1)
    return lambda _: None


def read_payloads(path: str, delimiter: str) -> list[bytes]:
    """The values in a text file between ``delimiter``, a regular expression. Raises InputError, UsageError.

    As with Java's Scanner, one delimiter at the start and one at the end surround no value. Bytes that are not UTF-8
    are replaced.
    """
    from kafka_tools.given_files import read_given

    try:
        content = read_given(path, LARGEST_FILE_BYTES)
    except OSError as error:
        raise InputError(f"cannot read payload file {path}: {error.strerror or error}") from error
    if not content:
        raise InputError(f"cannot read payload file {path}: it is empty")
    try:
        expression = re.compile(delimiter)
    except re.error as error:
        raise UsageError(f"invalid --payload-delimiter '{delimiter}': {error}") from None
    text = content.decode("utf-8", "replace")
    parts, start = [], 0
    for found in expression.finditer(text):
        if found.end() > found.start():
            parts.append(text[start : found.start()])
            start = found.end()
    parts.append(text[start:])
    first, last = (1 if not parts[0] else 0), (len(parts) - 1 if not parts[-1] else len(parts))
    values = [part.encode() for part in parts[first:last]]
    if not values:
        raise InputError(f"cannot read payload file {path}: it contains only delimiters")
    return values
