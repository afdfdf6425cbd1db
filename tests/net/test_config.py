"""ClientConfig: the settings that Java clients read, merged, checked, and never shown when secret."""

import re

import pytest

from kafka_tools.errors import ConfigError
from kafka_tools.net.config import ClientConfig, SaslCredentials

SCRAM_LINE = (
    'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="s3cr3t;=\\"x";'
)


def sasl(**more):
    values = {
        "bootstrap.servers": "a:1",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": SCRAM_LINE,
    }
    return ClientConfig(values | {key.replace("_", "."): value for key, value in more.items()})


def test_file_then_property_then_address_option_wins_per_key(tmp_path):
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=file:1\nclient.id=from-file\nrequest.timeout.ms=5000\n")
    config = ClientConfig.load("option:2", command_config=str(file), properties={"client.id": "from-property"})
    assert config.bootstrap == (("option", 2),)
    assert config.client_id == "from-property"
    assert config.number("request.timeout.ms") == 5000


def test_controllers_option_replaces_the_servers_of_the_file(tmp_path):
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=file:1\n")
    config = ClientConfig.load(None, "c1:9093,c2:9093", str(file))
    assert config.is_controllers
    assert config.bootstrap == (("c1", 9093), ("c2", 9093))


def test_both_bootstrap_settings_are_refused():
    with pytest.raises(ConfigError, match=r"cannot be combined"):
        ClientConfig({"bootstrap.servers": "a:1", "bootstrap.controllers": "b:2"})


def test_missing_bootstrap_is_an_error_with_the_option_to_give():
    with pytest.raises(ConfigError, match=r"bootstrap\.servers is not set") as caught:
        ClientConfig({}).require_bootstrap()
    assert "--bootstrap-server" in caught.value.hint


def test_unknown_settings_are_reported_and_producer_settings_are_not():
    config = ClientConfig({"bootstrap.servers": "a:1", "reqest.timeout.ms": "1", "linger.ms": "5", "group.id": "g"})
    assert config.unknown == ("reqest.timeout.ms",)
    assert config.get("linger.ms") == "5"


def test_words_that_kafka_takes_in_capitals_are_taken_so() -> None:
    ClientConfig({"metadata.recovery.strategy": "NONE", "metadata.cluster.check.enable": "True"})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("request.timeout.ms", "soon", "expected a whole number"),
        ("request.timeout.ms", "30_000", "expected a whole number"),
        ("request.timeout.ms", "-1", "expected 0 to"),
        ("security.protocol", "TLS", "expected one of PLAINTEXT"),
        ("client.dns.lookup", "some", "expected one of"),
        ("client.dns.lookup", "Use_All_DNS_IPs", "expected one of"),
        ("metadata.recovery.strategy", "some", "expected one of"),
        ("bootstrap.servers", "host", "host:port"),
    ],
)
def test_wrong_values_are_named(key, value, message):
    with pytest.raises(ConfigError, match=message) as caught:
        ClientConfig({key: value})
    assert key in str(caught.value)


def test_credentials_come_from_the_jaas_line():
    assert sasl().credentials() == SaslCredentials("alice", 's3cr3t;="x', False)


def test_delegation_token_login_is_recognised():
    line = 'x.ScramLoginModule required username="id" password="hmac" tokenauth="true";'
    assert sasl(sasl_jaas_config=line).credentials().token_auth


def test_java_default_mechanism_is_refused_with_the_ones_that_work():
    with pytest.raises(ConfigError, match=r"GSSAPI \(Kafka's default\), but sasl\.jaas\.config is no") as caught:
        ClientConfig({"security.protocol": "SASL_SSL", "sasl.jaas.config": SCRAM_LINE})
    assert "SCRAM-SHA-512" in caught.value.hint


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_login_in_bytes_that_are_not_utf_8_is_named_and_not_shown(mechanism):
    """As an environment variable in another encoding gives it."""
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config: the password is not UTF-8 text") as caught:
        sasl(sasl_mechanism=mechanism, sasl_jaas_config='L required username="alice" password="s3cr\udcfcet";')
    assert "s3cr" not in str(caught.value)


def test_missing_jaas_line_shows_the_form():
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config is not set") as caught:
        sasl(sasl_jaas_config="")
    assert "ScramLoginModule required" in caught.value.hint
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config is not set") as caught:
        sasl(sasl_jaas_config="", sasl_mechanism="PLAIN")
    assert "org.apache.kafka.common.security.plain.PlainLoginModule required" in caught.value.hint
    assert "Scram" not in caught.value.hint


def test_java_classes_are_refused_only_where_they_would_be_used():
    ClientConfig({"ssl.engine.factory.class": "com.example.Engine"})
    with pytest.raises(ConfigError, match=r"names Java code"):
        ClientConfig({"ssl.engine.factory.class": "com.example.Engine", "security.protocol": "SSL"})


def test_no_secret_shows_in_repr_or_errors():
    config = sasl(**{"ssl.keystore.password": "hunter2", "typo.passwrd": "hunter3"})
    text = repr(config) + repr(config.credentials())
    for secret in ("s3cr3t", "hunter2", "hunter3"):
        assert secret not in text
    for line in (
        'M required password="s3cr3t";',
        'M s3cr3t username="a" password="s3cr3t"',
        "M required password s3cr3t;",
    ):
        with pytest.raises(ConfigError) as caught:
            sasl(sasl_jaas_config=line)
        assert "s3cr3t" not in str(caught.value) + str(caught.value.hint)


def test_unresolved_variable_in_a_password_is_not_sent_to_the_broker():
    line = 'x.PlainLoginModule required username="a" password="${file:/etc/pw:kafka}";'
    with pytest.raises(ConfigError, match=r"no config provider resolves") as caught:
        sasl(sasl_jaas_config=line)
    assert "config.providers" in caught.value.hint


def test_declared_file_provider_fills_the_jaas_line(tmp_path):
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("kafka=from-the-file\n")
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nconfig.providers=file\n"
        "config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\\n"
        f'    username="a" password="${{file:{secrets}:kafka}}";\n'
    )
    assert ClientConfig.load("a:1", command_config=str(file)).credentials().password == "from-the-file"


def test_page_about_connecting_names_every_setting_that_counts_and_no_other(repository):
    from kafka_tools.config_definitions import client as client_settings

    page = (repository / "docs" / "connecting.md").read_text()
    named = set(re.findall(r"\b(?:[a-z]+\.)+[a-z.]+\b", page.replace("client.properties", "")))
    for key in [*client_settings.NUMBERS, *client_settings.TEXTS]:
        assert f"`{key}`" in page or f"`{key}=" in page or f"{key}=" in page, key
    starts = ("ssl.", "sasl.", "bootstrap.", "retry.", "reconnect.", "socket.", "metadata.", "request.", "connections.")
    assert [key for key in sorted(named) if key.startswith(starts) and not client_settings.is_known(key)] == []
