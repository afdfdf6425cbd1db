"""SASL GSSAPI (RFC 4752): both halves, over Kerberos tickets. The only module that imports gssapi, an extra.

Settings are Java's: ``sasl.kerberos.service.name`` and the options of the ``Krb5LoginModule`` line. The machine's
``krb5.conf`` defines realm, KDC and host names. Sources besides the RFC: Kafka's ``SaslClientAuthenticator``,
``SaslServerCallbackHandler`` and ``KerberosLogin``. Like Kafka, it uses no security layer.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.errors import AuthenticationFailed, ConfigError

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from kafka_tools.net.config import ClientConfig

MECHANISM = "GSSAPI"
SERVICE_KEY = "sasl.kerberos.service.name"
NO_LAYER = 1
_NO_LAYER_CHOSEN = bytes([NO_LAYER, 0, 0, 0])
_OTHERS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_REFUSED = "Authentication failed during authentication due to invalid credentials with SASL mechanism GSSAPI"
"""Kafka's message for clients whose ticket is not accepted."""
_LOGIN_HINT = (
    "check that klist shows a ticket (kinit gets one), or check keyTab and principal in "
    "sasl.jaas.config; and address the broker by the name in its principal"
)


class KerberosLogin(NamedTuple):
    """The principal of the tickets, and the broker's service name. Paths are None for the machine's defaults."""

    service: str
    principal: str | None
    keytab: str | None
    use_ticket_cache: bool
    ticket_cache: str | None


def kerberos_login(config: ClientConfig) -> KerberosLogin:
    """The tickets that settings and JAAS line describe; without such a line, the ticket cache. Raises ConfigError."""
    options = _module_options(config)
    in_config, in_jaas = config[SERVICE_KEY].strip(), options.get("serviceName", "").strip()
    if in_config and in_jaas and in_config != in_jaas:
        raise ConfigError(
            f"{SERVICE_KEY} is {in_config}, but serviceName in sasl.jaas.config is {in_jaas}: set the "
            "same value in both"
        )
    service = in_config or in_jaas
    if not service:
        raise ConfigError(
            f"sasl.mechanism is GSSAPI{_by_default(config)}, but {SERVICE_KEY} is not set",
            hint="set it to the first part of the brokers' principals, usually kafka; or set another sasl.mechanism",
        )
    keytab = _plain_path(options.get("keyTab")) if _is_true(options, "useKeyTab") else None
    if _is_true(options, "useKeyTab") and not keytab:
        raise ConfigError("sasl.jaas.config: Krb5LoginModule has useKeyTab=true and no keyTab")
    use_cache = _is_true(options, "useTicketCache") or not options
    if keytab is None and not use_cache:
        raise ConfigError(
            "sasl.jaas.config: Could not login: the client is being asked for a password, but the Kafka client code "
            "does not currently support obtaining a password from the user.",
            hint='give the Krb5LoginModule useTicketCache=true and run kinit, or useKeyTab=true keyTab="/path" '
            'principal="name@REALM"; address brokers by their fully qualified domain names',
        )
    if keytab is not None and not os.access(keytab, os.R_OK):
        raise ConfigError(f"sasl.jaas.config: cannot read keyTab {keytab}: it does not exist, or permission is denied")
    principal = options.get("principal", "").strip() or None
    return KerberosLogin(service, principal, keytab, use_cache, _plain_path(options.get("ticketCache")))


def _module_options(config: ClientConfig) -> dict[str, str]:
    from kafka_tools.net.jaas import parse_jaas

    text = config["sasl.jaas.config"]
    if not text.strip():
        return {}
    entries = parse_jaas(text)
    if len(entries) != 1 or entries[0].simple_name != "Krb5LoginModule":
        raise ConfigError(
            f"sasl.mechanism is GSSAPI{_by_default(config)}, but sasl.jaas.config is not a Krb5LoginModule",
            hint=f"set sasl.mechanism to that of the module: {', '.join(_OTHERS)}; or set the line to "
            "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true;",
        )
    return entries[0].options or {"useTicketCache": "false"}


def _by_default(config: ClientConfig) -> str:
    return "" if "sasl.mechanism" in config.values else " (Kafka's default)"


def _is_true(options: dict[str, str], name: str) -> bool:
    return options.get(name, "").strip().lower() == "true"


def _plain_path(value: str | None) -> str | None:
    """A path in Java's form, with or without ``FILE:``; None for no path."""
    value = (value or "").strip().removeprefix("FILE:")
    return value or None


class KerberosClient:
    """Authenticates us to ``service@host`` and the broker to us. Then both agree on no security layer."""

    mechanism = MECHANISM

    def __init__(self, login: KerberosLogin, host: str) -> None:
        """Raises ConfigError without the gssapi package, AuthenticationFailed without a ticket."""
        self._gssapi = require_gssapi()
        self._peer = f"{login.service}@{host}"
        self.done = False
        api = self._gssapi
        try:
            target = api.Name(self._peer, api.NameType.hostbased_service)
            self._context = api.SecurityContext(name=target, creds=_credentials(api, login), usage="initiate")
        except api.exceptions.GSSError as error:
            raise self._failed(error) from error

    def step(self, challenge: bytes | None) -> bytes | None:
        """The next message; None after the last. AuthenticationFailed when a ticket or the broker's proof is wrong."""
        if self.done:
            return None
        try:
            if not self._context.complete:
                return bytes(self._context.step(challenge or None) or b"")
            offer = bytes(self._context.unwrap(challenge or b"").message)
            if len(offer) != 4 or not offer[0] & NO_LAYER:
                raise AuthenticationFailed("GSSAPI: the broker requires a security layer, which Kafka does not use")
            # Without a name after it, the broker uses the ticket's.
            answer = bytes(self._context.wrap(_NO_LAYER_CHOSEN, False).message)
        except self._gssapi.exceptions.GSSError as error:
            raise self._failed(error) from error
        self.done = True
        return answer

    def __repr__(self) -> str:
        return f"KerberosClient({self._peer}, {'done' if self.done else 'in progress'})"

    def _failed(self, error: Any) -> AuthenticationFailed:
        return AuthenticationFailed(f"GSSAPI login at {self._peer} failed: {_text(error)}", hint=_LOGIN_HINT)


class KerberosServer:
    """Checks one login with the keys of a service in the file ``keytab``; ``principal``: the key's, None for any key.

    AuthenticationFailed, with Kafka's text, ends the login; its cause is Kerberos's error.
    """

    mechanism = MECHANISM

    def __init__(self, keytab: str, principal: str | None) -> None:
        """Raises ConfigError when the package or the keys are missing."""
        api = self._gssapi = require_gssapi()
        self.done = False
        self.username = ""
        self._offered = False
        try:
            name = api.Name(principal, api.NameType.kerberos_principal) if principal else None
            keys = api.Credentials(name=name, usage="accept", store={"keytab": keytab})
            self._context = api.SecurityContext(creds=keys, usage="accept")
        except api.exceptions.GSSError as error:
            raise ConfigError(f"cannot use keyTab {keytab}: {_text(error)}") from error

    def step(self, message: bytes) -> bytes:
        """The answer to a client's message."""
        try:
            if not self._context.complete:
                if not message:
                    raise AuthenticationFailed(_REFUSED)  # the client speaks first
                answer = bytes(self._context.step(message) or b"")
                if answer or not self._context.complete:
                    return answer
            if not self._offered:
                self._offered = True
                return bytes(self._context.wrap(_NO_LAYER_CHOSEN, False).message)
            chosen = bytes(self._context.unwrap(message).message)
        except self._gssapi.exceptions.GSSError as error:
            raise AuthenticationFailed(_REFUSED) from error
        # A name may follow, but like in Kafka the ticket's name counts.
        if self.done or len(chosen) < 4 or chosen[0] != NO_LAYER:
            raise AuthenticationFailed(_REFUSED)
        self.username = short_name(str(self._context.initiator_name))
        self.done = True
        return b""


def short_name(principal: str) -> str:
    """``alice`` of alice@REALM and ``kafka`` of kafka/host@REALM: the DEFAULT of Kafka's principal.to.local.rules."""
    return principal.partition("@")[0].partition("/")[0]


def require_gssapi() -> ModuleType:
    """The package; ConfigError with the extra's name when it, or a library that it needs, is not installed."""
    try:
        import gssapi
        import gssapi.exceptions
    except (ImportError, OSError) as error:
        raise ConfigError(
            "sasl.mechanism GSSAPI needs the Python package gssapi and the machine's Kerberos libraries",
            hint="pip install 'kafka-operator-tools[kerberos]' (building it needs libkrb5-dev or krb5-devel)",
        ) from error
    module: ModuleType = gssapi
    return module


def _credentials(api: Any, login: KerberosLogin) -> Any:
    """Tickets of the cache, else tickets obtained with the keytab and kept in memory. Raises GSSError."""
    name = api.Name(login.principal, api.NameType.kerberos_principal) if login.principal else None
    if login.use_ticket_cache:
        store = {"ccache": f"FILE:{login.ticket_cache}"} if login.ticket_cache else None
        try:
            found = api.Credentials(name=name, usage="initiate", store=store)
            if found.lifetime != 0 or login.keytab is None:
                return found
        except api.exceptions.GSSError:
            if login.keytab is None:
                raise
    memory = f"MEMORY:kafka-tools {login.principal} {login.keytab}"
    try:
        return api.Credentials(name=name, usage="initiate", store={"client_keytab": login.keytab, "ccache": memory})
    except api.exceptions.GSSError:
        # For a keytab without the principal this says only that there is no ticket. An acceptor's error says more.
        api.Credentials(name=name, usage="accept", store={"keytab": login.keytab})
        raise


def _text(error: Any) -> str:
    """The text of a Kerberos error: the mechanism's own message if it has one, else the general one."""
    for code, is_major in ((error.min_code, False), (error.maj_code, True)):
        said = "; ".join(error.get_all_statuses(code, is_major)) if code else ""
        if said and said != "Success":
            return " ".join(said.split())
    return "no reason given"
