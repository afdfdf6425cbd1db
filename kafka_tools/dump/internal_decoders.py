"""The contents of control records and of records in Kafka's own topics, in the text of Kafka's tool."""

from __future__ import annotations

import re
from collections.abc import Mapping
from struct import error as struct_error
from typing import Any

from kafka_tools.dump.decoders import INT16, Decoder
from kafka_tools.dump.java_json import java_json
from kafka_tools.errors import CorruptBatch, LogError, WireError
from kafka_tools.protocol.as_json import stored_to_json, to_json
from kafka_tools.protocol.codec import decode_prefix
from kafka_tools.protocol.enums import (
    CONSUMER_OFFSETS,
    CONSUMER_PROTOCOL_TYPE,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    ControlRecordType,
)
from kafka_tools.protocol.schema import Stored
from kafka_tools.records.control import NAMES, control_type, control_value
from kafka_tools.records.framing import framed, framed_name, known_version
from kafka_tools.records.internal_topics import structs_of
from kafka_tools.records.record import Record
from kafka_tools.records.text import JAVA_ERRORS


class CoordinatorDecoder:
    """Decodes records of an internal topic: type before the key, version before the value. A null value is <DELETE>."""

    def __init__(self, keys: Mapping[int, type[Stored]], values: Mapping[int, type[Stored]]) -> None:
        self._keys = keys
        self._values = values
        self._remembered: dict[bytes, tuple[str, type[Stored] | None]] = {}

    def __call__(self, offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        if key is None:
            raise LogError(
                f"Failed to decode message at offset {offset} using the specified decoder (message had a missing key)"
            )
        try:
            shown, cls = self._key(key)
        except _UnknownType as unknown:
            return f"Unknown record type {unknown.number} at offset {offset}, skipping.", None
        except (WireError, CorruptBatch) as error:
            return f"Error at offset {offset}, skipping. {error}", None
        if value is None:
            return shown, "<DELETE>"
        try:
            return shown, _coordinator_value(value, cls, key)
        except (WireError, CorruptBatch) as error:
            return f"Error at offset {offset}, skipping. {error}", None

    def _key(self, key: bytes) -> tuple[str, type[Stored] | None]:
        """The text of a key, and the struct of its values."""
        found = self._remembered.get(key)
        if found is None:
            number = _number(key, "key")
            cls = self._keys.get(number)
            if cls is None:
                raise _UnknownType(number)
            try:
                message, _ = decode_prefix(cls, 0, key, 2, text_errors=JAVA_ERRORS)
            except WireError as error:
                raise _unreadable("key", number, error) from error
            found = java_json({"type": str(number), "data": to_json(message, 0)}), self._values.get(number)
            if len(self._remembered) > _REMEMBERED_KEYS:
                self._remembered.clear()
            self._remembered[key] = found
        return found


class OffsetsDecoder(CoordinatorDecoder):
    """``__consumer_offsets``. Nearly all of its records are plain commits, which ``offset_columns`` shows together."""


_REMEMBERED_KEYS = 50_000


class _UnknownType(Exception):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _number(data: bytes, what: str) -> int:
    if len(data) < 2:
        raise CorruptBatch(f"Could not read version from {what}'s buffer.")
    number: int = INT16.unpack_from(data)[0]
    return number


def _unreadable(part: str, version: int, error: WireError) -> CorruptBatch:
    """An error in Kafka's words."""
    return CorruptBatch(f"Could not read record with version {version} from {part}'s buffer due to: {_why(error)}.")


_TOO_LONG = re.compile(r"claims (\d+) (bytes|items)\D+(\d+)")


def _why(error: WireError) -> str:
    """The message of Kafka's generated classes for unreadable bytes if it is known, else our own message.

    A truncated number causes a BufferUnderflowException, which has no message ("null").
    """
    if isinstance(error.__cause__, IndexError | struct_error):
        return "null"
    name = (error.field or "").rpartition(".")[2].partition("[")[0]
    first, *others = name.split("_")
    java_name = first + "".join(word.title() for word in others)
    if "is null or has a negative length" in str(error):
        return f"non-nullable field {java_name} was serialized as null"
    if java_name == "tags":
        return "null"  # Kafka trusts the sizes of tagged fields, and runs out of bytes
    too_long = _TOO_LONG.search(str(error))
    if too_long is None:
        return str(error)
    size, kind, left = int(too_long[1]), too_long[2], int(too_long[3])
    if kind == "bytes":
        return f"Error reading byte array of {size} byte(s): only {left} byte(s) available"
    if size > left:
        return f"Tried to allocate a collection of size {size}, but there are only {left} bytes remaining."
    return "null"


def _coordinator_value(value: bytes, cls: type[Stored] | None, key: bytes) -> str:
    version = _number(value, "value")
    if cls is None:
        raise CorruptBatch("a record of this type has no value")
    if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
        raise CorruptBatch(f"Found an unknown record version {version} for {_number(key, 'key')} type")
    try:
        message, _ = decode_prefix(cls, version, value, 2, text_errors=JAVA_ERRORS)
    except WireError as error:
        raise _unreadable("value", version, error) from error
    data = stored_to_json(message, version)
    if cls.__name__ == "GroupMetadataValue" and data.get("protocolType") == CONSUMER_PROTOCOL_TYPE:
        _open_members(data, message)
    return java_json({"version": str(version), "data": data})


def _open_members(data: dict[str, Any], message: Any) -> None:
    """Show classic consumers' subscriptions and assignments as JSON. Other bytes stay base64."""
    from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription

    for document, member in zip(data["members"], message.members, strict=True):
        for name, cls in (("subscription", ConsumerProtocolSubscription), ("assignment", ConsumerProtocolAssignment)):
            raw = getattr(member, name)
            try:
                version = _number(raw, name)
                inner, _ = decode_prefix(cls, version, raw, 2, text_errors=JAVA_ERRORS)
                document[name] = to_json(inner, version)
            except (WireError, CorruptBatch):
                continue


def offsets() -> Decoder:
    """``__consumer_offsets``: offset commits and every kind of group."""
    return OffsetsDecoder(*structs_of(CONSUMER_OFFSETS))


def transaction_log() -> Decoder:
    """``__transaction_state``."""
    return CoordinatorDecoder(*structs_of(TRANSACTION_STATE))


def share_group_state() -> Decoder:
    """``__share_group_state``."""
    return CoordinatorDecoder(*structs_of(SHARE_GROUP_STATE))


_JAVA_NULL_VALUE = (
    'Cannot invoke "java.nio.ByteBuffer.remaining()" because the return value of '
    '"org.apache.kafka.common.record.internal.Record.value()" is null'
)
"""Kafka's text for a null value among records of tiered storage."""


def cluster_metadata() -> Decoder:
    """``__cluster_metadata``: one JSON object per value. Its keys have no meaning.

    Secrets are masked. This is the only difference from the text of Kafka's tool, which shows them.
    """
    from kafka_tools.protocol.stored.cluster_metadata import RECORDS

    def decode(offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        try:
            message, version = framed(value or b"", RECORDS)
        except (WireError, CorruptBatch) as error:
            return None, f"Error at {offset}, skipping. {error}"
        name = framed_name(type(message))
        data = to_json(message, known_version(type(message), version))
        return None, java_json({"type": name, "version": version, "data": data})

    return decode


def remote_log_metadata() -> Decoder:
    """``__remote_log_metadata``: the text form of Kafka's RemoteLogMetadata classes."""
    from kafka_tools.dump.remote_log_text import remote_log_text
    from kafka_tools.protocol.stored.remote_log_metadata import RECORDS

    def decode(offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        if value is None:
            return None, f"Error at offset {offset}, skipping. {_JAVA_NULL_VALUE}"
        try:
            message, _ = framed(value, RECORDS)
            return None, remote_log_text(message)
        except (WireError, CorruptBatch) as error:
            return None, f"Error at offset {offset}, skipping. {error}"

    return decode


def control(record: Record) -> str:
    """Kafka's text for a control record. Raises LogError for a key or value that is not one of Kafka's."""
    try:
        number = control_type(record.key)
        if not 0 <= number < len(NAMES):
            return f" controlType: UNKNOWN({number})"
        message, version = control_value(number, record.value)
    except CorruptBatch as error:
        raise LogError(f"cannot read the control record at offset {record.offset}: {error}") from error
    document = to_json(message, version)
    if number <= ControlRecordType.COMMIT:
        return f" endTxnMarker: {NAMES[number]} coordinatorEpoch: {document['coordinatorEpoch']}"
    label = ("LeaderChange:", "SnapshotHeader", "SnapshotFooter", "KRaftVersion", "KRaftVoters")[number - 2]
    return f" {label} {java_json(document)}"
