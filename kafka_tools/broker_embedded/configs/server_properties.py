"""The start settings of a broker, from a file, a program or a command line, and their log directories."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kafka_tools.broker_embedded.configs.store import check_properties
from kafka_tools.config_definitions import broker, dynamic
from kafka_tools.config_definitions.broker_names import broker_row
from kafka_tools.errors import ConfigError
from kafka_tools.texts.near_names import did_you_mean
from kafka_tools.values import format_address

_OF_PLUGINS = {
    "allow.everyone.if.no.acl.found", "cluster.id", "config.providers", "delegation.token.master.key", "super.users",
}  # fmt: skip
"""Settings of this broker outside of ``KafkaConfig``: its authorizer's, and names of older releases."""


def given_config(config: Mapping[str, object], *, check_names: bool) -> dict[str, str]:
    """The ``config`` of a program in the form of server.properties.

    Raises ConfigError for an invalid value, and for a value that is not a string, number, boolean, path or list of
    them. With ``check_names``, raises it also for a name that Kafka's brokers do not have.
    """
    if not isinstance(config, Mapping):
        raise ConfigError(f"invalid config: expected a dict, not {type(config).__name__}")
    given: dict[str, str] = {}
    for name, value in config.items():
        if not isinstance(name, str):
            raise ConfigError(f"invalid config: expected names as str, not {type(name).__name__}")
        if check_names and not _is_known(name):
            raise ConfigError(
                f"config: unknown setting '{name}'",
                hint=did_you_mean([name], [*broker.TABLE, *_OF_PLUGINS], most=1)
                or "pass check_config=False to keep names that this version does not know, as Kafka does",
            )
        given[name] = _text(name, value)
    if "config.providers" not in given:  # otherwise values may be variables, which the start replaces
        check_properties(given)
    return given


def _is_known(name: str) -> bool:
    if broker_row(name) is not None or name in _OF_PLUGINS or name.startswith("config.providers."):
        return True
    if name.endswith(tuple(f".{each}" for each in dynamic.LISTENER_MECHANISM)):  # plain.sasl.jaas.config
        return True
    own = name.partition("oauthbearer.sasl.oauthbearer.")[2]
    return f"sasl.oauthbearer.{own}" in broker.TABLE


def _text(name: str, value: object) -> str:
    """A value in the form of server.properties. Raises ConfigError."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, list | tuple):
        return ",".join(_text(name, item) for item in value)
    kind = "None" if value is None else type(value).__name__
    raise ConfigError(f"invalid value of {name}: expected a string, number, boolean, path or list of them, not {kind}")


def resolved(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties, with variables replaced by values of ``config.providers`` (KIP-297, KIP-421).

    Raises ConfigError for an unknown provider, and for a value that a provider cannot read.
    """
    if not properties.get("config.providers", "").strip():
        return dict(properties)
    from kafka_tools.net.config_providers import declared_providers, transform

    return {key: value or "" for key, value in transform(properties, declared_providers(properties)).values.items()}


def data_dirs_of(properties: Mapping[str, str]) -> list[str]:
    """The log directories in server.properties: log.dirs, else log.dir; empty if neither is set.

    Raises ConfigError for a property that is set and empty: an unset variable must not mean a temporary directory.
    """
    text = properties.get("log.dirs", properties.get("log.dir"))
    if text is None:
        return []
    found = [part.strip() for part in text.split(",")]
    if not all(found):
        raise ConfigError(f"invalid log.dirs '{text}': expected no empty directory name")
    return found


def with_overrides(
    properties: Mapping[str, str], *, listen: str | None, data_dir: str | None, overrides: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """(properties, data directories) of a command line: ``--set`` overrides ``--listen`` and ``--data-dir``,
    which override the file. ``listen`` replaces the listeners and the advertised listeners."""
    merged = dict(properties)
    if listen is not None:
        from kafka_tools.values import parse_listener_address

        merged["listeners"] = f"PLAINTEXT://{format_address(*parse_listener_address(listen))}"
        for key in ("advertised.listeners", "listener.security.protocol.map", "controller.listener.names"):
            merged.pop(key, None)
    if data_dir is not None:
        merged["log.dirs"] = data_dir
    merged.update(overrides)
    dirs = data_dirs_of(merged)
    if len(set(dirs)) != len(dirs):
        raise ConfigError("log.dirs: duplicate directory")
    return merged, dirs
