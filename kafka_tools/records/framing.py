"""Metadata records in the form of their log: after a frame version, a type and a version.

Rules and texts are those of ``MetadataRecordSerde`` (``AbstractApiMessageSerde``) of Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafka_tools.errors import CorruptBatch, WireError
from kafka_tools.protocol.codec import decode_prefix, encode_into
from kafka_tools.protocol.primitives import read_unsigned_varint, write_unsigned_varint
from kafka_tools.protocol.schema import Stored
from kafka_tools.records.text import JAVA_ERRORS

FRAME_VERSION = 1
_FARTHEST_FRAME, _FARTHEST = 9, 255
"""The highest numbers that count as a later release: frame versions, and types and their versions."""


def framed(value: bytes, records: Mapping[int, type[Stored]]) -> tuple[Stored, int]:
    """(message, version) from the bytes after frame version, type and version, which are unsigned varints.

    A newer version is read as the newest known one (``known_version``), as in Kafka's classes. Raises CorruptBatch in
    Kafka's words; its cause may contain more details.
    """
    if len(value) > 2 and value[0] == FRAME_VERSION and value[1] < 0x80 and value[2] < 0x80:  # the usual case
        number, version, position = value[1], value[2], 3
    else:
        number, version, position = _header(value)
    cls = records.get(number)
    if cls is None:
        raise CorruptBatch(f"org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id {number}")
    try:
        message, end = decode_prefix(cls, known_version(cls, version), value, position, text_errors=JAVA_ERRORS)
    except WireError as error:
        raise CorruptBatch(f"Failed to deserialize record with type {number}") from error
    if end != len(value):
        raise CorruptBatch(f"Found {len(value) - end} byte(s) of garbage after {number}")
    return message, version


def frame(record: Stored, version: int) -> bytes:
    """The bytes of a record, after frame version, type and version."""
    out = bytearray()
    for number in (FRAME_VERSION, record.ID or 0, version):
        write_unsigned_varint(out, number)
    encode_into(record, version, out)
    return bytes(out)


class NewerRecord(NamedTuple):
    """A record of a later release. Only frame version 1 has ``type``, ``version`` and ``body``."""

    frame_version: int
    type: int = -1
    version: int = -1
    body: bytes = b""

    def __str__(self) -> str:
        if self.frame_version != FRAME_VERSION:
            return f"frame version {self.frame_version}"
        return f"type {self.type} in version {self.version}"


def newer_record(value: bytes, records: Mapping[int, type[Stored]]) -> NewerRecord | None:
    """A record with a frame version, type or version that is newer than the known ones. None for any other bytes.

    It is not read as the newest known version, because a later version may have another meaning. Numbers far above the
    current ones do not count as newer records.
    """
    try:
        frame, position = _short(value, 0, "frame version")
        if frame != FRAME_VERSION:
            return NewerRecord(frame) if FRAME_VERSION < frame <= _FARTHEST_FRAME else None
        number, version, position = _header(value)
    except CorruptBatch:
        return None
    cls = records.get(number)
    known = -1 if cls is None else cls.MAX_VERSION
    if not (0 <= number <= _FARTHEST and known < version <= _FARTHEST):
        return None
    return NewerRecord(frame, number, version, bytes(value[position:]))


def _header(value: bytes) -> tuple[int, int, int]:
    """(type, version, position after them)."""
    frame, position = _short(value, 0, "frame version")
    if not frame:
        raise CorruptBatch(
            "Could not deserialize metadata record with frame version 0. Note that upgrades from the preview release "
            "of KRaft in 2.8 to newer versions are not supported."
        )
    if frame != FRAME_VERSION:
        raise CorruptBatch(
            f"Could not deserialize metadata record due to unknown frame version {frame}"
            f"(only frame version {FRAME_VERSION} is supported)"
        )
    number, position = _short(value, position, "type")
    version, position = _short(value, position, "version")
    return number, version, position


def known_version(cls: type[Stored], version: int) -> int:
    """The version to read ``version`` with: itself, or the nearest known one."""
    if cls.MIN_VERSION <= version <= cls.MAX_VERSION:
        return version
    return cls.MIN_VERSION if version < cls.MIN_VERSION else cls.MAX_VERSION


def framed_name(cls: type[Stored]) -> str:
    """Kafka's name of a record's type: ``TOPIC_RECORD`` for TopicRecord."""
    import re

    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).upper()


def _short(value: bytes, position: int, what: str) -> tuple[int, int]:
    """Read an unsigned varint as a Java short: only the low 16 bits count."""
    try:
        number, position = read_unsigned_varint(value, position)
    except (IndexError, ValueError) as error:
        raise CorruptBatch(f"Error while reading {what}") from error
    if 0x7FFF < number < 0x80000000:
        raise CorruptBatch(f"Value for {what} was too large.")
    return (number + 0x8000) % 0x10000 - 0x8000, position
