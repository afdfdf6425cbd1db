"""Taking connections from a listening socket, also when the process has no descriptor left for one.

asyncio's own accepting logs a traceback per waiting connection then; here it is one line, and another one when
connections are taken again. That point comes before the last descriptor: the rest is for logs, whose writes would fail
else. While somebody waits at the door nobody else is taken: the others wait in the system's line, as those of Kafka's
acceptor do.
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
"""Clients that come at once while the loop is busy; of more, or of more than the system allows, the system makes each
wait for seconds (it answers neither the connection nor what is sent over it, until the client tries again)."""
_PAUSED_BACKLOG = 50
"""The same while nobody is taken: ``socket.listen.backlog.size`` of Kafka. Who is behind more of them would have given
up by the time of his turn, as would all who come after him."""
_AT_ONCE = 8
"""How many are taken before the loop looks at who else has sent something."""
_FEW_KEPT, _MOST_KEPT = 64, 1000
"""A quarter of the files that the process may open is kept for what is no connection: no fewer than 64, or half where
that is less (a log takes some for each partition), and no more than 1,000."""
_AGAIN_S = 0.5
_RELIEVED_S = 10.0
"""So long nobody may have to wait before it is said to be over: in a flood each place that is free is taken at once."""
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Acceptor:
    """Accepts what connects to ``listening`` (bound, not listening yet) and gives it to ``make``'s protocols."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listening: socket.socket,
        make: Callable[[], asyncio.BaseProtocol],
        where: str,
        may_accept: Callable[[], bool] = lambda: True,
    ) -> None:
        """``where``: the listener, for messages. Takes over the socket. Once ``may_accept`` has said no, ``go_on``."""
        self._loop = loop
        self._socket = listening
        self._make = make
        self._where = where
        self._may_accept = may_accept
        self._listens = False
        self._pauses = False
        """Whether nobody is taken before ``go_on``."""
        self._short = False
        self._most_files = _most_files()
        self._again: asyncio.TimerHandle | None = None
        self._relieved: asyncio.TimerHandle | None = None
        self._arriving: set[asyncio.Task[None]] = set()
        self._accepted: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def start(self) -> None:
        """Listen from now on; nothing happens if that was so."""
        if not self._listens:
            self._listens = self._pauses = True
            self._socket.setblocking(False)
            self.go_on()

    def stop(self) -> None:
        """Refuse connections until ``start``: the port stays taken by a socket that does not listen. OSError."""
        if self._listens:
            family, kind, address = self._socket.family, self._socket.type, self._socket.getsockname()
            self.close()
            self._socket = socket.socket(family, kind)
            if family == socket.AF_INET6:
                self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # as asyncio does
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(address)

    def close(self) -> None:
        """Take no more connections; nothing happens if that was so."""
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
        """Of the listening socket and of every accepted one that is open, whatever its connection has come to."""
        return [each.fileno() for each in (self._socket, *self._accepted)]

    def go_on(self) -> None:
        """Those who come may be taken again."""
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
        """Whether a descriptor of this number tells that few are left: the system gives the lowest that is free."""
        return self._most_files is not None and number >= self._most_files

    async def _arrive(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make, accepted)
        except OSError as error:
            log.warning("listener %s: cannot take over a connection: %s", self._where, error)
            accepted.close()

    def _wait(self, error: OSError) -> None:
        """The process has no descriptor or memory for a connection: those who come wait in the system's line."""
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
    """The number from which on descriptors are not for connections; None if any number may be open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft - min(max(soft // 4, min(soft // 2, _FEW_KEPT)), _MOST_KEPT)


def ended(descriptors: Collection[int]) -> set[int]:
    """Those of these sockets whose other side has ended the connection, read or not, where the system tells that."""
    if not hasattr(select, "POLLRDHUP"):
        return set()
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLRDHUP)
    return {descriptor for descriptor, _ in poll.poll(0)}
