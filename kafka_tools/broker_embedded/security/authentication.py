"""The principal of a client: SASL on a connection.

The exchange is that of Kafka's ``SaslServerAuthenticator`` (KIP-43, KIP-152): ApiVersions and SaslHandshake, then
tokens in SaslAuthenticate requests. After a handshake of v0, tokens are sent without requests. Mechanisms: PLAIN with
the users of the listener's JAAS entry, SCRAM with the credentials of the cluster and its delegation tokens, OAUTHBEARER
with tokens that ``token_validators`` accepts, GSSAPI with the keys of the listener's keytab.
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
"""Kafka's own classes that validate logins, by mechanism. This broker does the same without Java."""
ANONYMOUS = "User:ANONYMOUS"
_RENEWAL_S = 1.0
"""The minimum time between two renewals of a login, as in Kafka's ``KafkaChannel``."""


class ListenerSecurity:
    """The SASL mechanisms that a listener offers, and a new server side of each for a login."""

    def __init__(
        self,
        sources: LoginSources,
        endpoint: Endpoint,
        properties: Mapping[str, str],
        former: ListenerSecurity | None = None,
    ) -> None:
        """``properties``: the broker's configs. ``former``: the previous object if the configs change at run time.

        Raises ConfigError for unsupported mechanisms and invalid settings, such as PLAIN without a JAAS entry.
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
        """The settings of the mechanisms."""
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
        """A new server side of one of ``mechanisms``. It adds the delegation token of the login to ``tokens``."""
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
        except TokenRefused as error:  # the client does not get the reason
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
        """The lifetime of a login (KIP-368): the listener's limit, or less if the credential expires; 0: no limit."""
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
        """Whether frames are tokens without requests (after SaslHandshake v0)."""
        self._tokens: list[Token] = []
        """The delegation token of the login, if it uses one."""
        self._server: SaslServer | None = None
        self.wrong_mechanism = ""
        """The reason why a re-authentication must fail: it uses another mechanism. Empty if there is none."""
        self._first: tuple[str, str] | None = None
        """Principal and mechanism of the first login. A re-authentication (KIP-368) must not change them."""
        self.session_lifetime_ms = 0
        """The lifetime of the login; 0: no limit."""
        self._ends_s = math.inf
        self._renewed_s = -math.inf
        """When the client last started a re-authentication."""

    def expired(self) -> bool:
        """Whether the lifetime of the login is over."""
        return self._ends_s <= self.security.now_s()

    @property
    def may_begin_again(self) -> bool:
        """Whether the client may re-authenticate: the login expires, and the last attempt is a second ago (KIP-368)."""
        return self.session_lifetime_ms > 0 and self.security.now_s() - self._renewed_s >= _RENEWAL_S

    @property
    def done(self) -> bool:
        return self._server is not None and self._server.done and not self.wrong_mechanism

    @property
    def underway(self) -> bool:
        """Whether a mechanism was chosen, and its exchange is in progress."""
        return self._server is not None and not self.done

    @property
    def token(self) -> Token | None:
        """The delegation token of the login."""
        return self._tokens[-1] if self._tokens else None

    @property
    def principal(self) -> str:
        if self._server is None or not self._server.done:
            return ANONYMOUS
        # As in Kafka, only the name of a token's owner counts: the type is always User.
        return f"User:{self._server.username if self.token is None else parts_of(self.token.owner)[1]}"

    def choose(self, mechanism: str, *, bare_tokens: bool) -> bool:
        """Start the exchange of a mechanism; False if the listener does not offer it.

        If it is not the mechanism of the first login, the next step fails without a response, as in Kafka.
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
        """The response to a client's token. Raises AuthenticationFailed, with Kafka's text.

        For SCRAM, the text does not contain the reason; it is in the cause of the error.
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
    """The properties of one listener: ``listener.name.<name>.x`` overrides ``x``."""
    prefix = f"listener.name.{listener.lower()}."
    own = {key[len(prefix) :]: value for key, value in properties.items() if key.lower().startswith(prefix)}
    return {**properties, **own}


def login_settings(values: Mapping[str, str]) -> dict[str, str]:
    """The values of a listener that affect logins."""
    return {
        key: value
        for key, value in values.items()
        if not key.startswith("listener.name.") and ("sasl." in key or key.endswith("connections.max.reauth.ms"))
    }


def _same_tokens(former: ListenerSecurity, new: ListenerSecurity) -> bool:
    """Whether the settings for OAUTHBEARER tokens are unchanged."""
    ours, theirs = (
        {key: value for key, value in each.settings.items() if "oauthbearer" in key or key == "sasl.jaas.config"}
        for each in (former, new)
    )
    return ours == theirs


def _kerberos_service(values: Mapping[str, str], endpoint: Endpoint) -> tuple[str, str | None]:
    """Keytab and principal of a listener's service. Raises ConfigError, also if they cannot be used."""
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
    """ConfigError if the settings name a callback handler that is not in ``SERVED_HANDLERS``."""
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
