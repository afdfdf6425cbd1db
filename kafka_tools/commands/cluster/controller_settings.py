"""A controller's own settings, for ``kafka-metadata-quorum add-controller``: its id, directory and listeners.

MetadataQuorumCommand also reads them from the controller's server.properties and the meta.properties beside its log.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_tools.errors import ConfigError, InputError
from kafka_tools.values import number_below

if TYPE_CHECKING:
    from kafka_tools.admin.calls.quorum import QuorumEndpoint

_HINT = "is this the configuration file of a controller?"


def controller_of(path: str) -> tuple[int, uuid.UUID, list[QuorumEndpoint]]:
    """(node id, directory id, endpoints) of the controller with this server.properties. Raises ConfigError."""
    from kafka_tools.texts.properties import read_properties

    values = read_properties(path, "controller's configuration file")
    node_id = _node_id(values, path)
    return node_id, _directory_id(_metadata_dir(values, path)), _endpoints(values, path)


def _node_id(values: Mapping[str, str], path: str) -> int:
    text = values.get("node.id", "").strip()
    node_id = number_below(2**31, text)
    if node_id is None:
        raise ConfigError(f"invalid node.id '{text}' in {path}: expected a number from 0 to {2**31 - 1}", hint=_HINT)
    if "controller" not in values.get("process.roles", ""):
        raise ConfigError(f"invalid {path}: process.roles does not contain controller", hint=_HINT)
    return node_id


def _metadata_dir(values: Mapping[str, str], path: str) -> str:
    for name in ("metadata.log.dir", "log.dirs", "log.dir"):
        if values.get(name):
            return values[name].split(",")[0].strip()
    raise ConfigError(f"{path}: neither metadata.log.dir nor log.dirs is set", hint=_HINT)


def _directory_id(directory: str) -> uuid.UUID:
    from kafka_tools.texts.properties import read_properties
    from kafka_tools.values import parse_uuid

    path = os.path.join(directory, "meta.properties")
    text = read_properties(path, "meta.properties").get("directory.id")
    if not text:
        raise ConfigError(
            f"invalid {path}: directory.id is missing",
            hint="only directories formatted by Kafka 3.7 or later have a directory id",
        )
    try:
        return parse_uuid(text)
    except InputError as error:
        raise ConfigError(f"{path}: directory.id: {error}") from error


def _endpoints(values: Mapping[str, str], path: str) -> list[QuorumEndpoint]:
    from kafka_tools.admin.calls.quorum import QuorumEndpoint
    from kafka_tools.values import parse_listener_address

    listeners: dict[str, tuple[str, int]] = {}
    for name in ("listeners", "advertised.listeners"):
        for text in (part.strip() for part in values.get(name, "").split(",")):
            if text:
                listener, _, address = text.partition("://")
                try:
                    host, port = parse_listener_address(address)
                except InputError as error:
                    raise ConfigError(f"{path}: {name}: {error}") from error
                listeners[listener.upper()] = host or "localhost", port
    names = [name.strip().upper() for name in values.get("controller.listener.names", "").split(",") if name.strip()]
    if not names:
        raise ConfigError(f"{path}: controller.listener.names is not set", hint=_HINT)
    missing = [name for name in names if name not in listeners]
    if missing:
        raise ConfigError(f"{path}: no listener has the name {missing[0]} of controller.listener.names")
    return [QuorumEndpoint(name, *listeners[name]) for name in names]
