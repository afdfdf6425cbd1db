"""Unsecured JSON web tokens (RFC 7515, algorithm "none"), created and checked like Kafka's test login module does.

For tests and development only: anybody can create one. Options and texts are those of Kafka's
``OAuthBearerUnsecuredLoginCallbackHandler`` and ``OAuthBearerUnsecuredValidatorCallbackHandler`` (KIP-255).
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from kafka_tools.errors import ConfigError
from kafka_tools.net.sasl.oauthbearer import BearerToken, TokenRefused
from kafka_tools.texts.blanks import trim

_SCOPE_ITEM = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
_LIST_OPTION, _NUMBER_OPTION, _TEXT_OPTION = (f"unsecuredLogin{kind}Claim_" for kind in ("List", "Number", "String"))


def make_token(options: Mapping[str, str], now_ms: int) -> str:
    """The token that ``unsecuredLogin...`` options of a JAAS entry describe. Raises ConfigError."""
    principal_claim = options.get("unsecuredLoginPrincipalClaimName", "").strip() or "sub"
    lifetime_s = _number(options, "unsecuredLoginLifetimeSeconds", 3600)
    claims: dict[str, Any] = {"iat": now_ms / 1000, "exp": now_ms / 1000 + lifetime_s}
    for option, value in options.items():
        for prefix in (_TEXT_OPTION, _NUMBER_OPTION, _LIST_OPTION):
            name = option.removeprefix(prefix)
            if name == option:
                continue
            if name in ("iat", "exp"):
                raise ConfigError(f"sasl.jaas.config: Cannot explicitly set the '{name}' claim")
            if prefix == _NUMBER_OPTION:
                claims[name] = float(_number(options, option, 0))
            else:
                claims[name] = value if prefix == _TEXT_OPTION else list_of(value)
    if not claims.get(principal_claim):
        raise ConfigError(
            f"sasl.jaas.config: the OAUTHBEARER token has no principal: no '{principal_claim}' claim is set",
            hint=f'add unsecuredLoginStringClaim_{principal_claim}="<name>" for an unsecured token (tests only), or '
            "set sasl.oauthbearer.token.endpoint.url",
        )
    return f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."


def list_of(value: str) -> list[str]:
    """The items of a list claim: the first character separates them."""
    if len(value) <= 1:
        return []
    delimiter, rest = value[0], value[1:]
    items = rest.split(delimiter)
    while items and not items[-1]:
        items.pop()
    if rest.startswith(delimiter) or rest.endswith(delimiter) or delimiter * 2 in rest:
        items.append("")  # as Kafka's handler does, at any position of the empty item
    return items


class UnsecuredValidator:
    """Validates unsecured tokens with the ``unsecuredValidator...`` options of a JAAS entry."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Raises ConfigError."""
        self._principal_claim = options.get("unsecuredValidatorPrincipalClaimName", "").strip() or "sub"
        self._scope_claim = options.get("unsecuredValidatorScopeClaimName", "").strip() or "scope"
        self._required = options.get("unsecuredValidatorRequiredScope", "").split()
        for item in self._required:
            if not _SCOPE_ITEM.fullmatch(item):
                raise ConfigError(f"sasl.jaas.config: Invalid scope value: {item}")
        self._skew_ms = _number(options, "unsecuredValidatorAllowableClockSkewMs", 0)
        if self._skew_ms < 0:
            raise ConfigError(
                f"sasl.jaas.config: Allowable clock skew millis must not be negative: {self._skew_ms:.0f}"
            )

    def validate(self, token: str, now_ms: int) -> BearerToken:
        """The token's contents; TokenRefused for another kind of token, an expired one, or a missing scope."""
        claims = read_token(token)
        principal = _claim(claims, self._principal_claim, str)
        if principal is None or not trim(principal):
            raise TokenRefused(f"No principal name in JWT claim: {self._principal_claim}")
        issued, expires = _time(claims, "iat"), _time(claims, "exp")
        if expires is None:
            raise TokenRefused("No expiration time in JWT")
        if issued is not None and 1000 * issued > now_ms + self._skew_ms:
            raise TokenRefused(
                f"The Issued At value ({issued:f} seconds) was after the indicated time ({now_ms} ms) plus allowable "
                f"clock skew ({self._skew_ms:.0f} ms)"
            )
        if now_ms - self._skew_ms >= 1000 * expires:
            raise TokenRefused(
                f"The indicated time ({now_ms} ms) minus allowable clock skew ({self._skew_ms:.0f} ms) was on or after "
                f"the Expiration Time value ({expires:f} seconds)"
            )
        if issued is not None and expires <= issued:
            raise TokenRefused(
                f"The Expiration Time time ({expires:f} seconds) was not after the Issued At time ({issued:f} seconds)"
            )
        scope = _scope(claims.get(self._scope_claim), self._scope_claim)
        for item in self._required:
            if item not in scope:
                raise TokenRefused(f"the required scope {item} is missing", f"[{', '.join(self._required)}]")
        return BearerToken(principal, scope, round(1000 * expires), None if issued is None else round(1000 * issued))


def read_token(token: str) -> dict[str, Any]:
    """The claims of an unsecured token; TokenRefused, without the token, for anything else."""
    if ".." in token:
        raise TokenRefused("Malformed compact serialization contains '..'")
    parts = token.split(".")
    if len(parts) != 3:
        raise TokenRefused("Unsecured JWS compact serializations must have 3 dot-separated Base64URL-encoded values")
    header, claims = _decoded(parts[0]), _decoded(parts[1])
    if header.get("alg") != "none":
        raise TokenRefused("Unsecured JWS must have 'none' for an algorithm")
    if parts[2]:
        raise TokenRefused("Unsecured JWS must not contain a digital signature")
    return claims


def _scope(value: Any, name: str) -> frozenset[str]:
    if value is None:
        return frozenset()
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise TokenRefused(f"The '{name}' claim was not of type String or String List")
    return frozenset(trim(item) for item in items if trim(item))


def _claim(claims: dict[str, Any], name: str, kind: type) -> Any:
    value = claims.get(name)
    if value is not None and not isinstance(value, kind):
        raise TokenRefused(f"The '{name}' claim was not of type {kind.__name__}: {type(value).__name__}")
    return value


def _time(claims: dict[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e14:
        raise TokenRefused(f"The '{name}' claim was not of type Number")
    return float(value)


def _decoded(part: str) -> dict[str, Any]:
    if "+" in part or "/" in part:  # letters of plain Base64, which Python also accepts
        raise TokenRefused("malformed Base64 URL encoded value")
    try:
        raw = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except ValueError as error:
        raise TokenRefused("malformed Base64 URL encoded value") from error
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise TokenRefused("malformed JSON") from error
    if not isinstance(found, dict):
        raise TokenRefused("malformed JSON")
    return found


def _encoded(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).rstrip(b"=").decode()


def _number(options: Mapping[str, str], name: str, default: float) -> float:
    text = options.get(name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"sasl.jaas.config: invalid {name}: expected a number")
    return value
