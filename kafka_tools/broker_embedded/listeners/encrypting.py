"""TLS of a server's connection without its socket: converts between encrypted and plain bytes."""

from __future__ import annotations

import contextlib
import ssl

from kafka_tools.errors import TlsFailed


class TlsEngine:
    """One connection. After any method except ``feed``, also after an error, call ``take`` for bytes to send."""

    def __init__(self, context: ssl.SSLContext) -> None:
        """``context``: of ``server_settings``."""
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.is_over = False
        """Whether the client has sent its close_notify."""

    def feed(self, data: memoryview) -> None:
        """Copy encrypted bytes from the client."""
        self._incoming.write(data)

    def take(self) -> bytes:
        """The encrypted bytes to send."""
        return self._outgoing.read() if self._outgoing.pending else b""

    @property
    def has_news(self) -> bool:
        """Whether ``read_into`` may return plain bytes."""
        return bool(self._incoming.pending or self._object.pending())

    def shake_hands(self) -> bool:
        """Continue the handshake. Returns whether it is done; otherwise it needs more bytes. Raises TlsFailed."""
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except (ssl.SSLError, ValueError) as error:
            raise TlsFailed(_reason(error)) from error
        return True

    def certificate(self) -> bytes | None:
        """The client's certificate (DER), or None."""
        return self._object.getpeercert(True)

    def read_into(self, room: memoryview) -> int:
        """Fill ``room`` with available plain bytes of the client. Returns their number. Raises TlsFailed."""
        size = 0
        try:
            while size < len(room):
                count = int(self._object.read(len(room) - size, room[size:] if size else room))
                size += count
                self.is_over = not count
                if not count or not self.has_news:
                    break
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.is_over = True
        except ssl.SSLError as error:
            raise TlsFailed(_reason(error)) from error
        return size

    def write(self, data: bytes) -> None:
        """Encrypt all of ``data``. Raises TlsFailed."""
        view = memoryview(data)
        try:
            while view:
                sent = self._object.write(view)
                if sent == len(view):
                    break
                view = view[sent:]
        except ssl.SSLError as error:
            raise TlsFailed(_reason(error)) from error

    def say_goodbye(self) -> None:
        """Prepare a close_notify, which proves that no data was truncated. Does not wait for the client's."""
        with contextlib.suppress(ssl.SSLError):
            self._object.unwrap()


def _reason(error: Exception) -> str:
    return getattr(error, "reason", None) or str(error)
