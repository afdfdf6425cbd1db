"""The way out of the machine: names to addresses, connections, and the selector that watches them.

One object stands between ``net`` and the system, so that tests put a network in memory in its place (``using``)
instead of replacing parts of this package. A process that forks keeps its connections to itself (``when_forked``).
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
"""An address as ``socket.getaddrinfo`` tells it: family, type, protocol, canonical name, address."""


class Network:
    """The system's own: its name service and TCP. What its methods raise is the system's (OSError, UnicodeError)."""

    def resolve(self, host: str | bytes, port: int) -> Sequence[Found]:
        """The addresses of a name. Raises OSError, UnicodeError for a name that none can be asked for."""
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)

    def canonical_name(self, address: tuple[Any, ...]) -> str:
        """The name of an address, as Kerberos wants it. Raises OSError."""
        return socket.getnameinfo(address, 0)[0]

    def connect(self, address: tuple[Any, ...], family: int, send_bytes: int, receive_bytes: int) -> SocketTransport:
        """Begin to connect, as ``SocketTransport.connect``. Raises ConnectFailed."""
        return SocketTransport.connect(address, family, send_bytes, receive_bytes)

    def selector(self) -> selectors.BaseSelector:
        """What watches the transports of ``connect``."""
        return selectors.DefaultSelector()


_LEAST_RESOLVE_S = 1.0
"""A name service gets so much in any case: what is known on this machine must not fail because time is short."""


def resolve_within(network: Network, host: str | bytes, port: int, limit_s: float) -> Sequence[Found]:
    """``network.resolve``, given up after a time. Raises TimeoutError, and what ``resolve`` raises."""
    name = host.decode() if isinstance(host, bytes) else host
    if name == "localhost" or ":" in name or not any(map(str.isalpha, name)):
        return network.resolve(host, port)  # no name service is asked
    return _within(limit_s, lambda: network.resolve(host, port))


def canonical_name_within(network: Network, address: tuple[Any, ...], limit_s: float) -> str:
    """``network.canonical_name``, given up after a time. Raises TimeoutError, and what ``canonical_name`` raises."""
    return _within(limit_s, lambda: network.canonical_name(address))


def _within(limit_s: float, asked: Callable[[], T]) -> T:
    """What the name service says, given up after a time, and by Ctrl-C: the system's knows neither.

    It is asked in a thread, which is left to itself then.
    """
    found: list[T] = []
    failures: list[BaseException] = []
    done = _thread.allocate_lock()
    done.acquire()

    def ask() -> None:
        try:
            found.append(asked())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
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
    """Make pools that are made in the ``with`` block, in any thread, use another network."""
    global _current
    before, _current = _current, network
    try:
        yield
    finally:
        _current = before


_owners: weakref.WeakKeyDictionary[Any, Callable[[Any], None]] = weakref.WeakKeyDictionary()


def when_forked(owner: T, let_go: Callable[[T], None]) -> None:
    """Call ``let_go(owner)`` in every child that is forked while ``owner`` exists; no thread or lock may be needed.

    A fork copies descriptors and objects but no threads. A copied socket keeps open what the parent closed,
    and two processes that use one socket or one epoll mix up each other's bytes. So the copy of their owner lets go
    of them in the child, without a word to the other side.
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
