"""TLS as client.properties describes it: stores, verification, host names, client certificates, wrong ports."""

import re
import ssl
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import load_pem_x509_certificate
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.admin.client import AdminClient
from kafka_tools.clock import Deadline, SystemClock
from kafka_tools.errors import ConfigError, ConnectFailed, Disconnected, TlsFailed
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.jks import read_jks
from kafka_tools.net.tls import _openssl_name, client_settings, server_settings
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.net.peers import HANG_UP, ScriptedNode

PASSWORD = "stores-are-secret"


class Material:
    """An authority, a server's and a client's certificate, in the forms that Java's settings know."""

    def __init__(self, folder):
        self.authority = trustme.CA()
        self.server = self.authority.issue_cert("localhost", "127.0.0.1")
        self.client = self.authority.issue_cert("alice@example.org")
        self.ca_path = str(folder / "ca.pem")
        self.authority.cert_pem.write_to_path(self.ca_path)
        self.ca_pem = self.authority.cert_pem.bytes().decode()
        self.client_path = str(folder / "client.pem")
        self.client.private_key_and_cert_chain_pem.write_to_path(self.client_path)
        self.key = load_pem_private_key(self.client.private_key_pem.bytes(), None)
        self.certificate = load_pem_x509_certificate(self.client.cert_chain_pems[0].bytes())
        self.ca_certificate = load_pem_x509_certificate(self.authority.cert_pem.bytes())
        self.p12_path = str(folder / "client.p12")
        with open(self.p12_path, "wb") as file:
            file.write(
                pkcs12.serialize_key_and_certificates(
                    b"client",
                    self.key,
                    self.certificate,
                    [self.ca_certificate],
                    BestAvailableEncryption(PASSWORD.encode()),
                )
            )
        self.encrypted_path = str(folder / "encrypted.pem")
        with open(self.encrypted_path, "wb") as file:
            encryption = BestAvailableEncryption(PASSWORD.encode())
            file.write(self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
            file.write(self.client.cert_chain_pems[0].bytes())

    def context(self, *, demand_client=False, leaf=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        (leaf or self.server).configure_cert(context)
        if demand_client:
            self.authority.configure_trust(context)
            context.verify_mode = ssl.CERT_REQUIRED
        return context


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    return Material(tmp_path_factory.mktemp("tls"))


def ask(node, address=None, **settings):
    values = {key.replace("_", "."): value for key, value in settings.items()}
    values = {"bootstrap.servers": address or node.bootstrap, "security.protocol": "SSL"} | values
    with Exchange(ClientConfig(values)) as client:
        deadline = Deadline(SystemClock(), 30)
        return client.call(client.bootstrap(deadline), MetadataRequest(topics=[]), deadline).cluster_id


def tls_node(context):
    return ScriptedNode(lambda *_: MetadataResponse(cluster_id="secure"), tls=context)


def test_trust_store_as_pem_file(material):
    with tls_node(material.context()) as node:
        assert ask(node, ssl_truststore_type="PEM", ssl_truststore_location=material.ca_path) == "secure"


def test_trust_store_as_text_in_the_settings(material):
    with tls_node(material.context()) as node:
        assert ask(node, ssl_truststore_type="PEM", ssl_truststore_certificates=material.ca_pem) == "secure"


def test_trust_store_as_pkcs12(material):
    with tls_node(material.context()) as node:
        assert (
            ask(
                node,
                ssl_truststore_type="PKCS12",
                ssl_truststore_location=material.p12_path,
                ssl_truststore_password=PASSWORD,
            )
            == "secure"
        )


def test_unknown_authority_is_refused_with_the_setting_to_change(material):
    with tls_node(material.context()) as node, pytest.raises(TlsFailed, match=r"certificate of 127\.0\.0\.1") as caught:
        ask(node)
    assert "ssl.truststore.location" in caught.value.hint


def test_host_name_is_checked_unless_switched_off(material):
    leaf = material.authority.issue_cert("other.example")
    trust = {"ssl_truststore_certificates": material.ca_pem}
    with tls_node(material.context(leaf=leaf)) as node:
        with pytest.raises(TlsFailed) as caught:
            ask(node, **trust)
        assert "ssl.endpoint.identification.algorithm" in caught.value.hint
        assert ask(node, ssl_endpoint_identification_algorithm="", **trust) == "secure"


@pytest.mark.parametrize("form", ["pem", "p12", "encrypted", "inline"])
def test_client_certificate_in_every_form(material, form):
    settings = {"ssl_truststore_certificates": material.ca_pem}
    if form == "pem":
        settings |= {"ssl_keystore_type": "PEM", "ssl_keystore_location": material.client_path}
    elif form == "p12":
        settings |= {"ssl_keystore_location": material.p12_path, "ssl_keystore_password": PASSWORD}
    elif form == "encrypted":
        settings |= {"ssl_keystore_location": material.encrypted_path, "ssl_key_password": PASSWORD}
    else:
        settings |= {
            "ssl_keystore_key": material.client.private_key_pem.bytes().decode(),
            "ssl_keystore_certificate_chain": material.client.cert_chain_pems[0].bytes().decode(),
        }
    with tls_node(material.context(demand_client=True)) as node:
        assert ask(node, **settings) == "secure"


def test_missing_client_certificate_is_told(material):
    with tls_node(material.context(demand_client=True)) as node, pytest.raises((TlsFailed, ConnectFailed)) as caught:
        ask(node, ssl_truststore_certificates=material.ca_pem)
    cut_off = re.search("closed the connection|being disconnected", str(caught.value))
    assert cut_off or "ssl.keystore.location" in caught.value.hint


def test_plaintext_client_on_a_tls_port_is_told_to_use_tls(material):
    with tls_node(material.context()) as node, pytest.raises(ConnectFailed) as caught:
        ask(node, security_protocol="PLAINTEXT")
    assert "SSL" in caught.value.hint


def test_tls_client_on_a_plaintext_port_is_told_so(material):
    with ScriptedNode() as node, pytest.raises(ConnectFailed) as caught:
        ask(node, ssl_truststore_certificates=material.ca_pem)
    assert "check that this port speaks TLS" in caught.value.hint


class RestartingNode(ScriptedNode):
    """Goes down at its second request; the connection after that ends in the TLS handshake."""

    def __init__(self, context):
        super().__init__(self.goes_down, tls=context)

    def goes_down(self, request, version, state):
        asked = [request for request, _ in self.requests if isinstance(request, MetadataRequest)]
        return HANG_UP if len(asked) == 2 else MetadataResponse(cluster_id="secure")

    def _serve(self, sock):
        if self.connections == 2:
            with sock:
                sock.recv(10)
        else:
            super()._serve(sock)


def test_handshake_that_a_node_cuts_short_is_tried_again(material):
    with (
        RestartingNode(material.context()) as node,
        AdminClient(node.bootstrap, security_protocol="SSL", ssl_truststore_certificates=material.ca_pem) as admin,
    ):
        assert admin.list_topics() == []
        assert admin.list_topics() == []
        assert node.connections == 3


def test_trust_in_a_single_certificate_is_enough(material):
    # As in Java, what stands in the trust store is trusted, be it an authority or not.
    leaf_pem = material.server.cert_chain_pems[0].bytes().decode()
    with tls_node(material.context()) as node:
        assert ask(node, ssl_truststore_certificates=leaf_pem) == "secure"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ssl.truststore.location": "/absent"}, r"Failed to load SSL truststore /absent of type JKS: No such file"),
        (
            {"ssl.keystore.location": "/absent", "ssl.keystore.type": "PKCS12"},
            r"ssl\.keystore\.location: Failed to load SSL keystore /absent of type PKCS12: No such file",
        ),
        ({"ssl.truststore.certificates": "rubbish"}, r"no PEM certificate found"),
        (
            {"ssl.truststore.certificates": "-----BEGIN CERTIFICATE-----\nMIIB\u2026\n-----END CERTIFICATE-----"},
            r"cannot read a certificate in the trust store",
        ),
        ({"ssl.truststore.location": "{jks}"}, r"the file is damaged, or is not a JKS store"),
        ({"ssl.truststore.location": "{text}"}, r"expected PEM text, or a PKCS12"),
        ({"ssl.truststore.location": "{p12}", "ssl.truststore.password": "wrong"}, r"wrong password"),
        ({"ssl.keystore.location": "{ca}"}, r"exactly one PEM private key"),
        ({"ssl.keystore.location": "{encrypted}"}, r"ssl\.key\.password is not set"),
        ({"ssl.keystore.location": "{encrypted}", "ssl.key.password": "wrong"}, r"cannot use the private key"),
        ({"ssl.keystore.location": "{encrypted}", "ssl.key.password": "x" * 1025}, r"cannot use the private key"),
        ({"ssl.enabled.protocols": "SSLv3"}, r"TLSv1\.2 or TLSv1\.3"),
        ({"ssl.endpoint.identification.algorithm": "ldaps"}, r"algorithm 'ldaps': expected https or nothing"),
        ({"ssl.cipher.suites": "TLS_NO_WITH_SUCH_SUITE"}, r"none of these suites"),
    ],
)
def test_settings_that_cannot_work_are_named(material, tmp_path, settings, message):
    (tmp_path / "jks").write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
    (tmp_path / "text").write_text("hello")
    places = {
        "jks": tmp_path / "jks",
        "text": tmp_path / "text",
        "p12": material.p12_path,
        "ca": material.ca_path,
        "encrypted": material.encrypted_path,
    }
    values = {key: value.format(**places) for key, value in settings.items()}
    with pytest.raises(ConfigError, match=message) as caught:
        client_settings(values)
    assert PASSWORD not in str(caught.value)
    assert "wrong" not in str(caught.value).replace("wrong password", "").replace("wrong ssl.key.password", "")


@pytest.mark.parametrize(
    ("protocols", "suites", "allowed"),
    [
        ("TLSv1.2,TLSv1.3", "", "12 13"),
        ("TLSv1.2", "", "12"),
        ("TLSv1.3", "", "13"),
        ("TLSv1.1, TLSv1.2", "", "12"),
        # A list of suites without one for a version leaves that version out, as in Java.
        ("TLSv1.2,TLSv1.3", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "12"),
        ("TLSv1.2,TLSv1.3", "TLS_AES_256_GCM_SHA384", "13"),
        ("TLSv1.2,TLSv1.3", "TLS_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "12 13"),
    ],
)
def test_protocol_versions_are_limited(protocols, suites, allowed):
    context = client_settings({"ssl.enabled.protocols": protocols, "ssl.cipher.suites": suites}).context
    names = {ssl.TLSVersion.TLSv1_2: "12", ssl.TLSVersion.TLSv1_3: "13"}
    assert (
        " ".join(dict.fromkeys(names[each] for each in (context.minimum_version, context.maximum_version))) == allowed
    )


@pytest.mark.parametrize(
    ("protocols", "suites", "message"),
    [
        ("TLSv1.1", "", r"ssl\.enabled\.protocols TLSv1\.1: use TLSv1.2 or TLSv1.3"),
        ("TLSv1.2,TSLv1.3", "", r"ssl\.enabled\.protocols: .*TSLv1\.3"),
        ("TLSv1.2", "TLS_AES_256_GCM_SHA384", r"leaves no version for ssl\.cipher\.suites"),
        ("TLSv1.2", "TLS_NO_WITH_SUCH", r"none of these suites"),
        ("TLSv1.2", "SUCH", r"none of these suites"),
    ],
)
def test_protocols_and_suites_that_leave_nothing(protocols, suites, message):
    with pytest.raises(ConfigError, match=message):
        client_settings({"ssl.enabled.protocols": protocols, "ssl.cipher.suites": suites})


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", "ECDHE-ECDSA-AES256-SHA384"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
    ],
)
def test_cipher_suites_under_java_s_names(java, openssl):
    assert _openssl_name(java) == openssl
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).set_ciphers(openssl)


def test_server_settings_serve_a_client(material, tmp_path):
    path = tmp_path / "server.pem"
    material.server.private_key_and_cert_chain_pem.write_to_path(str(path))
    settings = server_settings(
        {
            "ssl.keystore.location": str(path),
            "ssl.client.auth": "required",
            "ssl.truststore.location": material.ca_path,
        }
    )
    with tls_node(settings.context) as node:
        assert (
            ask(node, ssl_truststore_location=material.ca_path, ssl_keystore_location=material.client_path) == "secure"
        )
    with pytest.raises(ConfigError, match=r"needs ssl\.keystore\.location"):
        server_settings({})
    with pytest.raises(ConfigError, match=r"ssl\.client\.auth 'maybe'"):
        server_settings({"ssl.keystore.location": str(path), "ssl.client.auth": "maybe"})


def test_broken_connection_under_tls_is_no_traceback(material):
    with tls_node(material.context()) as node:
        values = {"bootstrap.servers": node.bootstrap, "security.protocol": "SSL"}
        with Exchange(ClientConfig(values | {"ssl.truststore.location": material.ca_path})) as client:
            deadline = Deadline(SystemClock(), 30)
            client.call(client.bootstrap(deadline), MetadataRequest(topics=[]), deadline)
            node.answer = lambda *_: HANG_UP
            with pytest.raises(Disconnected, match=r"due to node .* being disconnected"):
                client.call(node.node, MetadataRequest(topics=[]), deadline)


JKS = Path(__file__).parent / "jks"
STORE = {"ssl.keystore.location": str(JKS / "key.jks"), "ssl.keystore.password": PASSWORD}
TRUST = {"ssl.truststore.location": str(JKS / "trust.jks"), "ssl.truststore.password": PASSWORD}


def test_jks_stores_of_both_sides():
    keys = STORE | {"ssl.key.password": "key-is-secret"}
    with tls_node(server_settings(keys | TRUST | {"ssl.client.auth": "required"}).context) as node:
        assert ask(node, **{key.replace(".", "_"): value for key, value in (keys | TRUST).items()}) == "secure"


@pytest.mark.req("SSL-7")
def test_jks_trust_store_opens_without_a_password():
    client_settings({"ssl.truststore.location": TRUST["ssl.truststore.location"]})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (TRUST | {"ssl.truststore.password": "wrong"}, r"trust\.jks of type JKS: wrong password"),
        (STORE | {"ssl.keystore.password": "wrong"}, r"key\.jks of type JKS: wrong password"),
        (STORE | {"ssl.key.password": "wrong"}, r"cannot open the private key: wrong ssl\.key\.password"),
        (STORE | {"ssl.keystore.password": ""}, r"ssl\.keystore\.password is not set"),
        (
            STORE | {"ssl.keystore.location": TRUST["ssl.truststore.location"]},
            r"exactly one private key in this store, found 0",
        ),
        ({"ssl.truststore.location": STORE["ssl.keystore.location"]}, r"no trusted certificate"),
    ],
)
def test_jks_stores_that_do_not_open(settings, message):
    with pytest.raises(ConfigError, match=message):
        client_settings(settings)


@given(st.integers(0, 900), st.integers(0, 255))
def test_damaged_jks_stores_are_one_error(position, value):
    data = bytearray((JKS / "key.jks").read_bytes())
    data[position % len(data)] = value
    for damaged in (bytes(data), bytes(data[: position % len(data)])):
        try:
            read_jks(b"\xfe\xed\xfe\xed" + damaged[4:], "store", None, "key-is-secret")
        except ConfigError as error:
            assert "secret" not in str(error)
