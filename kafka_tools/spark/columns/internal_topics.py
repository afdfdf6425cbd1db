"""Control records and records of internal topics as values for columns.

Kafka itself writes these: transaction markers and quorum records in control batches, ``__consumer_offsets``,
``__transaction_state``, ``__share_group_state`` and ``__cluster_metadata``. The columns of a record that cannot be read
are null, because these topics may contain types of newer releases. Secrets are masked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from struct import Struct as Layout
from typing import Any

from kafka_tools.errors import CorruptBatch, KafkaToolsError
from kafka_tools.protocol.as_json import to_json
from kafka_tools.protocol.codec import decode_prefix
from kafka_tools.protocol.enums import (
    CLUSTER_METADATA,
    INTERNAL_TOPICS,
    ControlRecordType,
    TransactionState,
)
from kafka_tools.protocol.primitives import read_unsigned_varint
from kafka_tools.protocol.schema import Stored
from kafka_tools.records.control import NAMES, control_type, control_value
from kafka_tools.records.framing import FRAME_VERSION, framed_name
from kafka_tools.records.internal_topics import structs_of

COLUMNS = (
    "record_type",
    "coordinator_epoch",
    "group_id",
    "committed_topic",
    "committed_partition",
    "committed_offset",
    "commit_timestamp_ms",
    "transactional_id",
    "transaction_state",
    "transaction_producer_id",
    "transaction_producer_epoch",
    "decoded",
)

Values = dict[str, Any]
Decode = Callable[[bytes | None, bytes | None], Values]

_INT16 = Layout(">h")
_NOTHING: Values = {}


def decoder(topic: str) -> Decode | None:
    """The function that reads records of an internal topic into values by COLUMNS; None for any other topic."""
    if topic == CLUSTER_METADATA:
        return _metadata_record
    if topic in INTERNAL_TOPICS:
        keys, values = structs_of(topic)
        return lambda key, value: _coordinator_record(keys, values, key, value)
    return None


def control_record(key: bytes | None, value: bytes | None) -> Values:
    """The values of a control record; empty for one that cannot be read."""
    try:
        number = control_type(key)
    except CorruptBatch:
        return _NOTHING
    if not 0 <= number < len(NAMES):
        return {"record_type": f"UNKNOWN({number})"}
    found: Values = {"record_type": NAMES[number]}
    try:
        message, version = control_value(number, value)
    except CorruptBatch:
        return found
    document = to_json(message, version)
    if number <= ControlRecordType.COMMIT:
        found["coordinator_epoch"] = document["coordinatorEpoch"]
    return found | {"decoded": _json({"type": NAMES[number], "value": document})}


def _coordinator_record(
    keys: Mapping[int, type[Stored]], values: Mapping[int, type[Stored]], key: bytes | None, value: bytes | None
) -> Values:
    """A record of a coordinator: an int16 type before the key, an int16 version before the value."""
    try:
        number = _int16(key or b"")
        cls = keys.get(number)
        if cls is None:
            return {"record_type": f"UNKNOWN({number})"}
        found, document = _coordinator_key(cls, key or b"")
    except KafkaToolsError:
        return _NOTHING
    found = dict(found)
    shown: Any = None
    value_cls = values.get(number)
    if value is not None and value_cls is not None:
        try:
            version = _int16(value)
            message, _ = decode_prefix(value_cls, version, value, 2)
            shown = {"version": version, **to_json(message, version)}
        except KafkaToolsError:
            return found
        found |= _of_value(message)
    found["decoded"] = _json({"type": found["record_type"], "key": document, "value": shown})
    return found


@lru_cache(maxsize=4096)
def _coordinator_key(cls: type[Stored], key: bytes) -> tuple[Values, Values]:
    """(columns, JSON) of a key: the same keys come again and again. Raises WireError."""
    message: Any = decode_prefix(cls, 0, key, 2)[0]
    found: Values = {"record_type": cls.__name__.removesuffix("Key")}
    for column, field in (("group_id", "group"), ("group_id", "group_id"), ("transactional_id", "transactional_id")):
        if hasattr(message, field):
            found[column] = getattr(message, field)
    if cls.__name__.endswith("OffsetCommitKey"):
        found |= {"committed_topic": message.topic, "committed_partition": message.partition}
    return found, to_json(message, 0)


def _of_value(message: Any) -> Values:
    name = type(message).__name__
    if name.endswith("OffsetCommitValue"):
        return {"committed_offset": message.offset, "commit_timestamp_ms": message.commit_timestamp}
    if name == "TransactionLogValue":
        status = message.transaction_status
        known = 0 <= status < len(TransactionState.all)
        return {
            "transaction_state": TransactionState.all[status] if known else f"unknown({status})",
            "transaction_producer_id": message.producer_id,
            "transaction_producer_epoch": message.producer_epoch,
        }
    return _NOTHING


def _metadata_record(key: bytes | None, value: bytes | None) -> Values:
    """A record of ``__cluster_metadata``: frame version, type and version before the value. Keys mean nothing there."""
    from kafka_tools.protocol.stored.cluster_metadata import RECORDS

    if value is None:
        return _NOTHING
    try:
        frame, position = read_unsigned_varint(value, 0)
        number, position = read_unsigned_varint(value, position)
        version, position = read_unsigned_varint(value, position)
        cls = RECORDS.get(number)
        if frame != FRAME_VERSION or cls is None:
            return {"record_type": f"UNKNOWN({number})"}
    except (KafkaToolsError, IndexError, ValueError):
        return _NOTHING
    name = framed_name(cls)
    try:
        message, _ = decode_prefix(cls, version, value, position)
    except KafkaToolsError:  # damaged, or of a version that came later
        return {"record_type": name}
    return {
        "record_type": name,
        "decoded": _json({"type": name, "version": version, "value": to_json(message, version)}),
    }


def _int16(data: bytes) -> int:
    if len(data) < 2:
        raise KafkaToolsError("too short for a version number")
    number: int = _INT16.unpack_from(data)[0]
    return number


def _json(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)
