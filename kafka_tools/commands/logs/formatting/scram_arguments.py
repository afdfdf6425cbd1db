"""``--add-scram SCRAM-SHA-256=[name=alice,password=...]``: a credential for the first metadata of a cluster (KIP-900).

Rules and texts are those of ``ScramParser`` of Kafka, without the parts that could show a secret.
"""

from __future__ import annotations

import base64
import binascii

from kafka_tools.errors import UsageError
from kafka_tools.protocol.stored.cluster_metadata import UserScramCredentialRecord
from kafka_tools.scram_math import (
    DEFAULT_ITERATIONS,
    MECHANISMS,
    client_key,
    new_salt,
    salted_password,
    server_key,
    stored_key,
)

_OPTION = "--add-scram"
_COMPONENTS = ("name", "password", "salt", "saltedpassword", "iterations")
_FORM = "use SCRAM-SHA-256=[name=NAME,password=PASSWORD], or SCRAM-SHA-512"


def parse_scram_argument(text: str) -> UserScramCredentialRecord:
    """The record for one argument. Raises UsageError, which does not contain the password, its hash or the salt."""
    name, equals, rest = text.strip().partition("=")
    if not equals:
        raise UsageError(f"{_OPTION}: Failed to find equals sign in SCRAM argument", hint=_FORM)
    kind = MECHANISMS.get(name)
    if kind is None:
        raise UsageError(f"The add-scram mechanism {name} is not supported.", hint=_FORM)
    for end, found in (("start with [", rest.startswith("[")), ("end with ]", rest.endswith("]"))):
        if not found:
            raise UsageError(f"{_OPTION}: Expected configuration string to {end}", hint=_FORM)
    parts, unknown = _components(rest[1:-1])
    user = parts.pop("name", None)
    if user is None:
        raise UsageError("You must supply 'name' to add-scram", hint=_FORM)
    salt = _decoded(parts.pop("salt", None), "salt")
    iterations = _iterations(parts.pop("iterations", None))
    password = parts.pop("password", None)
    salted = _decoded(parts.pop("saltedpassword", None), "saltedPassword") if password is None else None
    if password is None and salted is None:
        raise UsageError("You must supply one of 'password' or 'saltedpassword' to add-scram", hint=_FORM)
    if salted is not None and salt is None:
        raise UsageError("You must supply 'salt' with 'saltedpassword' to add-scram", hint=_FORM)
    if unknown:
        raise UsageError(f"Unknown SCRAM configurations: {', '.join(sorted(unknown))}", hint=_FORM)
    for sign, limit, wrong in (
        (">=", kind.min_iterations, iterations < kind.min_iterations),
        ("<=", kind.max_iterations, iterations > kind.max_iterations),
    ):
        if wrong:
            raise UsageError(f"The 'iterations' value must be {sign} {limit} for add-scram using {kind.name}")
    salt = new_salt() if salt is None else salt
    if salted is None:
        salted = salted_password(kind, password or "", salt, iterations)
    return UserScramCredentialRecord(
        name=user,
        mechanism=kind.type_id,
        salt=salt,
        stored_key=stored_key(kind, client_key(kind, salted)),
        server_key=server_key(kind, salted),
        iterations=iterations,
    )


def _components(text: str) -> tuple[dict[str, str], set[str]]:
    """The known components, and the names of the others, as far as they can be shown. Raises UsageError."""
    found: dict[str, str] = {}
    unknown = set()
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:  # a part without one may be the rest of a password that contains a comma
            raise UsageError("No equals sign found in SCRAM component (not shown, it may be a secret)", hint=_FORM)
        if name in found:
            raise UsageError(f"{_OPTION}: {name} is given twice", hint=_FORM)
        if name in _COMPONENTS:
            found[name] = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
        else:
            unknown.add(
                "one after the password (not shown, it may be part of the password)" if "password" in found else name
            )
    return found, unknown


def _decoded(text: str | None, what: str) -> bytes | None:
    try:
        return None if text is None else base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise UsageError(f"Failed to decode given {what}: it is not base64", hint=_FORM) from None


def _iterations(text: str | None) -> int:
    if text is None:
        return DEFAULT_ITERATIONS
    if not (text.isascii() and text.removeprefix("+").isdigit() and len(text) < 11):
        raise UsageError(f"Failed to parse iterations count: {text}", hint=_FORM)
    return int(text)
