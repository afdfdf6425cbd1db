"""A Kafka node on a loopback port whose every answer a test decides.

``ScriptedNode(answer)`` accepts connections, decodes requests and calls ``answer(request, version, connection)``.
What it returns is sent back: a response message, bytes (written as they are), HANG_UP, or SILENCE.

Not the bundled broker with its faults: what is tested is bytes that no broker sends, and TLS and SASL dialogues that go
wrong before there is a request.
"""

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress

from kafka_tools.errors import DecodeError
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.codec import decode_prefix
from kafka_tools.protocol.frames import FrameReader, framed
from kafka_tools.protocol.headers import decode_request_header, encode_response
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_tools.values import Node

HANG_UP, SILENCE = object(), object()
WAIT_S = 30


def all_versions(limits: dict[int, tuple[int, int]] | None = None) -> dict[int, tuple[int, int]]:
    """API key -> range: everything we know, narrowed by ``limits``."""
    return {row.key: (row.min_version, row.max_version) for row in registry.rows()} | (limits or {})


def versions_response(ranges: dict[int, tuple[int, int]]) -> ApiVersionsResponse:
    Version = ApiVersionsResponse.ApiVersion
    return ApiVersionsResponse(
        api_keys=[Version(api_key=key, min_version=low, max_version=high) for key, (low, high) in ranges.items()]
    )


class ScriptedNode:
    """See the module. ``requests`` lists (request, version) in the order of arrival, ApiVersions included."""

    def __init__(
        self,
        answer: Callable | None = None,
        *,
        versions: dict[int, tuple[int, int]] | None = None,
        tls: ssl.SSLContext | None = None,
        node_id: int = 1,
    ) -> None:
        self.answer = answer or (lambda request, version, connection: HANG_UP)
        self.versions = all_versions() if versions is None else versions
        self.requests: list[tuple] = []
        self.connections = 0
        self.problems: list[BaseException] = []
        self.last_words = False
        """Hang up right after an answer of bytes."""
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.node = Node(node_id, "127.0.0.1", self.port)
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()
        for thread in self._threads:
            thread.join(WAIT_S)
        assert not self.problems, self.problems

    def hang_up(self):
        """Close every connection that is open now."""
        for sock in self._open:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _start(self, target, *arguments):
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(sock)
            self._start(self._serve, sock)

    def _serve(self, sock):
        try:
            sock.settimeout(WAIT_S)
            with sock if self._tls is None else self._tls.wrap_socket(sock, server_side=True) as stream:
                self._converse(stream)
        except (OSError, DecodeError):
            pass  # the other side has gone, or speaks something else
        except BaseException as error:  # noqa: BLE001 - shown by close() in the test's own thread
            self.problems.append(error)

    def _converse(self, stream):
        reader = FrameReader()
        state = {}
        while data := stream.recv(65536):
            for payload in reader.feed(data):
                header, position = decode_request_header(payload)
                api = registry.api(header.request_api_key)
                version = header.request_api_version
                request, _ = decode_prefix(api.request, version, payload, position)
                self.requests.append((request, version))
                reply = self._reply(request, version, state)
                if reply is HANG_UP:
                    return
                if reply is SILENCE:
                    continue
                if isinstance(reply, bytes):
                    stream.sendall(reply)
                    if self.last_words:
                        return
                    continue
                stream.sendall(framed(encode_response(reply, version, header.correlation_id)))

    def _reply(self, request, version, state):
        if isinstance(request, ApiVersionsRequest):
            low, high = self.versions[18]
            if not low <= version <= high:
                return self._too_new(state)
            custom = self.answer(request, version, state) if getattr(self.answer, "versions_too", False) else None
            return versions_response(self.versions) if custom is None else custom
        return self.answer(request, version, state)

    def _too_new(self, state):
        """What brokers before 2.4 send for a version of ApiVersions they do not know: v0, and no ranges."""
        response = ApiVersionsResponse(error_code=error_codes.UNSUPPORTED_VERSION)
        correlation_id = len(state.setdefault("asked", [])) + 1
        state["asked"].append(1)
        return framed(encode_response(response, 0, correlation_id))
