"""Answers of two brokers made comparable: flat, with names in the place of ids, times and addresses."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from kafka_tools.protocol import registry
from kafka_tools.protocol.schema import Message, Struct
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.values import ZERO_UUID
from tests.against_kafka.compare_answers.brokers import Silence, text_of_id

Flat = dict[str, Any]
"""Path -> value. A path names fields and, for items of lists, what the item is about: ``topics[t1].error_code``."""

IN_ORDER = {"CreateAclsResponse.results", "DeleteAclsResponse.filter_results",
            "DescribeTopicPartitionsResponse.ResponseTopic.partitions", "MetadataResponse.brokers"}  # fmt: skip
"""Lists whose order means something; others are hash maps on one side."""
_IGNORED = {"throttle_time_ms", "session_id", "total_bytes", "usable_bytes", "partition_size", "log_end_offset",
            "finalized_features_epoch"}  # fmt: skip
_ABOUT = ("name", "topic", "topic_name", "topic_id", "partition_index", "partition", "partition_id", "index",
          "resource_name", "resource_type", "group_id", "user", "key", "config_resources", "api_key", "error_code",
          "member_id", "client_id", "coordinator_key", "mechanism", "entity_type", "entity_name", "principal", "host",
          "operation", "permission_type", "pattern_type", "log_dir", "token_id", "principal_name", "node_id",
          "broker_id", "listener", "source", "first_offset", "producer_id",
          "transactional_id")  # fmt: skip
MISSING = "<missing>"
_DAY_MS = 86_400_000
_OBJECT = re.compile(r"@[0-9a-f]{5,8}\b")
_RANDOM = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_BOUNDS = re.compile(r"within \[-?[0-9]+, -?[0-9]+\]")
"""Times that count from when a broker looked at its clock."""
_LONGEST_TOKEN_MS = 8 * _DAY_MS


def flat(answer: Message | Silence, known: Mapping[str, Any], version: int) -> Flat:
    """Every field that this version has, by path."""
    if isinstance(answer, Silence):
        return {"": str(answer)}
    names = {value: f"<{name}>" for name, value in known.items() if name != "log dir"}
    _merge_parts(answer)
    texts = {_as_text(value): f"<{name}>" for name, value in known.items() if len(_as_text(value)) > 8}
    found = dict(_struct(answer, "", version, Names(names, texts)))
    for path in found:  # what is committed to groups carries its time in its bytes
        if path.startswith("responses[__consumer_offsets") and path.endswith(".records"):
            found[path] = "<commits>"
    return found


def _merge_parts(answer: Message) -> None:
    """Topics that Kafka answers in parts, since it goes by its map of partitions, are put together."""
    inner = {"FetchResponse": "partitions", "ProduceResponse": "partition_responses"}.get(type(answer).__name__)
    if inner is None:
        return
    whole: dict[Any, Any] = {}
    for topic in answer.responses:  # type: ignore[attr-defined]
        key = (topic.name if inner == "partition_responses" else topic.topic, topic.topic_id)
        if key in whole:
            getattr(whole[key], inner).extend(getattr(topic, inner))
        else:
            whole[key] = topic
    answer.responses = list(whole.values())  # type: ignore[attr-defined]


class Names:
    """What one broker calls things: its ids, and how they stand in its texts."""

    def __init__(self, values: dict[Any, str], texts: dict[str, str]) -> None:
        self._values = values
        self._texts = sorted(texts.items(), key=lambda item: -len(item[0]))

    def of(self, value: Any) -> Any:
        if isinstance(value, str):
            for own, name in self._texts:
                value = value.replace(own, name)
            return _RANDOM.sub("<random>", _OBJECT.sub("@object", _BOUNDS.sub("within <bounds>", value)))
        if isinstance(value, uuid.UUID) and value != ZERO_UUID:
            return self._values.get(value, "<some id>")
        return self._values.get(value, value) if isinstance(value, bytes) or _is_large(value) else value


def _is_large(value: Any) -> bool:
    return isinstance(value, int) and value >= 1024


def _as_text(value: Any) -> str:
    return text_of_id(value) if isinstance(value, uuid.UUID) else value if isinstance(value, str) else ""


def _struct(value: Struct, path: str, version: int, names: Names) -> Iterator[tuple[str, Any]]:
    for field in value.FIELDS:
        if version not in field.versions or field.name in _IGNORED:
            continue
        here = f"{path}.{field.name}" if path else field.name
        yield from _value(getattr(value, field.name), here, f"{type(value).__qualname__}.{field.name}", version, names)


def _value(value: Any, path: str, where: str, version: int, names: Names) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Struct):
        yield from _struct(value, path, version, names)
    elif isinstance(value, list):
        yield f"{path}.length", len(value)
        yield from _items(value, path, where, version, names)
    elif path.rpartition(".")[2] == "records" and value is not None:
        yield path, stored(value)
    elif isinstance(value, memoryview | bytearray):
        yield path, names.of(bytes(value))
    elif path.endswith(("timestamp", "timestamp_ms", "time_ms")) and _is_this_run(value):
        yield path, "<a time>"
    elif value and path.rpartition(".")[2] in ("token_id", "hmac"):
        yield path, "<of a token>"
    else:
        yield path, names.of(value)


def _is_this_run(value: int) -> bool:
    """Whether a time belongs to this run, or is the end of a token made in it: later than the records' times."""
    return -_DAY_MS / 4 < value - time.time() * 1000 < _LONGEST_TOKEN_MS


def _items(items: list[Any], path: str, where: str, version: int, names: Names) -> Iterator[tuple[str, Any]]:
    if items and not isinstance(items[0], Struct):
        shown = [names.of(item) for item in items]
        yield path, shown if where in IN_ORDER else sorted(shown, key=repr)
        return
    parts = [(_about(item, names), dict(_struct(item, "", version, names))) for item in items]
    if where in IN_ORDER:
        parts = [(str(at), part) for at, (_, part) in enumerate(parts)]
    else:
        parts.sort(key=lambda part: (part[0], repr(sorted(part[1].items(), key=repr))))
    seen: dict[str, int] = {}
    for about, part in parts:
        seen[about] = seen.get(about, 0) + 1
        which = about if seen[about] == 1 else f"{about}#{seen[about]}"
        for key, value in part.items():
            yield f"{path}[{which}].{key}", value


def _about(item: Struct, names: Names) -> str:
    values = ((field.name, getattr(item, field.name)) for field in item.FIELDS)
    about = [_name(name, value, names) for name, value in values if name in _ABOUT and name != "error_code"]
    nested = [
        str(names.of(getattr(part, name)))
        for field in item.FIELDS
        if field.name == "entity"
        for part in sorted(item.entity, key=lambda part: part.entity_type)
        for name in ("entity_type", "entity_name")
    ]
    return ",".join([*about, *nested])


def _name(field: str, value: Any, names: Names) -> str:
    """What an item is called by one of its fields; a token that this run made has no name of its own."""
    shown = str(names.of(value))
    return "<token>" if field == "token_id" and not shown.startswith("<") else shown


def stored(data: Any) -> Any:
    """Record batches as they are stored; append times, which no two brokers share, as such."""
    if not data:
        return b""
    found = []
    for view in batches(data):
        if view.codec and view.crc_ok():
            found.append(_unpacked(view))
            continue
        own = bytearray(data[view.position : view.position + view.size_bytes])
        if view.magic == 2 and view.timestamp_type:
            own[17:21] = b"\0\0\0\0"
            own[35:43] = b"\0" * 8
            found.append(("append time", bytes(own)))
        else:
            found.append(("create time", bytes(own)))
    return found


def _unpacked(view: BatchView) -> Any:
    """A compressed batch as its header and records: Java and Python compress the same to different bytes."""
    by_broker = view.timestamp_type == 1
    return (
        view.codec, view.base_offset, view.last_offset, view.attributes, view.producer_id, view.producer_epoch,
        view.base_sequence, "append time" if by_broker else view.max_timestamp,
        [(None if by_broker else row.timestamp, row.key, row.value, row.headers) for row in view.records()],
    )  # fmt: skip


def differences(theirs: Flat, ours: Flat) -> Iterator[tuple[str, Any, Any]]:
    """(path, theirs, ours) for every path whose values are not equal; a path that one lacks is "<missing>"."""
    if set(theirs) == {""} or set(ours) == {""}:
        if theirs != ours:
            yield "", theirs.get("", "an answer" + _codes(theirs)), ours.get("", "an answer" + _codes(ours))
        return
    items = [{prefix for path in answer for prefix in _items_of(path)} for answer in (theirs, ours)]
    told: set[str] = set()
    for path in {**theirs, **ours}:
        left, right = theirs.get(path, MISSING), ours.get(path, MISSING)
        if left == right or (left != left and right != right):
            continue
        # An item that only one of them has is one difference, whatever stands in it.
        alone = next((item for item in _items_of(path) if (item in items[0]) != (item in items[1])), None)
        if alone is None:
            yield path, left, right
        elif alone not in told:
            told.add(alone)
            code = {True: theirs, False: ours}[alone in items[0]].get(f"{alone}.error_code", "")
            there = f"<there {code}>".replace(" >", ">")
            yield alone, *((there, MISSING) if alone in items[0] else (MISSING, there))


def _items_of(path: str) -> list[str]:
    return [path[: found.end()] for found in re.finditer(r"\]", path)]


def _codes(answer: Flat) -> str:
    found = sorted({str(value) for path, value in answer.items() if path.endswith("error_code")})
    return f" with {', '.join(found)}" if found else ""


def name_of(key: int) -> str:
    return registry.row_by_key(key).stem


def without_items(path: str) -> str:
    """The path without which item it is: ``topics[].error_code``."""
    return re.sub(r"\[[^]]*\]", "[]", path)
