"""Logins that end (KIP-368): their time is told, a second login on the connection prolongs them, others are cut off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded.call import CloseConnection
from kafka_tools.broker_embedded.configs.endpoints import Endpoint
from kafka_tools.errors import ConfigError
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.broker_embedded.disk_broker import DiskBroker, listener_security

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def opened(path: Path, **properties: str) -> DiskBroker:
    values = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "plain.sasl.jaas.config": f'{MODULE} user_a="pa" user_b="pb";',
    }
    broker = DiskBroker(path, {**values, **{key.replace("_", "."): value for key, value in properties.items()}})
    security = listener_security(broker.core, Endpoint("PLAINTEXT", "SASL_PLAINTEXT", "", 0))
    broker.connection.login = security.login()
    return broker


def log_in(broker: DiskBroker, user: str, mechanism: str = "PLAIN") -> Any:
    shaken = broker.call(SaslHandshakeRequest(mechanism=mechanism), 1)
    if shaken.error_code:
        return shaken
    return broker.call(SaslAuthenticateRequest(auth_bytes=f"\0{user}\0p{user}".encode()), 2)


def test_a_login_without_limit_holds_for_ever_and_cannot_be_repeated(tmp_path: Path) -> None:
    broker = opened(tmp_path)
    assert log_in(broker, "a").session_lifetime_ms == 0
    broker.clock.advance(1e6)
    assert broker.call(DescribeClusterRequest(), 0).error_code == 0
    assert log_in(broker, "a").error_code == codes.ILLEGAL_SASL_STATE


def test_a_login_that_ended_closes_the_connection_unless_it_is_renewed(tmp_path: Path) -> None:
    broker = opened(tmp_path, connections_max_reauth_ms="10000")
    assert log_in(broker, "a").session_lifetime_ms == 10_000
    broker.clock.advance(9)
    assert log_in(broker, "a").session_lifetime_ms == 10_000
    broker.clock.advance(9)
    assert broker.call(DescribeClusterRequest(), 0).error_code == 0
    broker.clock.advance(1)
    with pytest.raises(CloseConnection, match="the login expired"):
        broker.call(DescribeClusterRequest(), 0)


def test_a_limit_may_be_a_mechanisms_own(tmp_path: Path) -> None:
    broker = opened(tmp_path, connections_max_reauth_ms="10000", plain_connections_max_reauth_ms="500")
    assert log_in(broker, "a").session_lifetime_ms == 500
    with pytest.raises(ConfigError, match="invalid number 'soon': expected a whole number"):
        opened(tmp_path / "other", plain_connections_max_reauth_ms="soon")


def test_user_and_mechanism_stay_what_they_were(tmp_path: Path) -> None:
    broker = opened(tmp_path, connections_max_reauth_ms="10000")
    log_in(broker, "a")
    refused = log_in(broker, "b")
    assert refused.error_code == codes.SASL_AUTHENTICATION_FAILED
    assert broker.connection.close_after_reply
    assert broker.connection.principal == "User:a"
    other = opened(tmp_path / "other", connections_max_reauth_ms="10000")
    log_in(other, "a")
    with pytest.raises(CloseConnection, match="'SCRAM-SHA-256' requested by client is not supported for re-auth"):
        log_in(other, "a", "SCRAM-SHA-256")
    assert other.connection.login_failed, "the end comes as late as after a wrong password"
    assert log_in(opened(tmp_path / "third"), "a", "SCRAM-SHA-512").error_code == codes.UNSUPPORTED_SASL_MECHANISM


def test_a_login_is_renewed_once_a_second(tmp_path: Path) -> None:
    """Else one connection has the broker look up and hash for it without an end."""
    broker = opened(tmp_path, connections_max_reauth_ms="10000")
    assert [log_in(broker, "a").error_code for _ in range(4)] == [0, 0, *2 * [codes.ILLEGAL_SASL_STATE]]
    assert broker.call(DescribeClusterRequest(), 0).error_code == 0, "what is too early changes nothing"
    broker.clock.advance(0.9)
    assert log_in(broker, "a").error_code == codes.ILLEGAL_SASL_STATE
    broker.clock.advance(0.1)
    assert [log_in(broker, "a").error_code for _ in range(2)] == [0, codes.ILLEGAL_SASL_STATE]
