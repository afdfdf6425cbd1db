"""Partition records as nearly all are, told by their bytes alone: an image of many partitions decodes those looked at.

Plain is a record of a known version without tagged fields (it is recovered, and has no eligible leader replicas), with
few replicas, and a directory for each of them or for none: neither its decoding nor its replay can fail. The pattern is
made of the definition of PartitionRecord.
"""

from __future__ import annotations

import re
import struct
from functools import cache

from kafka_tools.commands.logs.cluster_image.registrations import PartitionState
from kafka_tools.protocol.codec_source import FIXED, is_inline
from kafka_tools.protocol.stored.cluster_metadata import RECORDS, PartitionRecord
from kafka_tools.records.framing import FRAME_VERSION, framed

MOST_IDS = 6
"""Longer lists of brokers are left to the decoder."""

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


def state_of(partition: PartitionState | bytes) -> PartitionState:
    """The state of a partition that may still be its plain record."""
    if isinstance(partition, PartitionState):
        return partition
    record, _ = framed(partition, RECORDS)
    assert isinstance(record, PartitionRecord)
    return PartitionState(record)


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
