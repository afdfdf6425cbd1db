"""Records of Kafka's internal topics as documents: ``{"type": 1, "group": "g", ...}`` for a key."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafka_tools.protocol.enums import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from kafka_tools.clients.fetched_data import ConsumedRecord
    from kafka_tools.protocol.schema import Stored

_MODULES = {
    CONSUMER_OFFSETS: ("offset_commit", "group_metadata", "consumer_group", "share_group", "streams_group"),
    TRANSACTION_STATE: ("transaction_log",),
    SHARE_GROUP_STATE: ("share_state",),
}
"""Topic -> modules of ``protocol.stored`` that define its records."""


def decoded(topic: str, record: ConsumedRecord) -> dict[str, Any] | None:
    """``key`` and ``value`` as documents; None for a record of an unknown type.

    ``group`` in a key is the group's id, also where Kafka calls it ``groupId``. Raises WireError for invalid bytes.
    """
    from kafka_tools.protocol.as_json import stored_to_json, to_json
    from kafka_tools.protocol.codec import decode_prefix, decode_versioned
    from kafka_tools.records.text import JAVA_ERRORS

    if record.key is None or len(record.key) < 2:
        return None
    number = int.from_bytes(record.key[:2], "big", signed=True)
    for name in _MODULES[topic]:
        structs = import_module(f"kafka_tools.protocol.stored.{name}")
        keys: Mapping[int, type[Stored]] = structs.KEYS
        if number not in keys:
            continue
        _, key = decode_versioned(keys, record.key, text_errors=JAVA_ERRORS)
        fields = to_json(key, 0)
        group = fields.get("group", fields.get("groupId"))
        named = {"type": number, **({} if group is None else {"group": group}), **fields}
        if record.value is None:
            return {"key": named, "value": None}
        cls: type[Stored] = structs.VALUES[number]
        version = int.from_bytes(record.value[:2], "big", signed=True)
        value, _ = decode_prefix(cls, version, record.value, 2, text_errors=JAVA_ERRORS)
        return {"key": named, "value": {"version": version, **stored_to_json(value, version)}}
    return None
