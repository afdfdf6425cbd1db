"""Builds the response that reports one error for everything in a request.

It follows the definitions. The error code goes into the top-level error field, and into one entry for every entry of
the request. The keys of an entry (topic, partition, group, resource) are copied by name. If Kafka's response has
another shape, its definition says so: ``on_error``, ``echoed`` and ``answers`` of ``fields.Field``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.fields import AS_IT_IS, Field
from kafka_tools.protocol.schema import Request, Response, Struct

CODES = ("error_code", "partition_error_code")
"""Fields of responses that contain an error code."""
_TEXTS = ("error_message",)


def error_reply(request: Request, version: int, code: int, message: str | None = None) -> Response:
    """A response in ``version`` with ``code`` (and ``message`` if it has a field for it) for all of ``request``."""
    response = registry.api(request.API_KEY).response()
    _fill(request, response, version, code, message)
    return response


def entry_errors(request: Request, version: int, code: int, message: str | None = None) -> Response:
    """A response with one error for each item in the request, only in the innermost entries.

    Items without a place in the response are omitted. Callers check whether the response has entries.
    """
    response = registry.api(request.API_KEY).response()
    _fill(request, response, version, code, message, entries=True)
    _clear_above(response, version)
    return response


def _clear_above(item: Struct, version: int) -> None:
    """Remove the error from structs whose entries contain it."""
    below = False
    for field in item.FIELDS:
        if version in field.versions and field.holds_structs:
            for entry in getattr(item, field.name) or ():
                _clear_above(entry, version)
                below = below or _holds_error(field.item.item, version)
    if isinstance(item, Response) or below:
        _set_error(item, version, error_codes.NONE, None)


def _fill(
    request: Struct | None, response: Struct, version: int, code: int, message: str | None, *, entries: bool = False
) -> None:
    """Set the error fields of one struct, then copy the request's lists to the response's, if any."""
    top_level = _set_error(response, version, code, message)
    for field in response.FIELDS:
        if version not in field.versions:
            continue
        is_list = field.holds_structs
        if field.on_error is not AS_IT_IS and not (is_list and (entries or not top_level)):
            setattr(response, field.name, _on_error(field, version))
        elif request is None:
            continue
        elif is_list and _tells(response, field, version, entries):
            source = _answered(request, field, version)
            if source is not None and (entries or version in field.echoed or not (top_level and _is_listing(field))):
                setattr(response, field.name, _answers(field, source, version, code, message, entries=entries))
        elif version in field.echoed and not is_list:
            setattr(response, field.name, getattr(request, field.name))


def _on_error(field: Field, version: int) -> Any:
    if field.on_error is None and version not in field.nullable:
        return field.make_default()
    return [] if field.on_error == [] else field.on_error


def _tells(above: Struct, field: Field, version: int, entries: bool) -> bool:
    """Whether a list belongs to the response: its entries contain the error, or identify the struct with it."""
    if _holds_error(field.item.item, version):
        return True
    return version in field.echoed and not (entries and isinstance(above, Response))


def _answers(
    field: Field, source: list[Any], version: int, code: int, message: str | None, *, entries: bool
) -> list[Struct]:
    """An entry for each entry of the request. If they come from several lists, one entry for all with the same key."""
    answers = [_mirror(field.item.item, entry, version, code, message, entries=entries) for entry in source]
    if field.answers is None or "," not in field.answers:
        return answers
    return list({tuple(getattr(answer, inner.name) for inner in answer.FIELDS): answer for answer in answers}.values())


def _is_listing(field: Field) -> bool:
    """Whether entries have no error code of their own, so that a top-level error is enough."""
    return not any(f.name in CODES for f in field.item.item.FIELDS)


def _mirror(
    cls: type[Struct], entry: Any, version: int, code: int, message: str | None, *, entries: bool = False
) -> Struct:
    item = cls()
    _set_error(item, version, code, message)
    if not isinstance(entry, Struct):  # a list of plain names, ids or partition numbers
        key = _key_field(cls, version, entry)
        if key is not None:
            setattr(item, key.name, entry)
        _fill(None, item, version, code, message)
        return item
    names = {field.name: field for field in entry.FIELDS}
    for field in cls.FIELDS:
        if version not in field.versions or field.name in (*CODES, *_TEXTS) or field.on_error is not AS_IT_IS:
            continue
        source = names.get(field.name) or _same_meaning(field, entry)
        if source is not None and field.kind == source.kind and field.kind not in ("array", "struct"):
            value = getattr(entry, source.name)
            if value is not None or version in field.nullable:
                setattr(item, field.name, value)
    _fill(entry, item, version, code, message, entries=entries)
    return item


def _same_meaning(field: Field, entry: Struct) -> Field | None:
    """The request's field for a response field of another name, such as ``topic`` for ``name``."""
    names = {name for group in _SYNONYMS if field.name in group for name in group}
    return next((each for each in entry.FIELDS if each.name in names and each.kind == field.kind), None)


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
        if field.name in CODES:
            setattr(item, field.name, code)
            found = True
        elif field.name in _TEXTS:
            setattr(item, field.name, None if message is None and version in field.nullable else message or "")
    return found


@cache
def _holds_error(cls: type[Struct], version: int) -> bool:
    return any(
        field.name in CODES or (field.holds_structs and _holds_error(field.item.item, version))
        for field in cls.FIELDS
        if version in field.versions
    )


def _answered(request: Struct, field: Field, version: int) -> list[Any] | None:
    """The entries of the request that belong to a list of the response; None if there is no such list."""
    if field.answers is not None:
        return [entry for path in field.answers.split(", ") for entry in _at(request, path.split("."))]
    lists = [f for f in request.FIELDS if version in f.versions and f.kind == "array"]
    same_name = [f for f in lists if f.name == field.name]
    for candidates in (same_name, lists, [f for f in lists if f.holds_structs]):
        if len(candidates) == 1:
            return getattr(request, candidates[0].name) or []
    return None


def _at(item: Struct, path: list[str]) -> Iterator[Any]:
    """The entries of the lists at a path of names."""
    for entry in getattr(item, path[0]) or ():
        if path[1:]:
            yield from _at(entry, path[1:])
        else:
            yield entry


def _key_field(cls: type[Struct], version: int, value: Any) -> Field | None:
    kind = {str: "string", int: "int32"}.get(type(value), "uuid")
    fields = (field for field in cls.FIELDS if version in field.versions and field.kind == kind)
    return next((field for field in fields if field.name not in (*CODES, *_TEXTS)), None)
