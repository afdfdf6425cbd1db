"""Unsecured tokens as the broker judges them: in which order, what counts, and what is told to whom."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kafka_tools.errors import AuthenticationFailed
from kafka_tools.net.sasl.oauthbearer import BearerToken, OAuthBearerServer, TokenRefused
from kafka_tools.net.sasl.unsecured_jws import UnsecuredValidator, make_token

NOW_S = 1_700_000_000


def token(**claims: Any) -> str:
    values = {"sub": "alice", "iat": NOW_S, "exp": NOW_S + 60, **claims}
    parts = ({"alg": "none"}, {name: value for name, value in values.items() if value is not None})
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)
    return ".".join((*encoded, ""))


def judged(text: str, **options: str) -> BearerToken:
    named = {f"unsecuredValidator{name}": value for name, value in options.items()}
    return UnsecuredValidator(named).validate(text, NOW_S * 1000)


@pytest.mark.req("OA-14")
def test_a_token_is_a_principal_a_scope_and_its_times() -> None:
    assert judged(token(scope=[" read ", "", "  ", "write"])) == BearerToken(
        "alice", frozenset({"read", "write"}), (NOW_S + 60) * 1000, NOW_S * 1000
    )
    bare = judged(token(iat=None))
    assert (bare.scope, bare.start_ms) == (frozenset(), None), "never no scope at all"
    assert judged(token(exp=NOW_S + 0.0125)).expires_ms == NOW_S * 1000 + 12


def test_blanks_that_java_does_not_cut_belong_to_the_name() -> None:
    found = judged(token(sub="\u00a0", scope=["\u00a0a\t"]))
    assert (found.principal, found.scope) == ("\u00a0", {"\u00a0a"})


@pytest.mark.req("OA-23")
def test_when_a_token_begins_does_not_matter() -> None:
    assert judged(token(nbf=NOW_S + 1000)).principal == "alice"
    assert judged(token(nbf="tomorrow")).principal == "alice"


@pytest.mark.req("OA-27", "GAP-16")
@pytest.mark.parametrize("value", ['a"b', "a\\b", 'a\\"b', "\\\\", '"'])
def test_quotes_and_backslashes_in_claims_come_back_as_they_were(value: str) -> None:
    made = make_token({"unsecuredLoginStringClaim_sub": value}, NOW_S * 1000)
    assert judged(made).principal == value


@pytest.mark.req("OA-29")
def test_principal_times_their_order_and_scope_are_judged_in_that_order() -> None:
    wrong: dict[str, Any] = {"sub": " ", "iat": NOW_S + 10, "exp": NOW_S - 10}
    repaired: list[tuple[dict[str, Any], str]] = [
        ({}, "No principal name"),
        ({"sub": "alice"}, "Issued At value"),
        ({"iat": NOW_S}, "was on or after the Expiration Time"),
        ({"iat": NOW_S, "exp": NOW_S - 1}, "was on or after the Expiration Time"),
        ({"exp": NOW_S + 5}, "required scope"),
    ]
    for change, told in repaired:
        wrong.update(change)
        with pytest.raises(TokenRefused, match=told):
            judged(token(**wrong), RequiredScope="read")
    backwards = token(iat=NOW_S + 50, exp=NOW_S + 40)
    with pytest.raises(TokenRefused, match="was not after the Issued At time"):
        judged(backwards, RequiredScope="read", AllowableClockSkewMs="60000")


@pytest.mark.req("OA-31")
def test_only_a_scope_that_is_too_small_is_told_apart() -> None:
    with pytest.raises(TokenRefused) as refused:
        judged(token(scope=["read"]), RequiredScope="read write")
    assert (refused.value.status, refused.value.scope) == ("insufficient_scope", "[read, write]")
    for other in (token(sub=None), token(exp=NOW_S - 1), token(iat=NOW_S + 1), "a.b", token()[:-1]):
        with pytest.raises(TokenRefused) as refused:
            judged(other)
        assert (refused.value.status, refused.value.scope) == ("invalid_token", None)


@pytest.mark.req("OA-11")
def test_trouble_of_the_broker_is_not_the_tokens_fault() -> None:
    def validate(_: str) -> BearerToken:
        raise OSError(5, "Input/output error")

    text = "Authentication could not be performed due to an internal error on the server: Input/output error"
    with pytest.raises(AuthenticationFailed, match=text):
        OAuthBearerServer(validate).step(b"n,,\x01auth=Bearer a.b.\x01\x01")
