"""SASL PLAIN (RFC 4616): both halves, bytes in and bytes out.

Messages for a failed login are Kafka's (``PlainSaslServer``): the same for an unknown user and a wrong password.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_tools.errors import AuthenticationFailed

MECHANISM = "PLAIN"


class PlainClient:
    """Sends ``NUL user NUL password`` and is done: no authorization id."""

    mechanism = MECHANISM

    def __init__(self, username: str, password: str) -> None:
        if any("\0" in part for part in (username, password)):
            raise AuthenticationFailed("SASL PLAIN: user name and password must not contain a NUL character")
        self._token = f"\0{username}\0{password}".encode()
        self.done = False

    def step(self, challenge: bytes | None) -> bytes | None:
        """The token for the first call; None for the broker's (empty) answer."""
        if self.done:
            return None
        self.done = True
        return self._token


class PlainServer:
    """Checks one login. ``verify(user, password)`` says whether the pair is right."""

    mechanism = MECHANISM

    def __init__(self, verify: Callable[[str, str], bool]) -> None:
        self._verify = verify
        self.done = False
        self.username = ""

    def step(self, token: bytes) -> bytes:
        """The empty answer to a right login; AuthenticationFailed with Kafka's text otherwise."""
        authorization_id, username, password = self._parts(token)
        if not username:
            raise AuthenticationFailed("Authentication failed: username not specified")
        if not password:
            raise AuthenticationFailed("Authentication failed: password not specified")
        try:
            right = self._verify(username, password)
        except Exception as error:
            raise AuthenticationFailed("Authentication failed: credentials for user could not be verified") from error
        if not right:
            raise AuthenticationFailed("Authentication failed: Invalid username or password")
        if authorization_id and authorization_id != username:
            raise AuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.username = username
        self.done = True
        return b""

    @staticmethod
    def _parts(token: bytes) -> tuple[str, str, str]:
        try:
            parts = token.decode("utf-8").split("\0")
        except UnicodeDecodeError as error:
            raise AuthenticationFailed("Invalid SASL/PLAIN response: the token is not UTF-8") from error
        if len(parts) != 3:
            raise AuthenticationFailed(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        return parts[0], parts[1], parts[2]
