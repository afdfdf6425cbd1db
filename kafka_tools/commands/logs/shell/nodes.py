"""The image as a tree of nodes with Kafka's names and texts: directories with children, files with a line of text.

Children are created on demand: a listing of a hundred thousand partitions creates none of their texts.
Sources: ``org.apache.kafka.image.node`` and ``org.apache.kafka.shell.node`` of Kafka.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from kafka_tools import __version__
from kafka_tools.cluster_image.image import ClusterImage, QuotaEntity, quota_entity
from kafka_tools.cluster_image.topics import Topic
from kafka_tools.commands.logs.shell.texts import (
    acl_text,
    broker_text,
    controller_text,
    credential_text,
    partition_text,
    provenance_text,
    token_text,
)
from kafka_tools.errors import InputError
from kafka_tools.protocol.enums import ConfigResourceType
from kafka_tools.protocol.feature_levels import KRAFT_VERSION, METADATA_VERSION, is_newer, level_text
from kafka_tools.protocol.secrets import is_secret_config
from kafka_tools.scram_math import MECHANISMS
from kafka_tools.shown_text import MASK
from kafka_tools.texts.java_numbers import java_double
from kafka_tools.values import parse_uuid, uuid_text

_Value = TypeVar("_Value")

FINALIZED_PREFIX = "finalized_"
_APART = (METADATA_VERSION, KRAFT_VERSION)
"""Features that are not among the finalized ones of the tree."""
_QUOTA_NAMES = {"client-id": "clientId", "ip": "ip", "user": "user"}
_QUOTA_SPECIAL = re.compile(r"[\\()]")
_QUOTA_NAME = re.compile(r"([a-zA-Z0-9-]+)\(((?:\\.|[^\\)])*)\)")
_JAVA_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")


class TreeFile:
    """A node with text, which is created when it is read."""

    def __init__(self, text: Callable[[], str]) -> None:
        self.text = text


class TreeDirectory:
    """A node with children. ``names`` lists them, with possible duplicates. ``child`` finds one, or None."""

    def __init__(self, names: Callable[[], Iterable[str]], child: Callable[[str], Node | None]) -> None:
        self._names = names
        self.child = child

    def names(self) -> list[str]:
        """The children's names in Java's order of strings."""
        return sorted(self._names(), key=java_order)


Node = TreeFile | TreeDirectory


def java_order(text: str) -> bytes:
    """Java's sort key of strings: UTF-16."""
    return text.encode("utf-16-be", "surrogatepass")


def root(image: ClusterImage) -> TreeDirectory:
    """The whole tree: ``image`` and ``local``."""
    return _directory({"image": _image(image), "local": _texts({"version": __version__, "commitId": "unknown"})})


def _image(image: ClusterImage) -> TreeDirectory:
    next_producer_id = -1 if image.producer_ids is None else image.producer_ids.next_producer_id
    topics = image.topics
    return _directory(
        {
            "provenance": _file(provenance_text(image.provenance)),
            "features": _features(image),
            "cluster": _directory(
                {
                    "brokers": _by_number(image.brokers, broker_text),
                    "controllers": _by_number(image.controllers, controller_text),
                }
            ),
            "topics": _directory({"byName": _children(topics.by_name, _topic), "byId": _by_id(topics.by_id, _topic)}),
            "configs": _configs(image),
            "clientQuotas": _quotas(image),
            "producerIds": _texts({"nextProducerId": str(next_producer_id)}),
            "acls": _directory({"byId": _by_id(image.acls, lambda acl: _file(acl_text(acl)))}),
            "scram": _scram(image),
            "delegationToken": _children(image.tokens, lambda token: _file(token_text(token))),
        }
    )


def _file(text: str) -> TreeFile:
    return TreeFile(lambda: text)


def _directory(children: Mapping[str, Node]) -> TreeDirectory:
    return TreeDirectory(lambda: children, children.get)


def _texts(texts: Mapping[str, str]) -> TreeDirectory:
    return _directory({name: _file(text) for name, text in texts.items()})


def _children(values: Mapping[str, _Value], node: Callable[[_Value], Node]) -> TreeDirectory:
    return TreeDirectory(lambda: values, lambda name: node(values[name]) if name in values else None)


def _by_number(
    values: Mapping[int, _Value], text: Callable[[_Value], str], more: Mapping[str, str] | None = None
) -> TreeDirectory:
    """Files whose names are numbers, which Java also reads with a sign and zeros. ``more``: additional children."""
    more = more or {}

    def child(name: str) -> Node | None:
        if name in more:
            return _file(more[name])
        number = int(name) if _JAVA_NUMBER.fullmatch(name) else None
        return TreeFile(lambda: text(values[number])) if number is not None and number in values else None

    return TreeDirectory(lambda: [*more, *map(str, values)], child)


def _by_id(values: Mapping[uuid.UUID, _Value], node: Callable[[_Value], Node]) -> TreeDirectory:
    def child(name: str) -> Node | None:
        try:
            value = values.get(parse_uuid(name.rstrip("=")))
        except InputError:
            return None
        return None if value is None else node(value)

    return TreeDirectory(lambda: [uuid_text(id) for id in values], child)


def _features(image: ClusterImage) -> TreeDirectory:
    finalized = {name: level for name, level in image.features.items() if name not in _APART}

    def child(name: str) -> Node | None:
        if name == "metadataVersion":
            level = image.features.get(METADATA_VERSION)
            return _file("Optional.empty" if level is None else f"Optional[{level_text(METADATA_VERSION, level)}]")
        if name.startswith(FINALIZED_PREFIX):
            return _file(str(finalized.get(name.removeprefix(FINALIZED_PREFIX), 0)))
        return None

    return TreeDirectory(lambda: ["metadataVersion", *(f"{FINALIZED_PREFIX}{name}" for name in finalized)], child)


def _topic(topic: Topic) -> TreeDirectory:
    return _by_number(topic.partitions, partition_text, {"name": topic.name, "id": uuid_text(topic.id)})


def _configs(image: ClusterImage) -> TreeDirectory:
    def names() -> Iterable[str]:
        for number, name in image.configs:
            if _known_configs(image, number, name):
                word = ConfigResourceType.word(number)
                yield f"{word}:{name}" if name else word

    def child(name: str) -> Node | None:
        word, _, rest = name.partition(":")
        number = ConfigResourceType.number(word)
        # An empty name means the default, with and without the colon.
        configs = _known_configs(image, number, rest) if number is not None else {}
        if number is None or not configs:
            return None
        return _texts({key: MASK if is_secret_config(key, number) else value for key, value in configs.items()})

    return TreeDirectory(names, child)


def _known_configs(image: ClusterImage, number: int, name: str) -> Mapping[str, str]:
    """The configs of a resource without those that only an older release had, as in Kafka's brokers.

    A cluster at a level newer than this tool may have configs that are unknown here, so all are shown.
    """
    configs = image.configs.get((number, name), {})
    level = image.features.get(METADATA_VERSION)
    if number == ConfigResourceType.BROKER or (level is not None and is_newer(METADATA_VERSION, level)):
        return configs
    from kafka_tools.config_definitions import client_metrics, group, topic

    tables = {
        ConfigResourceType.TOPIC: topic.TABLE,
        ConfigResourceType.CLIENT_METRICS: client_metrics.TABLE,
        ConfigResourceType.GROUP: group.TABLE,
    }
    return {key: value for key, value in configs.items() if key in tables.get(number, {})}


def _quotas(image: ClusterImage) -> TreeDirectory:
    def child(name: str) -> Node | None:
        entity = _quota_entity(name)
        quotas = image.quotas.get(entity) if entity is not None else None
        return None if quotas is None else _children(quotas, lambda value: _file(java_double(value)))

    return TreeDirectory(lambda: [_quota_name(entity) for entity in image.quotas], child)


def _quota_name(entity: QuotaEntity) -> str:
    """Kafka's name of the node. Default parts are left out, so such nodes cannot be reached."""
    return "_".join(
        f"{_QUOTA_NAMES.get(kind, kind)}({_QUOTA_SPECIAL.sub(_escaped, name)})"
        for kind, name in entity
        if name is not None
    )


def _escaped(found: re.Match[str]) -> str:
    return "\\" + found[0]


def _quota_entity(name: str) -> QuotaEntity | None:
    """The entity of a name; None for an invalid text."""
    parts: dict[str, str | None] = {}
    position = 0
    while True:
        found = _QUOTA_NAME.match(name, position)
        if found is None:
            return None
        kind = next((kind for kind, shown in _QUOTA_NAMES.items() if shown == found[1]), found[1])
        if found[1] != _QUOTA_NAMES.get(kind, kind):
            return None
        parts[kind] = re.sub(r"\\(.)", r"\1", found[2], flags=re.DOTALL)
        position = found.end()
        if position == len(name):
            return quota_entity(parts)
        if name[position] != "_":
            return None
        position += 1


def _scram(image: ClusterImage) -> TreeDirectory:
    names = {each.type_id: each.name for each in MECHANISMS.values()}
    names |= {number: f"UNKNOWN({number})" for number in sorted(image.scram.keys() - names.keys())}
    return _directory(
        {
            name: _children(image.scram.get(number, {}), lambda record: _file(credential_text(record)))
            for number, name in names.items()
        }
    )
