"""Our definitions against the schemas that the generated classes of Kafka's releases declare.

``tests/corpus/wire-schemas`` holds those schemas, read by reflection from the classes of a few
releases; every struct, version, field, type, nullability and tag is compared.
"""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

import kafka_tools.protocol.stored as stored_package
from kafka_tools.protocol import headers, registry
from kafka_tools.protocol.codec_source import is_inline
from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.schema import Message, Stored, Struct

SCHEMAS = Path(__file__).parent.parent / "corpus" / "wire-schemas"
RELEASES = sorted(path.name.removeprefix("kafka-").removesuffix(".json.gz") for path in SCHEMAS.glob("*.gz"))
"""The releases whose schemas are there, oldest first."""

RENAMED_SINCE_3_9 = {
    "ListClientMetricsResourcesRequestData": "ListConfigResourcesRequestData",
    "ListClientMetricsResourcesResponseData": "ListConfigResourcesResponseData",
}
NEVER_RELEASED = {"ShareGroupPartitionMetadataKey", "ShareGroupPartitionMetadataValue"}
"""Early access in 3.9, gone before share groups were released."""


@cache
def schemas(release: str) -> dict[str, Any]:
    with gzip.open(SCHEMAS / f"kafka-{release}.json.gz", "rt", encoding="utf-8") as file:
        return json.load(file)


@cache
def stored_classes() -> dict[str, type[Message]]:
    found: dict[str, type[Message]] = {}
    for module in iter_modules(stored_package.__path__):
        for value in vars(import_module(f"{stored_package.__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Stored) and value is not Stored:
                found[value.__name__] = value
    return found


def class_of(name: str) -> type[Message]:
    name = RENAMED_SINCE_3_9.get(name, name)
    if name in ("RequestHeaderData", "ResponseHeaderData"):
        return getattr(headers, name.removesuffix("Data"))
    match = re.fullmatch(r"(.*?)(Request|Response)Data", name)
    if match:
        row = next(row for row in registry.rows() if row.name == match[1])
        api = registry.api(row.key)
        return api.request if match[2] == "Request" else api.response
    return stored_classes()[name]


def layout(cls: type[Struct], version: int, flexible: bool) -> list[dict[str, Any]]:
    """A struct's layout in the words of the schema files."""
    fields = [{"name": f.name, "type": type_of(f, version, flexible)} for f in cls.FIELDS if is_inline(f, version)]
    if flexible:
        tagged = {
            str(f.tag): {"name": f.name, "type": type_of(f, version, True)}
            for f in cls.FIELDS
            if version in f.versions and version in f.tagged
        }
        fields.append({"name": "_tagged_fields", "type": {"tagged": tagged}})
    return fields


def type_of(field: Field, version: int, flexible: bool) -> Any:
    nullable = version in field.nullable
    compact = field.is_compact(flexible)
    if field.kind == "array":
        items = type_of(field.item, version, flexible)
        return {"array": items, "kind": "compact" if compact else "plain", "nullable": nullable}
    if field.kind == "struct":
        struct = layout(field.item, version, flexible)
        return {"nullable_struct": struct} if nullable else struct
    name = field.kind.upper()
    if field.kind in ("string", "bytes", "records"):
        name = ("COMPACT_" if compact else "") + ("NULLABLE_" if nullable else "") + name
    return name


def normalised(schema: Any, see_nullable_structs: bool = True) -> Any:
    """A schema without what reflection could not see: nullability of records and of structs (in 3.9)."""
    if isinstance(schema, str):
        return re.sub(r"(NULLABLE_)?RECORDS\??$", "RECORDS", schema)
    if isinstance(schema, list):
        return [normalised(item, see_nullable_structs) for item in schema]
    if isinstance(schema, dict):
        if "nullable_struct" in schema and not see_nullable_structs:
            return normalised(schema["nullable_struct"], False)
        return {key: normalised(value, see_nullable_structs) for key, value in schema.items()}
    return schema


CASES = [(release, name) for release in RELEASES for name in schemas(release) if name not in NEVER_RELEASED]


@pytest.mark.parametrize(("release", "name"), CASES, ids=lambda value: value)
def test_every_field_type_and_version_is_that_of_kafkas_own_class(release: str, name: str) -> None:
    cls = class_of(name)
    is_typed_key = getattr(cls, "ID", None) is not None and name.endswith("Key")
    current = RENAMED_SINCE_3_9.get(name, name)
    newer = {
        version
        for later in RELEASES[RELEASES.index(release) + 1 :]
        for version in schemas(later).get(current, {"versions": {}})["versions"]
    }
    for text, schema in schemas(release)[name]["versions"].items():
        if text in newer or (newer and is_typed_key):
            continue  # the newer speaks for it: tags may be added to a version, and 3.9 counted a key's type as one
        version = int(text)
        assert cls.MIN_VERSION <= version <= cls.MAX_VERSION
        visible = release != "3.9.2"
        ours = normalised(layout(cls, version, version in cls.FLEXIBLE), visible)
        assert ours == normalised(schema, visible), f"{name} v{version}"


def test_no_definition_has_a_version_that_no_release_knows() -> None:
    known: dict[str, set[int]] = {}
    for release, name in CASES:
        versions = known.setdefault(RENAMED_SINCE_3_9.get(name, name), set())
        versions.update(int(text) for text in schemas(release)[name]["versions"])
    for row in registry.rows():
        api = registry.api(row.key)
        for cls in (api.request, api.response):
            ours = set(range(cls.MIN_VERSION, cls.MAX_VERSION + 1))
            assert ours == known[f"{cls.__name__}Data"], cls.__name__
    for name, cls in stored_classes().items():
        if cls.ID is None or not name.endswith("Key"):
            assert set(range(cls.MIN_VERSION, cls.MAX_VERSION + 1)) == known[name], name


def test_every_api_key_of_the_newest_release_is_defined() -> None:
    keys = {schema["api_key"] for name, schema in schemas(RELEASES[-1]).items() if name.endswith("RequestData")}
    assert keys <= {row.key for row in registry.rows()}
    assert [row.key for row in registry.rows()] == list(range(max(keys) + 1))


def test_the_index_says_what_the_definitions_say() -> None:
    for row in registry.rows():
        request = registry.api(row.key).request
        assert row.min_version == request.MIN_VERSION
        assert row.max_version == request.MAX_VERSION
        assert row.flexible_from == request.FLEXIBLE_FROM
        assert row.latest_unstable == request.LATEST_UNSTABLE
        assert request.API_KEY == registry.api(row.stem).response.API_KEY == row.key
