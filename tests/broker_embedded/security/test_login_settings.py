"""What a listener's SASL settings mean: prefixes, users, mechanisms, and what is told when they are wrong."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.configs.endpoints import Endpoint
from kafka_tools.broker_embedded.security.authentication import ListenerSecurity, listener_values
from kafka_tools.errors import AuthenticationFailed, ConfigError
from kafka_tools.net.sasl.scram import ScramClient
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafka_tools.scram_math import SHA_256, credential
from tests.broker_embedded.disk_broker import DiskBroker, listener_security
from tests.broker_embedded.wire_client import WireClient

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
LISTENER = Endpoint("INTERNAL_1", "SASL_PLAINTEXT", "", 0)


def security(path: Path, listener: Endpoint = LISTENER, **properties: str) -> tuple[DiskBroker, ListenerSecurity]:
    broker = DiskBroker(path, {key.replace("__", "-").replace("_", "."): value for key, value in properties.items()})
    return broker, listener_security(broker.core, listener)


def plain(broker: DiskBroker, offered: ListenerSecurity, user: str, password: str) -> int:
    broker.connection.login = offered.login()
    assert broker.call(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == codes.NONE
    return int(broker.call(SaslAuthenticateRequest(auth_bytes=f"\0{user}\0{password}".encode()), 2).error_code)


@pytest.mark.req("SASL-9")
def test_a_listeners_own_settings_stand_under_its_name_and_the_mechanisms(tmp_path: Path) -> None:
    properties = {
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "connections.max.reauth.ms": "9000",
        "listener.name.internal_1.sasl.enabled.mechanisms": "plain,SCRAM-SHA-512",
        "listener.name.internal_1.plain.sasl.jaas.config": f'{PLAIN} user_a="of the listener";',
        "listener.name.internal_1.scram-sha-512.connections.max.reauth.ms": "5000",
        "plain.sasl.jaas.config": f'{PLAIN} user_a="of all";',
    }
    broker = DiskBroker(tmp_path, properties)
    offered = listener_security(broker.core, LISTENER)
    assert offered.mechanisms == ["PLAIN", "SCRAM-SHA-512"]
    assert plain(broker, offered, "a", "of the listener") == codes.NONE
    assert plain(broker, offered, "a", "of all") == codes.SASL_AUTHENTICATION_FAILED
    assert (offered.lifetime_ms("SCRAM-SHA-512", None), offered.lifetime_ms("PLAIN", None)) == (5000, 9000)
    other = listener_security(broker.core, LISTENER._replace(name="OTHER"))
    assert other.mechanisms == ["SCRAM-SHA-256"]
    # Lower case has nothing to do with where the broker runs: a Turkish I is an I here.
    assert listener_values({"listener.name.internal_i.x": "1"}, "INTERNAL_I")["x"] == "1"


@pytest.mark.req("SASL-12", "SASL-25")
def test_plain_users_are_the_options_of_the_plain_module_alone(tmp_path: Path) -> None:
    jaas = f'{PLAIN} username="x" password="y" user_alice="pa" user_="none"; {SCRAM} user_bob="pb";'
    broker, offered = security(tmp_path, sasl_enabled_mechanisms="PLAIN", plain_sasl_jaas_config=jaas)
    assert plain(broker, offered, "alice", "pa") == codes.NONE
    assert broker.connection.principal == "User:alice"
    for user, password in (("alice", "pb"), ("bob", "pb"), ("x", "y"), ("username", "x")):
        assert plain(broker, offered, user, password) == codes.SASL_AUTHENTICATION_FAILED


def test_a_login_that_fails_is_in_the_log_without_its_password(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    jaas = f'{PLAIN} user_alice="pa";'
    broker, offered = security(tmp_path, sasl_enabled_mechanisms="PLAIN", plain_sasl_jaas_config=jaas)
    with caplog.at_level("INFO"):
        plain(broker, offered, "alice", "planted secret")
    assert (
        "Failed authentication with c-1 on listener PLAINTEXT (Authentication failed: Invalid username" in caplog.text
    )
    assert "planted secret" not in caplog.text


@pytest.mark.req("SASL-17")
@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"sasl_enabled_mechanisms": ""}, "No SASL mechanisms are enabled"),
        ({}, "GSSAPI .* needs a Krb5LoginModule with a keyTab"),
        ({"sasl_enabled_mechanisms": "DIGEST-MD5"}, "unsupported SASL mechanism DIGEST-MD5"),
        ({"sasl_enabled_mechanisms": "PLAIN"}, "PLAIN needs users"),
        ({"sasl_enabled_mechanisms": "OAUTHBEARER"}, "OAUTHBEARER needs a login module"),
        (
            {"sasl_enabled_mechanisms": "PLAIN", "plain_sasl_jaas_config": f"{PLAIN};",
             "plain_sasl_server_callback_handler_class": "org.example.Ldap"},
            "cannot run Java code here: org.example.Ldap",
        ),
    ],
)  # fmt: skip
def test_a_mechanism_without_what_it_needs_is_told(tmp_path: Path, properties: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=f"listener INTERNAL_1: .*{why}"):
        security(tmp_path, **properties)


@pytest.mark.req("OA-33")
@pytest.mark.parametrize(("jaas", "size"), [(f"{OAUTH}; {OAUTH};", 2)])
def test_a_token_module_stands_alone(tmp_path: Path, jaas: str, size: int) -> None:
    why = rf"Must supply exactly 1 non-null JAAS mechanism configuration \(size was {size}\)"
    with pytest.raises(ConfigError, match=why):
        security(tmp_path, sasl_enabled_mechanisms="OAUTHBEARER", oauthbearer_sasl_jaas_config=jaas)


@pytest.mark.req("SASL-16")
def test_a_start_that_fails_leaves_nothing_open(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    listeners = f"PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:0"
    jaas = f'{PLAIN} user_a="b";'
    for wrong in ({"sasl.enabled.mechanisms": "PLAIN"}, {"sasl.enabled.mechanisms": "GSSAPI"}):
        with pytest.raises(ConfigError, match="listener SASL_PLAINTEXT"):
            EmbeddedBroker(tmp_path / "data", listeners=listeners, config=wrong).start()
    right = {"sasl.enabled.mechanisms": "PLAIN", "plain.sasl.jaas.config": jaas}
    with EmbeddedBroker(tmp_path / "data", listeners=listeners, config=right) as broker:
        assert broker.bootstrap_servers == f"127.0.0.1:{port}"


@pytest.mark.req("SASL-20")
@pytest.mark.parametrize(("asked", "granted"), [("", True), ("alice", True), ("bob", False), ("Alice", False)])
def test_an_authorization_id_is_granted_only_to_whom_it_belongs(tmp_path: Path, asked: str, granted: bool) -> None:
    jaas = f'{PLAIN} user_alice="pa";'
    broker, offered = security(tmp_path, sasl_enabled_mechanisms="PLAIN,SCRAM-SHA-256", plain_sasl_jaas_config=jaas)

    def completes(mechanism: str, *messages: Any) -> bool:
        login = offered.login()
        login.choose(mechanism, bare_tokens=False)
        try:
            answer = b""
            for message in messages:
                answer = login.step(message(answer))
        except AuthenticationFailed as error:
            assert "authorization id that is different from username" in str(error)
            return False
        assert login.principal == "User:alice"
        return login.done

    assert completes("PLAIN", lambda _: f"{asked}\0alice\0pa".encode()) is granted

    stored = credential(SHA_256, "pa")
    broker.core.credentials._by_user["alice"] = {SHA_256.type_id: stored}
    client = ScramClient("SCRAM-SHA-256", "alice", "pa")
    header = f"n,a={asked}," if asked else "n,,"

    def first(_: bytes) -> bytes:
        message = client.step(None)
        assert message is not None
        return header.encode() + message.removeprefix(b"n,,")

    if asked:  # what the client signs holds the header it sent, so only the first step is ours to change
        login = offered.login()
        login.choose("SCRAM-SHA-256", bare_tokens=False)
        if granted:
            assert login.step(first(b"")).startswith(b"r=")
        else:
            with pytest.raises(AuthenticationFailed, match="authorization id that is different from username"):
                login.step(first(b""))


def alter(broker: EmbeddedBroker, name: str, value: str | None) -> tuple[int, str]:
    """Set or delete a config of this broker, asked on its plaintext listener; error code and text."""
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    change = Resource.AlterableConfig(name=name, config_operation=0 if value else 1, value=value)
    resource = Resource(resource_type=4, resource_name="1", configs=[change])
    with WireClient(broker.bootstrap_servers) as client:
        (result,) = client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
        return result.error_code, result.error_message or ""


def described(broker: EmbeddedBroker) -> dict[str, Any]:
    resource = DescribeConfigsRequest.Resource(resource_type=4, resource_name="1", configuration_keys=None)
    with WireClient(broker.bootstrap_servers) as client:
        (result,) = client.call(DescribeConfigsRequest(resources=[resource]), 4).results
        return {entry.name: entry for entry in result.configs}


def logs_in(broker: EmbeddedBroker, user: str, password: str) -> bool:
    host, port = broker.call(lambda core: core.registration.endpoints["SASL_PLAINTEXT"])
    with WireClient(f"{host}:{port}") as client:
        shaken = client.call(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        message = f"\0{user}\0{password}".encode()
        return not shaken.error_code and not client.call(SaslAuthenticateRequest(auth_bytes=message), 2).error_code


def test_users_of_plain_change_while_the_broker_runs() -> None:
    users = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
    mechanisms = "listener.name.sasl_plaintext.sasl.enabled.mechanisms"
    config = {mechanisms: "PLAIN", users: f'{PLAIN} user_alice="old";'}
    listeners = "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0"
    with EmbeddedBroker(listeners=listeners, config=config) as broker:
        assert logs_in(broker, "alice", "old")
        assert alter(broker, users, f'{PLAIN} user_alice="new" user_bob="pb";') == (codes.NONE, "")
        assert logs_in(broker, "alice", "new") and logs_in(broker, "bob", "pb")
        assert not logs_in(broker, "alice", "old")
        for wrong in (f'{PLAIN} user_alice="half', "no module", f'{PLAIN} user_a="x"'):
            code, text = alter(broker, users, wrong)
            assert code == codes.INVALID_REQUEST and "half" not in text, text
        code, text = alter(broker, mechanisms, "PLAIN,OAUTHBEARER")
        assert code == codes.INVALID_REQUEST and "OAUTHBEARER cannot change while the broker runs" in text
        assert logs_in(broker, "bob", "pb")
        broker.restart()
        assert logs_in(broker, "bob", "pb"), "it is kept"
        shown = described(broker)[users]
        assert shown.is_sensitive and shown.value is None
        assert alter(broker, users, None) == (codes.NONE, "")
        assert logs_in(broker, "alice", "old") and not logs_in(broker, "bob", "pb")
