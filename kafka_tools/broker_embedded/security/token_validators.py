"""Creates the validator of a listener's OAUTHBEARER tokens: for signed tokens, or for unsecured tokens in tests.

A listener accepts only signed tokens if ``sasl.oauthbearer.jwks.endpoint.url`` is set (required with
``OAuthBearerValidatorCallbackHandler``). Otherwise it accepts only unsecured tokens, as in Kafka.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from kafka_tools.config_definitions.broker_names import broker_row
from kafka_tools.config_definitions.values import check
from kafka_tools.errors import ConfigError

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.endpoints import Endpoint
    from kafka_tools.broker_embedded.security.signed_tokens import SignedTokens
    from kafka_tools.broker_embedded.timers import Timers
    from kafka_tools.net.sasl.oauthbearer import BearerToken

log = logging.getLogger(__name__)

_PREFIX = "sasl.oauthbearer."
_URL = f"{_PREFIX}jwks.endpoint.url"
_OWN_PREFIX = f"oauthbearer.{_PREFIX}"
_HANDLER = "oauthbearer.sasl.server.callback.handler.class"


class TokenValidator(Protocol):
    """Validates tokens and returns their claims; raises TokenRefused."""

    def validate(self, token: str, now_ms: int) -> BearerToken: ...


def token_validator(values: Mapping[str, str], endpoint: Endpoint, timers: Timers) -> TokenValidator:
    """The validator of a listener's tokens. Raises ConfigError for missing or contradictory settings."""
    options = _module_options(values, endpoint)
    values = _of_mechanism(values)
    handler = values.get(_HANDLER, "").strip().rpartition(".")[2]
    url = values.get(_URL, "").strip()
    if handler == "OAuthBearerUnsecuredValidatorCallbackHandler" and url:
        raise ConfigError(
            f"listener {endpoint.name}: {_HANDLER} is for unsecured tokens, {_URL} is for signed ones: set only one "
            "of them"
        )
    if url:
        return _signed(endpoint.name, values, url, options, timers)
    if handler == "OAuthBearerValidatorCallbackHandler":
        raise ConfigError(f"listener {endpoint.name}: {_HANDLER} needs {_URL}")
    from kafka_tools.net.sasl.unsecured_jws import UnsecuredValidator

    log.warning("listener %s accepts unsecured tokens, which anybody can write: use this only for tests", endpoint.name)
    return UnsecuredValidator(options)


def _of_mechanism(values: Mapping[str, str]) -> dict[str, str]:
    """``oauthbearer.sasl.oauthbearer.x`` overrides ``sasl.oauthbearer.x`` (``ConfigurationUtils``)."""
    own = {key.removeprefix("oauthbearer."): text for key, text in values.items() if key.startswith(_OWN_PREFIX)}
    return {**values, **own}


def _signed(
    listener: str, values: Mapping[str, str], url: str, options: Mapping[str, str], timers: Timers
) -> SignedTokens:
    """Like ``BrokerJwtValidator.configure`` since Kafka 4.4: audience and issuer must be set or waived."""
    from kafka_tools.broker_embedded.security.signed_tokens import Rules, SignedTokens
    from kafka_tools.broker_embedded.security.token_keys import Pace, key_source

    def setting(name: str) -> object:
        row = broker_row(_PREFIX + name)
        assert row is not None
        text = values.get(_PREFIX + name)
        return check(_PREFIX + name, row, row[1] or "" if text is None else text)

    def number(name: str) -> int:
        value = setting(name)
        assert isinstance(value, int)
        return value

    audiences = setting("expected.audience")
    assert isinstance(audiences, list)
    issuer = values.get(f"{_PREFIX}expected.issuer", "").strip() or None
    for waiver, claim, expected in (
        ("allow.unverified.audience", "audience (aud)", audiences),
        ("allow.unverified.issuer", "issuer (iss)", issuer),
    ):
        if expected:
            continue
        if not setting(waiver):
            missing = _PREFIX + waiver.replace("allow.unverified", "expected")
            raise ConfigError(
                f"listener {listener}: {missing} is missing: the broker checks the {claim} of tokens",
                hint=f"set it, or set {_PREFIX}{waiver}=true to accept tokens of any {claim}",
            )
        log.warning("listener %s accepts tokens of any %s", listener, claim)
    rules = Rules(
        audiences=frozenset(audiences),
        issuer=issuer,
        clock_skew_s=number("clock.skew.seconds"),
        scope_claim=values.get(f"{_PREFIX}scope.claim.name", "").strip() or "scope",
        subject_claim=values.get(f"{_PREFIX}sub.claim.name", "").strip() or "sub",
    )
    pace = Pace(*(number(f"jwks.endpoint.{name}.ms") for name in ("refresh", "retry.backoff", "retry.backoff.max")))
    source = key_source(url, options, pace, timers, timers.clock.sleep)
    return SignedTokens(rules, source.current, source.missing)


def _module_options(values: Mapping[str, str], endpoint: Endpoint) -> Mapping[str, str]:
    from kafka_tools.net.jaas import parse_jaas

    key = "oauthbearer.sasl.jaas.config"
    text = values.get(key) or values.get("sasl.jaas.config")
    if not text:
        raise ConfigError(
            f"listener {endpoint.name}: OAUTHBEARER needs a login module",
            hint=f"set listener.name.{endpoint.name.lower()}.{key}="
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
        )
    entries = parse_jaas(text, key)
    if len(entries) != 1:
        raise ConfigError(
            f"{key}: Must supply exactly 1 non-null JAAS mechanism configuration (size was {len(entries)})"
        )
    return entries[0].options
