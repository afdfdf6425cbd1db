"""Client settings in the forms in which programs give them: addresses, a mapping of Kafka's names, keywords.

``AdminClient("localhost:9092")``, ``AdminClient({"bootstrap.servers": "localhost:9092"})`` and
``AdminClient(bootstrap_servers="localhost:9092")`` mean the same; all become one ``ClientConfig``. No message here
repeats a value, which may be a password.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from kafka_tools.config_definitions import client as client_settings
from kafka_tools.errors import ConfigError
from kafka_tools.net.config import ClientConfig
from kafka_tools.texts.near_names import did_you_mean

Given = ClientConfig | Mapping[str, Any] | str | None
"""The forms in which a client's settings may be given, beside keywords."""
_FORMS = (
    '"HOST:PORT,...", a dict of Kafka\'s client settings ({"bootstrap.servers": "HOST:PORT"}), a ClientConfig, '
    'or keywords (bootstrap_servers="HOST:PORT")'
)


def client_config(given: Given, keywords: Mapping[str, Any], client: str) -> ClientConfig:
    """The settings of ``given`` and ``keywords``; keywords override. ``client`` is the class's name, for messages.

    Keywords are Kafka's names with ``_`` for ``.``: ``security_protocol``. Values are texts, numbers, booleans, paths
    or lists of texts. Raises TypeError for an argument of another type and for a keyword that is not a setting,
    ConfigError for a setting that Kafka's clients do not have, that cannot be used, or when no address is given.
    """
    values: dict[str, str] = {}
    source = f"settings of {client}"
    if isinstance(given, ClientConfig):
        source = given.source
    elif isinstance(given, str):
        values["bootstrap.servers"] = given
    elif isinstance(given, Mapping):
        values = _of_mapping(given, client)
    elif given is not None:
        raise TypeError(f"{client} takes {_FORMS}, not {_a(given)}")
    for name, value in keywords.items():
        key = name.replace("_", ".")
        if not client_settings.is_known(key):
            raise TypeError(f"{client} has no argument '{name}'{_near(name, '_')}")
        values[key] = _text(key, value)
    if isinstance(given, ClientConfig):
        config = ClientConfig.of(values, source, given.values) if values else given
    else:
        config = ClientConfig.of(values, source)
    if not config.bootstrap:
        raise ConfigError(f"{source}: bootstrap.servers is not set; {client} takes {_FORMS}")
    return config


def _of_mapping(given: Mapping[Any, Any], client: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for key, value in given.items():
        if not isinstance(key, str):
            raise TypeError(f"{client}: invalid setting name: expected a str, not {_a(key)}")
        if not client_settings.is_known(key):
            raise ConfigError(f"settings of {client}: Kafka's clients have no setting '{key}'{_near(key, '.')}")
        values[key] = _text(key, value)
    return values


def _text(key: str, value: Any) -> str:
    """A value as a properties file contains it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    raise TypeError(f"invalid {key}: expected a str, a number, a bool, a path or a list of str, not {_a(value)}")


def _a(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _near(name: str, separator: str) -> str:
    known = (each.replace(".", separator) for each in client_settings.KNOWN)
    meant = did_you_mean([name], known, most=1)
    return f": {meant}" if meant else ""
