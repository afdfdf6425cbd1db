"""Accepts connections from a listening socket, and pauses when the process runs out of descriptors.

In that state, asyncio's own accept loop logs a traceback for each waiting connection. This module logs one line, and
another one when it accepts connections again. It pauses before the last descriptor: logs need the rest, because
otherwise their writes would fail. While a connection waits for admission, no other is accepted: the others wait in the
system's backlog, as in Kafka's acceptor.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
import select
import socket
import weakref
from collections.abc import Callable, Collection

log = logging.getLogger(__name__)

_BACKLOG = 4096
"""The backlog for clients that connect while the loop is busy. The system makes each further client wait for seconds:
it answers neither the connection nor its data until the client retries."""
_PAUSED_BACKLOG = 50
"""The backlog while accepting is paused: Kafka's ``socket.listen.backlog.size``. Clients behind more connections would
time out before their turn, and so would all later ones."""
_AT_ONCE = 8
"""The number of connections accepted before the loop handles other events."""
_FEW_KEPT, _MOST_KEPT = 64, 1000
"""A quarter of the files that the process may open is reserved for files other than connections, such as logs:
at least 64, or half of the limit if that is less, and at most 1,000."""
_AGAIN_S = 0.5
_RELIEVED_S = 10.0
"""The shortage counts as over after this time without a wait: in a flood each free place is taken immediately."""
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Acceptor:
    """Accepts connections to ``listening`` (bound, not listening yet) for protocols that ``make`` creates."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listening: socket.socket,
        make: Callable[[], asyncio.BaseProtocol],
        where: str,
        may_accept: Callable[[], bool] = lambda: True,
    ) -> None:
        """``where``: the listener's name. Owns the socket. After ``may_accept`` returned False, ``go_on`` resumes."""
        self._loop = loop
        self._socket = listening
        self._make = make
        self._where = where
        self._may_accept = may_accept
        self._listens = False
        self._pauses = False
        """Whether accepting is paused until ``go_on``."""
        self._short = False
        self._most_files = _most_files()
        self._again: asyncio.TimerHandle | None = None
        self._relieved: asyncio.TimerHandle | None = None
        self._arriving: set[asyncio.Task[None]] = set()
        self._accepted: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def start(self) -> None:
        """Start to listen; does nothing if the socket listens."""
        if not self._listens:
            self._listens = self._pauses = True
            self._socket.setblocking(False)
            self.go_on()

    def stop(self) -> None:
        """Refuse connections until ``start``. A socket that does not listen keeps the port. Raises OSError."""
        if self._listens:
            family, kind, address = self._socket.family, self._socket.type, self._socket.getsockname()
            self.close()
            self._socket = socket.socket(family, kind)
            if family == socket.AF_INET6:
                self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # as asyncio does
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(address)

    def close(self) -> None:
        """Accept no more connections; does nothing if already closed."""
        if self._socket.fileno() < 0:
            return
        for timer in (self._again, self._relieved):
            if timer is not None:
                timer.cancel()
        self._listens = False
        self._loop.remove_reader(self._socket)
        self._socket.close()
        for task in self._arriving:
            task.cancel()

    def descriptors(self) -> list[int]:
        """The descriptors of the listening socket and of every open accepted socket, in any state of its connection."""
        return [each.fileno() for each in (self._socket, *self._accepted)]

    def go_on(self) -> None:
        """Resume accepting."""
        if self._pauses and self._listens:
            self._pauses = False
            self._socket.listen(_BACKLOG)
            self._loop.add_reader(self._socket, self._ready)

    def _ready(self) -> None:
        if not self._may_accept():
            self._pauses = True
            self._socket.listen(_PAUSED_BACKLOG)
            self._loop.remove_reader(self._socket)
            return
        for _ in range(_AT_ONCE):
            try:
                accepted, _ = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    log.warning("listener %s: cannot accept a connection: %s", self._where, error.strerror)
                    return
                self._wait(error)
                return
            number = accepted.fileno()
            self._accepted.add(accepted)
            task = self._loop.create_task(self._arrive(accepted))
            self._arriving.add(task)
            task.add_done_callback(self._arriving.discard)
            if self._is_scarce(number):
                self._wait(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
                return

    def _is_scarce(self, number: int) -> bool:
        """Whether a descriptor of this number means that few are left: the system assigns the lowest free one."""
        return self._most_files is not None and number >= self._most_files

    async def _arrive(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make, accepted)
        except OSError as error:
            log.warning("listener %s: cannot take over a connection: %s", self._where, error)
            accepted.close()

    def _wait(self, error: OSError) -> None:
        """Pause: the process has no descriptor or memory for a connection. Clients wait in the system's backlog."""
        if not self._short:
            self._short = True
            log.error(
                "listener %s cannot accept connections for now: %s; raise the limit of open files (ulimit -n) or "
                "set max.connections",
                self._where,
                error.strerror,
            )
        if self._relieved is not None:
            self._relieved.cancel()
        self._loop.remove_reader(self._socket)
        self._again = self._loop.call_later(_AGAIN_S, self._listen_again)

    def _listen_again(self) -> None:
        self._again = None
        try:
            free = os.dup(self._socket.fileno())
            os.close(free)
        except OSError:
            free = self._socket.fileno() if self._most_files is None else self._most_files
        if self._is_scarce(free):
            self._again = self._loop.call_later(_AGAIN_S, self._listen_again)
        else:
            self._loop.add_reader(self._socket, self._ready)
            self._relieved = self._loop.call_later(_RELIEVED_S, self._say_relieved)

    def _say_relieved(self) -> None:
        self._short = False
        log.warning("listener %s accepts connections again", self._where)


def _most_files() -> int | None:
    """The first descriptor number that is reserved for other files; None if there is no limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft - min(max(soft // 4, min(soft // 2, _FEW_KEPT)), _MOST_KEPT)


def ended(descriptors: Collection[int]) -> set[int]:
    """The sockets whose peer has closed the connection, even with unread data. Empty on systems without POLLRDHUP."""
    if not hasattr(select, "POLLRDHUP"):
        return set()
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLRDHUP)
    return {descriptor for descriptor, _ in poll.poll(0)}
