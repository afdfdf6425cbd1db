"""``${provider:[path:]key}`` in configuration values (KIP-297, KIP-421): files, the environment, directories.

Providers are declared as for Java clients: ``config.providers=file`` and
``config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider``. A variable without a value
stays as written, and a replacement is never expanded again. Source: ``ConfigTransformer``, ``FileConfigProvider``,
``EnvVarConfigProvider``, ``DirectoryConfigProvider``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kafka_tools.errors import ConfigError
from kafka_tools.given_files import read_given
from kafka_tools.texts.properties import parse_properties

VARIABLE = re.compile(r"\$\{(.*?):((.*?):)?(.*?)\}")
"""Kafka's own pattern: provider, optional path, key, all as short as possible."""

Provider = Callable[[str, "set[str]"], "ConfigData"]
"""get(path, keys): the values of those keys that exist under a path."""


class ConfigData(NamedTuple):
    """The values that a provider returns. ``ttl_ms``: how long they are valid; None: for ever."""

    values: Mapping[str, str]
    ttl_ms: int | None = None


class Transformed(NamedTuple):
    """Configuration after substitution, and the shortest time to live per path."""

    values: dict[str, str | None]
    ttls_ms: dict[str, int]


def transform(configs: Mapping[str, str | None], providers: Mapping[str, Provider]) -> Transformed:
    """Replace the variables in all values; each provider is asked once per path. ``configs`` stays as it is."""
    wanted: dict[tuple[str, str], set[str]] = {}
    for value in configs.values():
        for match in VARIABLE.finditer(value or ""):
            if match[1] in providers:
                wanted.setdefault((match[1], match[3] or ""), set()).add(match[4])
    answers: dict[tuple[str, str], Mapping[str, str]] = {}
    ttls_ms: dict[str, int] = {}
    for (name, path), keys in wanted.items():
        data = providers[name](path, keys)
        answers[name, path] = data.values
        if data.ttl_ms is not None and data.ttl_ms >= 0:
            ttls_ms[path] = data.ttl_ms

    def replacement(match: re.Match[str]) -> str:
        return answers.get((match[1], match[3] or ""), {}).get(match[4], match[0])

    values = {key: None if value is None else VARIABLE.sub(replacement, value) for key, value in configs.items()}
    return Transformed(values, ttls_ms)


def file_provider(parameters: Mapping[str, str]) -> Provider:
    """``${file:path:key}``: a key of a properties file in UTF-8. ``allowed.paths`` limits the files."""
    allowed = _allowed_paths(parameters)

    def get(path: str, keys: set[str]) -> ConfigData:
        if not path or not _is_allowed(path, allowed):
            return ConfigData({})
        found = parse_properties(_text_of(path, f"Could not read properties from file {path}"), path)
        return ConfigData({key: found[key] for key in keys if key in found})

    return get


def directory_provider(parameters: Mapping[str, str]) -> Provider:
    """``${directory:path:file}``: the whole content of a file in a directory, as Kubernetes mounts secrets."""
    allowed = _allowed_paths(parameters)

    def get(path: str, keys: set[str]) -> ConfigData:
        if not path or not _is_allowed(path, allowed) or not os.path.isdir(path):
            return ConfigData({})
        found: dict[str, str] = {}
        for key in keys:
            place = os.path.join(path, key)
            if os.path.dirname(os.path.normpath(place)) != os.path.normpath(path) or not os.path.isfile(place):
                continue  # only files of this directory itself
            found[key] = _text_of(place, f"Could not read file {place} for property {key}")
        return ConfigData(found)

    return get


def environment_provider(parameters: Mapping[str, str], environment: Mapping[str, str] | None = None) -> Provider:
    """``${env:NAME}``: an environment variable whose name matches ``allowlist.pattern`` (default: every name)."""
    pattern = parameters.get("allowlist.pattern")
    try:
        allowed = re.compile(pattern) if pattern else None
    except re.error as error:
        raise ConfigError(f"config.providers: invalid regular expression '{pattern}' in allowlist.pattern") from error
    variables = os.environ if environment is None else environment

    def get(path: str, keys: set[str]) -> ConfigData:
        if path:
            raise ConfigError("config provider for environment variables: a path is not supported, use ${env:NAME}")
        found = {key: variables[key] for key in keys if key in variables}
        return ConfigData({key: value for key, value in found.items() if not allowed or allowed.fullmatch(key)})

    return get


_CLASSES: dict[str, Callable[[Mapping[str, str]], Provider]] = {
    "org.apache.kafka.common.config.provider.FileConfigProvider": file_provider,
    "org.apache.kafka.common.config.provider.DirectoryConfigProvider": directory_provider,
    "org.apache.kafka.common.config.provider.EnvVarConfigProvider": environment_provider,
}


def declared_providers(configs: Mapping[str, str]) -> dict[str, Provider]:
    """The providers that ``config.providers`` and ``config.providers.<name>.*`` declare; ConfigError for a class
    that we do not have."""
    providers: dict[str, Provider] = {}
    for name in (part.strip() for part in configs.get("config.providers", "").split(",")):
        if not name:
            continue
        prefix = f"config.providers.{name}."
        class_name = configs.get(prefix + "class", "").strip()
        make = _CLASSES.get(class_name)
        if make is None:
            known = ", ".join(known_name.rsplit(".", 1)[1] for known_name in _CLASSES)
            raise ConfigError(
                f"config provider '{name}': unsupported {prefix}class {class_name or '(not set)'}: "
                f"expected one of {known}"
            )
        start = prefix + "param."
        providers[name] = make({key[len(start) :]: value for key, value in configs.items() if key.startswith(start)})
    return providers


def _text_of(path: str, failed: str) -> str:
    try:
        return read_given(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{failed}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from error


def _allowed_paths(parameters: Mapping[str, str]) -> list[str] | None:
    text = parameters.get("allowed.paths")
    if not text:
        return None
    paths = [part.strip() for part in text.split(",")]
    for path in paths:
        if not os.path.isabs(path) or not os.path.exists(path):
            raise ConfigError(f"config.providers: allowed path {path} is not absolute or does not exist")
    return [os.path.normpath(path) for path in paths]


def _is_allowed(path: str, allowed: list[str] | None) -> bool:
    if allowed is None:
        return True
    place = os.path.normpath(path)
    return any(place == root or place.startswith(root.rstrip(os.sep) + os.sep) for root in allowed)
