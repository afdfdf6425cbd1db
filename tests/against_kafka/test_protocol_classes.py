"""Our messages against Kafka's own generated classes, byte for byte, in both directions, for every API and version.

Kafka's classes speak for every version they have, 3.9.2's for those that 4.0 dropped (KIP-896). Random and
edge-case messages come from our definitions; the layouts themselves are compared in tests/protocol/test_definitions.py.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

import kafka_tools.protocol.stored as stored_package
from kafka_tools.errors import DecodeError, EncodeError
from kafka_tools.protocol import as_json, error_codes, headers, registry
from kafka_tools.protocol.codec import decode, encode
from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.primitives import MOST_ITEMS, MOST_TAGGED_FIELDS
from kafka_tools.protocol.schema import Message, Stored, Struct, nested_structs
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.kafka_classes import KafkaClasses, KafkaRefused
from tests.protocol import generate

pytestmark = pytest.mark.xdist_group("protocol classes")

RANDOM_MESSAGES = 12
RELEASES = (NEWEST, "3.9.2")
RENAMED_SINCE_3_9 = {
    "ListConfigResourcesRequestData": "ListClientMetricsResourcesRequestData",
    "ListConfigResourcesResponseData": "ListClientMetricsResourcesResponseData",
}

NEVER_RELEASED = {"ShareGroupPartitionMetadataKey", "ShareGroupPartitionMetadataValue"}
"""Early access in 3.9, gone before share groups were released."""

TAGGED_SINCE_3_9 = {("OffsetCommitValue", "topic_id")}
"""Fields that became known without a new version."""

Classes = Callable[[str], KafkaClasses]


@cache
def messages() -> dict[str, type[Message]]:
    """Every request, response, header and stored struct that we define."""
    found: list[type[Message]] = [headers.RequestHeader, headers.ResponseHeader]
    for row in registry.rows():
        found += registry.api(row.key)[3:]
    for module in iter_modules(stored_package.__path__):
        for value in vars(import_module(f"{stored_package.__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Stored) and value is not Stored and value not in found:
                found.append(value)
    return {cls.__name__: cls for cls in found}


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Classes]:
    """``classes(NEWEST)``: that release's classes."""
    running: dict[str, KafkaClasses] = {}
    with ExitStack() as stack:

        def get(release: str) -> KafkaClasses:
            if release not in running:
                folder = tmp_path_factory.mktemp(f"classes-{release}-")
                running[release] = stack.enter_context(KafkaClasses.start(release, folder))
            return running[release]

        yield get


class Speaker:
    """Kafka's class for one of ours in one release."""

    def __init__(self, classes: KafkaClasses, cls: type[Message]) -> None:
        candidates = [cls.__name__ + "Data", cls.__name__]
        if classes.release == "3.9.2":
            candidates = [RENAMED_SINCE_3_9.get(name, name) for name in candidates]
            # 3.9 takes a key's type for its version, and has no types of its own.
            candidates = [] if getattr(cls, "ID", None) is not None and cls.__name__.endswith("Key") else candidates
        self.name = next((name for name in candidates if name in classes.names), "")
        self.classes = classes
        self.versions = classes.versions(self.name) if self.name else range(0)
        self.has_json = classes.has_json(self.name)

    def rewrite(self, version: int, data: bytes, target: int | None = None) -> bytes:
        return self.classes.transcode(self.name, version, version if target is None else target, data)

    def as_json(self, version: int, data: bytes) -> Any:
        return self.classes.as_json(self.name, version, data)

    def from_json(self, version: int, document: Any) -> bytes:
        return self.classes.from_json(self.name, version, document)


def speakers(classes: Classes, cls: type[Message]) -> Iterator[tuple[Speaker, range]]:
    """Who speaks for which of our versions; every version has exactly one speaker."""
    newest = Speaker(classes(NEWEST), cls)
    missing = [v for v in range(cls.MIN_VERSION, cls.MAX_VERSION + 1) if v not in newest.versions]
    if newest.versions:
        yield newest, range(newest.versions.start, newest.versions.stop)
    if missing:
        older = Speaker(classes("3.9.2"), cls)
        unknown = [v for v in missing if v not in older.versions]
        assert not unknown, f"no class of Kafka's knows versions {unknown} of {cls.__name__}"
        yield older, range(missing[0], missing[-1] + 1)


def with_unknown_tags(message: Message, seed: str) -> Message:
    """The message with tags that no definition knows, below, between and above those it has."""
    rng = random.Random(seed)
    tags = {field.tag for field in message.FIELDS if field.tag is not None}
    free = [tag for tag in (*range(12), 127, 128, 1 << 20) if tag not in tags]
    message.unknown_tags = {tag: rng.randbytes(rng.choice((0, 1, 130))) for tag in rng.sample(free, 3)}
    return message


def samples(cls: type[Message], version: int) -> Iterator[Message]:
    yield from generate.edge_messages(cls, version)
    for seed in range(RANDOM_MESSAGES):
        message = generate.message(cls, version, seed)
        yield message
        if version in cls.FLEXIBLE and seed % 4 == 0:
            yield with_unknown_tags(copy.copy(message), f"{cls.__name__} {version} {seed}")


@pytest.mark.parametrize("name", messages())
def test_kafkas_class_reads_ours_and_writes_the_same_bytes(name: str, classes: Classes) -> None:
    cls = messages()[name]
    for speaker, versions in speakers(classes, cls):
        for version in versions:
            for message in samples(cls, version):
                ours = encode(message, version)
                theirs = speaker.rewrite(version, ours)
                assert theirs == ours, f"{name} v{version}: {message!r}"
                assert decode(cls, version, theirs) == message, f"{name} v{version}"


@pytest.mark.parametrize("name", messages())
def test_json_form_is_that_of_kafkas_converter(name: str, classes: Classes) -> None:
    cls = messages()[name]
    has_records = any(field.kind == "records" for struct in nested_structs(cls) for field in struct.FIELDS)
    for speaker, versions in speakers(classes, cls):
        if not speaker.has_json:
            continue
        for version in versions:
            for message in samples(cls, version):
                message.unknown_tags = None  # no JSON form has a place for them
                data = encode(message, version)
                ours = as_json.to_json(message, version, reveal=True, records=False)
                assert speaker.as_json(version, data) == ours, f"{name} v{version}: {message!r}"
                if not has_records:  # Kafka's converters read no record batches
                    document = as_json.to_json(message, version, reveal=True)
                    assert speaker.from_json(version, document) == data, f"{name} v{version}: {message!r}"


@pytest.mark.parametrize("name", messages())
def test_a_version_that_lacks_what_is_set_is_refused_or_ignores_it_as_kafka_does(name: str, classes: Classes) -> None:
    cls = messages()[name]
    for speaker in (Speaker(classes(release), cls) for release in RELEASES):
        versions = [version for version in speaker.versions if cls.MIN_VERSION <= version <= cls.MAX_VERSION]
        for version in versions:
            for path, message in one_field_set(cls, version):
                data = encode(message, version)
                for target in versions:
                    if target == version or room(path, version) == room(path, target):
                        continue
                    where = f"{name} v{version} written as v{target}, set: {'.'.join(f.name for f in path)}"
                    if speaker.classes.release == "3.9.2" and (name, path[-1].name) in TAGGED_SINCE_3_9:
                        continue
                    try:
                        expected = speaker.rewrite(version, data, target)
                    except KafkaRefused:
                        expected = None
                    try:
                        ours = encode(decode(cls, version, data), target)
                    except EncodeError:
                        ours = None
                    assert ours == expected, where


@pytest.mark.parametrize("name", messages())
def test_unknown_tags_are_refused_by_versions_without_tags_as_by_kafka(name: str, classes: Classes) -> None:
    cls = messages()[name]
    for speaker, versions in speakers(classes, cls):
        flexible = [version for version in versions if version in cls.FLEXIBLE]
        for target in set(versions) - set(flexible) if flexible else ():
            message = cls(unknown_tags={9999: b"tag"})
            with pytest.raises(KafkaRefused):
                speaker.rewrite(flexible[0], encode(message, flexible[0]), target)
            with pytest.raises(EncodeError, match="unknown_tags"):
                encode(message, target)


def room(path: tuple[Field, ...], version: int) -> tuple[bool, bool]:
    """Whether every field of the path exists in this version, and whether the last may be null."""
    return all(version in field.versions for field in path), version in path[-1].nullable


def one_field_set(cls: type[Struct], version: int) -> Iterator[tuple[tuple[Field, ...], Any]]:
    """For each field of this version, at any depth, a struct in which it alone differs from its default."""
    for field in cls.FIELDS:
        if version not in field.versions:
            continue
        holds = field.item.item if field.kind == "array" else field.item
        if holds is not None:
            for path, inner in one_field_set(holds, version):
                yield (field, *path), cls(**{field.name: [inner] if field.kind == "array" else inner})
        else:
            yield (field,), cls(**{field.name: other_than_default(field)})
        if version in field.nullable:
            yield (field,), cls(**{field.name: None})


def other_than_default(field: Field) -> Any:
    rng = random.Random(field.name)
    for _ in range(100):
        value = generate._value(field, -1, rng, 0)
        if value != field.make_default() and not (isinstance(value, float) and math.isnan(value)):
            return value
    raise AssertionError(f"no value of {field.name} differs from its default")


@pytest.mark.parametrize("release", RELEASES)
def test_header_versions_are_kafkas(release: str, classes: Classes) -> None:
    known = classes(release).headers()
    assert known
    for (key, version), (request, response) in known.items():
        api = registry.api(key)
        if api.request.MIN_VERSION <= version <= api.request.MAX_VERSION:
            assert headers.request_header_version(api.request, version) == request, f"{api.name} v{version}"
            assert headers.response_header_version(api.response, version) == response, f"{api.name} v{version}"
    if release == NEWEST:
        newest = {key: max(v for k, v in known if k == key) for key, _ in known}
        assert {row.key: row.max_version for row in registry.rows() if row.key in newest} == newest


@pytest.mark.parametrize("release", RELEASES)
def test_every_message_class_of_kafka_has_a_definition_here(release: str, classes: Classes) -> None:
    names = classes(release).names
    theirs = {name.removesuffix("JsonConverter") for name in names if name.endswith("JsonConverter")}
    ours = {candidate for name in messages() for candidate in (name, name + "Data")}
    ours |= {RENAMED_SINCE_3_9[name] for name in ours & set(RENAMED_SINCE_3_9)} | NEVER_RELEASED
    assert theirs
    assert sorted(theirs - ours) == []


def test_error_codes_are_those_of_kafka(classes: Classes) -> None:
    ours = {(row.code, row.name, row.retriable, row.refresh_metadata) for row in error_codes.all_codes()}
    assert ours == classes(NEWEST).errors()


def test_kafka_refuses_as_many_items_and_tagged_fields_as_are_refused_here(classes: Classes) -> None:
    kafka = classes(NEWEST)
    cls = DeleteGroupsRequest
    for most, more, bound in (
        (cls(groups_names=[""] * MOST_ITEMS), cls(groups_names=[""] * (MOST_ITEMS + 1)), MOST_ITEMS),
        (cls(unknown_tags=dict.fromkeys(range(MOST_TAGGED_FIELDS), b"")),
         cls(unknown_tags=dict.fromkeys(range(MOST_TAGGED_FIELDS + 1), b"")), MOST_TAGGED_FIELDS),
    ):  # fmt: skip
        assert kafka.transcode("DeleteGroupsRequestData", 2, 2, encode(most, 2)) == encode(most, 2)
        with pytest.raises(KafkaRefused, match=f"exceeds the maximum allowed (size|count) of {bound}"):
            kafka.transcode("DeleteGroupsRequestData", 2, 2, encode(more, 2))
        with pytest.raises(DecodeError, match=f"more than the maximum of {bound}"):
            decode(cls, 2, encode(more, 2))
