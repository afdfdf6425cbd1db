"""Divides the entries of a request (groups, topics, partitions) into served and refused ones, and merges their answers.

It uses the message definitions only. The errors of refused entries (``protocol.error_reply.entry_errors``) are merged
into the entries of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from uuid import UUID

from kafka_tools.protocol.enums import ConfigResourceType, CoordinatorType
from kafka_tools.protocol.error_reply import CODES
from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.schema import Request, Response, Struct
from kafka_tools.values import ZERO_UUID

GROUP, TOPIC, PARTITION = "group", "topic", "partition"

_LISTS = {
    "groups": GROUP, "groups_names": GROUP, "group_ids": GROUP, "coordinator_keys": GROUP,
    "topics": TOPIC, "topic_data": TOPIC, "topic_partitions": TOPIC, "topic_names": TOPIC,
    "partitions": PARTITION, "partition_data": PARTITION, "partition_indexes": PARTITION,
    "resources": "",
}  # fmt: skip
"""Lists of requests -> the level of their entries; entries of ``resources`` have a resource type."""

_NAMES = {
    GROUP: ("group_id",),
    TOPIC: ("name", "topic", "topic_name"),
    PARTITION: ("partition_index", "partition", "index"),
}
_KEYS = frozenset(
    {
        *(name for names in _NAMES.values() for name in names),
        *("group", "key", "topic_id", "partition_id", "resource_name", "resource_type"),
    }
)
"""Fields of answers that identify an entry."""

_RESOURCES = {GROUP: ConfigResourceType.GROUP, TOPIC: ConfigResourceType.TOPIC}

Wanted = Mapping[str, Any]
"""GROUP, TOPIC, PARTITION -> the selected one; a missing level matches any."""
TopicName = Callable[[UUID], str]
S = TypeVar("S", bound=Struct)


def levels_named(message: type[Request]) -> set[str]:
    """The levels that requests of a class name, in any version."""
    found = set()
    if _scalar_group(message) is not None:
        found.add(GROUP)
    for level, field in _lists(message):
        found |= {level} if level else set(_RESOURCES)
        if field.item.kind == "struct":
            found |= levels_named(field.item.item)
    return found


def names_all(item: Struct, wanted: Wanted) -> bool:
    """Whether a request has no list at a wanted level, which means that it asks for everything."""
    for level, field in _lists(type(item)):
        entries = getattr(item, field.name)
        if entries is None and level in wanted:
            return True
        if field.item.kind == "struct" and any(names_all(entry, wanted) for entry in entries or ()):
            return True
    return False


def divide(item: S, wanted: Wanted, topic_name: TopicName) -> tuple[S | None, S | None]:
    """Returns (the rest of a request, the part that ``wanted`` selects); None if empty. ``item`` is unchanged."""
    group = _scalar_group(type(item))
    if GROUP in wanted and getattr(item, "key_type", CoordinatorType.GROUP) != CoordinatorType.GROUP:
        return item, None
    if GROUP in wanted and group is not None and getattr(item, group.name):  # newer versions can have a list instead
        if getattr(item, group.name) != wanted[GROUP]:
            return item, None
        wanted = {level: value for level, value in wanted.items() if level != GROUP}
    if not wanted:
        return None, item
    left: dict[str, list[Any]] = {}
    meant: dict[str, list[Any]] = {}
    for level, field in _lists(type(item)):
        entries = getattr(item, field.name) or []
        parts = [_divide_entry(entry, level, wanted, topic_name) for entry in entries]
        left[field.name] = [rest for rest, _ in parts if rest is not None]
        meant[field.name] = [found for _, found in parts if found is not None]
    if not any(meant.values()):
        return item, None
    rest = with_values(item, left) if any(left.values()) else None
    return rest, with_values(item, meant)


def _divide_entry(entry: Any, level: str, wanted: Wanted, topic_name: TopicName) -> tuple[Any, Any]:
    value = entry
    if isinstance(entry, Struct):
        level, value = _what(entry, level, topic_name)
    if level not in wanted:  # of another kind, or any value matches
        return divide(entry, wanted, topic_name) if level and isinstance(entry, Struct) else (entry, None)
    if value != wanted[level]:
        return entry, None
    inner = {other: wish for other, wish in wanted.items() if other != level}
    if not inner:
        # The error belongs to the group, not to its topics.
        return None, with_values(entry, {"topics": []}) if level == GROUP and hasattr(entry, "topics") else entry
    return divide(entry, inner, topic_name) if isinstance(entry, Struct) else (entry, None)


def _what(entry: Any, level: str, topic_name: TopicName) -> tuple[str, Any]:
    """(level, name) of an entry."""
    if not level:
        kinds = {kind: name for name, kind in _RESOURCES.items()}
        return kinds.get(entry.resource_type, ""), entry.resource_name
    for name in _NAMES[level]:
        value = getattr(entry, name, None)
        if value not in (None, ""):
            return level, value
    topic_id = getattr(entry, "topic_id", ZERO_UUID)
    return level, topic_name(topic_id) if level == TOPIC and topic_id != ZERO_UUID else ""


def expanded(request: S, response: Struct) -> S:
    """A request for everything, with its missing lists replaced by the names in the answer."""
    values = {}
    answered = {field.name: field for field in response.FIELDS}
    for _, field in _lists(type(request)):
        entries, answers = getattr(request, field.name), getattr(response, field.name, None)
        if field.item.kind != "struct" or field.name not in answered or not isinstance(answers, list):
            continue
        if entries is None:
            values[field.name] = [_as_asked(field.item.item, answer) for answer in answers]
        elif len(entries) == len(answers):
            values[field.name] = [expanded(entry, answer) for entry, answer in zip(entries, answers, strict=True)]
    return with_values(request, values)


def _as_asked(cls: type[Struct], answer: Struct) -> Struct:
    """The entry of a request that matches an entry of an answer."""
    item = cls()
    for field in cls.FIELDS:
        if field.name == "partition_indexes":
            setattr(item, field.name, [entry.partition_index for entry in getattr(answer, "partitions", ())])
        elif field.kind not in ("array", "struct") and hasattr(answer, field.name):
            setattr(item, field.name, getattr(answer, field.name))
    return item


def merge(answer: Response, errors: Response, version: int) -> Response:
    """``answer``, with entries replaced by the ``errors`` for the same things."""
    _merge(answer, errors, version)
    return answer


def _merge(into: Struct, errors: Struct, version: int) -> None:
    for field in _struct_lists(type(errors), version):
        entries = getattr(into, field.name)
        if entries is None:
            setattr(into, field.name, entries := [])
        for entry in getattr(errors, field.name) or ():
            at = next((i for i, known in enumerate(entries) if _same(known, entry, version)), None)
            if at is None:
                entries.append(entry)
            elif any(getattr(entry, inner.name) for inner in _struct_lists(type(entry), version)):
                _merge(entries[at], entry, version)
            else:
                for key in _key_fields(type(entry), version):  # a name if the request has an id, and the reverse
                    setattr(entry, key.name, getattr(entries[at], key.name))
                entries[at] = entry


def paths_to_errors(answer: Struct, version: int, above: frozenset[Any] = frozenset()) -> Iterator[frozenset[Any]]:
    """For each entry of an answer with an error: the keys of this entry and of the entries around it."""
    for field in _struct_lists(type(answer), version):
        for entry in getattr(answer, field.name) or ():
            path = above | {getattr(entry, key.name) for key in _key_fields(type(entry), version)}
            if any(getattr(entry, name, 0) for name in CODES):
                yield path
            yield from paths_to_errors(entry, version, path)


def sample(message: type[S], values: Wanted) -> S:
    """A request that names one thing at each level."""
    item = message()
    group = _scalar_group(message)
    if group is not None:
        setattr(item, group.name, values[GROUP])
    for level, field in _lists(message):
        kind = level or TOPIC
        if field.item.kind != "struct":
            setattr(item, field.name, [values[kind]])
            continue
        entry = sample(field.item.item, values)
        names = [name for name in (*_NAMES[kind], "resource_name") if hasattr(entry, name)]
        for name in names:
            setattr(entry, name, values[kind])
        if not names:
            entry.topic_id = UUID(int=1)
        if not level:
            entry.resource_type = _RESOURCES[kind]
        setattr(item, field.name, [entry])
    return item


def _same(known: Struct, entry: Struct, version: int) -> bool:
    """Whether two entries are about the same thing: topics can have a name, an id or both."""
    compared = False
    for field in _key_fields(type(entry), version):
        one, other = getattr(known, field.name), getattr(entry, field.name)
        if field.kind in ("string", "uuid") and (not one or not other or ZERO_UUID in (one, other)):
            continue
        if one != other:
            return False
        compared = True
    return compared


def _lists(cls: type[Struct]) -> Iterator[tuple[str, Field]]:
    for field in cls.FIELDS:
        if field.kind == "array" and field.name in _LISTS:
            yield _LISTS[field.name], field


def _struct_lists(cls: type[Struct], version: int) -> list[Field]:
    return [field for field in cls.FIELDS if version in field.versions and field.holds_structs]


def _key_fields(cls: type[Struct], version: int) -> list[Field]:
    return [field for field in cls.FIELDS if version in field.versions and field.name in _KEYS]


def _scalar_group(cls: type[Struct]) -> Field | None:
    """The field that names the one group of a request or entry; FindCoordinator has it under another name."""
    for field in cls.FIELDS:
        if field.kind == "string" and (field.name == "group_id" or (field.name == "key" and hasattr(cls, "key_type"))):
            return field
    return None


def with_values(item: S, values: Mapping[str, Any]) -> S:
    """A copy with other values in some of its fields."""
    return type(item)(**{field.name: values.get(field.name, getattr(item, field.name)) for field in item.FIELDS})
