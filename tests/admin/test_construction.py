"""How clients are made: addresses, a mapping of Kafka's settings, keywords, a ClientConfig; and what is refused."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_tools.admin import AdminClient
from kafka_tools.broker_embedded.broker import EmbeddedBroker
from kafka_tools.clients import Consumer, Producer
from kafka_tools.errors import ConfigError
from kafka_tools.net.config import ClientConfig

README = Path(__file__).parents[2] / "README.md"
CLIENTS = (AdminClient, Consumer, Producer)


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running:
        yield running


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    "make",
    [
        lambda client, address: client(address),
        lambda client, address: client({"bootstrap.servers": address, "retries": 3, "client.id": "c"}),
        lambda client, address: client({"bootstrap.servers": [address]}, security_protocol="PLAINTEXT"),
        lambda client, address: client(bootstrap_servers=address, security_protocol="PLAINTEXT"),
        lambda client, address: client(bootstrap_servers=[address, address], request_timeout_ms=20_000),
        lambda client, address: client(ClientConfig.load(address)),
        lambda client, address: client(ClientConfig.load("127.0.0.1:1"), bootstrap_servers=address),
        lambda client, address: client(config=ClientConfig.load(address)),
    ],
)
def test_every_form_reaches_the_broker(broker, client, make):
    with make(client, broker.bootstrap_servers) as made:
        if client is AdminClient:
            assert len(made.describe_cluster().nodes) == 1
        elif client is Producer:
            assert made.send("t", b"v").result(30).offset >= 0
        else:
            assert made.partitions_for("t") is not None


def test_readmes_example_runs(broker):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (example,) = [block for block in blocks if "import AdminClient" in block]
    program = example.replace("localhost:9092", broker.bootstrap_servers)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True)
    topic_id, failure = run.stdout.splitlines()
    assert len(topic_id) == 36
    assert failure.startswith("invoices was not deleted: ")


def test_keywords_win_over_what_they_are_added_to():
    admin = AdminClient({"bootstrap.servers": "a:1", "client.id": "old"}, client_id="new")
    assert admin.config.client_id == "new"
    assert AdminClient(admin.config, client_id="newer").config.client_id == "newer"
    assert AdminClient("a:1", enable_auto_commit=False).config["enable.auto.commit"] == "false"


def test_keywords_count_together_with_what_they_are_added_to(tmp_path):
    (tmp_path / "secrets").write_text("password=s3cret\n")
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    base = {
        "bootstrap.servers": "a:1",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{module} username="u" password="p";',
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }
    admin = AdminClient(ClientConfig(base), security_protocol="SASL_SSL")
    assert admin.config.credentials().password == "p"
    jaas = f'{module} username="u" password="${{file:{tmp_path}/secrets:password}}";'
    assert AdminClient(ClientConfig(base), sasl_jaas_config=jaas).config.credentials().password == "s3cret"


def test_variables_of_a_mapping_are_replaced(tmp_path):
    (tmp_path / "secrets").write_text("where=a:1\n")
    admin = AdminClient(
        {
            "bootstrap.servers": f"${{file:{tmp_path}/secrets:where}}",
            "config.providers": "file",
            "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        }
    )
    assert admin.config.bootstrap == (("a", 1),)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "text"),
    [
        ((5,), {}, TypeError, r'"HOST:PORT,\.\.\.", a dict .* not a value of type int'),
        ((["a:1"],), {}, TypeError, "not a value of type list"),
        ((b"a:1",), {}, TypeError, "not a value of type bytes"),
        ((), {}, ConfigError, r"bootstrap\.servers is not set.*HOST:PORT"),
        (({},), {}, ConfigError, r"bootstrap\.servers is not set.*HOST:PORT"),
        (("",), {}, ConfigError, r"bootstrap\.servers is not set.*HOST:PORT"),
        (("nohost",), {}, ConfigError, "invalid address 'nohost': expected host:port"),
        (({"bootstrap_servers": "a:1"},), {}, ConfigError, r"did you mean bootstrap\.servers\?"),
        (({"bootstrap.servers": b"a:1"},), {}, TypeError, r"bootstrap\.servers: expected a str.* type bytes"),
        (({5: "a:1"},), {}, TypeError, "invalid setting name: expected a str"),
        (({"bootstrap.servers": "a:1", "retries": None},), {}, TypeError, "retries: .*not None"),
        (("a:1",), {"security_protocl": "SSL"}, TypeError, "security_protocl'.*did you mean security_protocol"),
        (("a:1",), {"security_protocol": "TLS"}, ConfigError, "security.protocol 'TLS': expected one of"),
        (("a:1",), {"request_timeout_ms": "soon"}, ConfigError, "request.timeout.ms"),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_is_expected(client, arguments, keywords, error, text):
    with pytest.raises(error, match=text):
        client(*arguments, **keywords)


def test_values_are_not_repeated():
    for arguments, keywords in ((({"sasl.jaas.confg": "s3cret"},), {}), ((), {"sasl_jaas_confg": "s3cret"})):
        with pytest.raises((TypeError, ConfigError)) as caught:
            AdminClient(*arguments, **keywords)
        assert "s3cret" not in str(caught.value)


def test_importing_the_package_imports_no_client():
    program = "import sys, kafka_tools.admin; print('kafka_tools.admin.client' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True)
    assert run.stdout.strip() == "False"
