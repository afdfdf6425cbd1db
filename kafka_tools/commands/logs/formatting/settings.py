"""The settings of a server that formatting needs: its id, roles, log directories and controllers.

It reads server.properties like ``KafkaConfig``. It does not validate other settings: the broker does when it starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafka_tools.errors import ConfigError
from kafka_tools.texts.properties import read_properties

DEFAULT_LOG_DIRECTORY = "/tmp/kafka-logs"
_ROLES = ("broker", "controller")
_MOST_ID = 2**31 - 1


class ServerSettings(NamedTuple):
    """The settings of a server. ``roles`` is empty in a ZooKeeper cluster.

    ``log_dirs`` includes the metadata log's directory. It is sorted, without duplicates.
    """

    path: str
    roles: tuple[str, ...]
    node_id: int
    log_dirs: tuple[str, ...]
    metadata_log_dir: str
    controller_listener: str
    """The first name of controller.listener.names; empty without one."""
    controller_address: tuple[str, int] | None
    """The address of this controller for other controllers; None without such a listener."""
    static_voters: bool
    """Whether controller.quorum.voters is set."""
    unstable: bool
    """Whether unstable.feature.versions.enable is set."""


def read_settings(path: str) -> ServerSettings:
    """The settings in a server.properties. Raises ConfigError for an invalid file or value."""
    values = {name: value.strip() for name, value in read_properties(path, "configuration file").items()}
    roles = tuple(_listed(values.get("process.roles", "")))
    for role in roles:
        if role not in _ROLES:
            raise ConfigError(
                f"{path}: Unknown process role '{role}' (only 'broker' and 'controller' are allowed roles)"
            )
    if len(set(roles)) < len(roles):
        raise ConfigError(f"{path}: Duplicate role names found in `process.roles`: {', '.join(roles)}")
    directories = _listed(values.get("log.dirs") or values.get("log.dir") or DEFAULT_LOG_DIRECTORY)
    if not directories:
        raise ConfigError(f"{path}: at least one log directory must be defined via log.dirs or log.dir")
    metadata_directory = values.get("metadata.log.dir") or directories[0]
    if any("\0" in each for each in (*directories, metadata_directory)):
        raise ConfigError(f"{path}: the name of a log directory contains a NUL character")
    names = _listed(values.get("controller.listener.names", ""))
    return ServerSettings(
        path,
        roles,
        _node_id(values, path, required=bool(roles)),
        tuple(sorted({*directories, metadata_directory})),
        metadata_directory,
        names[0] if names else "",
        _controller_address(values, names, path),
        bool(_listed(values.get("controller.quorum.voters", ""))),
        values.get("unstable.feature.versions.enable", "").lower() == "true",
    )


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _node_id(values: Mapping[str, str], path: str, *, required: bool) -> int:
    text = values.get("node.id") or values.get("broker.id") or ""
    if not text and not required:
        return -1
    if not text:
        raise ConfigError(
            f"{path}: node.id is not set", hint="set it to 0 or more: every server of a KRaft cluster needs its own id"
        )
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) < 12 and int(text) <= _MOST_ID):
        raise ConfigError(f"{path}: invalid node.id '{text}': expected a number")
    if required and int(text) < 0:
        raise ConfigError(f"{path}: You must specify a valid non-negative node ID.")
    return int(text)


def _controller_address(values: Mapping[str, str], names: list[str], path: str) -> tuple[str, int] | None:
    """The address of the first controller listener that has one: the advertised address, or else its own."""
    from kafka_tools.values import parse_listener_address

    found: dict[str, tuple[str, int]] = {}
    for setting in ("listeners", "advertised.listeners"):
        for text in _listed(values.get(setting, "")):
            name, separator, address = text.partition("://")
            if not separator:
                raise ConfigError(f"{path}: invalid {setting} '{text}': expected NAME://HOST:PORT")
            host, port = parse_listener_address(address)
            found[name.upper()] = host or "localhost", port
    return next((found[name.upper()] for name in names if name.upper() in found), None)
