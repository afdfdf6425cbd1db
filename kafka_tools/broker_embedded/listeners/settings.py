"""The security settings of the listeners from the configs: TLS and SASL per listener, reloaded when they change.

Open connections keep their settings. A change that cannot take effect is refused before it is written (``check``). If
a change fails anyway, the old settings stay in use and the failure is logged.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_tools.errors import ConfigError

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.endpoints import Endpoint
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.listeners.tls import ListenerTls
    from kafka_tools.broker_embedded.security.authentication import ListenerSecurity
    from kafka_tools.broker_embedded.security.login_sources import LoginSources

log = logging.getLogger(__name__)


class ListenerSettings:
    """``security`` and ``tls``: the settings for new connections of each listener with SASL or TLS, by name."""

    def __init__(self, configs: ConfigStore, logins: LoginSources, endpoints: list[Endpoint]) -> None:
        """Raises ConfigError for invalid settings and files."""
        self._configs = configs
        self._logins = logins
        self._with_sasl = [endpoint for endpoint in endpoints if endpoint.has_sasl]
        self.security: dict[str, ListenerSecurity] = {}
        self.tls: dict[str, ListenerTls] = {}
        properties = configs.broker_properties()
        # Plaintext listeners start without these modules.
        if self._with_sasl:
            from kafka_tools.broker_embedded.security.authentication import ListenerSecurity

            self.security = {each.name: ListenerSecurity(self._logins, each, properties) for each in self._with_sasl}
        if any(endpoint.has_tls for endpoint in endpoints):
            from kafka_tools.broker_embedded.listeners.tls import ListenerTls

            self.tls = {each.name: ListenerTls(each, properties) for each in endpoints if each.has_tls}

    def check(self, properties: Mapping[str, str]) -> None:
        """Raises ConfigError if these configs of the broker cannot take effect."""
        for tls in self.tls.values():
            tls.check(properties)
        for endpoint in self._with_sasl:
            self._new_security(endpoint, properties)

    def take(self) -> None:
        """Apply the current configs and the current content of their files."""
        properties = self._configs.broker_properties()
        for tls in self.tls.values():
            try:
                tls.update(properties)
            except ConfigError as error:
                log.error("cannot load the new SSL key or trust store, the old ones stay in use: %s", error)
        for endpoint in self._with_sasl:
            try:
                new = self._new_security(endpoint, properties)
            except ConfigError as error:
                log.error("cannot apply the new login settings, the old ones stay in use: %s", error)
                continue
            if new is not None:
                self.security[endpoint.name] = new
                log.info("listener %s: using the new login settings for new connections", endpoint.name)

    def _new_security(self, endpoint: Endpoint, properties: Mapping[str, str]) -> ListenerSecurity | None:
        """The new login settings of the listener; None if they are unchanged. Raises ConfigError."""
        from kafka_tools.broker_embedded.security.authentication import (
            ListenerSecurity,
            listener_values,
            login_settings,
        )

        former = self.security[endpoint.name]
        if login_settings(listener_values(properties, endpoint.name)) == former.settings:
            return None
        return ListenerSecurity(self._logins, endpoint, properties, former)
