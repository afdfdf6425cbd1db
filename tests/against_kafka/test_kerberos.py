"""GSSAPI with real Kafka as the service and MIT's KDC: keytab and ticket cache, with and without TLS, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from kafka_tools.admin.client import AdminClient
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clock import Deadline
from kafka_tools.errors import AuthenticationFailed
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.trace import Trace
from kafka_tools.protocol.messages.metadata import MetadataRequest
from tests.against_kafka.harness import SECURE, RealKafka, Setup
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.test_tls import Hurried
from tests.net.kdc import REALM, Kdc, missing

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

MODULE = "com.sun.security.auth.module.Krb5LoginModule required"


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    with Kdc.start(tmp_path_factory.mktemp("kdc")) as kdc:
        kdc.keytab("kafka/127.0.0.1")
        kdc.keytab("alice")
        kdc.add("bob", "bob-secret")
        yield kdc


@pytest.fixture(scope="module", params=["2.2.2", "3.9.2", NEWEST])
def kafka(request: pytest.FixtureRequest, real_kafka: Callable[[Setup], RealKafka], kdc: Kdc) -> RealKafka:
    """A broker that takes Kerberos tickets on both SASL listeners, and ends logins after four seconds on one."""
    keytab = kdc.folder / "kafka-127.0.0.1.keytab"
    login = f'{MODULE} useKeyTab=true storeKey=true keyTab="{keytab}" principal="kafka/127.0.0.1@{REALM}";'
    lines = {"sasl.kerberos.service.name": "kafka", "sasl.enabled.mechanisms": "GSSAPI"}
    for listener in ("sasl_plaintext", "sasl_ssl"):
        lines[f"listener.name.{listener}.sasl.enabled.mechanisms"] = "GSSAPI"
        lines[f"listener.name.{listener}.gssapi.sasl.jaas.config"] = login
    lines["listener.name.sasl_ssl.gssapi.connections.max.reauth.ms"] = "4000"
    setup = Setup(request.param, listeners=SECURE, properties=tuple(lines.items()))
    # Kafka 2.2 asks the JVM for the realm by reflection, which Java 17 allows no more by itself.
    exports = "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED"
    java_options = (*setup.java_options, exports, f"-Djava.security.krb5.conf={kdc.config}")
    return real_kafka(replace(setup, java_options=java_options))


@pytest.fixture(autouse=True)
def environment(kdc: Kdc, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in kdc.environment.items():
        monkeypatch.setenv(name, value)


def login(kafka: RealKafka, listener: str, jaas: str) -> ClientConfig:
    values = kafka.client_properties(listener) | {
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": f"{MODULE} {jaas};",
    }
    return ClientConfig.load(kafka.bootstrap(listener), properties=values)


def keytab(kdc: Kdc) -> str:
    return f'useKeyTab=true keyTab="{kdc.folder / "alice.keytab"}" principal="alice@{REALM}"'


@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("source", ["keytab", "ticket cache"])
def test_a_ticket_is_a_way_in(kafka: RealKafka, kdc: Kdc, listener: str, source: str) -> None:
    cache = f'useTicketCache=true ticketCache="{kdc.kinit("bob", "bob-secret")}"'
    with AdminClient(login(kafka, listener, keytab(kdc) if source == "keytab" else cache), timeout_s=30) as admin:
        assert admin.describe_cluster().cluster_id


@pytest.mark.req("SASL-4")
def test_a_login_is_renewed_on_its_connection(kafka: RealKafka, kdc: Kdc) -> None:
    clock, lines = Hurried(), list[str]()
    with Exchange(login(kafka, "SASL_SSL", keytab(kdc)), clock=clock, trace=Trace(lines.append, clock)) as exchange:
        node = exchange.bootstrap(Deadline(clock, 120))
        end_s = clock.monotonic_s() + clock.RATE * 4.8
        while clock.monotonic_s() < end_s:
            exchange.call(node, MetadataRequest(topics=[]), Deadline(clock, 120))
            clock.sleep(0.02)
    text = "".join(lines)
    assert text.count("connection.ready") == 1
    assert text.count("connection.login.renewed") >= 2


def test_no_ticket_is_said_in_one_line(kafka: RealKafka) -> None:
    with AdminClient(login(kafka, "SASL_PLAINTEXT", "useTicketCache=true"), timeout_s=30) as admin:
        with pytest.raises(AuthenticationFailed, match=r"GSSAPI login at kafka@127\.0\.0\.1 failed: ") as caught:
            admin.describe_cluster()
    assert "\n" not in str(caught.value)


def test_a_ticket_that_the_broker_cannot_read_is_refused_by_it(kafka: RealKafka, kdc: Kdc) -> None:
    # The service's key changes behind the broker's back.
    kdc.run("kadmin.local", "-r", REALM, "cpw", "-keepold", "-randkey", "kafka/127.0.0.1")
    try:
        cache = f'useTicketCache=true ticketCache="{kdc.kinit("bob", "bob-secret")}"'  # without old service tickets
        with AdminClient(login(kafka, "SASL_PLAINTEXT", cache), timeout_s=30) as admin:
            with pytest.raises(AuthenticationFailed, match=r"refused the login with GSSAPI"):
                admin.describe_cluster()
    finally:
        kdc.run("kadmin.local", "-r", REALM, "ktadd", "-k", str(kdc.folder / "kafka-127.0.0.1.keytab"),
                "-norandkey", "kafka/127.0.0.1")  # fmt: skip


@pytest.mark.parametrize("release", ["2.2.2", "3.9.2", NEWEST])
def test_kafka_s_tools_log_in_to_the_bundled_broker(
    java_tool: Callable[..., CompletedProcess[str]], kdc: Kdc, release: str, tmp_path: Path
) -> None:
    # Java asks for the service at the name of the address.
    keys = kdc.folder / "kafka-localhost.keytab"
    if not keys.exists():
        kdc.keytab("kafka/localhost")
    service = f'{MODULE} useKeyTab=true storeKey=true keyTab="{keys}" principal="kafka/localhost@{REALM}";'
    config = {"sasl.enabled.mechanisms": "GSSAPI", "gssapi.sasl.jaas.config": service}
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\nsasl.kerberos.service.name=kafka\n"
        f"sasl.jaas.config={MODULE} {keytab(kdc)} storeKey=true;\n"
    )
    with EmbeddedBroker(listeners="SASL_PLAINTEXT://127.0.0.1:0", config=config) as broker:
        ended = java_tool(
            release,
            "kafka.admin.BrokerApiVersionsCommand"
            if release < "4"
            else "org.apache.kafka.tools.BrokerApiVersionsCommand",
            *("--bootstrap-server", broker.bootstrap_servers, "--command-config", file),
            environment={"JAVA_TOOL_OPTIONS": f"-Djava.security.krb5.conf={kdc.config}"},
        )
        assert ended.returncode == 0, ended
        assert "Metadata(3)" in ended.stdout
