"""Java's JKS key stores: certificates, and the private key that its password opens.

Layout and key protection are those of the JDK's ``sun.security.provider.JavaKeyStore`` and ``KeyProtector``: big-endian
counts, modified UTF-8 names, keys hidden by a SHA-1 key stream. The password's digest over the whole file is checked
when a password is given, as Java does. No message repeats a password.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from kafka_tools.errors import ConfigError

MAGIC = b"\xfe\xed\xfe\xed"
_KEY_ENTRY, _CERTIFICATE_ENTRY = 1, 2
_DIGEST_BYTES = 20
_PHRASE = b"Mighty Aphrodite"
_MAX_ENTRIES = 100_000


class KeyEntry(NamedTuple):
    """A private key, PKCS #8 in DER, and its certificate chain in DER, leaf first."""

    alias: str
    key: bytes
    chain: tuple[bytes, ...]

    def __repr__(self) -> str:
        return f"KeyEntry({self.alias!r}, ***)"


class JksStore(NamedTuple):
    """The contents of a store. ``keys`` are decrypted; ``certificates`` are the trusted ones, in DER."""

    keys: tuple[KeyEntry, ...]
    certificates: tuple[bytes, ...]


def read_jks(data: bytes, source: str, store_password: str | None, key_password: str | None) -> JksStore:
    """The content of a JKS file, without keys if there is no password. Raises ConfigError naming ``source``."""
    if store_password is not None:
        _check_digest(data, source, store_password)
    try:
        entries = _entries(data)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ConfigError(f"{source}: the file is damaged, or is not a JKS store") from error
    password = key_password or store_password
    keys: list[KeyEntry] = []
    certificates: list[bytes] = []
    for alias, protected, chain in entries:
        if protected is None:
            certificates.extend(chain)
        elif password is not None:
            keys.append(KeyEntry(alias, _open_key(protected, password, source), chain))
    return JksStore(tuple(keys), tuple(certificates))


def _password_bytes(password: str) -> bytes:
    return password.encode("utf-16-be")


def _check_digest(data: bytes, source: str, password: str) -> None:
    import hashlib

    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    found = hashlib.sha1(_password_bytes(password) + _PHRASE + body, usedforsecurity=False).digest()
    if found != digest:
        raise ConfigError(f"{source}: wrong password, or the store is damaged")


def _entries(data: bytes) -> list[tuple[str, bytes | None, tuple[bytes, ...]]]:
    """(alias, protected key or None, certificates in DER) of each entry."""
    _, version, count = struct.unpack_from(">III", data)
    if version not in (1, 2) or count > _MAX_ENTRIES:
        raise IndexError
    position = 12
    entries: list[tuple[str, bytes | None, tuple[bytes, ...]]] = []
    for _ in range(count):
        (tag,) = struct.unpack_from(">I", data, position)
        alias, position = _name(data, position + 4)
        position += 8  # when the entry was made
        if tag == _KEY_ENTRY:
            protected, position = _block(data, position)
            (length,) = struct.unpack_from(">I", data, position)
            position += 4
            chain = []
            for _ in range(min(length, _MAX_ENTRIES)):
                certificate, position = _certificate(data, position, version)
                chain.append(certificate)
            entries.append((alias, protected, tuple(chain)))
        elif tag == _CERTIFICATE_ENTRY:
            certificate, position = _certificate(data, position, version)
            entries.append((alias, None, (certificate,)))
        else:
            raise IndexError
    return entries


def _certificate(data: bytes, position: int, version: int) -> tuple[bytes, int]:
    if version == 2:
        _, position = _name(data, position)  # always X.509
    return _block(data, position)


def _name(data: bytes, position: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">H", data, position)
    end = position + 2 + length
    if end > len(data):
        raise IndexError
    return data[position + 2 : end].decode("utf-8", "replace"), end


def _block(data: bytes, position: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from(">I", data, position)
    end = position + 4 + length
    if end > len(data):
        raise IndexError
    return data[position + 4 : end], end


def _open_key(protected: bytes, password: str, source: str) -> bytes:
    """The PKCS #8 key inside an EncryptedPrivateKeyInfo of Java's own algorithm (salt, key XOR stream, digest)."""
    import hashlib

    secret = _encrypted_octets(protected)
    if secret is None or len(secret) < 2 * _DIGEST_BYTES:
        raise ConfigError(f"{source}: unsupported protection of the private key")
    salt, hidden, digest = secret[:_DIGEST_BYTES], secret[_DIGEST_BYTES:-_DIGEST_BYTES], secret[-_DIGEST_BYTES:]
    phrase = _password_bytes(password)
    stream = bytearray()
    block = salt
    while len(stream) < len(hidden):
        block = hashlib.sha1(phrase + block, usedforsecurity=False).digest()
        stream += block
    key = bytes(left ^ right for left, right in zip(hidden, stream, strict=False))
    if hashlib.sha1(phrase + key, usedforsecurity=False).digest() != digest:
        raise ConfigError(f"{source}: cannot open the private key: wrong ssl.key.password")
    return key


def _encrypted_octets(der: bytes) -> bytes | None:
    """The OCTET STRING of SEQUENCE { SEQUENCE algorithm, OCTET STRING }; None for anything else."""
    outer = _tlv(der, 0)
    if outer is None or outer[0] != 0x30:
        return None
    algorithm = _tlv(der, outer[1])
    if algorithm is None or algorithm[0] != 0x30:
        return None
    octets = _tlv(der, algorithm[2])
    if octets is None or octets[0] != 0x04:
        return None
    return der[octets[1] : octets[2]]


def _tlv(der: bytes, position: int) -> tuple[int, int, int] | None:
    """(tag, start, end of the contents) of one DER element; None when it does not fit."""
    if position + 2 > len(der):
        return None
    tag, length = der[position], der[position + 1]
    start = position + 2
    if length & 0x80:
        count = length & 0x7F
        if count > 4 or start + count > len(der):
            return None
        length = int.from_bytes(der[start : start + count], "big")
        start += count
    return (tag, start, start + length) if start + length <= len(der) else None
