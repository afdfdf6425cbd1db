"""Every way in: SASL PLAIN and SCRAM, TLS, both, on real 4.3.1 and 2.2.2; and what a wrong way in is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_tools.admin.client import AdminClient, ConfigChange, ConfigResource, ScramDeletion, ScramUpsertion
from kafka_tools.errors import AuthenticationFailed, ConnectFailed, InputError, KafkaToolsError, TlsFailed
from kafka_tools.net.config import ClientConfig
from tests.against_kafka.harness import SECURE, RealKafka, Setup, eventually

WAYS = [
    ("SASL_PLAINTEXT", "PLAIN"),
    ("SASL_SSL", "PLAIN"),
    ("SSL", "PLAIN"),
    ("SASL_PLAINTEXT", "SCRAM-SHA-256"),
    ("SASL_PLAINTEXT", "SCRAM-SHA-512"),
    ("SASL_SSL", "SCRAM-SHA-512"),
]


@pytest.fixture(scope="module")
def kafka_22_secure(real_kafka: Callable[[Setup], RealKafka]) -> RealKafka:
    return real_kafka(Setup("2.2.2", listeners=SECURE, properties=(("password.encoder.secret", "encoder-secret"),)))


def cluster_id(kafka: RealKafka, listener: str, properties: dict[str, str], address: str | None = None) -> str | None:
    config = ClientConfig.load(address or kafka.bootstrap(listener), properties=properties)
    with AdminClient(config, timeout_s=30) as admin:
        return admin.describe_cluster().cluster_id


def with_password(properties: dict[str, str], password: str) -> dict[str, str]:
    line = properties["sasl.jaas.config"].rpartition("password=")[0] + f'password="{password}";'
    return properties | {"sasl.jaas.config": line}


@pytest.fixture(scope="module")
def with_scram(kafka_new_secure: RealKafka) -> RealKafka:
    """The 4.3.1 cluster, where alice has a password for both SCRAM mechanisms, stored by our own client."""
    with AdminClient(ClientConfig.load(kafka_new_secure.bootstrap_servers), timeout_s=30) as admin:
        changes = [
            ScramUpsertion("alice", mechanism, "alice-secret") for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
        ]
        admin.alter_user_scram_credentials(changes).raise_any()
    return kafka_new_secure


@pytest.mark.req("SC-9", "SASL-1", "SASL-3")
@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_way_in_to_4_3(with_scram: RealKafka, listener: str, mechanism: str) -> None:
    properties = with_scram.client_properties(listener, "alice", mechanism)
    eventually(lambda: _check(cluster_id(with_scram, listener, properties)))


@pytest.mark.parametrize(("listener", "mechanism"), WAYS[:3])
def test_way_in_to_2_2(kafka_22_secure: RealKafka, listener: str, mechanism: str) -> None:
    _check(cluster_id(kafka_22_secure, listener, kafka_22_secure.client_properties(listener, "alice", mechanism)))


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_login_with_a_credential_that_kafka_s_own_tool_stored(kafka_22_secure: RealKafka, mechanism: str) -> None:
    assert kafka_22_secure.zookeeper is not None
    made = kafka_22_secure.tool(
        "kafka.admin.ConfigCommand",
        *("--zookeeper", kafka_22_secure.zookeeper.connect, "--alter", "--entity-type", "users"),
        *("--entity-name", "alice", "--add-config", f"{mechanism}=[password=alice-secret]"),
        connect=False,
    )
    assert made.returncode == 0, made
    properties = kafka_22_secure.client_properties("SASL_SSL", "alice", mechanism)
    eventually(lambda: _check(cluster_id(kafka_22_secure, "SASL_SSL", properties)))


def _check(found: str | None) -> None:
    assert found


# ``with_scram`` is a shared cluster under another name: the grouping by names of clusters has to be told.
WITH_SCRAM = pytest.param("with_scram", marks=pytest.mark.xdist_group("new releases"))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
@pytest.mark.parametrize("cluster", [WITH_SCRAM, "kafka_22_secure"])
def test_wrong_password_is_said_at_once_and_not_shown(
    request: pytest.FixtureRequest, cluster: str, mechanism: str
) -> None:
    kafka: RealKafka = request.getfixturevalue(cluster)
    properties = with_password(kafka.client_properties("SASL_PLAINTEXT", "alice", mechanism), "wrong-secret")
    with pytest.raises(AuthenticationFailed, match=rf"refused the login with {mechanism}") as caught:
        cluster_id(kafka, "SASL_PLAINTEXT", properties)
    assert "secret" not in str(caught.value) + str(caught.value.hint)


@pytest.mark.parametrize(
    ("to_listener", "as_listener", "error", "hint"),
    [
        ("SSL", "PLAINTEXT", ConnectFailed, "SSL"),
        ("SASL_PLAINTEXT", "PLAINTEXT", KafkaToolsError, "SASL_PLAINTEXT"),
        ("PLAINTEXT", "SSL", ConnectFailed, "check that this port speaks TLS"),
        ("PLAINTEXT", "SASL_PLAINTEXT", AuthenticationFailed, "security.protocol"),
    ],
)
@pytest.mark.parametrize("cluster", ["kafka_new_secure", "kafka_22_secure"])
def test_wrong_listener_is_told_apart(
    request: pytest.FixtureRequest,
    cluster: str,
    to_listener: str,
    as_listener: str,
    error: type[KafkaToolsError],
    hint: str,
) -> None:
    kafka: RealKafka = request.getfixturevalue(cluster)
    properties = kafka.client_properties(as_listener)
    with pytest.raises(error) as caught:
        cluster_id(kafka, as_listener, properties, kafka.bootstrap(to_listener))
    assert hint in str(caught.value.hint)


def test_authority_that_is_not_trusted(kafka_new_secure: RealKafka) -> None:
    with pytest.raises(TlsFailed, match=r"cannot verify the certificate") as caught:
        cluster_id(kafka_new_secure, "SSL", {"security.protocol": "SSL"})
    assert "ssl.truststore.location" in str(caught.value.hint)


def test_zookeeper_s_port_is_no_kafka_port(kafka_22_secure: RealKafka) -> None:
    assert kafka_22_secure.zookeeper is not None
    address = kafka_22_secure.zookeeper.connect.partition("/")[0]
    with pytest.raises(ConnectFailed, match=r"closed the connection instead of returning its API versions"):
        cluster_id(kafka_22_secure, "PLAINTEXT", {}, address)


def test_deleted_credential_lets_nobody_in(kafka_new_secure: RealKafka) -> None:
    with AdminClient(ClientConfig.load(kafka_new_secure.bootstrap_servers), timeout_s=30) as admin:
        admin.alter_user_scram_credentials([ScramUpsertion("admin", "SCRAM-SHA-256", "admin-secret")]).raise_any()
        properties = kafka_new_secure.client_properties("SASL_SSL", "admin", "SCRAM-SHA-256")
        eventually(lambda: _check(cluster_id(kafka_new_secure, "SASL_SSL", properties)))
        admin.alter_user_scram_credentials([ScramDeletion("admin", "SCRAM-SHA-256")]).raise_any()

        def is_refused() -> None:
            with pytest.raises(AuthenticationFailed):
                cluster_id(kafka_new_secure, "SASL_SSL", properties)

        eventually(is_refused)


@pytest.mark.req("EASY-2", "CFG-28", "CFG-36")
def test_sensitive_settings_are_not_dropped_by_a_whole_replacement(kafka_22_secure: RealKafka) -> None:
    # The broker holds a dynamic secret that it will not tell: replacing its configuration would drop it.
    secret = "listener.name.other.ssl.keystore.password"
    change = ConfigChange("log.cleaner.threads", "set", "2")
    with AdminClient(ClientConfig.load(kafka_22_secure.bootstrap_servers), timeout_s=30) as admin:
        broker = ConfigResource("broker", str(admin.nodes()[0].id))
        admin.replace_configs({broker: {secret: "hidden-secret"}}).raise_any()

        def set_values() -> dict[str, str | None]:
            entries = admin.describe_configs([broker])[broker].get()
            return {entry.name: entry.value for entry in entries if entry.source == "DYNAMIC_BROKER_CONFIG"}

        eventually(lambda: _check(str(set_values() == {secret: None} or "")))
        with pytest.raises(InputError, match=r"would drop listener\.name\.other\.ssl\.keystore\.password") as caught:
            admin.alter_configs_incremental({broker: [change]}).raise_any()
        assert "hidden-secret" not in str(caught.value)
        assert set_values() == {secret: None}
        both = [ConfigChange(secret, "set", "hidden-secret"), change]
        admin.alter_configs_incremental({broker: both}).raise_any()
        eventually(lambda: _check(str(set_values() == {secret: None, "log.cleaner.threads": "2"} or "")))
        admin.replace_configs({broker: {}}).raise_any()
        eventually(lambda: _check(str(set_values() == {} or "")))
