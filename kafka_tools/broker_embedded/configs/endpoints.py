"""Listeners and advertised addresses: ``listeners`` and related settings.

Rules of Kafka's ``SocketServerConfigs.listenerListToEndPoints`` and ``KafkaConfig``: a listener is
``NAME://host:port``, its security protocol is its name unless ``listener.security.protocol.map``
maps it. Listeners of controllers are ignored: this broker is its own controller.
"""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Mapping
from typing import NamedTuple

from kafka_tools.errors import ConfigError, InputError
from kafka_tools.values import format_address, parse_listener_address

log = logging.getLogger(__name__)

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
DEFAULT_LISTENERS = "PLAINTEXT://localhost:9092"


class Endpoint(NamedTuple):
    """One listener. An empty host means every address. An advertised host or port of None means the real one."""

    name: str
    protocol: str
    host: str
    port: int
    advertised_host: str | None = None
    advertised_port: int | None = None

    @property
    def has_tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def has_sasl(self) -> bool:
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    def __str__(self) -> str:
        return f"{self.name}://{format_address(self.host, self.port)}"


def listen_failure(endpoint: Endpoint, error: OSError | UnicodeError) -> ConfigError:
    """The error for a listener that cannot be opened: it names the invalid host, address or port."""
    hint = "pass an address of this machine with --listen (listeners), or --listen :PORT for all addresses"
    number = getattr(error, "errno", None)
    if isinstance(error, socket.gaierror | UnicodeError):
        why = getattr(error, "strerror", None) or str(error)
        return ConfigError(f"cannot listen on {endpoint}: cannot resolve host '{endpoint.host}': {why}", hint=hint)
    # Since Python 3.13, asyncio skips unavailable addresses, and raises an error without errno if none is left.
    if number in (errno.EADDRNOTAVAIL, None):
        return ConfigError(
            f"cannot listen on {endpoint}: '{endpoint.host}' is not an address of this machine", hint=hint
        )
    if number == errno.EADDRINUSE:
        hint = "stop the process that uses the port, or pass another port; port 0 picks a free one"
        return ConfigError(f"cannot listen on {endpoint}: port {endpoint.port} is in use", hint=hint)
    if number in (errno.EACCES, errno.EPERM):
        hint = "use port 1024 or higher; port 0 picks a free one"
        return ConfigError(f"cannot listen on {endpoint}: no permission for port {endpoint.port}", hint=hint)
    return ConfigError(f"cannot listen on {endpoint}: {getattr(error, 'strerror', None) or error}")


def endpoints_of(properties: Mapping[str, str]) -> list[Endpoint]:
    """The listeners of a server.properties, in its order. Raises ConfigError."""
    text = properties.get("listeners") or DEFAULT_LISTENERS
    protocols = _protocol_map(properties.get("listener.security.protocol.map", ""))
    controllers = {name.strip().upper() for name in properties.get("controller.listener.names", "").split(",")}
    advertised = {name: (host, port) for name, host, port in _parse(properties.get("advertised.listeners") or "")}
    found: list[Endpoint] = []
    for name, host, port in _parse(text):
        if name in controllers:
            log.info("listener %s is for controllers: not opening it, because this broker is its own controller", name)
            continue
        if any(other.name == name for other in found):
            raise ConfigError(f"listeners: duplicate listener name {name}")
        if port and any(other.port == port and other.host == host for other in found):
            raise ConfigError(f"listeners: duplicate port {port}")
        protocol = protocols.get(name, name)
        if protocol not in PROTOCOLS:
            raise ConfigError(
                f"listeners: unknown security protocol {name}",
                hint=f"map the name in listener.security.protocol.map to one of {', '.join(PROTOCOLS)}",
            )
        told_host, told_port = advertised.pop(name, (None, None))
        found.append(Endpoint(name, protocol, host, port, told_host, told_port))
    for name in advertised:
        if name not in controllers:
            raise ConfigError(f"advertised.listeners: unknown listener {name}")
    if not found:
        raise ConfigError("listeners: no listener for clients")
    return found


def _parse(text: str) -> list[tuple[str, str, int]]:
    rows = []
    for part in (part.strip() for part in text.split(",")):
        if not part:
            continue
        name, separator, address = part.partition("://")
        if not separator or not name:
            raise ConfigError(f"listeners: invalid listener '{part}': expected NAME://host:port")
        try:
            host, port = parse_listener_address(address)
        except InputError as error:
            raise ConfigError(f"listeners: {part}: {error}") from error
        rows.append((name.upper(), host, port))
    return rows


def _protocol_map(text: str) -> dict[str, str]:
    found = {}
    for part in (part.strip() for part in text.split(",")):
        name, separator, protocol = part.partition(":")
        if part and not separator:
            raise ConfigError(f"listener.security.protocol.map: invalid entry '{part}': expected NAME:PROTOCOL")
        if part:
            found[name.strip().upper()] = protocol.strip().upper()
    return found
