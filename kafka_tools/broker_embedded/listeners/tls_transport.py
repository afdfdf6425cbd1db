"""TLS of one connection, between the socket's transport and the ``ClientConnection``, for which this is the transport.

asyncio's own TLS uses a quarter of a megabyte from the start of each connection, in a reference cycle that stays until
a garbage collection. Here a connection has only a socket until the client has sent something. Bytes are read into the
buffer of all connections (``receiving.Scratch``). A handshake waits for its turn like other work. Nothing stays in
memory when the connection is lost.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from kafka_tools.broker_embedded.listeners.accepting import ended
from kafka_tools.broker_embedded.listeners.client_connection import ClientConnection
from kafka_tools.broker_embedded.listeners.encrypting import TlsEngine
from kafka_tools.broker_embedded.listeners.lost import Gone, unlink
from kafka_tools.errors import InputError, TlsFailed

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.endpoints import Endpoint
    from kafka_tools.broker_embedded.listeners.shared import Shared
    from kafka_tools.broker_embedded.listeners.tls import ListenerTls

log = logging.getLogger(__name__)


class TlsTransport(asyncio.BufferedProtocol):
    """One TLS connection: admission before the handshake, as in Kafka, then requests and answers."""

    def __init__(self, shared: Shared, endpoint: Endpoint, tls: ListenerTls) -> None:
        self._shared = shared
        self._endpoint = endpoint
        self._tls = tls
        self._socket: Any = Gone()
        """The transport of the socket."""
        self._engine: TlsEngine | None = None
        """None until the client has sent something, and after the connection is lost."""
        self._client: ClientConnection | None = None
        """None until the handshake is done."""
        self._counted = False
        self._paused = False
        """Whether reading requests is paused."""
        self._closing = False
        self.listener = endpoint.name
        self.ip = ""

    # Start and end

    def connection_made(self, transport: Any) -> None:
        self._socket = transport
        self.ip = (transport.get_extra_info("peername") or ("",))[0]
        transport.pause_reading()  # read nothing before ``let_in``
        self._shared.admission.arrived(self)

    @property
    def is_open(self) -> bool:
        return not self.is_closing() and not ended([self._socket.get_extra_info("socket").fileno()])

    def hold(self) -> None:
        """Do nothing: reading is paused until ``let_in``."""

    def let_in(self) -> None:
        self._counted = True
        self._shared.handshakes.began(self)
        self._socket.resume_reading()

    def eof_received(self) -> bool:
        if self._client is not None:
            self._client.eof_received()
        self.close()
        return False

    def connection_lost(self, error: Exception | None) -> None:
        unlink(self._socket)
        self._shared.handshakes.ended(self)
        client, self._client = self._client, None
        if client is not None:
            client.connection_lost(error)
        elif self._counted:
            self._shared.admission.left(self)
        self._closing = True
        self._engine = None
        self._socket = Gone()

    def give_up(self, reason: str) -> None:
        """Abort a connection whose handshake takes too long, or whose place others need."""
        if reason:
            self._failed(reason)
        self._shared.handshakes.ended(self)
        self.abort()

    def _failed(self, reason: str) -> None:
        log.warning("TLS handshake with %s failed: %s", self._socket.get_extra_info("peername"), reason)

    def _closes(self, error: Exception) -> None:
        log.warning("closing the connection from %s: %s", self._socket.get_extra_info("peername"), str(error))

    # Received bytes

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._shared.scratch.view

    def buffer_updated(self, nbytes: int) -> None:
        if self._engine is None:
            self._engine = TlsEngine(self._tls.context)
        self._engine.feed(self._shared.scratch.view[:nbytes])
        if self._client is not None:
            self._read()
            return
        self._socket.pause_reading()  # read no more before this is processed
        self._shared.handshakes.sent(self)

    def shake_hands(self) -> None:
        """Continue the handshake."""
        engine = self._engine
        if engine is None or self._client is not None or self.is_closing():
            return
        try:
            is_done = engine.shake_hands()
        except TlsFailed as error:
            self._flush(engine)  # the alert for the client
            self._failed(str(error))
            self.close()
            return
        if is_done:
            self._begin(engine)
        else:
            self._flush(engine)
            self._socket.resume_reading()

    def _begin(self, engine: TlsEngine) -> None:
        """The handshake is done: start to serve requests."""
        self._shared.handshakes.ended(self)
        client = ClientConnection(self._shared, self._endpoint, was_let_in=True)
        if not self._endpoint.has_sasl:
            try:
                client.certificate_principal = self._tls.principal(engine.certificate())
            except InputError as error:
                self._closes(error)
                self.close()
                return
        self._flush(engine)
        self._client = client
        client.connection_made(self)
        self._socket.resume_reading()
        self._read()  # with TLS 1.3 requests may have come with the end of the handshake

    def _read(self) -> None:
        """Pass decrypted bytes to the client's connection until it pauses reading."""
        client, engine = self._client, self._engine
        if client is None or engine is None:
            return
        try:
            while engine.has_news and not self._paused and not self._closing:
                size = engine.read_into(client.get_buffer(-1))
                if size:
                    client.buffer_updated(size)
                if engine.is_over:
                    self.eof_received()
                elif not size:
                    break  # a part of a record
        except TlsFailed as error:
            self._closes(error)
            self.eof_received()
        self._flush(engine)  # such as a key update that the client requested, or an alert

    # The transport of a ClientConnection

    def write(self, data: bytes) -> None:
        engine = self._engine
        if engine is None or self.is_closing():
            return
        try:
            engine.write(data)
        except TlsFailed as error:
            self._closes(error)
            self.abort()
            return
        self._flush(engine)

    def _flush(self, engine: TlsEngine) -> None:
        data = engine.take()
        if data:
            self._socket.write(data)

    def pause_writing(self) -> None:
        if self._client is not None:
            self._client.pause_writing()

    def resume_writing(self) -> None:
        if self._client is not None:
            self._client.resume_writing()

    def pause_reading(self) -> None:
        self._paused = True
        self._socket.pause_reading()

    def resume_reading(self) -> None:
        self._paused = False
        self._socket.resume_reading()
        if self._engine is not None and self._engine.has_news:
            self._shared.call_soon(self._read)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._socket.set_write_buffer_limits(high=high, low=low)

    def get_extra_info(self, name: str) -> Any:
        """As the transport of the socket."""
        return self._socket.get_extra_info(name)

    def is_closing(self) -> bool:
        return self._closing or bool(self._socket.is_closing())

    def close(self) -> None:
        """Close the connection once everything is sent; read no more."""
        if self._closing:
            return
        self._closing = True
        if self._engine is not None and self._client is not None:
            self._engine.say_goodbye()
            self._flush(self._engine)
        self._socket.close()

    def abort(self) -> None:
        """Abort the connection."""
        self._closing = True
        self._socket.abort()
