"""Plain partition records, which an image decodes only when they are read. Nearly all partition records are plain.

A plain record has a known version, no tagged fields (it is recovered, and has no eligible leader replicas), few
replicas, and either no directories or one for each replica. Neither its decoding nor its replay can fail. The pattern
that recognizes its bytes is built from the definition of PartitionRecord.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, MutableMapping
from functools import cache

from kafka_tools.protocol.codec_source import FIXED, is_inline
from kafka_tools.protocol.stored.cluster_metadata import RECORDS, PartitionRecord
from kafka_tools.records.framing import FRAME_VERSION, framed

MOST_IDS = 6
"""Maximum length of a list of brokers in a plain record."""

_HEAD = bytes((FRAME_VERSION, PartitionRecord.ID or 0))
_KEY = struct.Struct(">i16s")
"""The first two fields: the partition's number and its topic's id."""


def plain_key(value: bytes) -> tuple[int, bytes] | None:
    """(number, bytes of the topic's id) of a plain partition record; None for anything else."""
    if value[:2] != _HEAD or len(value) < 3 or value[2] > PartitionRecord.MAX_VERSION:
        return None
    found = _pattern(value[2]).fullmatch(value)
    if found is None:
        return None
    replicas, directories = found["replicas"], found["directories"]
    if len(directories) > 1 and directories[0] != replicas[0]:
        return None
    number, topic_id = _KEY.unpack_from(value, 3)
    return number, topic_id


class LazyPartitions(MutableMapping[int, PartitionRecord]):
    """Partitions by number. A plain record is stored as bytes until it is read."""

    __slots__ = ("_records",)

    def __init__(self) -> None:
        self._records: dict[int, PartitionRecord | bytes] = {}

    def __getitem__(self, number: int) -> PartitionRecord:
        found = self._records[number]
        if isinstance(found, bytes):
            record, _ = framed(found, RECORDS)
            assert isinstance(record, PartitionRecord)
            self._records[number] = found = record
        return found

    def __setitem__(self, number: int, record: PartitionRecord) -> None:
        self._records[number] = record

    def __delitem__(self, number: int) -> None:
        del self._records[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._records)

    def __contains__(self, number: object) -> bool:
        return number in self._records

    def __len__(self) -> int:
        return len(self._records)

    def keep_plain(self, number: int, value: bytes) -> None:
        """Store the bytes of a plain record."""
        self._records[number] = value

    def decoded(self) -> list[PartitionRecord]:
        """The records that are not plain, or that were read before."""
        return [record for record in self._records.values() if not isinstance(record, bytes)]


@cache
def _pattern(version: int) -> re.Pattern[bytes]:
    parts = [re.escape(_HEAD + bytes((version,)))]
    for field in PartitionRecord.FIELDS:
        if not is_inline(field, version):
            continue
        if field.kind == "array":
            size = FIXED[field.item.kind][1]
            counts = (b"%b.{%d}" % (re.escape(bytes((count + 1,))), count * size) for count in range(MOST_IDS + 1))
            parts.append(b"(?P<%b>%b)" % (field.name.encode(), b"|".join(counts)))
        else:
            parts.append(b".{%d}" % FIXED[field.kind][1])
    if version == 0:
        parts.append(b"(?P<directories>)")
    return re.compile(b"".join(parts) + rb"\x00", re.DOTALL)
