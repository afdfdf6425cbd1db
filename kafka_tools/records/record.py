"""One record of any magic.

``v2.py`` and ``legacy.py`` create records. Fields as in Kafka's ``org.apache.kafka.common.record.Record``.
"""

from __future__ import annotations

from typing import NamedTuple

NO_TIMESTAMP = -1
"""The timestamp of a record without one (magic 0)."""

Headers = tuple[tuple[str, bytes | None], ...]


class Record(NamedTuple):
    """A record of a log; ``key`` and ``value`` are None for null.

    ``timestamp`` is in milliseconds since the epoch (-1: none). ``sequence`` is -1 if the batch has no producer id.
    ``headers`` are (name, value) in the order of the log; U+FFFD replaces invalid UTF-8 in a name. ``crc_ok`` is None
    for magic 2, in which only the batch has a CRC.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    sequence: int = -1
    crc: int | None = None
    crc_ok: bool | None = None
