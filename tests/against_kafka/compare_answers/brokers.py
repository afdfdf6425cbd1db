"""The two brokers, prepared alike, and a plain client that asks one of them and takes whatever comes back."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.errors import WireError
from kafka_tools.protocol import registry
from kafka_tools.protocol.headers import decode_response, encode_request
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafka_tools.protocol.schema import Request, Response, Struct
from kafka_tools.values import uuid_text
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.secrets_for_tests import USERS

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SETTINGS = (
    ("authorizer.class.name", AUTHORIZER),
    ("super.users", "User:ANONYMOUS;User:admin"),
    ("delegation.token.secret.key", "token-secret-key"),
    ("group.max.session.timeout.ms", "3600000"),
    ("group.coordinator.rebalance.protocols", "classic,consumer"),  # those that ours serves
)
SETUP = Setup(NEWEST, listeners=("PLAINTEXT", "SASL_PLAINTEXT"), properties=SETTINGS)
ROOT, ADMIN, ALICE = "root", "admin", "alice"
"""Who asks: a super user without a name, one with a name, and somebody who may do little."""
PATIENCE_S = 12.0
_NOT_FOR_OURS = re.compile(r"(log\.dirs|listeners|process\.roles|controller\..*|listener\.security\..*)=")


class Silence(str):
    """What came instead of an answer: ``closed``, ``no answer`` or what was wrong with the bytes."""


class Known(str):
    """Stands in a request for what each broker calls differently, such as ``topic t1``: see ``Peer.known``."""


class Peer:
    """One broker. ``known`` maps names such as "topic t1" to this broker's own ids."""

    def __init__(self, name: str, addresses: dict[str, tuple[str, int]]) -> None:
        self.name = name
        self.known: dict[str, Any] = {}
        self.addresses = addresses
        self._sockets: dict[str, socket.socket] = {}
        self._correlation = 0
        self._pending: dict[str, tuple[Request, int]] = {}

    def ask(self, request: Request, version: int, user: str = ROOT) -> Response | Silence:
        """Send one request and wait for its answer."""
        self.send(request, version, user)
        return self.receive(user)

    def send(self, request: Request, version: int, user: str = ROOT) -> None:
        """Send one request; exactly one ``receive`` must follow."""
        request = resolved(request, self.known)
        self._correlation += 1
        self._pending[user] = (request, version)
        payload = encode_request(request, version, self._correlation, "compare")
        with contextlib.suppress(OSError):  # the answer to a connection that is gone is "closed"
            self._connection(user).sendall(struct.pack(">i", len(payload)) + payload)

    def receive(self, user: str = ROOT) -> Response | Silence:
        request, version = self._pending.pop(user)
        try:
            frame = self._frame(user)
        except TimeoutError:
            self._drop(user)
            return Silence("no answer")
        except (OSError, EOFError):
            self._drop(user)
            return Silence("closed")
        try:
            return decode_response(registry.api(request.API_KEY).response, version, frame)[1]
        except WireError as error:
            return Silence(f"unreadable: {error}")

    def versions(self) -> dict[int, tuple[int, int]]:
        """What the broker serves: API key -> oldest and newest version."""
        answer: Any = self.ask(ApiVersionsRequest(client_software_name="c", client_software_version="1"), 3)
        return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}

    def close(self) -> None:
        for user in list(self._sockets):
            self._drop(user)

    def _connection(self, user: str) -> socket.socket:
        if user not in self._sockets:
            self._sockets[user] = socket.create_connection(
                self.addresses["plain" if user == ROOT else "sasl"], timeout=PATIENCE_S
            )
            if user != ROOT:
                self._log_in(user)
        return self._sockets[user]

    def _log_in(self, user: str) -> None:
        pending = self._pending.pop(user)
        token = f"\0{user}\0{USERS[user]}".encode()
        for request in (SaslHandshakeRequest(mechanism="PLAIN"), SaslAuthenticateRequest(auth_bytes=token)):
            answer: Any = self.ask(request, 1, user)
            assert not isinstance(answer, Silence) and answer.error_code == 0, (self.name, answer)
        self._pending[user] = pending

    def _frame(self, user: str) -> bytes:
        sock = self._sockets.get(user)
        if sock is None:
            raise EOFError
        (size,) = struct.unpack(">i", _exactly(sock, 4))
        return _exactly(sock, size)

    def _drop(self, user: str) -> None:
        sock = self._sockets.pop(user, None)
        if sock is not None:
            sock.close()


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = sock.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def resolved(value: Any, known: dict[str, Any]) -> Any:
    """A copy with every ``Known`` replaced by what it stands for; something never seen before if it is not known."""
    if isinstance(value, Known):
        return known.get(value, _never_seen(value))
    if isinstance(value, Struct):
        return type(value)(**{field.name: resolved(getattr(value, field.name), known) for field in value.FIELDS})
    return [resolved(item, known) for item in value] if isinstance(value, list) else value


def _never_seen(name: str) -> Any:
    kind = name.partition(" ")[0]
    if kind == "topic":
        return uuid.uuid5(uuid.NAMESPACE_OID, name)
    return 7_000_000 if kind == "producer" else name


@contextlib.contextmanager
def pair(real: RealKafka, data_dir: Path) -> Iterator[tuple[Peer, Peer]]:
    """(Kafka, ours) with the same settings; ours is started here and stopped at the end."""
    lines = (real.folder / "server-1.properties").read_text(encoding="utf-8").splitlines()
    config = dict(line.split("=", 1) for line in lines if not _NOT_FOR_OURS.match(line))
    listeners = "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0"
    with EmbeddedBroker(data_dir=data_dir, listeners=listeners, config=config) as broker:
        sasl = broker.call(lambda core: core.registration.endpoints["SASL_PLAINTEXT"])
        places = {"plain": "PLAINTEXT", "sasl": "SASL_PLAINTEXT"}
        theirs = Peer("kafka", {key: ("127.0.0.1", real.listener_ports[1][name]) for key, name in places.items()})
        plain = broker.call(lambda core: core.registration.endpoints["PLAINTEXT"])
        ours = Peer("ours", {"plain": plain, "sasl": sasl})
        for peer, cluster_id, folder in (
            (theirs, real.cluster_id, str(real.folder / "data-1")),
            (ours, broker.cluster_id, str(data_dir)),
        ):
            peer.known |= {"cluster": cluster_id, "log dir": folder}
            for name, (_, port) in peer.addresses.items():
                peer.known[f"port {name}"] = port
        try:
            yield theirs, ours
        finally:
            theirs.close()
            ours.close()


def text_of_id(value: uuid.UUID) -> str:
    """A topic id as Kafka's texts show it."""
    return uuid_text(value)
