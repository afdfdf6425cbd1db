"""SASL OAUTHBEARER (RFC 7628, KIP-255): both halves, bytes in and bytes out.

``oauth.tokens`` gets the tokens and ``unsecured_jws`` checks them. Sources besides the
RFC: Kafka's ``OAuthBearerSaslClient``, ``OAuthBearerSaslServer`` and ``OAuthBearerClientInitialResponse``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kafka_tools.errors import AuthenticationFailed, ConfigError

MECHANISM = "OAUTHBEARER"
MAX_MESSAGE_BYTES = 512 * 1024
SEPARATOR = b"\x01"

_FIRST_MESSAGE = re.compile(
    "n,(?:a=((?:[^=,\0\x01\x80-\U0010ffff]|=2C|=3D)+))?,(?:\x01((?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01"
    "|(auth=[\x21-\x7e \t]+))"
)
"""Kafka 2.0 sent ``auth=`` bare, without the separators that the RFC requires: both forms are accepted."""
_EXTENSION = re.compile("[A-Za-z]+=[\x21-\x7e \t\r\n]+")
_AUTH = re.compile(r"(\w+) +([-_~+/.a-zA-Z0-9]+=*)", re.ASCII)


class BearerToken(NamedTuple):
    """A valid token: its principal, its scope, and the time when it expires (epoch, ms)."""

    principal: str
    scope: frozenset[str]
    expires_ms: int
    start_ms: int | None = None


class TokenRefused(Exception):
    """A token is not accepted. The client gets ``status`` and ``scope``; ``str()`` is for our log only."""

    def __init__(self, reason: str, scope: str | None = None) -> None:
        super().__init__(reason)
        self.status = "invalid_token" if scope is None else "insufficient_scope"
        self.scope = scope


class OAuthBearerClient:
    """Sends the token; answers a server's error with the byte that the server needs to end the login.

    ``extensions`` are sent with the token (KIP-342); some cluster providers require them.
    """

    mechanism = MECHANISM

    def __init__(self, token: str, extensions: Mapping[str, str] | None = None) -> None:
        """Raises ConfigError for an invalid extension."""
        self._token = token
        self._extensions = "".join(f"{name}={value}\x01" for name, value in (extensions or {}).items())
        for name, value in (extensions or {}).items():
            if name == "auth" or not _EXTENSION.fullmatch(f"{name}={value}"):
                raise ConfigError(
                    f"sasl.jaas.config: invalid extension '{name}'",
                    hint="use letters (but not auth) for its name, and printable ASCII for its value",
                )
        self._state = "start"
        self.done = False

    def step(self, challenge: bytes | None) -> bytes | None:
        """The next message; None after the last. AuthenticationFailed when the server's message is out of place."""
        if self._state == "start":
            if challenge:
                raise AuthenticationFailed("Expected empty challenge")
            self._state = "sent"
            return f"n,,\x01auth=Bearer {self._token}\x01{self._extensions}\x01".encode("ascii", "replace")
        if self._state == "sent":
            if challenge:
                self._state = "failed"
                return SEPARATOR
            self._state, self.done = "complete", True
            return None
        raise AuthenticationFailed(f"Unexpected challenge in Sasl client state {self._state}")

    def __repr__(self) -> str:
        return f"OAuthBearerClient({self._state})"


class OAuthBearerServer:
    """Checks one login. ``validate(token)`` returns the contents of a valid token, or raises TokenRefused."""

    mechanism = MECHANISM

    def __init__(self, validate: Callable[[str], BearerToken]) -> None:
        self._validate = validate
        self._error: str | None = None
        self.token: BearerToken | None = None

    @property
    def done(self) -> bool:
        return self.token is not None

    @property
    def username(self) -> str:
        """The principal's name, once the login is done."""
        return self.token.principal if self.token else ""

    @property
    def expires_ms(self) -> int | None:
        """The time when the token expires (epoch, ms)."""
        return self.token.expires_ms if self.token else None

    def step(self, message: bytes) -> bytes:
        """The empty response to a valid token, a JSON error to an invalid one. AuthenticationFailed ends the login."""
        if message == SEPARATOR and self._error is not None:
            raise AuthenticationFailed(self._error)
        self._error = None
        authorization_id, value = _parsed(message)
        try:
            token = self._validate(value)
        except TokenRefused as error:
            scope = "" if error.scope is None else f', "scope":"{error.scope}"'
            self._error = f'{{"status":"{error.status}"{scope}}}'
            return self._error.encode("utf-8")
        except OSError as error:
            raise AuthenticationFailed(
                f"Authentication could not be performed due to an internal error on the server: {error.strerror}"
            ) from error
        if authorization_id and authorization_id != token.principal:
            raise AuthenticationFailed(
                f"Authentication failed: Client requested an authorization id ({authorization_id}) that is different "
                f"from the token's principal name ({token.principal})"
            )
        self.token = token
        return b""


def _parsed(message: bytes) -> tuple[str, str]:
    """Authorization id and token of a client's first message."""
    wrong = AuthenticationFailed("Invalid OAUTHBEARER client first message")
    if len(message) > MAX_MESSAGE_BYTES:
        raise wrong
    found = _FIRST_MESSAGE.fullmatch(message.decode("utf-8", "replace"))
    if found is None:
        raise wrong
    pairs = dict(pair.partition("=")[::2] for pair in (found[3] or found[2]).split("\x01") if pair)
    auth = _AUTH.fullmatch(pairs.get("auth", ""))
    if auth is None:
        raise wrong
    if auth[1].lower() != "bearer":
        raise AuthenticationFailed(f"Invalid scheme in OAUTHBEARER client first message: {auth[1]}")
    authorization_id = (found[1] or "").replace("=2C", ",").replace("=3D", "=")
    return authorization_id, auth[2]
