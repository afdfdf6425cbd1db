"""Certificates for tests of TLS, in every form that Java's settings know: PEM, PKCS12 and JKS.

``write_stores(folder)`` makes an authority, the server's certificate for 127.0.0.1, one that has expired, a client's
(CN=operator), and what somebody else's authority signed. ``client(form)`` are a client's settings.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import struct
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import Certificate, load_pem_x509_certificate

PASSWORD = "store-secret"
FORMS = ("pem", "encrypted pem", "inline pem", "pkcs12", "jks")


def write_stores(folder: Path) -> None:
    """Files: ca.pem, other-ca.pem, trust.{p12,jks}; server.p12, expired.p12; operator, stranger .{pem,p12,jks}."""
    authority, other = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    other.cert_pem.write_to_path(str(folder / "other-ca.pem"))
    ca = load_pem_x509_certificate(authority.cert_pem.bytes())
    (folder / "trust.jks").write_bytes(_jks([_trusted_entry("ca", ca)]))
    trusted = pkcs12.PKCS12Certificate(ca, b"ca")
    (folder / "trust.p12").write_bytes(
        pkcs12.serialize_java_truststore([trusted], BestAvailableEncryption(PASSWORD.encode()))
    )
    now = datetime.datetime.now(datetime.UTC)
    old = {"not_before": now - datetime.timedelta(days=30), "not_after": now - datetime.timedelta(days=1)}
    leaves = {
        "server": authority.issue_cert("127.0.0.1"),
        "expired": authority.issue_cert("127.0.0.1", **old),
        "operator": authority.issue_cert("operator@example.org", common_name="operator"),
        "stranger": other.issue_cert("operator@example.org", common_name="operator"),
    }
    for name, leaf in leaves.items():
        _write_keys(
            folder / name,
            leaf,
            load_pem_x509_certificate((other if name == "stranger" else authority).cert_pem.bytes()),
        )


def client(folder: Path, form: str, who: str = "operator") -> dict[str, str]:
    """``ssl.*`` settings of a client that shows a certificate in one of ``FORMS`` and trusts the authority."""
    location = {"encrypted pem": f"{who}-encrypted.pem", "pkcs12": f"{who}.p12", "jks": f"{who}.jks"}.get(
        form, f"{who}.pem"
    )
    trust = {"pkcs12": "trust.p12", "jks": "trust.jks"}.get(form, "ca.pem")
    values = {"security.protocol": "SSL"}
    if form == "inline pem":
        text = (folder / location).read_text()
        values |= {"ssl.keystore.type": "PEM", "ssl.keystore.key": text, "ssl.keystore.certificate.chain": text}
    else:
        kind = form.split()[-1].upper()
        values |= {"ssl.keystore.type": kind, "ssl.keystore.location": str(folder / location)}
        values |= {"ssl.truststore.type": kind}
    if form in ("pkcs12", "jks"):
        values |= {"ssl.keystore.password": PASSWORD, "ssl.truststore.password": PASSWORD}
    if form in ("encrypted pem", "jks"):
        values["ssl.key.password"] = PASSWORD
    return values | {"ssl.truststore.location": str(folder / trust)}


def _write_keys(path: Path, leaf: trustme.LeafCert, ca: Certificate) -> None:
    key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
    chain = [load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes()), ca]
    leaf.private_key_and_cert_chain_pem.write_to_path(f"{path}.pem")
    encryption = BestAvailableEncryption(PASSWORD.encode())
    Path(f"{path}-encrypted.pem").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption) + leaf.cert_chain_pems[0].bytes()
    )
    Path(f"{path}.p12").write_bytes(
        pkcs12.serialize_key_and_certificates(b"key", key, chain[0], chain[1:], encryption)  # type: ignore[arg-type]
    )
    der = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    Path(f"{path}.jks").write_bytes(_jks([_key_entry("key", der, chain)]))


# JKS, as sun.security.provider.JavaKeyStore and KeyProtector write it; real brokers read these files in other tests.


def _jks(entries: list[bytes]) -> bytes:
    body = struct.pack(">III", 0xFEEDFEED, 2, len(entries)) + b"".join(entries)
    return body + hashlib.sha1(_utf16(PASSWORD) + b"Mighty Aphrodite" + body).digest()


def _key_entry(alias: str, der: bytes, chain: list[Certificate]) -> bytes:
    blocks = b"".join(_name("X.509") + _block(each.public_bytes(Encoding.DER)) for each in chain)
    made = struct.pack(">I", 1) + _name(alias) + struct.pack(">Q", 0)
    return made + _block(_protected(der)) + struct.pack(">I", len(chain)) + blocks


def _trusted_entry(alias: str, certificate: Certificate) -> bytes:
    made = struct.pack(">I", 2) + _name(alias) + struct.pack(">Q", 0)
    return made + _name("X.509") + _block(certificate.public_bytes(Encoding.DER))


def _protected(der: bytes) -> bytes:
    """EncryptedPrivateKeyInfo with Sun's key protection: a SHA-1 key stream over the key, then a digest."""
    salt, password = os.urandom(20), _utf16(PASSWORD)
    stream, last = b"", salt
    while len(stream) < len(der):
        last = hashlib.sha1(password + last).digest()
        stream += last
    hidden = salt + bytes(a ^ b for a, b in zip(der, stream, strict=False)) + hashlib.sha1(password + der).digest()
    algorithm = bytes.fromhex("300e060a2b060104012a021101010500")
    return _der(0x30, algorithm + _der(0x04, hidden))


def _der(tag: int, body: bytes) -> bytes:
    size = len(body)
    length = bytes([size]) if size < 128 else b"\x82" + struct.pack(">H", size)
    return bytes([tag]) + length + body


def _name(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode("ascii")


def _block(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be")
