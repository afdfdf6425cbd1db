"""Which signed OAUTHBEARER tokens are taken: the bundled broker and Kafka's ``BrokerJwtValidator`` agree."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.net.sasl.oauthbearer import TokenRefused
from tests.against_kafka.jars import ENVIRONMENT
from tests.against_kafka.java_programs import compiled
from tests.broker_embedded.security.test_signed_tokens import (
    UNKNOWN_PARAMETERS,
    all_keys,
    judged,
    rsa_key,
    token,
    written,
)

SUBJECTS = ("\u00a0admin", "admin\u2003", "\u3000admin\u3000", "\x1cadmin", "admin\u200b", "\u00a0", "\x1f")


def tokens(now_s: int) -> dict[str, str]:
    def made(algorithm: str = "RS256", **more: Any) -> str:
        return token(algorithm, now_s=now_s, **more)

    headers: dict[str, dict[str, Any]] = {
        "no key id": {"kid": None}, "unknown key": {"kid": "other"}, "key id no text": {"kid": 5},
        "extension": {"crit": ["b64"], "b64": False}, "other hash": {"alg": "RS512"}, "secret key": {"alg": "HS256"},
        "type": {"typ": "at+jwt"}, "nested": {"cty": "JWT"}, "own key": {"jwk": {}},
        "content a number": {"cty": 5}, "no critical ones": {"crit": []}, "critical a text": {"crit": "b64"},
        "not encoded": {"b64": False}, "encoded, and must be": {"b64": True, "crit": ["b64"]},
        **{f"unknown {name}": {name: value} for name, value in UNKNOWN_PARAMETERS.items()},
        **{f"critical {name}": {name: value, "crit": [name]} for name, value in UNKNOWN_PARAMETERS.items()},
    }  # fmt: skip
    claims: dict[str, dict[str, Any]] = {
        "no end": {"exp": None}, "no start": {"iat": None}, "ended within skew": {"iat": now_s - 60, "exp": now_s - 10},
        "ended": {"iat": now_s - 90, "exp": now_s - 60}, "begins within skew": {"nbf": now_s + 10},
        "begins later": {"nbf": now_s + 200}, "issued later": {"iat": now_s + 100}, "backwards": {"iat": now_s + 400},
        "end is text": {"exp": "soon"}, "end is a number as text": {"exp": str(now_s + 100)},
        "end is true": {"exp": True},
        "end with a fraction": {"exp": now_s + 100.5}, "end far away": {"exp": 10**13},
        "start before time": {"iat": -5},
        "no subject": {"sub": None}, "blank subject": {"sub": " "}, "subject a number": {"sub": 5},
        "subject with blanks": {"sub": " a "}, **{f"subject {sub!a}": {"sub": sub, "scope": sub} for sub in SUBJECTS},
        "scope a text": {"scope": "a b"}, "scopes": {"scope": ["a", " b"]},
        "scope twice": {"scope": ["a", "a"]}, "scope blank": {"scope": [" "]}, "scope a number": {"scope": 5},
        "scope empty": {"scope": ""}, "audience": {"aud": "kafka"}, "audiences": {"aud": ["x", "kafka"]},
        "audience a number": {"aud": 5}, "no audiences": {"aud": []}, "issuer": {"iss": "https://login"},
        "audience and issuer": {"aud": "kafka", "iss": "https://login"},
    }  # fmt: skip
    return {
        **{algorithm: made(algorithm) for algorithm in ("RS256", "RS512", "PS256", "ES256", "ES384", "ES512")},
        **{name: made(header=header) for name, header in headers.items()},
        **{name: made(**fields) for name, fields in claims.items()},
        "subject twice": written(claims='"sub":"admin",', now_s=now_s),
        "twice within": written(claims='"act":{"sub":"a","sub":"b"},', now_s=now_s),
        "key id twice": written('"kid":"r",', now_s=now_s),
        "unsecured": made("none"), "stranger": made(key=rsa_key("stranger")), "cut": made()[:-4], "no token": "a.b",
    }  # fmt: skip


@pytest.fixture(scope="module")
def judge() -> Callable[..., list[str]]:
    """Kafka's judgements on the lines of a file."""
    program, *arguments_after = compiled("JudgeTokens")

    def run(keys: Path, *arguments: str) -> list[str]:
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys.as_uri()}"
        command = [program, allowed, *arguments_after]
        done = subprocess.run(
            [*command, str(keys), *arguments], capture_output=True, text=True, timeout=300, env=ENVIRONMENT
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize(("audience", "issuer"), [("", ""), ("kafka", ""), ("kafka,other", "https://login")])
def test_the_same_tokens_are_taken(judge: Callable[..., list[str]], tmp_path: Path, audience: str, issuer: str) -> None:
    now_s = int(time.time())
    made = tokens(now_s)
    keys, lines = tmp_path / "keys.json", tmp_path / "tokens"
    keys.write_bytes(all_keys())
    lines.write_text("\n".join(made.values()) + "\n")
    rules = {"audiences": frozenset(filter(None, audience.split(","))), "issuer": issuer or None}

    def ours(text: str) -> str:
        try:
            found = judged(text, now_s=now_s, **rules)
        except TokenRefused:
            return "refused"
        return "|".join((found.principal, ",".join(sorted(found.scope)), str(found.expires_ms), str(found.start_ms)))

    theirs = dict(zip(made, judge(keys, str(lines), audience, issuer), strict=True))
    assert {name: ours(text) for name, text in made.items()} == theirs
    assert {"refused"} < set(theirs.values())
