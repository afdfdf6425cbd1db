"""Records of Kafka's internal topics as text, for ``kafka-console-consumer --formatter``.

The formatters of Kafka (``CoordinatorRecordMessageFormatter``) write one JSON document per record with nothing
between documents; those of Kafka up to 3.9, known by their Scala names, write ``[group,topic,partition]::value`` and
``group::value`` lines in the text of 3.9.2's classes. Records of other types, and records without a key, print nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.errors import InputError, WireError

if TYPE_CHECKING:
    from kafka_tools.clients.fetched_data import ConsumedRecord
    from kafka_tools.clients.sharing.held_records import SharedRecord
    from kafka_tools.commands.console.record_text import Formatter
    from kafka_tools.protocol.schema import Stored
    from kafka_tools.protocol.stored.group_metadata import GroupMetadataValue, MemberMetadata


class _Kind(NamedTuple):
    """The module of a formatter's structs, and the record types (the int16 at the start of a key) that it prints."""

    module: str
    types: tuple[int, ...]


_JSON = {
    "OffsetsMessageFormatter": _Kind("offset_commit", (0, 1)),
    "GroupMetadataMessageFormatter": _Kind("group_metadata", (2,)),
    "TransactionLogMessageFormatter": _Kind("transaction_log", (0,)),
    "ShareGroupMessageFormatter": _Kind("share_group", (10, 11, 12, 13, 14, 15)),
    "ShareGroupStateMessageFormatter": _Kind("share_state", (0, 1)),
}
NAMES = tuple(_JSON)


def formatter(name: str) -> Formatter | None:
    """The formatter of a class name without package; None for any other name."""
    if name == "GroupMetadataManager$OffsetsMessageFormatter":
        return _offset_line
    if name == "GroupMetadataManager$GroupMetadataMessageFormatter":
        return _group_line
    if name == "TransactionLog$TransactionLogMessageFormatter":
        name = "TransactionLogMessageFormatter"
    kind = _JSON.get(name)
    return None if kind is None else lambda record: _json(kind, record)


def _json(kind: _Kind, record: ConsumedRecord | SharedRecord) -> bytes:
    import json

    from kafka_tools.protocol.as_json import stored_to_json, to_json

    found = _decode(kind, record)
    if found is None:
        return b""
    number, key, value = found
    document: dict[str, object] = {"key": {"type": number, "data": to_json(key, 0)}, "value": None}
    if value is not None:
        version, struct = value
        document["value"] = {"version": version, "data": stored_to_json(struct, version)}
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def _offset_line(record: ConsumedRecord | SharedRecord) -> bytes:
    from kafka_tools.protocol.stored.offset_commit import LegacyOffsetCommitKey, OffsetCommitKey

    found = _decode(_JSON["OffsetsMessageFormatter"], record)
    if found is None:
        return b""
    _, key, value = found
    assert isinstance(key, OffsetCommitKey | LegacyOffsetCommitKey)
    text = "NULL" if value is None else _offset_text(value[1])
    return f"[{key.group},{key.topic},{key.partition}]::{text}\n".encode()


def _offset_text(value: Stored) -> str:
    from kafka_tools.protocol.stored.offset_commit import LegacyOffsetCommitValue, OffsetCommitValue

    assert isinstance(value, OffsetCommitValue | LegacyOffsetCommitValue)
    epoch, expires = "Optional.empty", "None"
    if isinstance(value, OffsetCommitValue):
        epoch = f"Optional[{value.leader_epoch}]" if value.leader_epoch >= 0 else epoch
        expires = f"Some({value.expire_timestamp})" if value.expire_timestamp >= 0 else expires
    return (
        f"OffsetAndMetadata(offset={value.offset}, leaderEpoch={epoch}, metadata={value.metadata}, "
        f"commitTimestamp={value.commit_timestamp}, expireTimestamp={expires})"
    )


def _group_line(record: ConsumedRecord | SharedRecord) -> bytes:
    from kafka_tools.protocol.stored.group_metadata import GroupMetadataKey, GroupMetadataValue

    found = _decode(_JSON["GroupMetadataMessageFormatter"], record)
    if found is None:
        return b""
    _, key, value = found
    assert isinstance(key, GroupMetadataKey)
    if value is None:
        return f"{key.group}::NULL\n".encode()
    struct = value[1]
    assert isinstance(struct, GroupMetadataValue)
    return f"{key.group}::{_group_text(key.group, struct)}\n".encode()


def _group_text(group: str, value: GroupMetadataValue) -> str:
    protocol_type = f"Some({value.protocol_type})" if value.protocol_type or value.members else "None"
    members = ", ".join(f"{member.member_id} -> {_member_text(member, value.protocol)}" for member in value.members)
    return (
        f"GroupMetadata(groupId={group}, generation={value.generation}, protocolType={protocol_type}, "
        f"currentState={'Stable' if value.members else 'Empty'}, members=HashMap({members}))"
    )


def _member_text(member: MemberMetadata, protocol: str | None) -> str:
    instance = f"Some({member.group_instance_id})" if member.group_instance_id is not None else "None"
    rebalance_timeout = member.rebalance_timeout if member.rebalance_timeout >= 0 else member.session_timeout
    return (
        f"MemberMetadata(memberId={member.member_id}, groupInstanceId={instance}, clientId={member.client_id}, "
        f"clientHost={member.client_host}, sessionTimeoutMs={member.session_timeout}, "
        f"rebalanceTimeoutMs={rebalance_timeout}, supportedProtocols=List({protocol}))"
    )


def _decode(kind: _Kind, record: ConsumedRecord | SharedRecord) -> tuple[int, Stored, tuple[int, Stored] | None] | None:
    """(record type, key, (version, value) or None for a tombstone); None for a record that is not printed."""
    if record.key is None or len(record.key) < 2:
        return None
    number = int.from_bytes(record.key[:2], "big", signed=True)
    if number not in kind.types:
        return None
    from kafka_tools.protocol.codec import decode_prefix, decode_versioned
    from kafka_tools.records.text import JAVA_ERRORS

    structs = import_module(f"kafka_tools.protocol.stored.{kind.module}")
    keys: Mapping[int, type[Stored]] = structs.KEYS
    try:
        _, key = decode_versioned(keys, record.key, text_errors=JAVA_ERRORS)
        if record.value is None:
            return number, key, None
        cls: type[Stored] = structs.VALUES[number]
        version = int.from_bytes(record.value[:2], "big", signed=True)
        value, _ = decode_prefix(cls, version, record.value, 2, text_errors=JAVA_ERRORS)
    except WireError as error:
        place = f"{record.topic}-{record.partition} at offset {record.offset}"
        raise InputError(f"Could not read record at {place}: {error}") from error
    return number, key, (version, value)
