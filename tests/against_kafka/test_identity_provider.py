"""A whole login by OAuth: client credentials to an identity provider over HTTPS, its signed token to real Kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from kafka_tools.admin.client import AdminClient
from kafka_tools.clock import SystemClock
from kafka_tools.errors import AuthenticationFailed
from kafka_tools.net.config import ClientConfig
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import NEWEST
from tests.broker_embedded.security.test_signed_tokens import SIGNED, key_set, rsa_row, token
from tests.net.test_oauth_http import SECRET, Provider

OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    made = Provider(tmp_path_factory.mktemp("provider"))
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(scope="module", params=["3.9.2", NEWEST])
def kafka(
    request: pytest.FixtureRequest,
    real_kafka: Callable[[Setup], RealKafka],
    tmp_path_factory: pytest.TempPathFactory,
) -> RealKafka:
    """A broker that checks signatures with the keys of a file."""
    keys = tmp_path_factory.mktemp("keys") / "jwks.json"
    keys.write_bytes(key_set(rsa_row()))
    prefix = "listener.name.sasl_plaintext"
    lines = {
        f"{prefix}.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{prefix}.oauthbearer.sasl.jaas.config": f"{OAUTH} required;",
        f"{prefix}.oauthbearer.sasl.server.callback.handler.class": SIGNED,
        f"{prefix}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        f"{prefix}.oauthbearer.sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.audience": "kafka",
    }
    if request.param == NEWEST:  # older releases check no issuer that they were not told
        lines[f"{prefix}.oauthbearer.sasl.oauthbearer.allow.unverified.issuer"] = "true"
        lines["sasl.oauthbearer.allow.unverified.issuer"] = "true"
    setup = Setup(request.param, listeners=("PLAINTEXT", "SASL_PLAINTEXT"), properties=tuple(lines.items()))
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys.as_uri()}"
    return real_kafka(replace(setup, java_options=(*setup.java_options, allowed)))


def answer(provider: Provider, **claims: Any) -> None:
    now_s = SystemClock().now_ms() // 1000
    values = {"sub": "operator", "aud": "kafka", "exp": now_s + 600} | claims
    provider.answers[:] = [(200, {"access_token": token(now_s=now_s, **values), "expires_in": 600})]


def config(provider: Provider, kafka: RealKafka) -> ClientConfig:
    return provider.config(bootstrap__servers=kafka.bootstrap("SASL_PLAINTEXT"))


def test_a_token_of_the_provider_logs_in(provider: Provider, kafka: RealKafka) -> None:
    answer(provider)
    with AdminClient(config(provider, kafka), timeout_s=30) as admin:
        assert admin.describe_cluster().cluster_id


@pytest.mark.parametrize("claims", [{"aud": "others"}, {"exp": 1_700_000_000}])
def test_a_token_that_says_something_else_is_refused(
    provider: Provider, kafka: RealKafka, claims: dict[str, Any]
) -> None:
    answer(provider, **claims)
    with AdminClient(config(provider, kafka), timeout_s=30) as admin:
        with pytest.raises(AuthenticationFailed, match="refused the login with OAUTHBEARER") as caught:
            admin.describe_cluster()
    text = f"{caught.value} {caught.value.hint}"
    assert SECRET not in text and "eyJ" not in text
