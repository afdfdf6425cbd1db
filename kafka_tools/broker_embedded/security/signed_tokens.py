"""Validates signed JSON web tokens (RFC 7515, 7519) with the keys of their issuer.

Rules are those of Kafka's ``BrokerJwtValidator`` and its library jose4j (KIP-768). A token needs a signature by a known
key, ``exp`` and ``iat``, a subject, and the expected audience and issuer, if these are configured (as in Kafka 4.4).
Symmetric keys and algorithm "none" are never accepted. Unknown header parameters are ignored unless ``crit`` names them
(RFC 7515, section 4). A duplicate key in an object is refused, as in jose4j. The package ``joserfc`` implements keys
and signatures. This module uses no file and no network.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from kafka_tools.errors import ConfigError
from kafka_tools.net.sasl.oauthbearer import MAX_MESSAGE_BYTES, BearerToken, TokenRefused
from kafka_tools.texts.blanks import trim

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, RSAKey

log = logging.getLogger(__name__)

RSA_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
EC_ALGORITHMS = {"P-256": ("ES256",), "P-384": ("ES384",), "P-521": ("ES512",)}
"""Algorithms by curve."""
_MIN_RSA_BITS = 2048
_MAX_KEYS = 1000
_LATEST_S = 1e14


class WebKey(NamedTuple):
    """One public key of a key set. ``algorithms``: the signature algorithms for which it may be used."""

    id: str | None
    algorithms: tuple[str, ...]
    key: RSAKey | ECKey


class Rules(NamedTuple):
    """The required claims of a token: the ``sasl.oauthbearer.*`` settings of a listener."""

    audiences: frozenset[str] = frozenset()
    issuer: str | None = None
    clock_skew_s: int = 30
    scope_claim: str = "scope"
    subject_claim: str = "sub"


def parse_key_set(data: bytes, source: str) -> list[WebKey]:
    """The usable keys of a JWKS document (RFC 7517). ConfigError for any other document."""
    try:
        rows = json.loads(data)["keys"]
        if not isinstance(rows, list) or len(rows) > _MAX_KEYS:
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ConfigError(f"{source}: not a JSON web key set (an object with a list of keys)") from None
    return [key for key in map(_web_key, rows) if key is not None]


class _Signed(NamedTuple):
    """The parts of a token (RFC 7515, compact serialization)."""

    header: Mapping[str, Any]
    payload: bytes
    input: bytes
    """The signed bytes: header and payload as they were sent."""
    signature: bytes


class SignedTokens:
    """Validates tokens. ``keys()`` returns the current keys; ``missing(id)`` is called with an unknown key id."""

    def __init__(
        self, rules: Rules, keys: Callable[[], Sequence[WebKey]], missing: Callable[[str], None] = lambda id: None
    ) -> None:
        self._rules = rules
        self._keys = keys
        self._missing = missing

    def validate(self, token: str, now_ms: int) -> BearerToken:
        """The claims of a token. TokenRefused if it is invalid; the text does not contain the token."""
        signed = _parts(token)
        self._check_signature(signed)
        return self._judge(_json_object(signed.payload, "payload"), now_ms)

    def _check_signature(self, signed: _Signed) -> None:
        header = signed.header
        _check_critical(header)
        algorithm, key_id, content = header.get("alg"), header.get("kid"), header.get("cty", "")
        if not isinstance(algorithm, str):
            raise TokenRefused("its header names no algorithm (alg)")
        if not isinstance(key_id, str | None) or not isinstance(content, str):
            raise TokenRefused("its header has a key id (kid) or content type (cty) that is not a string")
        if content.lower() in ("jwt", "application/jwt"):
            raise TokenRefused("it contains another token")
        fitting = [key for key in self._keys() if algorithm in key.algorithms and key_id in (None, key.id)]
        if not fitting and key_id is not None:
            self._missing(key_id)
        if not fitting:
            raise TokenRefused("no key in the key set matches it")
        if not any(_verifies(key, algorithm, signed) for key in fitting):
            raise TokenRefused("its signature is invalid")

    def _judge(self, claims: Mapping[str, Any], now_ms: int) -> BearerToken:
        rules, now_s = self._rules, now_ms // 1000
        expires, issued, begins = (_time(claims, name) for name in ("exp", "iat", "nbf"))
        if expires is None:
            raise TokenRefused("it has no expiration time (exp)")
        if issued is None:
            raise TokenRefused("it has no issue time (iat)")
        if now_s - rules.clock_skew_s >= expires:
            raise TokenRefused(f"it expired at {expires}, and the time is {now_s}")
        if begins is not None and now_s + rules.clock_skew_s < begins:
            raise TokenRefused(f"it is valid from {begins}, and the time is {now_s}")
        if expires < issued:
            raise TokenRefused("it expires before it was issued")
        self._check_audience(claims.get("aud"))
        if rules.issuer is not None and claims.get("iss") != rules.issuer:
            raise TokenRefused("its issuer (iss) is not the expected one")
        subject = claims.get(rules.subject_claim)
        if not isinstance(subject, str) or not trim(subject):
            raise TokenRefused(f"it has no subject ({rules.subject_claim})")
        scope = _scope(claims.get(rules.scope_claim), rules.scope_claim)
        return BearerToken(trim(subject), scope, 1000 * expires, 1000 * issued)

    def _check_audience(self, value: object) -> None:
        if not self._rules.audiences:
            return  # the listener takes tokens of any audience
        named = [value] if isinstance(value, str) else value
        if not isinstance(named, list) or not all(isinstance(item, str) for item in named):
            raise TokenRefused("its audience (aud) is missing or not a string")
        if self._rules.audiences.isdisjoint(named):
            raise TokenRefused("its audience (aud) is not the expected one")


def _scope(value: object, name: str) -> frozenset[str]:
    items = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    if not all(isinstance(item, str) and trim(item) for item in items):
        raise TokenRefused(f"its {name} is empty or not a string")
    found = [trim(item) for item in items]
    if len(set(found)) != len(found):
        raise TokenRefused(f"its {name} contains an item twice")
    return frozenset(found)


def _time(claims: Mapping[str, Any], name: str) -> int | None:
    """A time in whole seconds; fractions are dropped, as in jose4j."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LATEST_S:
        raise TokenRefused(f"its {name} is not a time")
    return int(value)


def _parts(token: str) -> _Signed:
    """Split and decode a token; TokenRefused if it is malformed or longer than the message of a login."""
    if len(token) > MAX_MESSAGE_BYTES:
        raise TokenRefused(f"it is longer than {MAX_MESSAGE_BYTES} characters")
    texts = token.split(".")
    if len(texts) != 3 or not all(texts):
        raise TokenRefused("it is not a signed token of three parts")
    try:
        header, payload, signature = (
            base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), altchars=b"-_", validate=True)
            for text in texts
        )
    except (binascii.Error, ValueError) as error:
        raise TokenRefused("it is not a signed token: a part is not base64url") from error
    return _Signed(_json_object(header, "header"), payload, f"{texts[0]}.{texts[1]}".encode(), signature)


def _json_object(data: bytes, where: str) -> dict[str, Any]:
    try:
        found = json.loads(data.decode(), object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise TokenRefused(f"its {where} is not JSON") from error
    if not isinstance(found, dict):
        raise TokenRefused(f"its {where} is not a JSON object")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object without duplicate keys: other readers might use another one of the values."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise TokenRefused("it contains a duplicate key in an object")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _check_critical(header: Mapping[str, Any]) -> None:
    """Refuse critical extensions, except ``b64`` (RFC 7797), the only one that jose4j supports."""
    critical = header.get("crit")
    if critical is not None and (not isinstance(critical, list) or any(name != "b64" for name in critical)):
        raise TokenRefused("its header has extensions (crit) that are not supported")
    if header.get("b64") is False:
        raise TokenRefused("its payload must be encoded, but its header says that it is not (b64)")


def _verifies(web_key: WebKey, algorithm: str, signed: _Signed) -> bool:
    from joserfc.errors import JoseError
    from joserfc.jws import JWSRegistry

    try:
        found = JWSRegistry(algorithms=[algorithm]).get_alg(algorithm)
        found.check_key(web_key.key)
        return found.verify(signed.input, signed.signature, web_key.key)
    except (JoseError, ValueError):
        return False


def _web_key(row: object) -> WebKey | None:
    """A key of a set; None if it is not usable for signatures."""
    try:
        from joserfc.errors import JoseError
        from joserfc.jwk import ECKey, RSAKey, import_key
    except ImportError as error:
        raise ConfigError(
            "cannot check signed tokens: the Python package joserfc is missing",
            hint="pip install 'kafka-operator-tools[oauth]'",
        ) from error
    if not isinstance(row, dict) or row.get("use", "sig") != "sig" or row.get("kty") not in ("RSA", "EC"):
        return None
    key_id, named = row.get("kid"), row.get("alg")
    algorithms: tuple[str, ...] = ()
    try:
        key = import_key(row)
    except (JoseError, ValueError, TypeError) as error:
        log.warning("ignoring a key of the JSON web key set: %s", error)
        return None
    if isinstance(key, RSAKey) and key.public_key.key_size >= _MIN_RSA_BITS:
        algorithms = RSA_ALGORITHMS
    elif isinstance(key, ECKey):
        algorithms = EC_ALGORITHMS.get(key.curve_name, ())
    else:
        log.warning("ignoring a key of the JSON web key set: it is neither EC nor RSA of %d bits", _MIN_RSA_BITS)
        return None
    if named is not None:
        algorithms = tuple(algorithm for algorithm in algorithms if algorithm == named)
    return WebKey(key_id, algorithms, key) if algorithms and isinstance(key_id, str | None) else None
