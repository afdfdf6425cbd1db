"""The image as a tree of nodes with Kafka's names and texts: directories with children, files with a line of text.

Children are made when they are asked for: listing a cluster of a hundred thousand partitions makes none of their texts.
Sources: ``org.apache.kafka.image.node`` and ``org.apache.kafka.shell.node`` of Kafka.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from kafka_tools import __version__
from kafka_tools.commands.logs.cluster_image.image import (
    ClusterImage,
    Provenance,
    QuotaEntity,
    TopicState,
    quota_entity,
)
from kafka_tools.commands.logs.cluster_image.plain_partitions import state_of
from kafka_tools.commands.logs.cluster_image.registrations import controller_text
from kafka_tools.errors import InputError
from kafka_tools.protocol.enums import AclOperation, AclPermission, AclResourceType, ConfigResourceType, PatternType
from kafka_tools.protocol.feature_levels import METADATA_VERSION, level_text
from kafka_tools.protocol.secrets import is_secret_config
from kafka_tools.protocol.stored.cluster_metadata import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
)
from kafka_tools.scram_math import BY_TYPE_ID, MECHANISMS
from kafka_tools.shown_text import MASK
from kafka_tools.values import parse_uuid, uuid_text

_Value = TypeVar("_Value")

FINALIZED_PREFIX = "finalized_"
_QUOTA_NAMES = {"client-id": "clientId", "ip": "ip", "user": "user"}
_QUOTA_SPECIAL = re.compile(r"[\\()]")
_QUOTA_NAME = re.compile(r"([a-zA-Z0-9-]+)\(((?:\\.|[^\\)])*)\)")
_JAVA_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")


class TreeFile:
    """A node with text; the text is made when it is read."""

    def __init__(self, text: Callable[[], str]) -> None:
        self.text = text


class TreeDirectory:
    """A node with children. ``names`` lists them, a name may come twice; ``child`` finds one, None for none."""

    def __init__(self, names: Callable[[], Iterable[str]], child: Callable[[str], Node | None]) -> None:
        self._names = names
        self.child = child

    def names(self) -> list[str]:
        """The children's names in Java's order of strings."""
        return sorted(self._names(), key=java_order)


Node = TreeFile | TreeDirectory


def java_order(text: str) -> bytes:
    """The key by which Java sorts strings: by UTF-16."""
    return text.encode("utf-16-be", "surrogatepass")


def root(image: ClusterImage) -> TreeDirectory:
    """The whole tree: ``image`` and ``local``."""
    return _directory(
        {
            "image": lambda: _image(image),
            "local": lambda: _texts({"version": __version__, "commitId": "unknown"}),
        }
    )


def _image(image: ClusterImage) -> TreeDirectory:
    return _directory(
        {
            "provenance": lambda: _file(_provenance(image.provenance)),
            "features": lambda: _features(image),
            "cluster": lambda: _cluster(image),
            "topics": lambda: _topics(image),
            "configs": lambda: _configs(image),
            "clientQuotas": lambda: _quotas(image),
            "producerIds": lambda: _texts({"nextProducerId": str(image.next_producer_id)}),
            "acls": lambda: _directory({"byId": lambda: _by_id(image.acls, lambda acl: _file(_acl(acl)))}),
            "scram": lambda: _scram(image),
            "delegationToken": lambda: _children(image.tokens, lambda token: _file(_token(token))),
        }
    )


def _file(text: str) -> TreeFile:
    return TreeFile(lambda: text)


def _directory(children: Mapping[str, Callable[[], Node]]) -> TreeDirectory:
    def child(name: str) -> Node | None:
        made = children.get(name)
        return None if made is None else made()

    return TreeDirectory(lambda: children, child)


def _texts(texts: Mapping[str, str]) -> TreeDirectory:
    return TreeDirectory(lambda: texts, lambda name: _file(texts[name]) if name in texts else None)


def _children(values: Mapping[str, _Value], node: Callable[[_Value], Node]) -> TreeDirectory:
    return TreeDirectory(lambda: values, lambda name: node(values[name]) if name in values else None)


def _by_number(
    values: Mapping[int, _Value], node: Callable[[_Value], Node], more: Mapping[str, str] | None = None
) -> TreeDirectory:
    """Children that are called after a number, which Java reads with a sign and zeros too; ``more`` stands beside."""
    more = more or {}

    def child(name: str) -> Node | None:
        if name in more:
            return _file(more[name])
        value = values.get(int(name)) if _JAVA_NUMBER.fullmatch(name) else None
        return None if value is None else node(value)

    return TreeDirectory(lambda: [*more, *map(str, values)], child)


def _by_id(values: Mapping[uuid.UUID, _Value], node: Callable[[_Value], Node]) -> TreeDirectory:
    def child(name: str) -> Node | None:
        try:
            value = values.get(parse_uuid(name.rstrip("=")))
        except InputError:
            return None
        return None if value is None else node(value)

    return TreeDirectory(lambda: [uuid_text(id) for id in values], child)


def _provenance(provenance: Provenance) -> str:
    return f"offset {provenance.offset}, epoch {provenance.epoch}, time {zoned_time(provenance.time_ms)}"


def zoned_time(moment_ms: int) -> str:
    """``ISO_ZONED_DATE_TIME`` in UTC: ``2026-01-31T12:00:00.5Z[UTC]``, without zeros at the end of the fraction.

    Counts days by itself: Java's years go beyond 9999 and below 1.
    """
    days, of_day_ms = divmod(moment_ms, 86_400_000)
    # Days since 1 March of the year 0, in cycles of 400 years: the leap day is the last of a year then.
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    month = (shifted_month + 2) % 12 + 1
    year = year_of_era + era * 400 + (month <= 2)
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    seconds, fraction = divmod(of_day_ms, 1000)
    shown = f".{fraction:03d}".rstrip("0") if fraction else ""
    return (
        f"{sign}{abs(year):04d}-{month:02d}-{day_of_year - (153 * shifted_month + 2) // 5 + 1:02d}"
        f"T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{shown}Z[UTC]"
    )


def _features(image: ClusterImage) -> TreeDirectory:
    def child(name: str) -> Node | None:
        if name == "metadataVersion":
            level = image.metadata_version
            return _file("Optional.empty" if level is None else f"Optional[{level_text(METADATA_VERSION, level)}]")
        if name.startswith(FINALIZED_PREFIX):
            return _file(str(image.features.get(name.removeprefix(FINALIZED_PREFIX), 0)))
        return None

    return TreeDirectory(lambda: ["metadataVersion", *(f"{FINALIZED_PREFIX}{name}" for name in image.features)], child)


def _cluster(image: ClusterImage) -> TreeDirectory:
    return _directory(
        {
            "brokers": lambda: _by_number(image.brokers, lambda broker: TreeFile(broker.__str__)),
            "controllers": lambda: _by_number(image.controllers, lambda record: _file(controller_text(record))),
        }
    )


def _topics(image: ClusterImage) -> TreeDirectory:
    return _directory(
        {
            "byName": lambda: _children(image.topics_by_name, _topic),
            "byId": lambda: _by_id(image.topics, _topic),
        }
    )


def _topic(topic: TopicState) -> TreeDirectory:
    texts = {"name": topic.name, "id": uuid_text(topic.id)}
    return _by_number(topic.partitions, lambda partition: TreeFile(lambda: str(state_of(partition))), texts)


def _configs(image: ClusterImage) -> TreeDirectory:
    def names() -> Iterable[str]:
        for number, name in image.configs:
            word = ConfigResourceType.word(number)
            yield f"{word}:{name}" if name else word

    def child(name: str) -> Node | None:
        word, _, rest = name.partition(":")
        number = ConfigResourceType.number(word)
        # An empty name is that of the default, with and without the colon.
        configs = image.configs.get((number, rest)) if number is not None else None
        if number is None or configs is None:
            return None
        return _texts({key: MASK if is_secret_config(key, number) else value for key, value in configs.items()})

    return TreeDirectory(names, child)


def _quotas(image: ClusterImage) -> TreeDirectory:
    def child(name: str) -> Node | None:
        entity = _quota_entity(name)
        quotas = image.quotas.get(entity) if entity is not None else None
        from kafka_tools.dump.java_json import java_double  # with Python's own JSON, which few need

        return None if quotas is None else _children(quotas, lambda value: _file(java_double(value)))

    return TreeDirectory(lambda: [_quota_name(entity) for entity in image.quotas], child)


def _quota_name(entity: QuotaEntity) -> str:
    """Kafka's name of the node: parts that are a default are left out, so that such nodes cannot be reached."""
    return "_".join(
        f"{_QUOTA_NAMES.get(kind, kind)}({_QUOTA_SPECIAL.sub(_escaped, name)})"
        for kind, name in entity
        if name is not None
    )


def _escaped(found: re.Match[str]) -> str:
    return "\\" + found[0]


def _quota_entity(name: str) -> QuotaEntity | None:
    """The entity that a name means; None for a text that is not one."""
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


def _acl(record: AccessControlEntryRecord) -> str:
    return (
        f"StandardAcl[resourceType={AclResourceType.word(record.resource_type)}, resourceName={record.resource_name}, "
        f"patternType={PatternType.word(record.pattern_type)}, principal={record.principal}, host={record.host}, "
        f"operation={AclOperation.word(record.operation)}, permissionType={AclPermission.word(record.permission_type)}]"
    )


def _scram(image: ClusterImage) -> TreeDirectory:
    def mechanism(number: int) -> Callable[[], Node]:
        return lambda: _children(image.scram.get(number, {}), lambda record: _file(_credential(record)))

    later = {f"UNKNOWN({number})": mechanism(number) for number in sorted(image.scram.keys() - BY_TYPE_ID.keys())}
    return _directory({each.name: mechanism(each.type_id) for each in MECHANISMS.values()} | later)


def _credential(record: UserScramCredentialRecord) -> str:
    return f"ScramCredentialData(salt={MASK}, storedKey={MASK}, serverKey={MASK}, iterations={record.iterations})"


def _token(record: DelegationTokenRecord) -> str:
    return (
        f"DelegationTokenDatatokenId={record.token_id}(owner={record.owner}(tokenRequester={record.requester}"
        f"(renewers={' '.join(record.renewers)}, issueTimestamp={record.issue_timestamp}, "
        f"maxTimestamp={record.max_timestamp}), expiryTimestamp={record.expiration_timestamp}"
    )
