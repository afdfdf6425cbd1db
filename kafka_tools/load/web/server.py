"""The web server: waitress, a kept pure-Python WSGI server. It alone is imported here.

It bounds everything that a client can use: the body, headers, connections, and the time of an idle connection.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterable
from http import HTTPStatus
from threading import Thread
from typing import Any

from kafka_tools.closing import Closing
from kafka_tools.errors import InputError, KafkaToolsError
from kafka_tools.load.web.rest import LARGEST_BODY_BYTES, RestApplication, RestRequest
from kafka_tools.values import format_address

LOOPBACK = "127.0.0.1"
_THREADS = 8
_MOST_CONNECTIONS = 200
_IDLE_S = 60
_HEADER_BYTES = 16 * 1024
_END_S = 5.0


class WebServer(Closing):
    """Serves an application on one address until ``close``. Raises KafkaToolsError if it cannot listen."""

    def __init__(self, application: RestApplication, host: str, port: int) -> None:
        try:
            from waitress import create_server
        except ImportError as error:
            raise KafkaToolsError(
                "cannot start the web server: the package waitress is not installed",
                hint="pip install 'kafka-operator-tools[load]'",
            ) from error
        self._application = application
        self._sockets: dict[int, Any] = {}
        try:
            address = socket.getaddrinfo(host or "0.0.0.0", port, type=socket.SOCK_STREAM)[0][4]
            self._server = create_server(
                self._wsgi, map=self._sockets, host=address[0], port=port, threads=_THREADS,
                connection_limit=_MOST_CONNECTIONS, channel_timeout=_IDLE_S, max_request_body_size=LARGEST_BODY_BYTES,
                max_request_header_size=_HEADER_BYTES, ident="kafka-tools", expose_tracebacks=False,
                clear_untrusted_proxy_headers=True,
            )  # fmt: skip
        except OSError as error:
            raise InputError(f"cannot listen on {format_address(host, port)}: {error.strerror}") from error
        self.port = int(self._server.effective_port)
        self.address = format_address(str(address[0]), self.port)
        self._thread = Thread(target=self._server.run, name="load-web", daemon=True)
        self._thread.start()

    def _wsgi(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        # WSGI has the bytes of the path as Latin-1.
        path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace")
        answer = self._application.answer(
            RestRequest(
                environ["REQUEST_METHOD"],
                path,
                environ.get("QUERY_STRING", ""),
                environ["wsgi.input"].read(min(length, LARGEST_BODY_BYTES + 1)) if length else b"",
                environ.get("HTTP_AUTHORIZATION", ""),
            )
        )
        body = json.dumps(answer.value, ensure_ascii=False).encode("utf-8", "backslashreplace")
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response(f"{answer.status} {HTTPStatus(answer.status).phrase}", headers)
        return [body]

    def close(self) -> None:
        """Close the listener and every connection. Requests that are being served are answered first."""
        self._server.task_dispatcher.shutdown(cancel_pending=False, timeout=_END_S)
        if self._thread.is_alive():
            self._server.trigger.pull_trigger(self._close_all)
            self._thread.join(_END_S)

    def _close_all(self) -> None:
        """On the server's thread: it ends once nothing is open."""
        for channel in list(self._sockets.values()):
            channel.close()
        self._sockets.clear()
