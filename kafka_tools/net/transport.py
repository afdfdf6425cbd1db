"""A connection as five verbs: read, write, start_tls, close, peer. None of them ever blocks.

It does not interpret the bytes. TLS is in ``net.tls``, which is imported only when a connection uses it.
"""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING, Any

from kafka_tools.errors import ConnectFailed, Disconnected
from kafka_tools.values import format_address

if TYPE_CHECKING:
    from kafka_tools.net.tls import TlsSettings, TlsStream

READ_BYTES = 256 * 1024


class SocketTransport:
    """A TCP connection, non-blocking. ``fileno`` and ``wants_write`` are for a selector."""

    def __init__(self, sock: socket.socket, peer: str) -> None:
        self._socket = sock
        self._peer = peer
        self._tls: TlsStream | None = None
        self.wants_write = False
        """Whether the TLS layer waits for room to write (otherwise it waits for bytes to read)."""

    @classmethod
    def connect(cls, address: tuple[Any, ...], family: int, send_bytes: int, receive_bytes: int) -> SocketTransport:
        """Begin to connect; ``finish_connect`` completes it. ``send_bytes``, ``receive_bytes``: socket buffers,
        -1 for the system's default. Raises ConnectFailed when it fails immediately."""
        peer = format_address(str(address[0]), int(address[1]))
        try:
            sock = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:
            raise ConnectFailed(f"cannot open a socket for {peer}: {error.strerror or error}", node=peer) from error
        sock.setblocking(False)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if send_bytes > 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_bytes)
            if receive_bytes > 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
            status = sock.connect_ex(address)
        except OSError as error:
            sock.close()
            raise ConnectFailed(f"cannot connect to {peer}: {error.strerror or error}", node=peer) from error
        if status not in (0, errno.EINPROGRESS, errno.EWOULDBLOCK):
            sock.close()
            raise ConnectFailed(f"cannot connect to {peer}: {os.strerror(status)}", node=peer)
        return cls(sock, peer)

    def finish_connect(self) -> None:
        """Once the socket is writable: return when connected, raise ConnectFailed otherwise."""
        status = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if status:
            raise ConnectFailed(f"cannot connect to {self._peer}: {os.strerror(status)}", node=self._peer)

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> bytes | None:
        """Bytes that arrived; None without any, ``b""`` at the end of the stream. Raises Disconnected, TlsFailed."""
        try:
            return self._socket.recv(READ_BYTES) if self._tls is None else self._tls.read(READ_BYTES)
        except BlockingIOError:
            return None
        except OSError as error:
            raise self._disconnected(error) from error

    def write(self, data: memoryview) -> int:
        """Number of bytes written; 0 when the peer must read first. Raises Disconnected, TlsFailed."""
        try:
            return self._socket.send(data) if self._tls is None else self._tls.write(data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise self._disconnected(error) from error

    def start_tls(self, settings: TlsSettings, host: str) -> bool:
        """Begin or continue the TLS handshake with ``host``; True once it is complete. Raises TlsFailed,
        ConnectFailed, Disconnected."""
        if self._tls is None:
            from kafka_tools.net.tls import TlsStream

            port = int(self._peer.rpartition(":")[2])
            self._tls = TlsStream(self._socket, settings, host, format_address(host, port))
            self._socket = self._tls.socket
        try:
            done = self._tls.handshake()
        except OSError as error:
            raise self._disconnected(error) from error
        self.wants_write = not done and self._tls.wants_write
        return done

    @property
    def security(self) -> str:
        """TLS version and suite; empty without TLS."""
        return " ".join(self._tls.chosen) if self._tls is not None else ""

    def close(self) -> None:
        """Close the connection; repeated calls do nothing."""
        self._socket.close()

    @property
    def peer(self) -> str:
        """``host:port`` of the other side, for messages."""
        return self._peer

    def _disconnected(self, error: OSError) -> Disconnected:
        return Disconnected(f"lost the connection to {self._peer}: {error.strerror or error}", node=self._peer)
