"""Certificates and keys from Java's settings (``ssl.keystore.*``, ``ssl.truststore.*``) as PEM text.

PEM files, PEM text in the settings themselves (KIP-651) and JKS stores need no package. PKCS12 needs the optional
``cryptography`` package. The contents of a file determine its type, as in Java's keytool. No message repeats key
material or a password.
"""

from __future__ import annotations

import base64
import re
import textwrap
from typing import NamedTuple

from kafka_tools.errors import ConfigError
from kafka_tools.given_files import read_given
from kafka_tools.net.jks import MAGIC as JKS_MAGIC
from kafka_tools.net.jks import read_jks

_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----.*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----", re.DOTALL)
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_MAX_STORE_BYTES = 16 * 1024 * 1024
_DEFAULT_KIND = "JKS"
_DER_SEQUENCE = b"\x30"


class KeyMaterial(NamedTuple):
    """A certificate chain and its private key, both PEM; ``password`` opens the key if it is encrypted."""

    chain: str
    key: str
    password: str | None

    def __repr__(self) -> str:
        return "KeyMaterial(***)"


def pem_key_material(chain: str, key: str, password: str | None, source: str) -> KeyMaterial:
    """Key material of PEM texts; ConfigError naming ``source`` when one part is missing."""
    certificates, keys = _CERTIFICATE.findall(chain), _KEY.findall(key)
    if not certificates:
        raise ConfigError(f"{source}: no PEM certificate found (-----BEGIN CERTIFICATE-----)")
    if len(keys) != 1:
        raise ConfigError(f"{source}: expected exactly one PEM private key, found {len(keys)}")
    if "ENCRYPTED" in keys[0] and not password:
        raise ConfigError(f"{source}: the private key is encrypted and ssl.key.password is not set")
    return KeyMaterial("\n".join(certificates) + "\n", keys[0] + "\n", password)


def read_key_store(path: str, password: str | None, key_password: str | None, kind: str = "") -> KeyMaterial:
    """Key material of a PEM, PKCS12 or JKS file; ConfigError for another type, or when it cannot be opened.

    ``kind`` is the type in the settings; errors name it if the contents show no type.
    """
    data, found, source = _read(path, "keystore", kind)
    if found == "PEM":
        text = _pem_text(data, source)
        return pem_key_material(text, text, key_password or password, source)
    if found == "JKS":
        return _jks_key_material(data, password, key_password, source)
    key, certificate, others = _pkcs12(data, password, source)
    if key is None or certificate is None:
        raise ConfigError(f"{source}: no private key with its certificate found in this store")
    return KeyMaterial("".join([certificate, *others]), key, None)


def read_trust_store(path: str, password: str | None, kind: str = "") -> str:
    """The certificates of a PEM, PKCS12 or JKS file, as PEM text; ConfigError when there are none."""
    data, shown, source = _read(path, "truststore", kind)
    if shown == "PEM":
        return pem_certificates(_pem_text(data, source), source)
    if shown == "JKS":
        certificates = read_jks(data, source, password, None).certificates
        if not certificates:
            raise ConfigError(f"{source}: no trusted certificate found in this store")
        return "".join(_as_pem("CERTIFICATE", each) for each in certificates)
    _, certificate, others = _pkcs12(data, password, source)
    found = ([certificate] if certificate else []) + others
    if not found:
        raise ConfigError(f"{source}: no certificate found in this store")
    return "".join(found)


def _jks_key_material(data: bytes, password: str | None, key_password: str | None, source: str) -> KeyMaterial:
    if not (password or key_password):
        raise ConfigError(f"{source}: cannot open the JKS store: ssl.keystore.password is not set")
    keys = read_jks(data, source, password, key_password).keys
    if len(keys) != 1:
        raise ConfigError(f"{source}: expected exactly one private key in this store, found {len(keys)}")
    chain = "".join(_as_pem("CERTIFICATE", each) for each in keys[0].chain)
    return KeyMaterial(chain, _as_pem("PRIVATE KEY", keys[0].key), None)


def _as_pem(label: str, der: bytes) -> str:
    body = "\n".join(textwrap.wrap(base64.b64encode(der).decode("ascii"), 64))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"


def pem_certificates(text: str, source: str) -> str:
    """Only the certificates of a PEM text; ConfigError when there are none."""
    found = _CERTIFICATE.findall(text)
    if not found:
        raise ConfigError(f"{source}: no PEM certificate found (-----BEGIN CERTIFICATE-----)")
    return "\n".join(found) + "\n"


def _read(path: str, store: str, kind: str) -> tuple[bytes, str, str]:
    """A store's contents, their type, and the first words of errors about it.

    ``kind`` is the store type of the settings. Raises ConfigError if the contents show no type.
    """

    def source(kind: str) -> str:
        return f"ssl.{store}.location: Failed to load SSL {store} {path} of type {kind}"

    kind = kind.strip().upper() or _DEFAULT_KIND
    try:
        data = read_given(path, _MAX_STORE_BYTES)
    except OSError as error:
        raise ConfigError(f"{source(kind)}: {error.strerror or error}") from error
    found = _kind_of(data)
    if not found:
        raise ConfigError(f"{source(kind)}: expected PEM text, or a PKCS12 or JKS store")
    return data, found, source(found)


def _kind_of(data: bytes) -> str:
    """The type of a store, from its bytes; empty if unknown."""
    if b"-----BEGIN " in data:
        return "PEM"
    if data.startswith(JKS_MAGIC):
        return "JKS"
    return "PKCS12" if data.startswith(_DER_SEQUENCE) else ""


def _pem_text(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{source}: invalid text at byte {error.start}") from error


def _pkcs12(data: bytes, password: str | None, source: str) -> tuple[str | None, str | None, list[str]]:
    """(key, its certificate, further certificates) as PEM."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError as error:
        raise ConfigError(
            f"{source}: reading a PKCS12 store needs the Python package cryptography",
            hint="pip install cryptography, or convert: openssl pkcs12 -in STORE -out STORE.pem -nodes",
        ) from error
    try:
        store = pkcs12.load_pkcs12(data, password.encode("utf-8") if password else None)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{source}: wrong password, or the store is damaged") from error

    pem = serialization.Encoding.PEM
    key = None
    if store.key is not None:
        key = store.key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode(
            "ascii"
        )
    certificate = store.cert.certificate.public_bytes(pem).decode("ascii") if store.cert is not None else None
    return key, certificate, [each.certificate.public_bytes(pem).decode("ascii") for each in store.additional_certs]
