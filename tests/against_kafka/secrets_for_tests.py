"""Users, passwords and certificates of the clusters under test: made up here, worth nothing elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

USERS = {"admin": "admin-secret", "alice": "alice-secret"}
STORE_PASSWORD = "store-secret"
MECHANISMS = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def write_stores(folder: Path) -> None:
    """A CA (``ca.pem``), and the server's key and certificate for 127.0.0.1 and localhost as ``server.p12``.

    PKCS #12 and not PEM, which brokers before 2.7 cannot read.
    """
    import trustme
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12
    from cryptography.x509 import load_pem_x509_certificate

    authority = trustme.CA()
    leaf = authority.issue_cert("127.0.0.1", "localhost")
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    store = pkcs12.serialize_key_and_certificates(
        b"server",
        load_pem_private_key(leaf.private_key_pem.bytes(), None),  # type: ignore[arg-type]
        load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes()),
        [load_pem_x509_certificate(authority.cert_pem.bytes())],
        BestAvailableEncryption(STORE_PASSWORD.encode()),
    )
    (folder / "server.p12").write_bytes(store)


def server_properties(listeners: Sequence[str], folder: Path) -> dict[str, object]:
    """What a broker needs for its SASL and TLS listeners."""
    lines: dict[str, object] = {}
    sasl = [name for name in listeners if name.startswith("SASL_")]
    for name in sasl:
        prefix = f"listener.name.{name.lower()}"
        users = " ".join(f'user_{user}="{password}"' for user, password in USERS.items())
        lines[f"{prefix}.sasl.enabled.mechanisms"] = MECHANISMS
        lines[f"{prefix}.plain.sasl.jaas.config"] = f"{_MODULES['PLAIN']} required {users};"
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            lines[f"{prefix}.{mechanism}.sasl.jaas.config"] = f"{_MODULES['SCRAM-SHA-256']} required;"
    if sasl:
        lines["sasl.enabled.mechanisms"] = MECHANISMS
    if any(name.endswith("SSL") for name in listeners):
        lines |= {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": folder / "server.p12",
            "ssl.keystore.password": STORE_PASSWORD,
            "ssl.key.password": STORE_PASSWORD,
        }
    return lines


def client_properties(listener: str, user: str, mechanism: str, folder: Path) -> dict[str, str]:
    """What a client needs for one listener (PEM trust store, as Kafka 2.7 and later read it)."""
    lines = {"security.protocol": listener}
    if listener.startswith("SASL_"):
        lines["sasl.mechanism"] = mechanism
        lines["sasl.jaas.config"] = f'{_MODULES[mechanism]} required username="{user}" password="{USERS[user]}";'
    if listener.endswith("SSL"):
        lines |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(folder / "ca.pem")}
    return lines
