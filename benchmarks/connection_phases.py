"""Ten thousand connections that stop at each point on their way: the broker's memory before, at most and afterwards,
and the times of another listener's client meanwhile. Run by ``python -m benchmarks.attacks``."""

from __future__ import annotations

import contextlib
import datetime
import multiprocessing
import socket
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Event
from pathlib import Path

from benchmarks.attacks import PING_EVERY_S, SECURE, Peer, frame, peak_mib, running
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeRequest

MOST_S = 60.0
"""How long connections are opened: with TLS each takes both sides some milliseconds."""
REST_S = 12.0
"""The broker looks every ten seconds whether there is memory to give back."""
_BEFORE_S = 2.0

Phase = Callable[[tuple[str, int]], socket.socket]
"""Opens one connection and stops."""


def accepted(address: tuple[str, int]) -> socket.socket:
    return socket.create_connection(address, 30)


def client_hello(address: tuple[str, int]) -> socket.socket:
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        _context().wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    opened = accepted(address)
    opened.sendall(outgoing.read())
    return opened


def after_handshake(address: tuple[str, int]) -> socket.socket:
    return _context().wrap_socket(accepted(address))


def half_a_frame(address: tuple[str, int]) -> socket.socket:
    opened = accepted(address)
    opened.sendall((50_000).to_bytes(4, "big") + bytes(25_000))
    return opened


def half_a_login(address: tuple[str, int]) -> socket.socket:
    peer = Peer(address)
    peer.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    peer.receive()
    return peer.socket


def after_login(address: tuple[str, int]) -> socket.socket:
    peer = Peer(address)
    peer.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    peer.receive()
    peer.send(SaslAuthenticateRequest(auth_bytes=b"\0admin\0admin-secret"), 1)
    peer.receive()
    return peer.socket


PHASES: dict[str, tuple[Phase, str]] = {
    "accepted": (accepted, "PLAINTEXT"),
    "accepted by a TLS listener": (accepted, "SSL"),
    "a ClientHello": (client_hello, "SSL"),
    "after the TLS handshake": (after_handshake, "SSL"),
    "half a frame": (half_a_frame, "PLAINTEXT"),
    "half a login": (half_a_login, "SASL_PLAINTEXT"),
    "after the login": (after_login, "SASL_PLAINTEXT"),
}
"""Phase and listener by name."""

HEADER = [
    "connections that stop", "opened", "memory (MiB)", "peak", "afterwards", "ping p99 before (ms)", "p99", "worst",
]  # fmt: skip


def measure(broker: str, phase: Phase, listener: str, count: int) -> list[str]:
    """The row of one phase, without its name."""
    with tempfile.TemporaryDirectory() as folder:
        ports = {name: _free_port() for name in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT")}
        settings = {
            **SECURE, "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
            "ssl.keystore.type": "PEM", "ssl.keystore.location": str(_certificate(Path(folder))),
        }  # fmt: skip
        with running(broker, settings) as (pid, _):
            quiet = sorted(_pings(ports["PLAINTEXT"], lambda at_s: at_s < _BEFORE_S))
            before = _resident_mib(pid)
            context = multiprocessing.get_context("fork")
            opened, close = context.Event(), context.Event()
            reached = context.Value("i", 0)

            def attack() -> None:
                held, end_s = [], time.monotonic() + MOST_S
                while len(held) < count and time.monotonic() < end_s:
                    with contextlib.suppress(OSError):
                        held.append(phase(("127.0.0.1", ports[listener])))
                        reached.value = len(held)
                opened.set()
                close.wait(60)

            attacker = context.Process(target=attack, daemon=True)
            attacker.start()
            times = sorted(_pings(ports["PLAINTEXT"], lambda at_s: not opened.is_set()))
            close.set()
            attacker.join()
            _rest(close)
            row = [reached.value, before, peak_mib(pid), _resident_mib(pid), _p99(quiet), _p99(times), times[-1] * 1000]
            return [f"{each:.0f}" if each >= 10 else f"{each:.1f}" for each in row]


def _pings(port: int, goes_on: Callable[[float], bool]) -> Iterator[float]:
    """Seconds of each of a client's pings while that is to go on, at least one."""
    peer, began_s, data = Peer(("127.0.0.1", port)), time.monotonic(), frame(ApiVersionsRequest(), 0)
    while True:
        sent_s = time.monotonic()
        peer.socket.sendall(data)
        peer.receive()
        yield time.monotonic() - sent_s
        if not goes_on(time.monotonic() - began_s):
            return
        time.sleep(PING_EVERY_S)


def _p99(times: list[float]) -> float:
    return 1000 * times[int(len(times) * 0.99)]


def _rest(close: Event) -> None:
    """Let the broker notice that they have gone."""
    assert close.is_set()
    time.sleep(REST_S)


def _resident_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _certificate(folder: Path) -> Path:
    """A key (RSA, 2,048 bits) and its certificate in one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )  # fmt: skip
    return path
