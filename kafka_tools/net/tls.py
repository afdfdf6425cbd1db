"""TLS from Java's ``ssl.*`` settings. Import it only when TLS is used: it imports ssl, which takes 11 ms.

Peers and their host names are verified unless the settings disable it
(``ssl.endpoint.identification.algorithm=https`` is Kafka's default). Without a trust store, the system's certificate
authorities are trusted. Every certificate in a trust store is a trust anchor, as in Java.
"""

from __future__ import annotations

import os
import socket
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from kafka_tools.errors import ConfigError, ConnectFailed, Disconnected, TlsFailed
from kafka_tools.net.key_stores import (
    KeyMaterial,
    pem_certificates,
    pem_key_material,
    read_key_store,
    read_trust_store,
)

_END = "-----END CERTIFICATE-----"
_TLS_1_2, _TLS_1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
_PROTOCOLS = {"TLSv1.2": _TLS_1_2, "TLSv1.3": _TLS_1_3}
_OLD_PROTOCOLS = ("SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1")
"""Protocol versions that a setting shared with older clients may name; this client does not use them."""
_TLS_1_3_SUITES = frozenset(
    ["TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_CCM_SHA256"]
)


class TlsSettings(NamedTuple):
    """A context that is ready for connections; ``server_side`` for a listener's.

    ``suites``: the TLS 1.3 suites that are allowed, empty for all. OpenSSL's list of suites applies only to older
    versions, so these are checked once a connection has chosen one.
    """

    context: ssl.SSLContext
    server_side: bool = False
    suites: frozenset[str] = frozenset()


def client_settings(values: Mapping[str, str]) -> TlsSettings:
    """A client's context from ``ssl.*`` settings; ConfigError for files and values that cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    algorithm = values.get("ssl.endpoint.identification.algorithm", "https").strip().lower()
    if algorithm not in ("https", ""):
        raise ConfigError(f"invalid ssl.endpoint.identification.algorithm '{algorithm}': expected https or nothing")
    context.check_hostname = algorithm == "https"
    trusted = _trusted(values)
    if trusted is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        _trust(context, trusted)
    suites = _set_up(context, values)
    material = _key_material(values)
    if material is not None:
        _load_chain(context, material)
    return TlsSettings(context, suites=suites)


def server_settings(values: Mapping[str, str]) -> TlsSettings:
    """A listener's context; ``ssl.client.auth`` is none, requested or required. ConfigError as for a client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    material = _key_material(values)
    if material is None:
        raise ConfigError("a TLS listener needs ssl.keystore.location, or ssl.keystore.key and its certificate chain")
    _load_chain(context, material)
    _set_up(context, values)
    wanted = values.get("ssl.client.auth", "none").strip().lower()
    modes = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
    if wanted not in modes:
        raise ConfigError(f"invalid ssl.client.auth '{wanted}': expected one of {', '.join(modes)}")
    context.verify_mode = modes[wanted]
    context.options |= ssl.OP_NO_RENEGOTIATION  # else a client could make the broker sign repeatedly
    trusted = _trusted(values)
    if trusted is not None:
        _trust(context, trusted)
    elif wanted != "none":
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
    return TlsSettings(context, server_side=True)


def own_certificate(values: Mapping[str, str]) -> bytes:
    """The certificate, in DER, that ``ssl.keystore.*`` settings show to peers; ConfigError when there is none."""
    material = _key_material(values)
    if material is None:
        raise ConfigError("neither ssl.keystore.location nor ssl.keystore.key is set")
    try:
        return ssl.PEM_cert_to_DER_cert(material.chain[: material.chain.index(_END) + len(_END)])
    except ValueError as error:
        raise ConfigError("cannot read a certificate in the key store") from error


class TlsStream:
    """TLS over a connected, non-blocking socket. Raises BlockingIOError where a socket would.

    The certificate must be valid for ``host``; ``peer`` names the other side in messages.
    """

    def __init__(self, sock: socket.socket, settings: TlsSettings, host: str, peer: str) -> None:
        self.peer = peer
        self.wants_write = False
        self._suites = settings.suites
        # Java sends no server name for an address; Python checks the certificate against it either way.
        self.socket = settings.context.wrap_socket(
            sock,
            server_side=settings.server_side,
            do_handshake_on_connect=False,
            server_hostname=None if settings.server_side else host,
        )

    def handshake(self) -> bool:
        """Continue the handshake; True once it is complete, else ``wants_write`` says which event it waits for.

        Raises TlsFailed for a refusal, ConnectFailed when the peer ends the connection.
        """
        try:
            self.socket.do_handshake()
        except ssl.SSLWantReadError:
            self.wants_write = False
            return False
        except ssl.SSLWantWriteError:
            self.wants_write = True
            return False
        except (ssl.SSLEOFError, ConnectionError) as error:
            # No side refused the other: a node that shuts down also ends connections like this.
            raise ConnectFailed(
                f"TLS handshake with {self.peer} failed: the peer closed the connection", node=self.peer, hint=_NOT_TLS
            ) from error
        except ssl.SSLError as error:
            raise failure(error, self.peer) from error
        if self._suites and self.chosen[0] == "TLSv1.3" and self.chosen[1] not in self._suites:
            raise TlsFailed(f"TLS: {self.peer} chose {self.chosen[1]}, which is not in ssl.cipher.suites")
        return True

    @property
    def chosen(self) -> tuple[str, str]:
        """Protocol version and suite of a complete handshake, as in ("TLSv1.3", "TLS_AES_256_GCM_SHA384")."""
        cipher = self.socket.cipher()
        return self.socket.version() or "", cipher[0] if cipher else ""

    def read(self, size: int) -> bytes:
        try:
            return self.socket.recv(size)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
            raise BlockingIOError from error
        except ssl.SSLEOFError:
            return b""  # closed without a TLS close_notify, which is common
        except ssl.SSLError as error:
            raise failure(error, self.peer) from error

    def write(self, data: memoryview) -> int:
        try:
            return self.socket.send(data)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
            raise BlockingIOError from error
        except ssl.SSLEOFError as error:
            raise Disconnected(f"{self.peer} closed the connection", node=self.peer) from error
        except ssl.SSLError as error:
            raise failure(error, self.peer) from error


_NOT_TLS = "check that this port speaks TLS; if it does not, use security.protocol=PLAINTEXT or SASL_PLAINTEXT"
_NO_CERTIFICATE = (
    "the broker requires a trusted client certificate: set ssl.keystore.location (or ssl.keystore.key "
    "and ssl.keystore.certificate.chain)"
)


def failure(error: ssl.SSLError, peer: str) -> TlsFailed:
    """The exception for a TLS error, with a hint."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message.rstrip(".")
        if error.verify_code in (62, 64):  # X509_V_ERR_HOSTNAME_MISMATCH, _IP_ADDRESS_MISMATCH
            hint = "connect by a name in the certificate, or set ssl.endpoint.identification.algorithm= (unsafe)"
        elif error.verify_code == 10:  # X509_V_ERR_CERT_HAS_EXPIRED
            hint = "renew the certificate of the broker; also check the clock of this machine"
        else:
            hint = "set ssl.truststore.location (ssl.truststore.type=PEM) to the authority that signed it"
        return TlsFailed(f"TLS: cannot verify the certificate of {peer}: {reason}", hint=hint)
    reason = (error.reason or str(error)).lower().replace("_", " ")
    if "wrong version number" in reason or "record layer failure" in reason:
        return TlsFailed(f"TLS handshake with {peer} failed: the response is not TLS", hint=_NOT_TLS)
    if "alert" in reason and ("certificate" in reason or "unknown ca" in reason or "handshake failure" in reason):
        return TlsFailed(f"TLS: {peer} refused the connection: {reason}", hint=_NO_CERTIFICATE)
    if reason == "unexpected message":
        # Brokers before 2.3 end a refused handshake with invalid bytes.
        return TlsFailed(f"TLS: {peer} refused the connection in the handshake", hint=_NO_CERTIFICATE)
    return TlsFailed(f"TLS with {peer} failed: {reason}")


def _set_up(context: ssl.SSLContext, values: Mapping[str, str]) -> frozenset[str]:
    """Protocol versions and suites; the result is the TLS 1.3 suites that are allowed, empty for all of them."""
    names = [name.strip() for name in values.get("ssl.enabled.protocols", "TLSv1.2,TLSv1.3").split(",")]
    if any(name not in _PROTOCOLS and name not in _OLD_PROTOCOLS for name in names):
        raise ConfigError(f"ssl.enabled.protocols: unsupported value {', '.join(names)}; use TLSv1.2 or TLSv1.3")
    versions = {_PROTOCOLS[name] for name in names if name in _PROTOCOLS}
    # Java trusts exactly the certificates in its store, whether they are authorities or not.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    suites = [name.strip() for name in values.get("ssl.cipher.suites", "").split(",") if name.strip()]
    older = [_openssl_name(name) for name in suites if "_WITH_" in name]
    newer = frozenset(suites) & _TLS_1_3_SUITES
    if suites:
        if older:
            try:
                context.set_ciphers(":".join(older))
            except ssl.SSLError:
                older = []
        if not older and not newer:
            raise ConfigError("ssl.cipher.suites: none of these suites is available")
        versions &= {version for version, of in ((_TLS_1_2, older), (_TLS_1_3, newer)) if of}
    if not versions:
        why = "leaves no version" if suites else "use TLSv1.2 or TLSv1.3"
        raise ConfigError(
            f"ssl.enabled.protocols {', '.join(names)}: {why}{' for ssl.cipher.suites' if suites else ''}"
        )
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    return newer


def _openssl_name(suite: str) -> str:
    """OpenSSL's name of a TLS 1.2 suite: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 -> ECDHE-RSA-AES128-GCM-SHA256."""
    exchange, cipher = suite.removeprefix("TLS_").split("_WITH_", 1)
    cipher = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_CBC", "")
    if cipher.startswith("CHACHA20"):
        cipher = cipher.removesuffix("_SHA256")
    return "-".join(part for part in (exchange if exchange != "RSA" else "", cipher) if part).replace("_", "-")


def _trusted(values: Mapping[str, str]) -> str | None:
    inline = values.get("ssl.truststore.certificates", "")
    path = values.get("ssl.truststore.location", "").strip()
    if inline.strip() and path:
        raise ConfigError("ssl.truststore.certificates and ssl.truststore.location cannot be combined")
    if inline.strip():
        return pem_certificates(inline, "ssl.truststore.certificates")
    if path:
        kind = values.get("ssl.truststore.type", "")
        return read_trust_store(path, values.get("ssl.truststore.password") or None, kind)
    return None


def _trust(context: ssl.SSLContext, certificates: str) -> None:
    try:
        context.load_verify_locations(cadata=certificates)
    except (ssl.SSLError, TypeError) as error:  # TypeError: characters that are not ASCII
        raise ConfigError("cannot read a certificate in the trust store") from error


def _key_material(values: Mapping[str, str]) -> KeyMaterial | None:
    key, chain = values.get("ssl.keystore.key", ""), values.get("ssl.keystore.certificate.chain", "")
    path = values.get("ssl.keystore.location", "").strip()
    key_password = values.get("ssl.key.password") or None
    if key.strip() or chain.strip():
        if path:
            raise ConfigError("ssl.keystore.key and ssl.keystore.location cannot be combined")
        return pem_key_material(chain, key, key_password, "ssl.keystore.key and ssl.keystore.certificate.chain")
    if path:
        kind = values.get("ssl.keystore.type", "")
        return read_key_store(path, values.get("ssl.keystore.password") or None, key_password, kind)
    return None


def _load_chain(context: ssl.SSLContext, material: KeyMaterial) -> None:
    with _unnamed_file(material.chain + material.key) as path:
        try:
            # An empty password instead of None: OpenSSL would ask the terminal for one.
            context.load_cert_chain(path, password=material.password or "")
        except (ssl.SSLError, ValueError) as error:  # ValueError: a password beyond OpenSSL's 1024 bytes
            raise ConfigError(
                "cannot use the private key: wrong ssl.key.password, or the key is damaged or belongs to another "
                "certificate"
            ) from error


@contextmanager
def _unnamed_file(text: str) -> Iterator[str]:
    """A path from which OpenSSL can read ``text``: in memory if the system supports it, else a file of mode 0600."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("key", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, text.encode("ascii", "replace"))
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            yield file.name
