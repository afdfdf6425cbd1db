"""Which login a client makes: the settings that say so, the mechanism that decides, and what Java classes are told."""

from __future__ import annotations

import re

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.config_definitions import client as client_settings
from kafka_tools.config_definitions.broker import TABLE as BROKER_TABLE
from kafka_tools.errors import AuthenticationFailed, ConfigError
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.pool import ConnectionPool
from kafka_tools.net.sasl.scram import ScramClient
from tests.net.peers import ScriptedNode

LINES = {
    "PLAIN": 'PlainLoginModule required username="u" password="p";',
    "SCRAM-SHA-256": 'ScramLoginModule required username="u" password="p";',
    "SCRAM-SHA-512": 'ScramLoginModule required username="u" password="p" tokenauth="true";',
    "OAUTHBEARER": 'OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="u";',
}
CLASSES = ("sasl.client.callback.handler.class", "sasl.login.callback.handler.class", "sasl.login.class")


def config(mechanism: str, **more: str) -> ClientConfig:
    values = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": LINES[mechanism]}
    return ClientConfig(values | more)


@pytest.mark.req("SASL-7")
def test_settings_have_kafka_s_names_and_defaults() -> None:
    for name in ("sasl.mechanism", "sasl.jaas.config", *CLASSES):
        assert client_settings.is_known(name)
    assert ClientConfig({}).sasl_mechanism == "GSSAPI"
    assert "GSSAPI" in BROKER_TABLE["sasl.enabled.mechanisms"]
    assert "sasl.server.callback.handler.class" in BROKER_TABLE


@pytest.mark.req("SASL-14", "SASL-15")
@pytest.mark.parametrize("mechanism", LINES)
def test_the_mechanism_decides_who_logs_in(mechanism: str) -> None:
    pool = ConnectionPool(config(mechanism), ManualClock(), None, None)
    made = {"PLAIN": "PlainClient", "OAUTHBEARER": "OAuthBearerClient"}.get(mechanism, "ScramClient")
    exchange = pool._sasl_exchange("host")
    assert type(exchange).__name__ == made
    assert exchange.mechanism == mechanism
    for name in CLASSES:
        with pytest.raises(ConfigError, match=f"{name} names Java code"):
            config(mechanism, **{name: "com.example.Handler"})


@pytest.mark.req("SASL-15")
def test_gssapi_leads_to_kerberos() -> None:
    """As far as this machine has it: without the package or a ticket that is what is missing."""
    line = "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true;"
    values = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI", "sasl.jaas.config": line}
    pool = ConnectionPool(ClientConfig(values | {"sasl.kerberos.service.name": "kafka"}), ManualClock(), None, None)
    try:
        exchange = pool._sasl_exchange("localhost")
    except (ConfigError, AuthenticationFailed) as error:
        assert re.search(r"gssapi|^GSSAPI login at kafka@localhost failed", f"{error} {error.hint}")
    else:
        assert type(exchange).__name__ == "KerberosClient"


@pytest.mark.req("SASL-15")
def test_the_login_of_oauthbearer_is_refreshed_and_others_are_made_of_the_settings() -> None:
    clock = ManualClock()
    pool = ConnectionPool(config("OAUTHBEARER"), clock, None, None)
    first, second = (pool._sasl_exchange("host").step(None) for _ in range(2))
    assert first == second, "a token serves as long as it is valid"
    clock.advance(3600.0)
    assert pool._sasl_exchange("host").step(None) != first


@pytest.mark.req("SASL-21")
def test_extensions_are_those_of_the_login_module() -> None:
    pool = ConnectionPool(config("SCRAM-SHA-512"), ManualClock(), None, None)
    exchange = pool._sasl_exchange("host")
    assert isinstance(exchange, ScramClient)
    assert (exchange.step(None) or b"").endswith(b",tokenauth=true")
    pool = ConnectionPool(config("SCRAM-SHA-256"), ManualClock(), None, None)
    assert b"tokenauth" not in (pool._sasl_exchange("host").step(None) or b"")


@pytest.mark.req("SASL-31")
def test_a_client_has_one_login_module() -> None:
    with pytest.raises(ConfigError, match="expected exactly one login module"):
        config("PLAIN", **{"sasl.jaas.config": 2 * LINES["PLAIN"]})


@pytest.mark.req("SASL-18")
def test_settings_that_cannot_work_open_no_connection() -> None:
    from kafka_tools.clock import Deadline, SystemClock
    from kafka_tools.net.exchange import Exchange

    clock = SystemClock()
    with ScriptedNode() as node:
        values = config("PLAIN").values | {"bootstrap.servers": node.bootstrap, "security.protocol": "SASL_SSL"}
        settings = ClientConfig(values | {"ssl.keystore.location": "/no/such/store"})
        with (
            Exchange(settings) as exchange,
            pytest.raises(ConfigError, match=r"ssl\.keystore\.location: Failed to load SSL keystore /no/such/store"),
        ):
            exchange.bootstrap(Deadline(clock, 30))
        assert node.connections == 0


def test_kafka_s_own_classes_may_stand_in_a_shared_file() -> None:
    package = "org.apache.kafka.common.security.oauthbearer"
    for name in (f"{package}.OAuthBearerLoginCallbackHandler", f"{package}.secured.OAuthBearerLoginCallbackHandler"):
        assert config("OAUTHBEARER", **{"sasl.login.callback.handler.class": name}).sasl_mechanism == "OAUTHBEARER"
    with pytest.raises(ConfigError, match="names Java code"):
        config("OAUTHBEARER", **{"sasl.login.callback.handler.class": "com.example.OAuthBearerLoginCallbackHandler"})


def test_ways_to_a_token_that_are_not_here_are_said() -> None:
    key = "sasl.oauthbearer.jwt.retriever.class"
    package = "org.apache.kafka.common.security.oauthbearer"
    assert config("OAUTHBEARER", **{key: f"{package}.ClientCredentialsJwtRetriever"}).unknown == ()
    with pytest.raises(
        ConfigError,
        match=r"retriever.class 'org.*JwtBearerJwtRetriever': expected one of",
    ):
        config("OAUTHBEARER", **{key: f"{package}.JwtBearerJwtRetriever"})
