"""The principal of a client: SASL on a connection.

The dialogue is that of Kafka's ``SaslServerAuthenticator`` (KIP-43, KIP-152): ApiVersions and SaslHandshake
first, then tokens, in SaslAuthenticate requests or, after a handshake of v0, bare. Mechanisms: PLAIN with
the users of the listener's JAAS entry, SCRAM with the credentials of the cluster and its delegation tokens,
OAUTHBEARER with what ``token_validators`` takes, GSSAPI with the keys of the listener's keytab.
"""

from __future__ import annotations

import hmac
import logging
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.security.delegation_tokens import parts_of
from kafka_tools.errors import AuthenticationFailed, ConfigError
from kafka_tools.net.sasl.plain import PlainServer
from kafka_tools.net.sasl.scram import OTHER_ID, ScramServer

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.endpoints import Endpoint
    from kafka_tools.broker_embedded.security.delegation_tokens import Token
    from kafka_tools.broker_embedded.security.login_sources import LoginSources
    from kafka_tools.broker_embedded.security.token_validators import TokenValidator
    from kafka_tools.net.sasl.kerberos import KerberosServer
    from kafka_tools.net.sasl.oauthbearer import BearerToken as OAuthToken
    from kafka_tools.net.sasl.oauthbearer import OAuthBearerServer
    from kafka_tools.net.sasl.scram import ScramLogin as AskedLogin
    from kafka_tools.scram_math import ScramCredential

    SaslServer = PlainServer | ScramServer | OAuthBearerServer | KerberosServer

log = logging.getLogger(__name__)

SERVED_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")
DEFAULT_MECHANISMS = "GSSAPI"
"""Kafka's default."""
SERVED_HANDLERS = {
    "PLAIN": ("PlainServerCallbackHandler",),
    "SCRAM-SHA-256": ("ScramServerCallbackHandler",),
    "SCRAM-SHA-512": ("ScramServerCallbackHandler",),
    "OAUTHBEARER": ("OAuthBearerValidatorCallbackHandler", "OAuthBearerUnsecuredValidatorCallbackHandler"),
}
"""Kafka's own classes that judge logins, by mechanism: what they do is done here."""
ANONYMOUS = "User:ANONYMOUS"
_RENEWAL_S = 1.0
"""How long after one renewal of a login the next may begin: of Kafka's ``KafkaChannel``."""


class ListenerSecurity:
    """What one SASL listener offers: ``mechanisms``, and a fresh server side of each."""

    def __init__(
        self,
        sources: LoginSources,
        endpoint: Endpoint,
        properties: Mapping[str, str],
        former: ListenerSecurity | None = None,
    ) -> None:
        """``properties``: the broker's configs. ``former``: what holds while it runs.

        Raises ConfigError for mechanisms that are not served and for a JAAS entry that PLAIN lacks.
        """
        self._sources = sources
        self._listener = endpoint.name
        values = listener_values(properties, endpoint.name)
        text = values.get("sasl.enabled.mechanisms", DEFAULT_MECHANISMS)
        self.mechanisms = [part.strip().upper() for part in text.split(",") if part.strip()]
        if not self.mechanisms:
            raise ConfigError(f"listener {endpoint.name}: No SASL mechanisms are enabled (sasl.enabled.mechanisms)")
        for mechanism in self.mechanisms:
            if mechanism not in SERVED_MECHANISMS:
                raise ConfigError(
                    f"listener {endpoint.name}: unsupported SASL mechanism {mechanism}",
                    hint=f"set sasl.enabled.mechanisms to one or more of {', '.join(SERVED_MECHANISMS)}",
                )
        self._plain_users: dict[str, str] = {}
        if "PLAIN" in self.mechanisms:
            self._plain_users = _plain_users(values, endpoint)

        self._service = _kerberos_service(values, endpoint) if "GSSAPI" in self.mechanisms else None
        self._limits_ms = {mechanism: _limit_ms(values, mechanism, endpoint) for mechanism in self.mechanisms}
        for mechanism in self.mechanisms:
            _require_served_handler(values, mechanism, endpoint)
        self.settings = login_settings(values)
        """The settings that the mechanisms were made from."""
        self._tokens: TokenValidator | None = None
        if former is not None and "OAUTHBEARER" in self.mechanisms:
            self._tokens = former._tokens
            if self._tokens is None or not _same_tokens(former, self):
                raise ConfigError(
                    f"listener {endpoint.name}: OAUTHBEARER cannot change while the broker runs",
                    hint="set it in server.properties and restart",
                )
        elif "OAUTHBEARER" in self.mechanisms:
            from kafka_tools.broker_embedded.security.token_validators import token_validator

            self._tokens = token_validator(values, endpoint, sources.timers)

    def login(self) -> Login:
        """The SASL stage of a new connection."""
        return Login(self)

    def server(self, mechanism: str, tokens: list[Token]) -> SaslServer:
        """A fresh server side of one of ``mechanisms``; the delegation token of the login goes to ``tokens``."""
        if self._tokens is not None and mechanism == "OAUTHBEARER":
            from kafka_tools.net.sasl.oauthbearer import OAuthBearerServer

            return OAuthBearerServer(self._judged)
        if self._service is not None and mechanism == "GSSAPI":
            from kafka_tools.net.sasl.kerberos import KerberosServer

            return KerberosServer(*self._service)
        if mechanism == "PLAIN":
            return PlainServer(self._verify)
        return ScramServer(mechanism, lambda asked: self._scram_credential(mechanism, asked, tokens))

    def _judged(self, text: str) -> OAuthToken:
        from kafka_tools.net.sasl.oauthbearer import TokenRefused

        assert self._tokens is not None
        try:
            return self._tokens.validate(text, self._sources.timers.clock.now_ms())
        except TokenRefused as error:  # the client is told no more than that it is wrong
            log.warning("listener %s: refused an OAUTHBEARER token: %s", self._listener, error)
            raise

    def _scram_credential(self, mechanism: str, asked: AskedLogin, tokens: list[Token]) -> ScramCredential | None:
        if not asked.token_auth:
            return self._sources.credentials.lookup(mechanism, asked.username)
        found = self._sources.tokens.lookup(mechanism, asked.username)
        if found is None:
            return None
        token, credential = found
        tokens.append(token)
        return credential

    def now_s(self) -> float:
        return self._sources.timers.clock.monotonic_s()

    def lifetime_ms(self, mechanism: str, credential_ends_ms: int | None) -> int:
        """How long a login holds (KIP-368): the listener's limit, or less if its credential ends; 0 is for ever."""
        limit_ms = self._limits_ms.get(mechanism, 0)
        if credential_ends_ms is None:
            return max(limit_ms, 0)
        left_ms = max(credential_ends_ms - self._sources.timers.clock.now_ms(), 1)
        return min(left_ms, limit_ms) if limit_ms > 0 else left_ms

    def _verify(self, user: str, password: str) -> bool:
        expected = self._plain_users.get(user)
        return expected is not None and hmac.compare_digest(expected.encode(), password.encode())


class Login:
    """The SASL stage of one connection."""

    def __init__(self, security: ListenerSecurity) -> None:
        self.security = security
        self.mechanism: str | None = None
        self.bare_tokens = False
        """Whether frames are tokens without a request around them (after SaslHandshake v0)."""
        self._tokens: list[Token] = []
        """The delegation token that is logged in with, if it is one."""
        self._server: SaslServer | None = None
        self.wrong_mechanism = ""
        """Why the dialogue that was begun on a connection that is logged in comes to nothing."""
        self._first: tuple[str, str] | None = None
        """Principal and mechanism of the first login: a later one (KIP-368) must not change them."""
        self.session_lifetime_ms = 0
        """How long the login holds; 0 for the connection's life."""
        self._ends_s = math.inf
        self._renewed_s = -math.inf
        """When the client last began to log in again."""

    def expired(self) -> bool:
        """Whether the client should have logged in again by now."""
        return self._ends_s <= self.security.now_s()

    @property
    def may_begin_again(self) -> bool:
        """Whether the login ends, and the client did not begin another one less than a second ago (KIP-368)."""
        return self.session_lifetime_ms > 0 and self.security.now_s() - self._renewed_s >= _RENEWAL_S

    @property
    def done(self) -> bool:
        return self._server is not None and self._server.done and not self.wrong_mechanism

    @property
    def underway(self) -> bool:
        """Whether a mechanism was chosen, and its dialogue is not over."""
        return self._server is not None and not self.done

    @property
    def token(self) -> Token | None:
        """The delegation token that is logged in with."""
        return self._tokens[-1] if self._tokens else None

    @property
    def principal(self) -> str:
        if self._server is None or not self._server.done:
            return ANONYMOUS
        # As in Kafka the name counts: who owns a token is a user, whatever type was asked for.
        return f"User:{self._server.username if self.token is None else parts_of(self.token.owner)[1]}"

    def choose(self, mechanism: str, *, bare_tokens: bool) -> bool:
        """Begin with a mechanism; False if the listener does not offer it.

        Another one than that of the first login is refused by what follows, as in Kafka, and without an answer.
        """
        if mechanism not in self.security.mechanisms:
            return False
        if self._first is not None:
            self._renewed_s = self.security.now_s()
            if self._first[1] != mechanism:
                self.wrong_mechanism = (
                    f"SASL mechanism '{mechanism}' requested by client is not supported for re-authentication of "
                    f"mechanism '{self._first[1]}'"
                )
                return True
        self.mechanism = mechanism
        self.bare_tokens = bare_tokens
        self._tokens = []
        self._server = self.security.server(mechanism, self._tokens)
        return True

    def step(self, token: bytes) -> bytes:
        """The answer to a client's token. Raises AuthenticationFailed, with Kafka's text.

        What is wrong with SCRAM the client is not told; the cause of the error is.
        """
        if self._server is None:
            raise AuthenticationFailed("SaslAuthenticate request received before SaslHandshake")
        try:
            answer = self._server.step(bytes(token))
        except AuthenticationFailed as error:
            if not isinstance(self._server, ScramServer) or str(error) == OTHER_ID:
                raise
            text = "Authentication failed during authentication due to invalid credentials with SASL mechanism "
            raise AuthenticationFailed(text + self._server.mechanism) from error
        if self._server.done:
            self.bare_tokens = False
            self._completed(self.mechanism or "")
        return answer

    def _completed(self, mechanism: str) -> None:
        if self._first is not None and self._first[0] != self.principal:
            raise AuthenticationFailed(
                f"Cannot change principals during re-authentication from {self._first[0]}: {self.principal}"
            )
        self._first = (self.principal, mechanism)
        ends_ms = self.token.expiration_timestamp if self.token else getattr(self._server, "expires_ms", None)
        self.session_lifetime_ms = self.security.lifetime_ms(mechanism, ends_ms)
        lifetime_s = self.session_lifetime_ms / 1000 or math.inf  # an earlier login of the connection no longer counts
        self._ends_s = self.security.now_s() + lifetime_s


def listener_values(properties: Mapping[str, str], listener: str) -> dict[str, str]:
    """The properties as they hold for one listener: ``listener.name.<name>.x`` beats ``x``."""
    prefix = f"listener.name.{listener.lower()}."
    own = {key[len(prefix) :]: value for key, value in properties.items() if key.lower().startswith(prefix)}
    return {**properties, **own}


def login_settings(values: Mapping[str, str]) -> dict[str, str]:
    """Those of a listener's values that logins depend on."""
    return {
        key: value
        for key, value in values.items()
        if not key.startswith("listener.name.") and ("sasl." in key or key.endswith("connections.max.reauth.ms"))
    }


def _same_tokens(former: ListenerSecurity, new: ListenerSecurity) -> bool:
    """Whether tokens are judged as before."""
    ours, theirs = (
        {key: value for key, value in each.settings.items() if "oauthbearer" in key or key == "sasl.jaas.config"}
        for each in (former, new)
    )
    return ours == theirs


def _kerberos_service(values: Mapping[str, str], endpoint: Endpoint) -> tuple[str, str | None]:
    """Keytab and principal of a listener's service, which have been opened once. Raises ConfigError."""
    from kafka_tools.net.jaas import parse_jaas
    from kafka_tools.net.sasl.kerberos import KerberosServer

    key = "gssapi.sasl.jaas.config"
    text = values.get(key) or values.get("sasl.jaas.config")
    entries = parse_jaas(text, key) if text else []
    options = next((each.options for each in entries if each.simple_name == "Krb5LoginModule"), {})
    keytab = options.get("keyTab", "").strip().removeprefix("FILE:")
    if not keytab:
        raise ConfigError(
            f"listener {endpoint.name}: GSSAPI (Kafka's default mechanism) needs a Krb5LoginModule with a keyTab",
            hint=f"set listener.name.{endpoint.name.lower()}.{key}, or sasl.enabled.mechanisms to other mechanisms",
        )
    rules = values.get("sasl.kerberos.principal.to.local.rules", "").strip() or "DEFAULT"
    if rules != "DEFAULT":
        raise ConfigError(
            f"listener {endpoint.name}: sasl.kerberos.principal.to.local.rules: only DEFAULT is supported, which "
            "takes the first part of a principal"
        )
    principal = options.get("principal", "").strip() or None
    try:
        KerberosServer(keytab, principal)
    except ConfigError as error:
        raise ConfigError(f"listener {endpoint.name}: {error}", hint=error.hint) from error
    return keytab, principal


def _plain_users(values: Mapping[str, str], endpoint: Endpoint) -> dict[str, str]:
    from kafka_tools.net.jaas import parse_jaas

    key = "plain.sasl.jaas.config"
    text = values.get(key) or values.get("sasl.jaas.config")
    if not text:
        raise ConfigError(
            f"listener {endpoint.name}: PLAIN needs users",
            hint=f"set listener.name.{endpoint.name.lower()}.{key}, with user_<name>=\"<password>\" options",
        )  # fmt: skip
    prefix = "user_"
    return {
        option[len(prefix) :]: password
        for entry in parse_jaas(text, key)
        if entry.simple_name == "PlainLoginModule"
        for option, password in entry.options.items()
        if option.startswith(prefix)
    }


def _require_served_handler(values: Mapping[str, str], mechanism: str, endpoint: Endpoint) -> None:
    """ConfigError if the settings want other Java code to judge logins than what is served here."""
    key = f"{mechanism.lower()}.sasl.server.callback.handler.class"
    name = values.get(key, "").strip()
    if name and name.rpartition(".")[2] not in SERVED_HANDLERS.get(mechanism, ()):
        raise ConfigError(f"listener {endpoint.name}: {key}: cannot run Java code here: {name}")


def _limit_ms(values: Mapping[str, str], mechanism: str, endpoint: Endpoint) -> int:
    key = "connections.max.reauth.ms"
    text = values.get(f"{mechanism.lower()}.{key}") or values.get(key) or "0"
    try:
        return int(text.strip())
    except ValueError:
        raise ConfigError(
            f"listener {endpoint.name}: {key} for {mechanism}: invalid number '{text}': expected a whole number"
        ) from None
