"""GSSAPI: what settings mean, and the client's half against MIT's acceptor with tickets of a real KDC."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_tools.errors import AuthenticationFailed, ConfigError
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.sasl.kerberos import KerberosClient, KerberosLogin, KerberosServer, kerberos_login, short_name
from tests.net.kdc import REALM, Kdc, missing

MODULE = "com.sun.security.auth.module.Krb5LoginModule required"
needs_kdc = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def config(jaas: str | None = None, service: str | None = "kafka", **more: str) -> ClientConfig:
    values = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI", **more}
    if jaas is not None:
        values["sasl.jaas.config"] = f"{MODULE} {jaas};"
    if service is not None:
        values["sasl.kerberos.service.name"] = service
    return ClientConfig(values)


@pytest.mark.parametrize(
    ("jaas", "expected"),
    [
        (None, KerberosLogin("kafka", None, None, True, None)),
        ("useTicketCache=true", KerberosLogin("kafka", None, None, True, None)),
        (
            'useTicketCache=true ticketCache="/tmp/c" principal="a@R"',
            KerberosLogin("kafka", "a@R", None, True, "/tmp/c"),
        ),
        (
            'useKeyTab=true storeKey=true keyTab="FILE:/etc/passwd" principal="a@R"',
            KerberosLogin("kafka", "a@R", "/etc/passwd", False, None),
        ),
        (
            'useTicketCache=true useKeyTab=true keyTab="/etc/passwd" serviceName="kafka"',
            KerberosLogin("kafka", None, "/etc/passwd", True, None),
        ),
    ],
)
def test_the_jaas_line_is_understood(jaas: str | None, expected: KerberosLogin) -> None:
    assert kerberos_login(config(jaas)) == expected


def test_the_service_may_stand_in_the_jaas_line() -> None:
    assert kerberos_login(config('useTicketCache=true serviceName="broker"', None)).service == "broker"


@pytest.mark.req("SASL-24")
def test_two_service_names_that_differ_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"is kafka, but serviceName in sasl\.jaas\.config is other"):
        config('useTicketCache=true serviceName="other"')


@pytest.mark.req("SASL-19", "SASL-23")
def test_a_password_is_not_asked_for() -> None:
    with pytest.raises(ConfigError) as caught:
        config('principal="alice"')
    assert str(caught.value) == (
        "sasl.jaas.config: Could not login: the client is being asked for a password, but the Kafka client code does "
        "not currently support obtaining a password from the user."
    )
    for advice in ("kinit", "useTicketCache=true", "keyTab", "fully qualified"):
        assert advice in str(caught.value.hint)


@pytest.mark.req("SASL-23")
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"])
def test_the_kerberos_module_is_for_gssapi_alone(mechanism: str) -> None:
    with pytest.raises(ConfigError, match="Kerberos callback handler should only be used with GSSAPI") as caught:
        config("useTicketCache=true", **{"sasl.mechanism": mechanism})
    assert mechanism in str(caught.value.hint)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"jaas": "useKeyTab=true"}, "useKeyTab=true and no keyTab"),
        ({"service": None}, r"sasl\.kerberos\.service\.name is not set"),
        (
            {"sasl.jaas.config": 'PlainLoginModule required username="a" password="planted";'},
            "is not a Krb5LoginModule",
        ),
        ({"jaas": 'useKeyTab=true keyTab="/no/such"'}, "cannot read keyTab /no/such: it does not exist"),
    ],
)
def test_what_is_missing_is_named(values: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        config(**values)
    assert "planted" not in str(caught.value)


def test_without_the_package_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("gssapi"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match="needs the Python package gssapi") as caught:
        KerberosClient(kerberos_login(config()), "broker")
    assert "kafka-operator-tools[kerberos]" in str(caught.value.hint)


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    with Kdc.start(tmp_path_factory.mktemp("kdc")) as kdc:
        kdc.keytab("kafka/127.0.0.1")
        kdc.keytab("alice")
        kdc.add("bob", "bob-secret")
        yield kdc


@pytest.fixture
def kdc(realm: Kdc, monkeypatch: pytest.MonkeyPatch) -> Kdc:
    for name, value in realm.environment.items():
        monkeypatch.setenv(name, value)
    return realm


class Acceptor:
    """MIT's side of a broker: the steps of RFC 4752, section 3.2. ``layers``: what it offers."""

    def __init__(self, kdc: Kdc, layers: int = 1) -> None:
        import gssapi

        store = {"keytab": str(kdc.folder / "kafka-127.0.0.1.keytab")}
        self.context = gssapi.SecurityContext(creds=gssapi.Credentials(usage="accept", store=store), usage="accept")
        self.offer = bytes([layers, 0, 0, 0])
        self.chosen = b""

    def step(self, token: bytes) -> bytes:
        if not self.context.complete:
            return bytes(self.context.step(token) or b"")
        if not self.chosen and token:
            self.chosen = self.context.unwrap(token).message
            return b""
        return bytes(self.context.wrap(self.offer, False).message)


def log_in(client: KerberosClient, acceptor: Acceptor) -> str:
    challenge: bytes | None = None
    for _ in range(6):
        token = client.step(challenge)
        if token is None:
            break
        challenge = acceptor.step(token)
    assert client.done
    assert acceptor.chosen == b"\x01\x00\x00\x00"
    return str(acceptor.context.initiator_name)


@needs_kdc
def test_a_keytab_logs_in(kdc: Kdc) -> None:
    jaas = f'useKeyTab=true keyTab="{kdc.folder / "alice.keytab"}" principal="alice@{REALM}"'
    for _ in range(2):
        client = KerberosClient(kerberos_login(config(jaas)), "127.0.0.1")
        assert log_in(client, Acceptor(kdc)) == f"alice@{REALM}"
        assert client.step(b"") is None


@needs_kdc
def test_a_ticket_cache_logs_in(kdc: Kdc, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = kdc.kinit("bob", "bob-secret")
    named = kerberos_login(config(f'useTicketCache=true ticketCache="{cache}"'))
    assert log_in(KerberosClient(named, "127.0.0.1"), Acceptor(kdc)) == f"bob@{REALM}"
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{cache}")
    assert log_in(KerberosClient(kerberos_login(config()), "127.0.0.1"), Acceptor(kdc)) == f"bob@{REALM}"


@needs_kdc
def test_an_empty_cache_leaves_the_keytab(kdc: Kdc) -> None:
    jaas = f'useTicketCache=true useKeyTab=true keyTab="{kdc.folder / "alice.keytab"}" principal="alice@{REALM}"'
    assert log_in(KerberosClient(kerberos_login(config(jaas)), "127.0.0.1"), Acceptor(kdc)) == f"alice@{REALM}"


@needs_kdc
@pytest.mark.parametrize(
    ("jaas", "host", "message"),
    [
        (None, "127.0.0.1", r"^GSSAPI login at kafka@127\.0\.0\.1 failed: .*([Cc]redentials|cache)"),
        ('useKeyTab=true keyTab="{folder}/alice.keytab" principal="carol"', "127.0.0.1", r"carol"),
        ('useKeyTab=true keyTab="{folder}/alice.keytab" principal="alice"', "elsewhere.test", r"Server .*not found"),
    ],
)
def test_what_kerberos_lacks_is_one_line(kdc: Kdc, jaas: str | None, host: str, message: str) -> None:
    login = kerberos_login(config(jaas and jaas.replace("{folder}", str(kdc.folder))))
    with pytest.raises(AuthenticationFailed, match=message) as caught:
        KerberosClient(login, host).step(None)
    assert "\n" not in str(caught.value)
    assert "klist" in str(caught.value.hint)


@needs_kdc
@pytest.mark.parametrize(("token", "layers"), [(b"rubbish", 1), (b"", 4)])
def test_a_broker_that_says_something_else_is_refused(kdc: Kdc, token: bytes, layers: int) -> None:
    jaas = f'useKeyTab=true keyTab="{kdc.folder / "alice.keytab"}" principal="alice@{REALM}"'
    client, acceptor = KerberosClient(kerberos_login(config(jaas)), "127.0.0.1"), Acceptor(kdc, layers)
    with pytest.raises(AuthenticationFailed, match="GSSAPI"):
        challenge = acceptor.step(client.step(None) or b"")
        client.step(token or challenge)
        client.step(acceptor.step(b""))
    assert not client.done


def server(kdc: Kdc, principal: str | None = None) -> KerberosServer:
    return KerberosServer(str(kdc.folder / "kafka-127.0.0.1.keytab"), principal)


@needs_kdc
@pytest.mark.parametrize("principal", [None, f"kafka/127.0.0.1@{REALM}"])
def test_both_halves_agree(kdc: Kdc, principal: str | None) -> None:
    jaas = f'useKeyTab=true keyTab="{kdc.folder / "alice.keytab"}" principal="alice@{REALM}"'
    client, service = KerberosClient(kerberos_login(config(jaas)), "127.0.0.1"), server(kdc, principal)
    challenge: bytes | None = None
    while (token := client.step(challenge)) is not None:
        assert not service.done
        challenge = service.step(token)
    assert client.done and service.done
    assert service.username == "alice"
    with pytest.raises(AuthenticationFailed):
        service.step(b"more")


@needs_kdc
@pytest.mark.parametrize("message", [b"", b"rubbish", bytes(5000), b"\x60\x82" + b"\xff" * 200])
def test_what_is_no_ticket_is_refused(kdc: Kdc, message: bytes) -> None:
    with pytest.raises(AuthenticationFailed, match="invalid credentials with SASL mechanism GSSAPI"):
        service = server(kdc)
        service.step(message)
        service.step(message)


@needs_kdc
def test_a_security_layer_is_not_given(kdc: Kdc) -> None:
    jaas = f'useKeyTab=true keyTab="{kdc.folder / "alice.keytab"}" principal="alice@{REALM}"'
    client, service = KerberosClient(kerberos_login(config(jaas)), "127.0.0.1"), server(kdc)
    service.step(client.step(service.step(client.step(None) or b"")) or b"")
    with pytest.raises(AuthenticationFailed):
        service.step(client._context.wrap(b"\x04\x00\x00\x00", False).message)


@needs_kdc
def test_keys_that_are_not_there_are_told(kdc: Kdc) -> None:
    with pytest.raises(ConfigError, match=r"cannot use keyTab /no/such"):
        KerberosServer("/no/such", None)
    with pytest.raises(ConfigError, match=r"cannot use keyTab .*nobody"):
        server(kdc, f"nobody@{REALM}")


def test_short_names() -> None:
    assert [short_name(each) for each in ("alice@R", "kafka/host@R", "bob")] == ["alice", "kafka", "bob"]


@needs_kdc
def test_a_client_logs_in_to_the_bundled_broker_and_renews_its_login(kdc: Kdc) -> None:
    from kafka_tools.broker_embedded import EmbeddedBroker
    from kafka_tools.clock import Deadline, ManualClock
    from kafka_tools.net.exchange import Exchange
    from kafka_tools.protocol.messages.metadata import MetadataRequest

    keys = kdc.folder / "kafka-127.0.0.1.keytab"
    settings = {
        "sasl.enabled.mechanisms": "GSSAPI",
        "connections.max.reauth.ms": "600000",
        "gssapi.sasl.jaas.config": f'{MODULE} useKeyTab=true keyTab="{keys}" principal="kafka/127.0.0.1@{REALM}";',
    }
    jaas = f'useKeyTab=true keyTab="{kdc.folder / "alice.keytab"}" principal="alice@{REALM}"'
    clock = ManualClock()
    with EmbeddedBroker(listeners="SASL_PLAINTEXT://127.0.0.1:0", config=settings) as broker:
        values = config(jaas).values | {"bootstrap.servers": broker.bootstrap_servers, "connections.max.idle.ms": "-1"}
        with Exchange(ClientConfig(values), clock=clock) as exchange:
            node = exchange.bootstrap(Deadline(clock, 30))
            for _ in range(2):
                assert exchange.call(node, MetadataRequest(topics=[]), Deadline(clock, 30)).cluster_id
                clock.advance(550)
    for wrong in ({"gssapi.sasl.jaas.config": settings["gssapi.sasl.jaas.config"].replace("kafka/", "nobody/")},
                  {"sasl.kerberos.principal.to.local.rules": "RULE:[1:$1]"}):  # fmt: skip
        with pytest.raises(ConfigError, match=r"listener SASL_PLAINTEXT: .*(nobody|to\.local\.rules)"):
            EmbeddedBroker(listeners="SASL_PLAINTEXT://127.0.0.1:0", config=settings | wrong).start()
