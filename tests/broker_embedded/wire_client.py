"""A blocking socket that speaks frames, for tests of the broker's listeners."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from kafka_tools.protocol import registry
from kafka_tools.protocol.headers import decode_response, encode_request
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.schema import Request
from kafka_tools.values import parse_address

_TIMEOUT_S = 30.0


class WireClient:
    """One connection to ``address`` (host:port), of a client that calls itself ``client_id``."""

    def __init__(self, address: str, tls: Any = None, client_id: str = "wire-client") -> None:
        self._client_id = client_id
        self._socket: socket.socket = socket.create_connection(parse_address(address), _TIMEOUT_S)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname="localhost")
        self._next = 1

    def __enter__(self) -> WireClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def send(self, request: Request, version: int) -> int:
        """Send without waiting; returns the correlation id."""
        self._next += 1
        payload = encode_request(request, version, self._next, self._client_id)
        self.send_raw(len(payload).to_bytes(4, "big") + payload)
        return self._next

    def send_raw(self, data: bytes) -> None:
        self._socket.sendall(data)

    def end(self) -> None:
        """Send nothing more, and go on reading."""
        self._socket.shutdown(socket.SHUT_WR)

    def receive(self) -> bytes:
        """The payload of the next frame; ConnectionError at the end of the stream."""
        return self._exactly(int.from_bytes(self._exactly(4), "big"))

    def receive_raw(self) -> bytes:
        """What comes next, however little; empty at the end of the stream."""
        return self._socket.recv(65536)

    def receive_response(self, request: Request, version: int) -> tuple[int, Any]:
        return decode_response(registry.api(request.API_KEY).response, version, self.receive())

    def call(self, request: Request, version: int) -> Any:
        sent = self.send(request, version)
        correlation_id, response = self.receive_response(request, version)
        assert correlation_id == sent
        return response

    @property
    def closed_by_broker(self) -> bool:
        """Whether the broker ends the stream (waits for it)."""
        try:
            return self._socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionError("the broker closed the connection")
            data += part
        return data


def make_topics(client: WireClient, topics: Mapping[str, Mapping[str, str]]) -> None:
    """Create topics of one partition and one replica: name -> configs."""
    Topic = CreateTopicsRequest.CreatableTopic
    made = [
        Topic(
            name=name,
            num_partitions=1,
            replication_factor=1,
            configs=[Topic.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )
        for name, configs in topics.items()
    ]
    answer = client.call(CreateTopicsRequest(topics=made, timeout_ms=30_000), 2)  # brokers since 0.11 know it
    assert not any(topic.error_code for topic in answer.topics), answer
