"""The nodes of dynamic configs in ZooKeeper: their names and their JSON. This module does not connect.

Sources: ``ZkData.scala`` (``ConfigEntityZNode``, ``ConfigEntityChangeNotificationZNode``), ``AdminZkClient`` and
``Sanitizer`` of Kafka 0.10.1 to 3.9.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote_plus

from kafka_tools.errors import StoreError

CONFIG_ROOT = "/config"
CHANGES = "/config/changes"
CHANGE_PREFIX = "/config/changes/config_change_"
BROKERS = "/brokers"
BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
DEFAULT_NODE = "<default>"
"""The node of a type's default entity. No name becomes this, because '<' is always written as %3C."""

SANITIZED = ("clients", "users")
"""Types whose names may contain any character. Node names contain them percent-encoded."""
SENSITIVE = ("users", "brokers")
"""Types whose nodes contain secrets. With node ACLs only their writer can read them (``ZkData.SensitiveRootPaths``)."""

_MOST_BYTES = 1 << 20  # ZooKeeper's own limit of a node (jute.maxbuffer)


Entity = tuple[tuple[str, str | None], ...]
"""(kind, name) pairs: one pair, or a user and then a client. The name None is the kind's default entity."""


def sanitize(name: str) -> str:
    """A name in the form of node names: percent-encoded like Java's URLEncoder, but including blanks and stars."""
    return quote(name, safe="").replace("~", "%7E")


def desanitize(text: str) -> str:
    """The name from the form of node names."""
    return unquote_plus(text)


def entity_path(entity: Entity) -> str:
    """The node's path below /config/, as notifications name it: ``users/alice/clients/app%201``."""
    return "/".join(f"{kind}/{_node_name(kind, name)}" for kind, name in entity)


def name_of_node(kind: str, node: str) -> str | None:
    """The entity's name for a node's name; None for the default entity."""
    if node == DEFAULT_NODE:
        return None
    return desanitize(node) if kind in SANITIZED else node


def _node_name(kind: str, name: str | None) -> str:
    if name is None:
        return DEFAULT_NODE
    return sanitize(name) if kind in SANITIZED else name


def encode_configs(configs: Mapping[str, str]) -> bytes:
    """The JSON of an entity's node."""
    return _compact({"version": 1, "config": dict(configs)})


def decode_configs(data: bytes | None, path: str) -> dict[str, str]:
    """The configs in a node; empty for an empty node, as in Kafka. Raises StoreError for invalid data."""
    if not data:
        return {}
    try:
        if len(data) > _MOST_BYTES:
            raise ValueError(f"{len(data)} bytes")
        document = json.loads(data)
        configs = document["config"]
        if document["version"] != 1 or not all(isinstance(value, str) for value in configs.values()):
            raise ValueError("not version 1")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # The node may contain credentials: no message contains any of its data.
        raise StoreError(
            f'invalid ZooKeeper node {path}: expected {{"version": 1, "config": {{...}}}} with string values',
            hint="check whether it was written by hand",
        ) from None
    return dict(configs)


class BrokerEndpoint(NamedTuple):
    """An address at which a broker listens, with the protocol of that listener ("PLAINTEXT", "SASL_SSL")."""

    protocol: str
    host: str
    port: int


class Registration(NamedTuple):
    """The registration of a running broker.

    ``version`` is the version of the format. It is 5 from 2.7 on (KIP-584), if ``inter.broker.protocol.version`` is 2.7
    or later, and 4 before that. 0 means a format that cannot be read.
    """

    broker: str
    version: int = 0
    endpoints: tuple[BrokerEndpoint, ...] = ()


def decode_registration(broker: str, data: bytes) -> Registration:
    """The registration in ``/brokers/ids/<broker>``; an empty one if the data cannot be read."""
    try:
        if len(data) > _MOST_BYTES:
            raise ValueError(f"{len(data)} bytes")
        document = json.loads(data)
        protocols = document.get("listener_security_protocol_map") or {}
        endpoints = []
        for text in document.get("endpoints") or []:
            listener, _, address = text.partition("://")
            host, _, port = address.rpartition(":")
            endpoints.append(BrokerEndpoint(str(protocols.get(listener, listener)), host.strip("[]"), int(port)))
        return Registration(broker, int(document["version"]), tuple(endpoints))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Registration(broker)


def encode_change(path: str) -> bytes:
    """The notification that makes brokers read an entity's node again."""
    return _compact({"version": 2, "entity_path": path})


def _compact(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
