"""SASL SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677): both halves, bytes in and bytes out.

Without channel binding, as in Kafka; the extension ``tokenauth=true`` marks a login by delegation token (KIP-48).
It neither stores credentials nor transports messages. Source besides the RFCs: Kafka's
``ScramSaslClient``, ``ScramSaslServer`` and ``ScramMessages``.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import NamedTuple

from kafka_tools import scram_math
from kafka_tools.errors import AuthenticationFailed
from kafka_tools.scram_math import ScramCredential, ScramMechanism

MAX_ITERATIONS_ACCEPTED = 1_000_000
"""The most iterations that a client computes (about a second): a hostile server could ask for any number."""
MAX_MESSAGE_BYTES = 16 * 1024
OTHER_ID = "Authentication failed: Client requested an authorization id that is different from username"
"""The only reason for a refusal that Kafka sends to its client."""

_SERVER_FIRST = re.compile(r"(?:m=[^,]*,)?r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/]+={0,2}),i=([0-9]{1,9})(?:,.*)?")
_SERVER_FINAL = re.compile(r"(?:e=([^,]+)|v=([A-Za-z0-9+/]+={0,2}))(?:,.*)?")
_CLIENT_FIRST = re.compile(
    r"(n,(?:a=((?:[^=,\0]|=2C|=3D)+))?,)(n=((?:[^=,\0]|=2C|=3D)+),r=([\x21-\x2b\x2d-\x7e]+)((?:,[a-zA-Z]+=[^,\0]+)*))"
)
_CLIENT_FINAL = re.compile(
    r"(c=([A-Za-z0-9+/]+={0,2}),r=([\x21-\x2b\x2d-\x7e]+)(?:,[a-zA-Z]+=[^,\0]+)*),p=([A-Za-z0-9+/]+={0,2})"
)


def escaped(name: str) -> str:
    """A user name in the form for messages, in which ``=`` and ``,`` are escaped."""
    return name.replace("=", "=3D").replace(",", "=2C")


def unescaped(name: str) -> str:
    """The user name of an escaped form."""
    return name.replace("=2C", ",").replace("=3D", "=")


def new_nonce() -> str:
    """A random nonce of printable characters without a comma."""
    import secrets

    return secrets.token_urlsafe(24)


class ScramClient:
    """The client's three steps: first message, final message with the proof, check of the server's signature."""

    def __init__(
        self,
        mechanism: str,
        username: str,
        password: str,
        *,
        token_auth: bool = False,
        nonce: str | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.done = False
        self._kind = scram_math.mechanism(mechanism)
        self._username = username
        self._password = password
        self._extensions = ",tokenauth=true" if token_auth else ""
        self._nonce = nonce or new_nonce()
        self._first_bare = ""
        self._expected_signature = b""
        self._state = "start"

    def step(self, challenge: bytes | None) -> bytes | None:
        """The next message; None after the last. AuthenticationFailed when the server's message is wrong."""
        if self._state == "start":
            self._state = "first sent"
            self._first_bare = f"n={escaped(self._username)},r={self._nonce}{self._extensions}"
            return b"n,," + self._first_bare.encode("utf-8")
        text = _text(challenge or b"", "server")
        if self._state == "first sent":
            self._state = "final sent"
            return self._final_message(text)
        if self._state == "final sent":
            self._check_final(text)
            self._state = "done"
            self.done = True
            return None
        raise AuthenticationFailed(f"{self.mechanism}: unexpected message after the exchange was over")

    def _final_message(self, server_first: str) -> bytes:
        match = _SERVER_FIRST.fullmatch(server_first)
        if match is None:
            raise AuthenticationFailed(f"{self.mechanism}: invalid SCRAM server first message format")
        nonce, salt_text, iterations_text = match[1], match[2], match[3]
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise AuthenticationFailed(
                f"{self.mechanism}: invalid server nonce: it does not start with the client nonce"
            )
        iterations = int(iterations_text)
        if not self._kind.min_iterations <= iterations <= MAX_ITERATIONS_ACCEPTED:
            raise AuthenticationFailed(
                f"{self.mechanism}: the server requires {iterations} iterations: the client supports "
                f"{self._kind.min_iterations} to {MAX_ITERATIONS_ACCEPTED}"
            )
        salted = scram_math.salted_password(self._kind, self._password, _base64(salt_text, self.mechanism), iterations)
        key = scram_math.client_key(self._kind, salted)
        without_proof = f"c=biws,r={nonce}"
        auth_message = ",".join((self._first_bare, server_first, without_proof)).encode("utf-8")
        signature = scram_math.keyed_hash(self._kind, scram_math.stored_key(self._kind, key), auth_message)
        proof = base64.b64encode(scram_math.xor(key, signature)).decode("ascii")
        self._expected_signature = scram_math.keyed_hash(
            self._kind, scram_math.server_key(self._kind, salted), auth_message
        )
        return f"{without_proof},p={proof}".encode()

    def _check_final(self, server_final: str) -> None:
        match = _SERVER_FINAL.fullmatch(server_final)
        if match is None:
            raise AuthenticationFailed(f"{self.mechanism}: invalid SCRAM server final message format")
        if match[1] is not None:
            raise AuthenticationFailed(f"{self.mechanism}: the server refused the login: {match[1]}")
        import hmac

        if not hmac.compare_digest(_base64(match[2], self.mechanism), self._expected_signature):
            raise AuthenticationFailed(
                f"{self.mechanism}: invalid server signature: the server does not know the password"
            )


class ScramLogin(NamedTuple):
    """The key of a server's lookup. ``token_auth``: ``username`` is the id of a delegation token."""

    username: str
    token_auth: bool


class ScramServer:
    """The server's two steps. ``lookup(login)`` gives the stored credential, None for an unknown user."""

    def __init__(
        self,
        mechanism: str,
        lookup: Callable[[ScramLogin], ScramCredential | None],
        *,
        nonce: str | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.done = False
        self.username = ""
        self.token_auth = False
        self._kind: ScramMechanism = scram_math.mechanism(mechanism)
        self._lookup = lookup
        self._nonce = nonce or new_nonce()
        self._state = "RECEIVE_CLIENT_FIRST_MESSAGE"
        self._first_bare = ""
        self._gs2_header = ""
        self._server_first = ""
        self._credential: ScramCredential | None = None

    def step(self, token: bytes) -> bytes:
        """The response to the client's message; AuthenticationFailed, which ends the login, when it is wrong."""
        try:
            if self._state == "RECEIVE_CLIENT_FIRST_MESSAGE":
                answer = self._first(token)
                self._state = "RECEIVE_CLIENT_FINAL_MESSAGE"
                return answer
            if self._state == "RECEIVE_CLIENT_FINAL_MESSAGE":
                answer = self._final(token)
                self._state = "COMPLETE"
                self.done = True
                return answer
        except AuthenticationFailed:
            self._state = "FAILED"
            raise
        finally:
            if self._state in ("FAILED", "COMPLETE"):
                self._credential = None
        raise AuthenticationFailed(f"Unexpected challenge in Sasl server state {self._state}")

    def _first(self, token: bytes) -> bytes:
        match = _CLIENT_FIRST.fullmatch(_text(token, "client first"))
        if match is None:
            raise AuthenticationFailed("Invalid SCRAM client first message format")
        self._gs2_header, self._first_bare = match[1], match[3]
        username, client_nonce = unescaped(match[4]), match[5]
        extensions = dict(part.split("=", 1) for part in match[6].split(",") if part)
        self.token_auth = extensions.get("tokenauth", "").lower() == "true"
        if match[2] is not None and unescaped(match[2]) != username:
            raise AuthenticationFailed(OTHER_ID)
        credential = self._find(ScramLogin(username, self.token_auth))
        if credential is None:
            raise AuthenticationFailed("Authentication failed: Invalid user credentials")
        if credential.iterations < self._kind.min_iterations:
            raise AuthenticationFailed(
                f"Iterations {credential.iterations} is less than the minimum {self._kind.min_iterations} "
                f"for {self.mechanism}"
            )
        self.username, self._credential = username, credential
        salt = base64.b64encode(credential.salt).decode("ascii")
        self._nonce = client_nonce + self._nonce
        self._server_first = f"r={self._nonce},s={salt},i={credential.iterations}"
        return self._server_first.encode("utf-8")

    def _find(self, login: ScramLogin) -> ScramCredential | None:
        try:
            return self._lookup(login)
        except AuthenticationFailed:
            raise
        except Exception as error:
            raise AuthenticationFailed("Authentication failed: Credentials could not be obtained") from error

    def _final(self, token: bytes) -> bytes:
        assert self._credential is not None
        match = _CLIENT_FINAL.fullmatch(_text(token, "client final"))
        if match is None:
            raise AuthenticationFailed("Invalid SCRAM client final message format")
        without_proof, binding, nonce, proof_text = match[1], match[2], match[3], match[4]
        if nonce != self._nonce:
            raise AuthenticationFailed("Invalid client nonce in the final client message.")
        if _base64(binding, self.mechanism) != self._gs2_header.encode("utf-8"):
            raise AuthenticationFailed("Invalid channel binding in the final client message.")
        auth_message = ",".join((self._first_bare, self._server_first, without_proof)).encode("utf-8")
        signature = scram_math.keyed_hash(self._kind, self._credential.stored_key, auth_message)
        proof = _base64(proof_text, self.mechanism)
        if len(proof) != len(signature):
            raise AuthenticationFailed("Invalid client credentials")
        import hmac

        offered = scram_math.stored_key(self._kind, scram_math.xor(proof, signature))
        if not hmac.compare_digest(offered, self._credential.stored_key):
            raise AuthenticationFailed("Invalid client credentials")
        answer = scram_math.keyed_hash(self._kind, self._credential.server_key, auth_message)
        return b"v=" + base64.b64encode(answer)


def _text(message: bytes, whose: str) -> str:
    if len(message) > MAX_MESSAGE_BYTES:
        raise AuthenticationFailed(f"SCRAM {whose} message of {len(message)} bytes is too long")
    try:
        return message.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AuthenticationFailed(f"SCRAM {whose} message is not UTF-8") from error


def _base64(text: str, mechanism: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise AuthenticationFailed(f"{mechanism}: a value in the message is not base64") from error
