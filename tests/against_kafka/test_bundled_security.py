"""Kafka's own tools on a bundled broker that asks who they are: delegation tokens, certificates, ACLs."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

from kafka_tools.broker_embedded import EmbeddedBroker
from tests.against_kafka.jars import NEWEST

Tool = Callable[..., "subprocess.CompletedProcess[str]"]

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
ACL_COMMAND = "org.apache.kafka.tools.AclCommand"
TOPIC_COMMAND = "org.apache.kafka.tools.TopicCommand"
TOKEN_COMMAND = {
    "2.2.2": "kafka.admin.DelegationTokenCommand",
    "3.9.2": "org.apache.kafka.tools.DelegationTokenCommand",
    NEWEST: "org.apache.kafka.tools.DelegationTokenCommand",
}


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedBroker]:
    config = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "plain.sasl.jaas.config": f'{PLAIN} user_alice="pa" user_admin="pw";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin",
        "delegation.token.secret.key": "a secret key",
    }
    with EmbeddedBroker(listeners="SASL_PLAINTEXT://127.0.0.1:0", config=config) as broker:
        yield broker


def properties(folder: Path, name: str, values: Mapping[str, str]) -> Path:
    path = folder / f"{name}.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    return path


def login(folder: Path, mechanism: str, jaas: str) -> Path:
    values = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
    return properties(folder, mechanism, values)


@pytest.mark.req("DT-1", "DT-2", "DT-11", "DT-12")
@pytest.mark.parametrize("release", ["2.2.2", "3.9.2", NEWEST])
def test_kafkas_tools_make_tokens_log_in_with_them_and_end_them(
    guarded: EmbeddedBroker, java_tool: Tool, tmp_path: Path, release: str
) -> None:
    address = ["--bootstrap-server", guarded.bootstrap_servers, "--command-config"]
    admin = login(tmp_path, "PLAIN", f'{PLAIN} username="admin" password="pw";')
    topic = f"seen-by-{release}"
    java_tool(NEWEST, TOPIC_COMMAND, *address, admin, "--create", "--topic", topic)
    java_tool(
        NEWEST, ACL_COMMAND, *address, admin, "--add", "--allow-principal", "User:alice", "--operation", "Describe",
        "--topic", topic,
    )  # fmt: skip

    alice = login(tmp_path, "PLAIN", f'{PLAIN} username="alice" password="pa";')

    def tokens(*arguments: object, config: Path = alice) -> str:
        ended = java_tool(release, TOKEN_COMMAND[release], *address, config, *arguments)
        return ended.stdout + ended.stderr

    made = tokens("--create", "--max-life-time-period", "3600000", "--renewer-principal", "User:bob")
    found = re.search(r"^(\S{22})\s+(\S{88})\s+User:alice\s.*User:bob", made, re.MULTILINE)
    assert found, made
    token_id, hmac = found.groups()
    assert token_id in tokens("--describe", "--owner-principal", "User:alice")
    assert "Completed renew operation" in tokens("--renew", "--renew-time-period", "60000", "--hmac", hmac)

    jaas = f'{SCRAM} username="{token_id}" password="{hmac}" tokenauth="true";'
    with_token = login(tmp_path, "SCRAM-SHA-256", jaas)
    listed = java_tool(NEWEST, TOPIC_COMMAND, *address, with_token, "--list")
    assert topic in listed.stdout.split(), listed.stderr
    refused = tokens("--create", "--max-life-time-period", "-1", config=with_token)
    assert "Delegation Token requests are not allowed" in refused, refused

    assert "Completed expire operation" in tokens("--expire", "--expiry-time-period", "-1", "--hmac", hmac)
    assert token_id not in tokens("--describe", "--owner-principal", "User:alice")


class Certificates:
    """An authority, the broker's certificate and a client's, in Java's store formats."""

    PASSWORD = "stores-are-secret"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = trustme.CA()
        self.broker = self._store("broker.p12", self.authority.issue_cert("localhost", "127.0.0.1"))
        names = {"organization_name": "acme, inc", "organization_unit_name": "ops"}
        self.client = self._store("client.p12", self.authority.issue_cert("c", common_name="Alice", **names))
        authority = x509.load_pem_x509_certificate(self.authority.cert_pem.bytes())
        entries = [pkcs12.PKCS12Certificate(authority, b"ca")]
        self.trust = self._write("trust.p12", pkcs12.serialize_java_truststore(entries, self._encryption))

    @property
    def _encryption(self) -> BestAvailableEncryption:
        return BestAvailableEncryption(self.PASSWORD.encode())

    def _write(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def _store(self, name: str, issued: trustme.LeafCert) -> Path:
        pem = issued.private_key_and_cert_chain_pem.bytes()
        key, chain = load_pem_private_key(pem, None), x509.load_pem_x509_certificates(pem)
        return self._write(name, pkcs12.serialize_key_and_certificates(b"k", key, chain[0], None, self._encryption))

    def settings(self, store: Path) -> dict[str, str]:
        return {
            "ssl.keystore.location": str(store), "ssl.keystore.type": "PKCS12", "ssl.keystore.password": self.PASSWORD,
            "ssl.truststore.location": str(self.trust), "ssl.truststore.type": "PKCS12",
            "ssl.truststore.password": self.PASSWORD,
        }  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "principal"),
    [("DEFAULT", "User:CN=Alice,OU=ops,O=acme\\, inc"), ("RULE:^CN=([^,]*),.*$/$1/L", "User:alice")],
)
def test_a_java_client_is_who_its_certificate_says(java_tool: Tool, tmp_path: Path, rules: str, principal: str) -> None:
    certificates = Certificates(tmp_path)
    config = {
        **certificates.settings(certificates.broker), "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": rules,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": principal, "delegation.token.secret.key": "a secret key",
    }  # fmt: skip
    with EmbeddedBroker(listeners="SSL://127.0.0.1:0", config=config) as broker:
        values = {"security.protocol": "SSL", **certificates.settings(certificates.client)}
        path = properties(tmp_path, "client", values)
        address = ["--bootstrap-server", broker.bootstrap_servers, "--command-config", path]
        listed = java_tool(NEWEST, ACL_COMMAND, *address, "--list")
        assert listed.returncode == 0 and "Error" not in listed.stdout, listed.stdout + listed.stderr
        made = java_tool(NEWEST, TOKEN_COMMAND[NEWEST], *address, "--create", "--max-life-time-period", "-1")
        assert principal in made.stdout, made.stdout + made.stderr


@pytest.mark.parametrize("audience", ["kafka", "other"])
def test_a_java_client_logs_in_with_a_signed_token(java_tool: Tool, tmp_path: Path, audience: str) -> None:
    import time

    from joserfc import jwt
    from joserfc.jwk import ECKey, KeySet

    key = ECKey.generate_key("P-256", {"kid": "one", "use": "sig", "alg": "ES256"})
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps(KeySet([key]).as_dict(private=False)))
    now_s = int(time.time())
    claims = {"sub": "alice", "aud": audience, "iat": now_s, "exp": now_s + 600}
    token = tmp_path / "token"
    token.write_text(jwt.encode({"alg": "ES256", "kid": "one"}, claims, key))
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    config = {
        "sasl.enabled.mechanisms": "OAUTHBEARER", "oauthbearer.sasl.jaas.config": module,
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(), "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.allow.unverified.issuer": "true",
    }  # fmt: skip
    with EmbeddedBroker(listeners="SASL_PLAINTEXT://127.0.0.1:0", config=config) as broker:
        handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
        values = {
            "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": module,
            "sasl.login.callback.handler.class": handler, "sasl.oauthbearer.token.endpoint.url": token.as_uri(),
            "default.api.timeout.ms": "20000", "request.timeout.ms": "20000",
        }  # fmt: skip
        path = properties(tmp_path, "client", values)
        address = ["--bootstrap-server", broker.bootstrap_servers, "--command-config", path]
        prefix = "-Dorg.apache.kafka.sasl.oauthbearer.allowed"
        allowed = {"JAVA_TOOL_OPTIONS": f"{prefix}.urls={token.as_uri()} {prefix}.files={token}"}
        ended = java_tool(NEWEST, TOPIC_COMMAND, *address, "--create", "--topic", "t", environment=allowed)
        assert (ended.returncode == 0) == (audience == "kafka"), ended.stdout + ended.stderr
        if audience == "other":
            assert "invalid_token" in ended.stdout + ended.stderr


def test_kafkas_dump_tool_reads_the_tokens_that_are_kept(java_tool: Tool, tmp_path: Path) -> None:
    config = {"delegation.token.secret.key": "a secret key"}
    with EmbeddedBroker(data_dir=tmp_path / "data", config=config) as broker:
        token = broker.call(lambda core: core.tokens.create("User:alice", "User:bob", ["User:carol"], -1))
        broker.call(lambda core: core.tokens.expire("User:carol", core.tokens.hmac(token), -1))
    log = tmp_path / "data" / "__cluster_metadata-0" / "00000000000000000000.log"
    dumped = java_tool(
        NEWEST, "org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", log
    ).stdout
    (kept,) = [line for line in dumped.splitlines() if '"DELEGATION_TOKEN_RECORD"' in line]
    record = json.loads(kept[kept.index('{"type"') :])["data"]
    assert (record["owner"], record["requester"], record["renewers"]) == ("User:alice", "User:bob", ["User:carol"])
    assert (record["tokenId"], record["maxTimestamp"]) == (token.token_id, token.max_timestamp)
    assert '"REMOVE_DELEGATION_TOKEN_RECORD"' in dumped
