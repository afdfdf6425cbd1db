"""The response that says "this error" for everything a request asked about.

Made from the definitions: the code goes into the top-level error field, and into one entry for every
entry of the request, with the entry's keys (topic, partition, group, resource) copied over by name.
Where Kafka answers a whole-request error in a different shape, that is a row of ``_SPECIAL``.
"""

from __future__ import annotations

from typing import Any

from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.schema import Request, Response, Struct

_CODES = ("error_code",)
_TEXTS = ("error_message",)
_ACHIEVED = ("num_partitions", "replication_factor")
"""Fields of a response that describe what was created, though the request has fields of the same name."""


def error_reply(request: Request, version: int, code: int, message: str | None = None) -> Response:
    """A response in ``version`` with ``code`` (and ``message`` where the layout has room) for all of ``request``."""
    response_class = registry.api(request.API_KEY).response
    response = response_class()
    special = _SPECIAL.get(request.API_KEY)
    if special is not None:
        special(request, response, version, code, message)
        return response
    _fill(request, response, version, code, message)
    return response


def entry_errors(request: Request, version: int, code: int, message: str | None = None) -> Response:
    """The same error, told at each thing that the request names and nowhere above: the innermost entries hold it.

    What a response has no such place for is left out: whoever needs to know looks for entries in the answer.
    """
    response = registry.api(request.API_KEY).response()
    special = _ENTRIES.get(request.API_KEY) or _SPECIAL.get(request.API_KEY)
    if special is not None:
        special(request, response, version, code, message)
    else:
        _fill(request, response, version, code, message, entries=True)
    _clear_above(response, version)
    return response


def _clear_above(item: Struct, version: int) -> None:
    """Take the error from what has entries that hold it."""
    below = False
    for field in item.FIELDS:
        if version not in field.versions or field.kind != "array" or field.item.kind != "struct":
            continue
        for entry in getattr(item, field.name) or ():
            _clear_above(entry, version)
            below = below or _holds_error(field.item.item, version)
    if isinstance(item, Response) or below:
        _set_error(item, version, error_codes.NONE, None)


def _fill(
    request: Struct, response: Struct, version: int, code: int, message: str | None, *, entries: bool = False
) -> None:
    """Set the error fields of one struct, then mirror the request's lists into the response's."""
    top_level = _set_error(response, version, code, message) and not _tells_twice(request)
    for field in response.FIELDS:
        if version not in field.versions or field.kind != "array" or field.item.kind != "struct":
            continue
        if not _holds_error(field.item.item, version):
            continue
        source = _matching_list(request, field, version)
        if source is not None and (entries or not (top_level and _is_listing(request, field))):
            item = field.item.item
            answers = [_mirror(item, entry, version, code, message, entries=entries) for entry in source]
            setattr(response, field.name, answers)


def _tells_twice(request: Struct) -> bool:
    """Whether the error of the whole request also stands in each entry: ElectLeaders, AlterPartitionReassignments."""
    return isinstance(request, Request) and request.API_KEY in (43, 45)


def _is_listing(request: Struct, field: Field) -> bool:
    """A top-level error already says all; per-entry lists are filled only where entries hold the sole error."""
    return not any(f.name in _CODES for f in field.item.item.FIELDS)


def _mirror(
    cls: type[Struct], entry: Any, version: int, code: int, message: str | None, *, entries: bool = False
) -> Struct:
    item = cls()
    _set_error(item, version, code, message)
    if not isinstance(entry, Struct):  # a list of plain names, ids or partition numbers
        key = _key_field(cls, version, entry)
        if key is not None:
            setattr(item, key.name, entry)
        return item
    names = {field.name: field for field in entry.FIELDS}
    for field in cls.FIELDS:
        if version not in field.versions or field.name in (*_CODES, *_TEXTS, *_ACHIEVED):
            continue
        source = names.get(field.name) or _same_meaning(field, entry)
        if source is not None and field.kind == source.kind and field.kind not in ("array", "struct"):
            setattr(item, field.name, getattr(entry, source.name))
    _fill(entry, item, version, code, message, entries=entries)
    return item


def _same_meaning(field: Field, entry: Struct) -> Field | None:
    """The request's field for a response field of another name, such as ``topic`` for ``name``."""
    for group in _SYNONYMS:
        if field.name in group:
            for candidate in entry.FIELDS:
                if candidate.name in group and candidate.kind == field.kind:
                    return candidate
    return None


_SYNONYMS = (
    ("name", "topic", "topic_name"),
    ("partition", "partition_index"),
    ("group_id", "group"),
    ("user", "name"),
)


def _set_error(item: Struct, version: int, code: int, message: str | None) -> bool:
    found = False
    for field in item.FIELDS:
        if version not in field.versions:
            continue
        if field.name in _CODES:
            setattr(item, field.name, code)
            found = True
        elif field.name in _TEXTS:
            setattr(item, field.name, None if message is None and version in field.nullable else message or "")
    return found


def _holds_error(cls: type[Struct], version: int) -> bool:
    for field in cls.FIELDS:
        if version not in field.versions:
            continue
        if field.name in _CODES:
            return True
        if field.kind == "array" and field.item.kind == "struct" and _holds_error(field.item.item, version):
            return True
    return False


def _matching_list(request: Struct, field: Field, version: int) -> list[Any] | None:
    """The request's list that a response list answers: the same name, else the only list of the request."""
    lists = [f for f in request.FIELDS if version in f.versions and f.kind == "array"]
    for candidate in lists:
        if candidate.name == field.name:
            return getattr(request, candidate.name) or []
    if len(lists) == 1:
        return getattr(request, lists[0].name) or []
    structs = [f for f in lists if f.item.kind == "struct"]
    if len(structs) == 1:
        return getattr(request, structs[0].name) or []
    return None


def _key_field(cls: type[Struct], version: int, value: Any) -> Field | None:
    kind = {str: "string", int: "int32"}.get(type(value), "uuid")
    for field in cls.FIELDS:
        if version in field.versions and field.kind == kind and field.name not in (*_CODES, *_TEXTS):
            return field
    return None


def _api_versions(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    response.error_code = code


def _alter_replica_log_dirs(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    # The request is ordered by directory, the response by topic.
    Topic = type(response).AlterReplicaLogDirTopicResult
    response.results = [
        Topic(
            topic_name=topic.name,
            partitions=[
                Topic.AlterReplicaLogDirPartitionResult(partition_index=partition, error_code=code)
                for partition in topic.partitions
            ],
        )
        for directory in request.dirs
        for topic in directory.topics
    ]


def _alter_client_quotas(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    # The key of an entry is itself a list.
    Entry = type(response).EntryData
    response.entries = [
        Entry(
            error_code=code,
            error_message=message,
            entity=[
                Entry.EntityData(entity_type=part.entity_type, entity_name=part.entity_name) for part in entry.entity
            ],
        )
        for entry in request.entries
    ]


def _describe_client_quotas(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    response.error_code, response.error_message, response.entries = code, message, None


def _join_group(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    response.error_code = code
    response.generation_id = -1
    response.member_id = request.member_id
    response.protocol_name = None if version >= 7 else ""


def _init_producer_id(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    response.error_code = code
    response.producer_epoch = -1


def _list_offsets(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    _fill(request, response, version, code, message)
    for topic in response.topics:
        for partition in topic.partitions:
            partition.offset, partition.timestamp = -1, -1


def _fetch(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    if version >= 7:  # sessions: one error for the whole request
        response.error_code = code
    else:
        _fetch_entries(request, response, version, code, message)


def _fetch_entries(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    # The request has two lists of topics: what a session is to forget is in no answer.
    Topic = type(response).FIELDS[[f.name for f in response.FIELDS].index("responses")].item.item
    response.responses = [_mirror(Topic, topic, version, code, message) for topic in request.topics]
    for topic in response.responses:
        for partition in topic.partitions:
            partition.high_watermark = -1
            partition.records = b""


def _metadata(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    _fill(request, response, version, code, message)
    for topic in response.topics:
        topic.name = topic.name or ""


def _offset_fetch_entries(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    _fill(request, response, version, code, message, entries=True)
    for group in response.groups if version >= 8 else (response,):
        for topic in group.topics:
            for partition in topic.partitions:
                partition.committed_offset = -1


def _offset_fetch(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    if version < 2:
        _offset_fetch_entries(request, response, version, code, message)
    elif version < 8:
        response.error_code = code
    else:
        group_class = type(response).FIELDS[[f.name for f in response.FIELDS].index("groups")].item.item
        response.groups = [group_class(group_id=group.group_id, error_code=code) for group in request.groups]


def _find_coordinator(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    if version < 4:
        response.error_code, response.error_message, response.node_id, response.port = code, message, -1, -1
    else:
        coordinator = type(response).FIELDS[[f.name for f in response.FIELDS].index("coordinators")].item.item
        response.coordinators = [
            coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=message)
            for key in request.coordinator_keys
        ]


def _create_topics(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    # Counts of the request are not those of the answer, which has -1.
    Result = type(response).CreatableTopicResult
    response.topics = [Result(name=topic.name, error_code=code, error_message=message) for topic in request.topics]


def _leave_group(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    response.error_code = code


def _update_features(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    response.error_code, response.error_message = code, message


def _alter_user_scram_credentials(request: Any, response: Any, version: int, code: int, message: str | None) -> None:
    """Users are named in two lists of the request, and answered once each."""
    result = type(response).FIELDS[[f.name for f in response.FIELDS].index("results")].item.item
    users = dict.fromkeys(entry.name for entry in (*request.deletions, *request.upsertions))
    response.results = [result(user=user, error_code=code, error_message=message) for user in users]


_SPECIAL = {
    1: _fetch,
    2: _list_offsets,
    3: _metadata,
    9: _offset_fetch,
    10: _find_coordinator,
    11: _join_group,
    13: _leave_group,
    18: _api_versions,
    19: _create_topics,
    22: _init_producer_id,
    34: _alter_replica_log_dirs,
    48: _describe_client_quotas,
    49: _alter_client_quotas,
    51: _alter_user_scram_credentials,
    57: _update_features,
}

_ENTRIES = {1: _fetch_entries, 9: _offset_fetch_entries}
"""APIs whose response has another shape for errors of single entries than for an error of the whole request."""
