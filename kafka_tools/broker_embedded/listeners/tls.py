"""TLS of one listener: its context, the principal of a client's certificate, and new stores while the broker runs.

New key and trust stores take effect for new connections, after a change of the dynamic configs
(``listener.name.<name>.ssl.keystore.location`` and others, KIP-226) or of the files themselves. Either both stores
change or neither does. A new certificate must pass the compatibility checks of Kafka's ``SslFactory``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_tools.broker_embedded.security.certificate_names import CertificateNames, certificate_names
from kafka_tools.broker_embedded.security.principal_rules import KEY as RULES
from kafka_tools.broker_embedded.security.principal_rules import PrincipalRules
from kafka_tools.config_definitions.dynamic import SECURITY
from kafka_tools.errors import ConfigError, InputError

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.endpoints import Endpoint

log = logging.getLogger(__name__)

ANONYMOUS = "User:ANONYMOUS"
_FILES = ("ssl.keystore.location", "ssl.truststore.location")
_CLIENT_AUTH = "ssl.client.auth"


class Stores(NamedTuple):
    """The objects created from one state of settings and files."""

    values: Mapping[str, str]
    stamps: tuple[tuple[int, int] | None, ...]
    """Modification time (ns) and size of each file."""
    context: Any
    names: CertificateNames


class ListenerTls:
    """The TLS side of one listener. ``context`` is for new connections."""

    def __init__(self, endpoint: Endpoint, properties: Mapping[str, str]) -> None:
        """``properties``: all of the broker. Raises ConfigError for invalid files and values."""
        self._endpoint = endpoint
        self._stores = _opened(self._values(properties))
        self._rules = PrincipalRules(self._stores.values.get(RULES))

    @property
    def context(self) -> Any:
        return self._stores.context

    def principal(self, certificate: bytes | None) -> str:
        """The principal of a client with this certificate (DER; None: without one). InputError when no rule applies."""
        if not certificate:
            return ANONYMOUS
        return f"User:{self._rules.name(certificate_names(certificate).subject)}"

    def check(self, properties: Mapping[str, str]) -> None:
        """Raises ConfigError if these properties cannot take effect."""
        self._proposed(properties)

    def update(self, properties: Mapping[str, str]) -> bool:
        """Apply new settings and new content of files to new connections. Returns whether anything changed.

        Raises ConfigError if they are invalid; then the old settings stay in use.
        """
        new = self._proposed(properties)
        if new is None:
            return False
        self._stores = new
        log.info("listener %s: using the new key and trust stores for new connections", self._endpoint.name)
        return True

    def _proposed(self, properties: Mapping[str, str]) -> Stores | None:
        """The stores for these properties; None if nothing changed. Raises ConfigError."""
        wanted, old = self._values(properties), self._stores
        values = {key: value for key, value in old.values.items() if key not in SECURITY}
        fixed = {key: value for key, value in wanted.items() if key not in SECURITY}
        if fixed != values:
            raise ConfigError(
                f"Configs cannot be updated dynamically for existing listener {self._endpoint.name}: "
                f"{', '.join(sorted(key for key in fixed.keys() | values if fixed.get(key) != values.get(key)))}",
                hint="set them in server.properties and restart",
            )
        values.update((key, wanted[key]) for key in SECURITY if key in wanted)
        if values == old.values and _stamps(values) == old.stamps:
            return None
        try:
            new = _opened(values)
            _require_compatible(old, new)
        except ConfigError as error:
            raise ConfigError(
                f"listener {self._endpoint.name}: Validation of dynamic config update of SSLFactory failed: {error}"
            ) from error
        return new

    def _values(self, properties: Mapping[str, str]) -> dict[str, str]:
        from kafka_tools.broker_embedded.security.authentication import listener_values

        values = listener_values(properties, self._endpoint.name)
        own = f"listener.name.{self._endpoint.name.lower()}.{_CLIENT_AUTH}"
        if self._endpoint.has_sasl and own not in {key.lower() for key in properties}:
            # A client with a SASL login needs no certificate, unless this listener itself requires one (KIP-684).
            values.pop(_CLIENT_AUTH, None)
        return {key: value for key, value in values.items() if key.startswith("ssl.")}


def _opened(values: Mapping[str, str]) -> Stores:
    from kafka_tools.net.tls import own_certificate, server_settings

    stamps = _stamps(values)
    context = server_settings(values).context
    try:
        names = certificate_names(own_certificate(values))
    except InputError as error:
        raise ConfigError(f"ssl.keystore.location: {error}") from error
    return Stores(values, stamps, context, names)


def _stamps(values: Mapping[str, str]) -> tuple[tuple[int, int] | None, ...]:
    return tuple(_stamp(values.get(key, "").strip()) for key in _FILES)


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None  # opening the file reports the error
    return found.st_mtime_ns, found.st_size


def _require_compatible(old: Stores, new: Stores) -> None:
    """Raises ConfigError unless clients of the old certificate can continue with the new one."""
    if not _allowed(new, "ssl.allow.dn.changes") and new.names.subject.lower() != old.names.subject.lower():
        raise ConfigError(
            "Keystore DistinguishedName does not match: "
            f"existing={{DN={old.names.subject}}}, new={{DN={new.names.subject}}}"
        )
    if not _allowed(new, "ssl.allow.san.changes") and not new.names.alternatives >= old.names.alternatives:
        raise ConfigError("Keystore SubjectAltNames do not match: the new certificate lacks some of the existing one")
    if _trusts(new) and not _trusts(old):
        raise ConfigError("Cannot add SSL truststore to an existing listener for which no truststore was configured.")


def _allowed(stores: Stores, key: str) -> bool:
    return stores.values.get(key, "").strip().lower() == "true"


def _trusts(stores: Stores) -> bool:
    return any(stores.values.get(key, "").strip() for key in ("ssl.truststore.location", "ssl.truststore.certificates"))
