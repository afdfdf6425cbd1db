"""The table of TLS (``tests/net/tls_cases.py``) against real Kafka; logins renewed in place; logins with tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.admin.client import AdminClient
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clock import Deadline, SystemClock
from kafka_tools.errors import AuthenticationFailed
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.sasl.unsecured_jws import make_token
from kafka_tools.net.trace import Trace
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.against_kafka.harness import SECURE, RealKafka, Setup, eventually
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.secrets_for_tests import MECHANISMS
from tests.against_kafka.test_admin_operations import MASTER_KEY
from tests.broker_embedded.wire_client import WireClient
from tests.net import tls_cases as cases
from tests.net.stores import FORMS, PASSWORD, write_stores

REAUTH_MS = 4000
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@pytest.fixture(scope="module", params=["2.2.2", "3.9.2", NEWEST])
def kafka(
    request: pytest.FixtureRequest,
    real_kafka: Callable[[Setup], RealKafka],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[RealKafka, cases.Place]:
    """SSL demands a client certificate, SASL_SSL shows an expired one, logins on SASL_PLAINTEXT hold for 4 s."""
    folder = tmp_path_factory.mktemp("stores")
    write_stores(folder)
    ssl = {
        # Java reads what we wrote as JKS, which proves that the client's JKS stores here are Java's.
        "listener.name.ssl.ssl.keystore.type": "JKS",
        "listener.name.ssl.ssl.keystore.location": folder / "server.jks",
        "listener.name.ssl.ssl.truststore.type": "JKS",
        "listener.name.ssl.ssl.truststore.location": folder / "trust.jks",
        "listener.name.ssl.ssl.client.auth": "required",
        "listener.name.sasl_ssl.ssl.keystore.type": "PKCS12",
        "listener.name.sasl_ssl.ssl.keystore.location": folder / "expired.p12",
    }
    for listener in ("ssl", "sasl_ssl"):
        for name in ("keystore.password", "key.password", "truststore.password"):
            ssl[f"listener.name.{listener}.ssl.{name}"] = PASSWORD
    del ssl["listener.name.sasl_ssl.ssl.truststore.password"]
    plaintext = "listener.name.sasl_plaintext"
    tokens = {
        f"{plaintext}.sasl.enabled.mechanisms": f"{MECHANISMS},OAUTHBEARER",
        f"{plaintext}.oauthbearer.sasl.jaas.config": f'{OAUTH} required unsecuredLoginStringClaim_sub="broker";',
    }
    lines = {**ssl, **tokens, "listener.name.sasl_plaintext.connections.max.reauth.ms": REAUTH_MS, **dict(MASTER_KEY)}
    properties = tuple((key, str(value)) for key, value in lines.items())
    made = real_kafka(Setup(request.param, listeners=SECURE, properties=properties))
    ports = {name: int(made.bootstrap(name).rpartition(":")[2]) for name in SECURE}
    return made, cases.Place(folder, ports)


@pytest.fixture
def place(kafka: tuple[RealKafka, cases.Place]) -> cases.Place:
    return kafka[1]


@pytest.mark.parametrize("form", FORMS)
def test_a_client_certificate_in_every_form(place: cases.Place, form: str) -> None:
    cases.check_form(place, form)


@pytest.mark.parametrize("case", cases.REFUSALS, ids=lambda case: case.name)
def test_each_fault_is_one_clear_line(place: cases.Place, case: cases.Refusal) -> None:
    cases.check_refusal(place, case)


@pytest.mark.parametrize("wanted", cases.ALLOWED)
def test_protocols_and_suites_under_kafka_s_names(kafka: tuple[RealKafka, cases.Place], wanted: str) -> None:
    if kafka[0].release == "2.2.2" and wanted.startswith("TLSv1.3"):
        pytest.skip("Kafka before 2.6 does not enable TLS 1.3")
    cases.check_allowed(kafka[1], wanted)


def test_the_name_check_can_be_switched_off(place: cases.Place) -> None:
    cases.check_name_check_off(place)


class Hurried(SystemClock):
    """Makes the client renew its logins long before the broker's time is up, so that no slow machine is cut off."""

    RATE = 2.5

    def monotonic_s(self) -> float:
        return super().monotonic_s() * self.RATE


@pytest.mark.req("SASL-4")
def test_logins_are_renewed_on_their_connection(kafka: tuple[RealKafka, cases.Place]) -> None:
    broker, clock, lines = kafka[0], Hurried(), list[str]()
    mechanism = "PLAIN" if broker.release == "2.2.2" else "SCRAM-SHA-512"
    if mechanism != "PLAIN":
        give_password(broker)
    properties = broker.client_properties("SASL_PLAINTEXT", "alice", mechanism)
    config = ClientConfig.load(broker.bootstrap("SASL_PLAINTEXT"), properties=properties)
    with Exchange(config, clock=clock, trace=Trace(lines.append, clock)) as exchange:
        node = exchange.bootstrap(Deadline(clock, 120))
        end_s = clock.monotonic_s() + clock.RATE * REAUTH_MS * 1.2 / 1000  # a login that is not renewed ends before
        answers = 0
        while clock.monotonic_s() < end_s:
            sent = [exchange.send(node, MetadataRequest(topics=[]), Deadline(clock, 120)) for _ in range(3)]
            exchange.wait(sent)
            answers += sum(each.result().API_KEY == MetadataRequest.API_KEY for each in sent)
            clock.sleep(0.02)
    text = "".join(lines)
    assert text.count("connection.ready") == 1
    assert text.count("response.received") == answers
    assert text.count("connection.login.renewed") >= 2


def test_a_login_is_renewed_once_a_second_and_with_its_mechanism(kafka: tuple[RealKafka, cases.Place]) -> None:
    """Kafka and the bundled broker, request by request; a renewal in time and one too early need a second alone."""
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    config = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256", "connections.max.reauth.ms": str(REAUTH_MS),
        "plain.sasl.jaas.config": f'{plain} user_alice="alice-secret";',
    }  # fmt: skip
    with EmbeddedBroker(listeners="SASL_PLAINTEXT://127.0.0.1:0", config=config) as ours:
        assert renewals(ours.bootstrap_servers) == renewals(kafka[0].bootstrap("SASL_PLAINTEXT"))


def renewals(address: str) -> list[tuple[int, int] | str]:
    """Error codes of handshake and login; what happened where there was none."""
    found: list[tuple[int, int] | str] = []
    with WireClient(address) as client:

        def log_in(mechanism: str = "PLAIN") -> None:
            shaken = client.call(SaslHandshakeRequest(mechanism=mechanism), 1)
            try:
                done = client.call(SaslAuthenticateRequest(auth_bytes=b"\0alice\0alice-secret"), 1)
                found.append((shaken.error_code, done.error_code))
            except ConnectionError:
                found.append(f"{shaken.error_code}, then closed")

        def serves() -> bool:
            return bool(client.call(MetadataRequest(topics=[]), 5).brokers)

        log_in()
        log_in()  # the first renewal may come at once
        log_in()
        assert serves(), "a renewal that comes too early changes nothing"
        SystemClock().sleep(1.1)
        log_in()
        SystemClock().sleep(1.1)
        log_in("SCRAM-SHA-256")
    return found


def give_password(kafka: RealKafka) -> None:
    """A SCRAM password for alice, by Kafka's own tool."""
    secret = "SCRAM-SHA-512=[password=alice-secret]"
    words = ("--alter", "--entity-type", "users", "--entity-name", "alice", "--add-config", secret)
    made = kafka.tool("kafka.admin.ConfigCommand", *words)
    assert made.returncode == 0, made
    properties = kafka.client_properties("SASL_PLAINTEXT", "alice", "SCRAM-SHA-512")

    def works() -> None:
        try:
            with AdminClient(ClientConfig.load(kafka.bootstrap("SASL_PLAINTEXT"), properties=properties)) as admin:
                assert admin.describe_cluster().cluster_id
        except AuthenticationFailed as error:
            raise AssertionError from error

    eventually(works)


def test_a_token_logs_in_and_its_login_ends_with_it(kafka: tuple[RealKafka, cases.Place]) -> None:
    broker = kafka[0]
    address = broker.bootstrap("SASL_PLAINTEXT")
    login = broker.client_properties("SASL_PLAINTEXT", "admin")
    with AdminClient(ClientConfig.load(address, properties=login), timeout_s=60) as admin:
        token = admin.create_delegation_token(max_lifetime_ms=3_600_000)
        line = f'username="{token.token_id}" password="{token.hmac_text}" tokenauth="true"'
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        by_token = login | {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": f"{module} required {line};"}

        def works() -> None:
            try:
                with AdminClient(ClientConfig.load(address, properties=by_token), timeout_s=30) as other:
                    assert other.describe_cluster().cluster_id
            except AuthenticationFailed as error:
                raise AssertionError from error  # the token has not reached the broker's cache yet

        eventually(works)
        admin.expire_delegation_token(token.hmac)

        def is_refused() -> None:
            with AdminClient(ClientConfig.load(address, properties=by_token), timeout_s=30) as other:
                try:
                    other.describe_cluster()
                except AuthenticationFailed as error:
                    assert token.hmac_text not in f"{error} {error.hint}"
                    return
            raise AssertionError("the token still logs in")

        eventually(is_refused)


def by_oauth(kafka: RealKafka, line: str, **more: str) -> ClientConfig:
    values = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    values["sasl.jaas.config"] = f"{OAUTH} required {line};"
    more = {name.replace("_", "."): value for name, value in more.items()}
    return ClientConfig.load(kafka.bootstrap("SASL_PLAINTEXT"), properties=values | more)


@pytest.mark.parametrize("source", ["options", "file", "command"])
def test_tokens_of_every_source_log_in(kafka: tuple[RealKafka, cases.Place], source: str, tmp_path: Path) -> None:
    options = {"unsecuredLoginStringClaim_sub": "alice"}
    token = make_token(options, SystemClock().now_ms())
    file = tmp_path / "token"
    file.write_text(token)
    config = {
        "options": lambda: by_oauth(kafka[0], 'unsecuredLoginStringClaim_sub="alice" extension_traceId="7"'),
        "file": lambda: by_oauth(kafka[0], "", sasl_oauthbearer_token_endpoint_url=file.as_uri()),
        "command": lambda: by_oauth(kafka[0], "", sasl_oauthbearer_token_command=f"cat {file}"),
    }[source]()
    with AdminClient(config, timeout_s=30) as admin:
        assert admin.describe_cluster().cluster_id


def test_a_token_that_has_expired_is_refused_and_not_shown(kafka: tuple[RealKafka, cases.Place]) -> None:
    line = 'unsecuredLoginStringClaim_sub="alice" unsecuredLoginLifetimeSeconds="-5"'
    with AdminClient(by_oauth(kafka[0], line), timeout_s=30) as admin:
        with pytest.raises(
            AuthenticationFailed, match=r"refused the login with OAUTHBEARER: .*invalid_token"
        ) as caught:
            admin.describe_cluster()
    assert "eyJ" not in f"{caught.value} {caught.value.hint}"


def test_a_login_is_renewed_with_a_new_token_before_its_token_ends(kafka: tuple[RealKafka, cases.Place]) -> None:
    clock, lines = Hurried(), list[str]()
    line = 'unsecuredLoginStringClaim_sub="alice" unsecuredLoginLifetimeSeconds="3"'  # less than REAUTH_MS
    with Exchange(by_oauth(kafka[0], line), clock=clock, trace=Trace(lines.append, clock)) as exchange:
        node = exchange.bootstrap(Deadline(clock, 120))
        end_s = clock.monotonic_s() + clock.RATE * 3.6
        while clock.monotonic_s() < end_s:
            exchange.call(node, MetadataRequest(topics=[]), Deadline(clock, 120))
            clock.sleep(0.02)
    text = "".join(lines)
    assert text.count("connection.ready") == 1
    assert text.count("connection.login.renewed") >= 2
