"""TLS of the bundled broker's listeners: client certificates, principals, stores that change while it runs."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.configs.endpoints import Endpoint
from kafka_tools.broker_embedded.configs.limits import BrokerLimits
from kafka_tools.broker_embedded.listeners.tls import ListenerTls
from kafka_tools.clock import Deadline, SystemClock
from kafka_tools.errors import ConfigError
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.headers import encode_request
from kafka_tools.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from tests.broker_embedded.wire_client import WireClient

BROKER = 4
NAMES = {"common_name": "broker", "organization_name": "acme", "organization_unit_name": "kafka"}
PASSWORD = "store secret"


class Folder:
    """Authorities, certificates and stores in a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.authority = trustme.CA()
        self.key = self.write("server.pem", self.issued())
        self.trust = self.write("trust.pem", self.authority.cert_pem.bytes())

    def issued(self, *hosts: str, authority: trustme.CA | None = None, **names: str) -> bytes:
        certificate = (authority or self.authority).issue_cert(*(hosts or ("localhost",)), **{**NAMES, **names})
        return certificate.private_key_and_cert_chain_pem.bytes()

    def write(self, name: str, data: bytes) -> str:
        """Written anew under a name that then has a new modification time; returns the path."""
        path = self.path / name
        before = path.stat().st_mtime_ns if path.exists() else None
        path.write_bytes(data)
        if before is not None:
            os.utime(path, ns=(before + 1_000_000_000, before + 1_000_000_000))
        return str(path)

    def client(self, *, cn: str | None = None, authority: trustme.CA | None = None) -> ssl.SSLContext:
        """A client that trusts the authority and, with a name, shows a certificate of ``authority``."""
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        if cn is not None:
            issued = (authority or self.authority).issue_cert(
                "client", common_name=cn, organization_name="acme", organization_unit_name="u, v"
            )
            issued.configure_cert(context)
        return context

    def settings(self, **more: str) -> dict[str, str]:
        values = {"ssl.keystore.location": self.key, "ssl.truststore.location": self.trust}
        return {**values, **{key.replace("_", "."): value for key, value in more.items()}}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@contextmanager
def running(listener: str = "SSL", **settings: str) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(listeners=f"{listener}://127.0.0.1:0", config=settings) as broker:
        yield broker


def principals(broker: EmbeddedBroker) -> list[str]:
    """Who has asked since this call."""
    seen: list[str] = []

    def remember(principal: str, *rest: str | int) -> bool:
        seen.append(principal)
        return True

    def watch(core: Any) -> None:
        core.authorizer = remember

    broker.call(watch)
    return seen


def asks(broker: EmbeddedBroker, context: ssl.SSLContext) -> bool:
    """Whether a client gets an answer."""
    try:
        with WireClient(broker.bootstrap_servers, tls=context) as client:
            return bool(client.call(DescribeUserScramCredentialsRequest(), 0).error_code == codes.NONE)
    except (ssl.SSLError, ConnectionError):
        return False


def shown(broker: EmbeddedBroker) -> bytes:
    """The certificate that the broker shows to a new client."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with WireClient(broker.bootstrap_servers, tls=context) as client:
        return bytes(client._socket.getpeercert(True))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("mode", "bare", "known", "stranger"),
    [("none", True, True, True), ("requested", True, True, False), ("required", False, True, False)],
)
def test_who_is_let_in(folder: Folder, mode: str, bare: bool, known: bool, stranger: bool) -> None:
    with running(**folder.settings(ssl_client_auth=mode)) as broker:
        seen = principals(broker)
        assert asks(broker, folder.client()) is bare
        assert asks(broker, folder.client(cn="alice")) is known
        assert asks(broker, folder.client(cn="mallory", authority=trustme.CA())) is stranger
    alice = "User:ANONYMOUS" if mode == "none" else "User:CN=alice,OU=u\\, v,O=acme"
    assert alice in seen
    assert not any("mallory" in principal for principal in seen)


def test_principals_by_rules_and_super_users_by_name(folder: Folder) -> None:
    settings = folder.settings(
        ssl_client_auth="required",
        authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        super_users="User:boss;User:CN=dba,OU=u\\, v,O=acme",
    )
    rules = "RULE:^CN=Admin.*$/boss/, RULE:^CN=(stranger).*$/$1/L, RULE:^CN=dba.*$/$0/"
    settings["listener.name.ssl.ssl.principal.mapping.rules"] = rules

    def may(broker: EmbeddedBroker, cn: str) -> bool:
        with WireClient(broker.bootstrap_servers, tls=folder.client(cn=cn)) as client:
            return bool(client.call(DescribeUserScramCredentialsRequest(), 0).error_code == codes.NONE)

    with running(**settings) as broker:
        assert may(broker, "Admin 1") and may(broker, "dba")
        assert not may(broker, "stranger")
        assert not asks(broker, folder.client(cn="nobody")), "no rule applies"


def test_stores_of_every_form(folder: Folder) -> None:
    pem = Path(folder.key).read_bytes()
    certificates = x509.load_pem_x509_certificates(pem)
    store = pkcs12.serialize_key_and_certificates(
        b"broker", load_pem_private_key(pem, None), certificates[0], None, BestAvailableEncryption(PASSWORD.encode())
    )
    authority = x509.load_pem_x509_certificate(folder.authority.cert_pem.bytes())
    trust = pkcs12.serialize_java_truststore(
        [pkcs12.PKCS12Certificate(authority, b"ca")], BestAvailableEncryption(PASSWORD.encode())
    )
    settings = {
        "ssl.keystore.location": folder.write("key.p12", store), "ssl.keystore.type": "PKCS12",
        "ssl.keystore.password": PASSWORD, "ssl.truststore.location": folder.write("trust.p12", trust),
        "ssl.truststore.type": "PKCS12", "ssl.truststore.password": PASSWORD, "ssl.client.auth": "required",
    }  # fmt: skip
    with running(**settings) as broker:
        assert asks(broker, folder.client(cn="alice")) and not asks(broker, folder.client())


def test_jks_stores() -> None:
    jks = Path(__file__).parents[2] / "net" / "jks"
    settings = {
        "ssl.keystore.location": str(jks / "key.jks"), "ssl.keystore.password": "stores-are-secret",
        "ssl.key.password": "key-is-secret", "ssl.truststore.location": str(jks / "trust.jks"),
        "ssl.truststore.password": "stores-are-secret",
    }  # fmt: skip
    with running(**settings, **{"ssl.client.auth": "required"}) as broker:
        values = {"bootstrap.servers": broker.bootstrap_servers, "security.protocol": "SSL", **settings}
        with Exchange(ClientConfig(values)) as client:
            deadline = Deadline(SystemClock(), 60)
            node = client.bootstrap(deadline)
            assert client.call(node, MetadataRequest(topics=[]), deadline).brokers


def test_a_listener_with_sasl_asks_for_certificates_only_by_its_own_setting(folder: Folder) -> None:
    sasl = {"sasl.enabled.mechanisms": "SCRAM-SHA-256"}
    asked = folder.settings(ssl_client_auth="required")
    with running("SASL_SSL", **sasl, **asked) as broker:
        with WireClient(broker.bootstrap_servers, tls=folder.client()):
            pass
    own = ListenerTls(Endpoint("IN", "SASL_SSL", "", 0), {**asked, "listener.name.in.ssl.client.auth": "required"})
    assert own.context.verify_mode == ssl.CERT_REQUIRED


def test_a_client_that_speaks_no_tls_stops_nobody(folder: Folder, caplog: pytest.LogCaptureFixture) -> None:
    with running(**folder.settings()) as broker:
        with WireClient(broker.bootstrap_servers) as plain:
            plain.send(DescribeUserScramCredentialsRequest(), 0)
            assert plain.closed_by_broker
        with WireClient(broker.bootstrap_servers):
            assert asks(broker, folder.client()), "one that says nothing holds nobody up"
    assert "TLS handshake with" in caplog.text


@pytest.mark.parametrize("limit", ["the broker's", "connections.max.idle.ms"])
def test_who_does_not_finish_the_handshake_in_time_is_cut_off(
    folder: Folder, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    idle_ms = {"connections.max.idle.ms": "300"} if limit == "connections.max.idle.ms" else {}
    if not idle_ms:
        monkeypatch.setattr(EmbeddedBroker, "limits", BrokerLimits(handshake_s=0.3))
    with running(**folder.settings(), **idle_ms) as broker, WireClient(broker.bootstrap_servers) as silent:
        silent._socket.settimeout(30)
        assert silent.closed_by_broker
    assert "TLS handshake with" in caplog.text


@pytest.mark.parametrize("count", [1, 100])
def test_requests_that_come_with_the_end_of_the_handshake_are_served(folder: Folder, count: int) -> None:
    """With TLS 1.3 a client may send them in the same packet."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = folder.client().wrap_bio(incoming, outgoing, server_hostname="localhost")
    payload = encode_request(MetadataRequest(topics=[]), 1, 7, "early")
    frame = len(payload).to_bytes(4, "big") + payload
    with running(**folder.settings()) as broker, WireClient(broker.bootstrap_servers) as client:
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                client.send_raw(outgoing.read())
                incoming.write(client._socket.recv(65536))
        assert tls.version() == "TLSv1.3"
        tls.write(frame * count)
        client.send_raw(outgoing.read())
        got = b""
        while len(got) < 4 or len(got) < count * (4 + int.from_bytes(got[:4], "big")):
            try:
                got += tls.read(65536)
            except ssl.SSLWantReadError:
                incoming.write(client._socket.recv(65536))
        assert got.count(got[: 4 + int.from_bytes(got[:4], "big")]) == count


def test_a_client_that_goes_right_after_the_handshake_leaves_nothing_behind(folder: Folder) -> None:
    with running(**folder.settings()) as broker:
        for _ in range(20):
            WireClient(broker.bootstrap_servers, tls=folder.client())._socket.close()
        assert asks(broker, folder.client())


def test_connections_count_before_their_handshake(folder: Folder) -> None:
    """Who says nothing takes a place as well: else nobody would be kept from opening any number."""
    with running(**folder.settings(), **{"max.connections.per.ip": "2"}) as broker:
        with WireClient(broker.bootstrap_servers), WireClient(broker.bootstrap_servers):
            assert not asks(broker, folder.client())
        deadline = Deadline(SystemClock(), 60)
        while not asks(broker, folder.client()):
            assert not deadline.expired
        for _ in range(5):  # whoever fails at the handshake, or goes after it, gives the place back
            assert not asks(broker, ssl.create_default_context())
        while not asks(broker, folder.client()):
            assert not deadline.expired


# New stores


def alter(broker: EmbeddedBroker, context: ssl.SSLContext, *, only: bool = False, **values: str) -> tuple[int, str]:
    """Set configs of the SSL listener; error code and text."""
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    configs = [
        Resource.AlterableConfig(name=f"listener.name.ssl.{key.replace('_', '.')}", config_operation=0, value=value)
        for key, value in values.items()
    ]
    resource = Resource(resource_type=BROKER, resource_name="1", configs=configs)
    with WireClient(broker.bootstrap_servers, tls=context) as client:
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=only)
        (result,) = client.call(request, 1).responses
        return result.error_code, result.error_message or ""


@pytest.mark.req("SSL-1", "SSL-8")
def test_new_stores_come_by_their_configs_together(folder: Folder) -> None:
    """A new authority for both stores: settings are taken together, for new connections, and kept over a restart."""
    listener_settings = {f"listener.name.ssl.{key}": value for key, value in folder.settings().items()}
    with running(**listener_settings, **{"ssl.client.auth": "required"}) as broker:
        old_client = folder.client(cn="alice")
        with WireClient(broker.bootstrap_servers, tls=old_client) as before:
            other = trustme.CA()
            new = {
                "ssl_keystore_location": folder.write("new.pem", folder.issued(authority=other)),
                "ssl_truststore_location": folder.write("new-trust.pem", other.cert_pem.bytes()),
            }
            assert alter(broker, old_client, only=True, **new) == (codes.NONE, "")
            assert asks(broker, old_client), "trying is not doing"
            assert alter(broker, old_client, **new) == (codes.NONE, "")
            assert before.call(DescribeUserScramCredentialsRequest(), 0).error_code == codes.NONE, "who is in stays in"
            assert not asks(broker, old_client)
            new_client = ssl.create_default_context()
            other.configure_trust(new_client)
            other.issue_cert("c", common_name="alice").configure_cert(new_client)
            assert asks(broker, new_client)
        broker.restart()
        assert asks(broker, new_client) and not asks(broker, old_client)


@pytest.mark.req("SSL-1")
def test_types_and_passwords_of_both_stores_change_with_them(folder: Folder) -> None:
    """PEM, then PKCS12 with a password each, then PEM whose key has one of its own."""
    pem = folder.issued()
    chain = x509.load_pem_x509_certificates(pem)
    key = load_pem_private_key(pem, None)
    authority = x509.load_pem_x509_certificate(folder.authority.cert_pem.bytes())
    assert isinstance(key, RSAPrivateKey | EllipticCurvePrivateKey)
    locked = BestAvailableEncryption(b"store secret")
    store = folder.write("new.p12", pkcs12.serialize_key_and_certificates(b"k", key, chain[0], chain[1:], locked))
    trusted = [pkcs12.PKCS12Certificate(authority, b"ca")]
    trust = folder.write(
        "trust.p12", pkcs12.serialize_java_truststore(trusted, BestAvailableEncryption(b"trust secret"))
    )
    own_password = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"key secret"))
    third = folder.write("third.pem", own_password + b"".join(each.public_bytes(Encoding.PEM) for each in chain))
    with running(**folder.settings(ssl_client_auth="required")) as broker:
        client = folder.client(cn="alice")
        stores = {
            "ssl_keystore_location": store, "ssl_keystore_type": "PKCS12", "ssl_keystore_password": "store secret",
            "ssl_truststore_location": trust, "ssl_truststore_type": "PKCS12",
            "ssl_truststore_password": "trust secret",
        }  # fmt: skip
        for wrong in ("ssl_keystore_password", "ssl_truststore_password"):
            code, text = alter(broker, client, **{**stores, wrong: "wrong secret"})
            assert code == codes.INVALID_REQUEST and "of type PKCS12: wrong password" in text, text
            assert "secret" not in text
        assert alter(broker, client, **stores) == (codes.NONE, "")
        assert asks(broker, client) and served(broker, client) == chain[0].serial_number
        pems = {"ssl_keystore_location": third, "ssl_keystore_type": "PEM"}
        code, text = alter(broker, client, **pems, ssl_key_password="wrong secret")
        assert code == codes.INVALID_REQUEST and "wrong ssl.key.password" in text, text
        assert alter(broker, client, **pems, ssl_key_password="key secret") == (codes.NONE, "")
        assert asks(broker, client)


def served(broker: EmbeddedBroker, context: ssl.SSLContext) -> int:
    """The serial number of the certificate that a client sees."""
    with WireClient(broker.bootstrap_servers, tls=context) as client:
        shown = client._socket.getpeercert(True)  # type: ignore[attr-defined]
    return x509.load_der_x509_certificate(shown).serial_number


@pytest.mark.req("SSL-4")
def test_files_that_went_bad_are_told_in_the_log_and_the_old_ones_stay_in_use(
    folder: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    with running(**folder.settings()) as broker:
        before = shown(broker)
        folder.write("server.pem", b"half a fi")
        server = broker._running.server  # type: ignore[union-attr]
        assert server is not None
        broker.call(lambda core: server.shared.settings.take())
        (said,) = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
        assert said.startswith("cannot load the new SSL key or trust store, the old ones stay in use: ")
        assert f"Failed to load SSL keystore {folder.key} of type " in said
        assert shown(broker) == before and asks(broker, folder.client())


@pytest.mark.req("SSL-6", "SSL-7")
def test_stores_that_cannot_be_are_refused_and_change_nothing(folder: Folder) -> None:
    with running(**folder.settings()) as broker:
        client, before = folder.client(), shown(broker)
        absent = f"{folder.path}/absent.pem"
        wrong = {
            f"Failed to load SSL keystore {absent} of type JKS: No such file": absent,
            "expected PEM text": folder.write("empty.pem", b""),
            "DistinguishedName does not match": folder.write("dn.pem", folder.issued(common_name="other")),
            "SubjectAltNames do not match": folder.write("san.pem", folder.issued("other.example.org")),
        }
        for why, path in wrong.items():
            code, text = alter(broker, client, ssl_keystore_location=path)
            assert code == codes.INVALID_REQUEST and why in text, text
            assert "Validation of dynamic config update of SSLFactory failed" in text
        assert shown(broker) == before and asks(broker, client)


def test_what_only_a_start_can_change_is_refused(folder: Folder) -> None:
    with running(**folder.settings()) as broker:
        code, text = alter(broker, folder.client(), ssl_client_auth="required")
        assert code == codes.INVALID_REQUEST
        assert "cannot be updated dynamically for existing listener SSL: ssl.client.auth" in text
        assert asks(broker, folder.client())


def test_more_names_are_no_fault_and_changes_may_be_allowed(folder: Folder) -> None:
    with running(**folder.settings()) as broker:
        wider = folder.write("wider.pem", folder.issued("localhost", "kafka.example.org"))
        assert alter(broker, folder.client(), ssl_keystore_location=wider) == (codes.NONE, "")
    allowed = folder.settings(ssl_allow_dn_changes="true", ssl_allow_san_changes="true")
    with running(**allowed) as broker:
        other = folder.write("other.pem", folder.issued("localhost", "x.example.org", common_name="other"))
        assert alter(broker, folder.client(), ssl_keystore_location=other) == (codes.NONE, "")
        less = folder.write("less.pem", folder.issued("localhost", common_name="third"))
        assert alter(broker, folder.client(), ssl_keystore_location=less) == (codes.NONE, "")


@pytest.mark.req("SSL-2")
def test_setting_a_path_again_reads_a_file_that_changed(folder: Folder) -> None:
    with running(**folder.settings()) as broker:
        before = shown(broker)
        folder.write("server.pem", folder.issued())
        assert alter(broker, folder.client(), ssl_keystore_location=folder.key) == (codes.NONE, "")
        after = shown(broker)
        assert after != before
        assert alter(broker, folder.client(), ssl_keystore_location=folder.key) == (codes.NONE, "")
        assert shown(broker) == after


def test_files_that_change_are_noticed(folder: Folder, caplog: pytest.LogCaptureFixture) -> None:
    tls = ListenerTls(Endpoint("SSL", "SSL", "", 0), folder.settings())
    first = tls.context
    assert not tls.update(folder.settings()) and tls.context is first
    folder.write("server.pem", folder.issued())
    assert tls.update(folder.settings()) and tls.context is not first
    second = tls.context
    folder.write("trust.pem", b"half a fi")
    with pytest.raises(ConfigError, match="expected PEM text"):
        tls.update(folder.settings())
    assert tls.context is second


def test_a_trust_store_cannot_be_added(folder: Folder) -> None:
    tls = ListenerTls(Endpoint("SSL", "SSL", "", 0), {"ssl.keystore.location": folder.key})
    with pytest.raises(ConfigError, match="Cannot add SSL truststore to an existing listener"):
        tls.check(folder.settings())
