"""The settings that a broker is started with: a file's, a command line's, and which directories they name."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_tools.errors import ConfigError
from kafka_tools.values import format_address


def resolved(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties, their variables replaced by the values of ``config.providers`` (KIP-297, KIP-421).

    Raises ConfigError for a provider that is not known and for a value that a provider cannot read.
    """
    if not properties.get("config.providers", "").strip():
        return dict(properties)
    from kafka_tools.net.config_providers import declared_providers, transform

    return {key: value or "" for key, value in transform(properties, declared_providers(properties)).values.items()}


def data_dirs_of(properties: Mapping[str, str]) -> list[str]:
    """The directories that server.properties names: log.dirs, else log.dir; empty if neither is there.

    Raises ConfigError for a property that is set and empty: an unset variable must not mean a temporary directory.
    """
    text = properties.get("log.dirs", properties.get("log.dir"))
    if text is None:
        return []
    found = [part.strip() for part in text.split(",")]
    if not all(found):
        raise ConfigError(f"log.dirs: '{text}' has an empty name of a directory")
    return found


def with_overrides(
    properties: Mapping[str, str], *, listen: str | None, data_dir: str | None, overrides: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """(properties, data directories) of a command line: ``--set`` beats ``--listen`` and ``--data-dir``, they
    beat the file. ``listen`` replaces both what is listened on and what is advertised."""
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
        raise ConfigError("log.dirs: a directory occurs twice")
    return merged, dirs
