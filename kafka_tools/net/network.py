"""Access to the system's network: name resolution, connections, and the selector that watches them.

``net`` reaches the system through one object, so that tests can replace it with a network in memory (``using``)
instead of replacing parts of this package. A forked child does not use its parent's connections (``when_forked``).
"""

from __future__ import annotations

import _thread
import contextlib
import os
import selectors
import socket
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from kafka_tools.net.transport import SocketTransport

T = TypeVar("T")
Found = tuple[int, int, int, str, tuple[Any, ...]]
"""An address as ``socket.getaddrinfo`` returns it: family, type, protocol, canonical name, address."""


class Network:
    """The system's name service and TCP. Its methods raise the system's errors (OSError, UnicodeError)."""

    def resolve(self, host: str | bytes, port: int) -> Sequence[Found]:
        """The addresses of a name. Raises OSError, and UnicodeError for an invalid name."""
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)

    def canonical_name(self, address: tuple[Any, ...]) -> str:
        """The name of an address, for Kerberos. Raises OSError."""
        return socket.getnameinfo(address, 0)[0]

    def connect(self, address: tuple[Any, ...], family: int, send_bytes: int, receive_bytes: int) -> SocketTransport:
        """Begin to connect, as ``SocketTransport.connect``. Raises ConnectFailed."""
        return SocketTransport.connect(address, family, send_bytes, receive_bytes)

    def selector(self) -> selectors.BaseSelector:
        """The selector for the transports of ``connect``."""
        return selectors.DefaultSelector()


_LEAST_RESOLVE_S = 1.0
"""Least time for a name service: a name that this machine knows must not fail because little time is left."""


def resolve_within(network: Network, host: str | bytes, port: int, limit_s: float) -> Sequence[Found]:
    """``network.resolve`` with a time limit. Raises TimeoutError, and the errors of ``resolve``."""
    name = host.decode() if isinstance(host, bytes) else host
    if name == "localhost" or ":" in name or not any(map(str.isalpha, name)):
        return network.resolve(host, port)  # no name service is asked
    return _within(limit_s, lambda: network.resolve(host, port))


def canonical_name_within(network: Network, address: tuple[Any, ...], limit_s: float) -> str:
    """``network.canonical_name`` with a time limit. Raises TimeoutError, and the errors of ``canonical_name``."""
    return _within(limit_s, lambda: network.canonical_name(address))


def _within(limit_s: float, asked: Callable[[], T]) -> T:
    """The result of ``asked``, a call of the name service. Raises TimeoutError after ``limit_s``; Ctrl-C works too.

    The system's calls have no time limit. They run in a thread, which continues after a timeout.
    """
    found: list[T] = []
    failures: list[BaseException] = []
    done = _thread.allocate_lock()
    done.acquire()

    def ask() -> None:
        try:
            found.append(asked())
        except BaseException as error:  # noqa: BLE001 - the waiting caller raises it
            failures.append(error)
        done.release()

    _thread.start_new_thread(ask, ())
    limit_s = min(max(limit_s, _LEAST_RESOLVE_S), _thread.TIMEOUT_MAX)
    if not done.acquire(timeout=limit_s):
        raise TimeoutError(0, f"name resolution timed out after {limit_s:.1f} s")
    if failures:
        raise failures[0]
    return found[0]


_current = Network()


def current() -> Network:
    """The network that new connection pools use."""
    return _current


@contextlib.contextmanager
def using(network: Network) -> Iterator[None]:
    """Use another network for pools that are created in the ``with`` block, in any thread."""
    global _current
    before, _current = _current, network
    try:
        yield
    finally:
        _current = before


_owners: weakref.WeakKeyDictionary[Any, Callable[[Any], None]] = weakref.WeakKeyDictionary()


def when_forked(owner: T, let_go: Callable[[T], None]) -> None:
    """Call ``let_go(owner)`` in every child that is forked while ``owner`` exists; no thread or lock may be needed.

    A fork copies descriptors and objects but no threads. A copied socket keeps a connection open that the parent
    closed, and two processes that use one socket or one epoll mix up each other's bytes. So their owner releases
    them in the child, without sending anything.
    """
    _owners[owner] = let_go


def replace_descriptors(descriptors: Iterable[int]) -> None:
    """Point these descriptors of this process at /dev/null.

    Closing them would free their numbers, and the objects that still name a number would later close another file. An
    event loop among those objects would also take the parent's sockets out of the epoll that both processes share.
    """
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for descriptor in descriptors:
        if descriptor >= 0:
            os.dup2(null, descriptor, inheritable=False)
    os.close(null)


def _in_child() -> None:
    for owner, let_go in list(_owners.items()):
        let_go(owner)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
