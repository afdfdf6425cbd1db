"""SCRAM credentials and keys (RFC 5802, RFC 7677), and the text form in which Kafka stores them.

Used by both halves of the SASL exchange, by the admin call that uploads a credential, by the ZooKeeper document and
by the bundled broker. It has no code for messages, sockets or stores. Text form and bounds are Kafka's
(``ScramCredentialUtils``, ``ScramMechanism``). Functions import hashlib and hmac: that takes 9 ms.
"""

from __future__ import annotations

import base64
from typing import NamedTuple

from kafka_tools.errors import InputError

DEFAULT_ITERATIONS = 4096
SALT_BYTES = 26


class ScramMechanism(NamedTuple):
    """One SCRAM mechanism of Kafka. ``type_id`` is its number in requests, ``hash_name`` hashlib's name of the hash."""

    type_id: int
    name: str
    hash_name: str
    key_bytes: int
    min_iterations: int
    max_iterations: int

    def check_iterations(self, iterations: int) -> None:
        """Raise InputError if brokers refuse the iteration count."""
        if iterations < self.min_iterations:
            raise InputError(
                f"Iterations {iterations} is less than the minimum {self.min_iterations} required for {self.name}"
            )
        if iterations > self.max_iterations:
            raise InputError(
                f"Iterations {iterations} is greater than the maximum {self.max_iterations} allowed for {self.name}"
            )


SHA_256 = ScramMechanism(1, "SCRAM-SHA-256", "sha256", 32, 4096, 16384)
SHA_512 = ScramMechanism(2, "SCRAM-SHA-512", "sha512", 64, 4096, 16384)
MECHANISMS = {SHA_256.name: SHA_256, SHA_512.name: SHA_512}
BY_TYPE_ID = {SHA_256.type_id: SHA_256, SHA_512.type_id: SHA_512}


def mechanism(name: str) -> ScramMechanism:
    """The mechanism with this name. Raises InputError if Kafka does not have it."""
    found = MECHANISMS.get(name)
    if found is None:
        raise InputError(f"unknown SCRAM mechanism '{name}': expected {' or '.join(MECHANISMS)}")
    return found


class ScramCredential(NamedTuple):
    """The values that a server stores instead of a password. ``repr`` does not contain keys and salt."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"


def new_salt() -> bytes:
    """A random salt."""
    import secrets

    return secrets.token_bytes(SALT_BYTES)


def salted_password(kind: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """Hi(Normalize(password), salt, iterations) of RFC 5802, which is PBKDF2 with HMAC.

    Kafka does not apply SASLprep (``ScramFormatter.normalize``): the password is its UTF-8 bytes.
    """
    import hashlib

    return hashlib.pbkdf2_hmac(kind.hash_name, password.encode("utf-8"), salt, iterations)


def client_key(kind: ScramMechanism, salted: bytes) -> bytes:
    """ClientKey of RFC 5802."""
    return keyed_hash(kind, salted, b"Client Key")


def server_key(kind: ScramMechanism, salted: bytes) -> bytes:
    """ServerKey of RFC 5802."""
    return keyed_hash(kind, salted, b"Server Key")


def stored_key(kind: ScramMechanism, key_of_client: bytes) -> bytes:
    """StoredKey of RFC 5802: the hash of the ClientKey."""
    import hashlib

    return hashlib.new(kind.hash_name, key_of_client).digest()


def keyed_hash(kind: ScramMechanism, key: bytes, text: bytes) -> bytes:
    """HMAC of ``text`` with ``key``. It computes the client signature, the server signature and the keys."""
    import hmac

    return hmac.digest(key, text, kind.hash_name)


def xor(left: bytes, right: bytes) -> bytes:
    """Exclusive or of two byte strings of equal length."""
    return (int.from_bytes(left, "big") ^ int.from_bytes(right, "big")).to_bytes(len(left), "big")


def credential(
    kind: ScramMechanism, password: str, iterations: int = DEFAULT_ITERATIONS, salt: bytes | None = None
) -> ScramCredential:
    """The credential to store for ``password``. Raises InputError if brokers refuse the iteration count.

    ``salt`` defaults to a random one.
    """
    kind.check_iterations(iterations)
    salt = new_salt() if salt is None else salt
    salted = salted_password(kind, password, salt, iterations)
    return ScramCredential(salt, stored_key(kind, client_key(kind, salted)), server_key(kind, salted), iterations)


def credential_to_text(value: ScramCredential) -> str:
    """``salt=...,stored_key=...,server_key=...,iterations=N`` with standard base64, as Kafka stores it."""
    salt, stored, server = (base64.b64encode(part).decode("ascii") for part in value[:3])
    return f"salt={salt},stored_key={stored},server_key={server},iterations={value.iterations}"


def credential_from_text(text: str) -> ScramCredential:
    """Parse Kafka's text form. Raises InputError, without key material, if the text is invalid."""
    fields: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or name in fields:
            raise InputError("Credentials not valid: expected name=value pairs separated by commas")
        fields[name] = value
    if set(fields) != {"salt", "stored_key", "server_key", "iterations"}:
        raise InputError("Credentials not valid: expected salt, stored_key, server_key and iterations")
    try:
        salt, stored, server = (
            base64.b64decode(fields[name], validate=True) for name in ("salt", "stored_key", "server_key")
        )
    except ValueError:
        # No message may contain the text or its parts, so the cause is not chained either.
        raise InputError("Credentials not valid: salt and keys are not base64") from None
    count = fields["iterations"]
    if not (count.isascii() and count.isdigit() and len(count) < 10):
        raise InputError("Credentials not valid: iterations is not a whole number")
    return ScramCredential(salt, stored, server, int(count))
