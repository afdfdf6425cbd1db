"""One lock over the whole state of a client, which is released only while a thread waits.

The thread inside a call does the work. If several threads wait, one of them watches the sockets, and the others wait
for it. A socket pair in the selector ends a wait from outside (``wake``). The state machines of the clients, and
``net``, know nothing of threads: they get a selector and a clock whose waits release the lock.
"""

from __future__ import annotations

import os
import selectors
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import get_ident
from typing import Any

from kafka_tools.clock import Deadline, SystemClock
from kafka_tools.errors import KafkaToolsError
from kafka_tools.net.network import when_forked


class ClientLock:
    """Use as a context manager around every access to the client's state.

    Leaving the block of ``released`` takes the lock again, also after Ctrl-C.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.closed = False
        """Whether the client is closed. Waits end immediately then."""
        self._background: int | None = None
        """The identity of the background thread."""
        self._waiting = 0
        """Number of threads of the application that wait."""
        self._begin()
        when_forked(self, ClientLock._begin_in_child)

    def _begin(self) -> None:
        self.mutex = threading.RLock()
        self.held = False
        """Whether a thread is between two waits. Only the thread that holds ``mutex`` reads or sets it."""
        self._changed = threading.Condition(self.mutex)
        self._watcher: int | None = None
        """The thread that waits for the sockets."""
        self._bell: tuple[socket.socket, socket.socket] | None = None
        self.process_id = os.getpid()

    def _begin_in_child(self) -> None:
        """In a forked child: another thread of the parent may have held the lock, and the sockets are the parent's."""
        if self._bell is not None:
            for end in self._bell:
                end.close()
        self._background, self._waiting = None, 0
        self._begin()

    # Taking it

    def __enter__(self) -> None:
        self.mutex.acquire()
        if self.held:
            self.mutex.release()
            raise self.nested()
        self.held = True

    def __exit__(self, *_: object) -> None:
        self.held = False
        self.mutex.release()

    def enter_within(self, timeout_s: float) -> bool:
        """As ``__enter__``, waiting at most ``timeout_s``. Returns whether the lock was taken."""
        if not self.mutex.acquire(timeout=min(timeout_s, threading.TIMEOUT_MAX)):
            return False
        if self.held:
            self.mutex.release()
            raise self.nested()
        self.held = True
        return True

    def nested(self) -> KafkaToolsError:
        """The error of a call in the middle of another call of the same thread."""
        return KafkaToolsError(
            f"cannot use this {self.name} here: a signal handler or finalizer interrupted a call of the same thread",
            hint="set a flag in the signal handler, or raise an exception there, and use the client afterwards",
        )

    @contextmanager
    def released(self) -> Iterator[None]:
        """Let other threads in during the block, which runs code of the user."""
        self._release()
        try:
            yield
        finally:
            self._take_again()

    def _release(self) -> None:
        self.held = False
        self.mutex.release()

    def _take_again(self) -> None:
        interrupt: BaseException | None = None
        while not self.is_owned:
            try:
                self.mutex.acquire()
            except BaseException as error:  # noqa: BLE001 - Ctrl-C: the block that releases the lock must hold it
                interrupt = error
        self.held = True
        if interrupt is not None:
            raise interrupt

    @property
    def is_owned(self) -> bool:
        """Whether the calling thread holds the lock."""
        return self._changed._is_owned()  # type: ignore[attr-defined, no-any-return]

    # Waiting

    @property
    def application_waits(self) -> bool:
        """Whether a thread of the application waits, and so does the work."""
        return self._waiting > 0

    @property
    def in_background(self) -> bool:
        """Whether this is the background thread."""
        return self._background == get_ident()

    def is_background(self) -> None:
        """The calling thread is the client's background thread."""
        self._background = get_ident()

    def wait(self, timeout_s: float) -> None:
        """Release the lock until another thread has moved bytes or woke this one, at most ``timeout_s``."""
        self.held = False
        try:
            self._changed.wait(min(timeout_s, threading.TIMEOUT_MAX))
        finally:
            self._take_again()

    def sleep(self, seconds: float) -> None:
        """Release the lock for ``seconds``, or until the client is closed."""
        deadline = Deadline(SystemClock(), seconds)
        with self._as_waiting():
            while not (deadline.expired or self.closed):
                self.wait(deadline.left_s())

    def select(self, selector: selectors.BaseSelector, timeout_s: float) -> list[tuple[selectors.SelectorKey, int]]:
        """What ``selector.select`` returns. The lock is released meanwhile.

        If another thread already waits for the sockets, nothing is returned: that thread moves the bytes. Raises
        KafkaToolsError once the client is closed.
        """
        if self.closed:
            raise KafkaToolsError(f"the {self.name} was closed while this call was in progress")
        if timeout_s <= 0:
            return selector.select(0)  # epoll, kqueue and select allow this while another thread waits in them
        with self._as_waiting():
            if self._watcher is not None:
                if self._watcher == self._background:
                    self.wake()  # the application does the work itself while it is inside a call
                self.wait(timeout_s)
                return []
            return self._watch(selector, timeout_s)

    def _watch(self, selector: selectors.BaseSelector, timeout_s: float) -> list[tuple[selectors.SelectorKey, int]]:
        bell = self._bell
        if bell is None:
            bell = self._bell = socket.socketpair()
            for end in bell:
                end.setblocking(False)
            return []  # ``wake`` could not end this wait if it was called a moment ago: the caller looks again
        if bell[0].fileno() not in selector.get_map():
            selector.register(bell[0], selectors.EVENT_READ, None)
        self._watcher = get_ident()
        try:
            with self.released():
                ready = selector.select(timeout_s)
        except (OSError, ValueError):
            if not self.closed:
                raise
            return []  # a signal handler of this thread closed the client
        finally:
            self._watcher = None
            self._changed.notify_all()
        if any(key.data is None for key, _ in ready):
            ready = [(key, mask) for key, mask in ready if key.data is not None]
            _drain(bell[0])
        return ready

    @contextmanager
    def _as_waiting(self) -> Iterator[None]:
        count = 0 if self.in_background else 1
        self._waiting += count
        try:
            yield
        finally:
            self._waiting -= count

    def wake(self) -> None:
        """End the wait of the thread that watches the sockets. Any thread and signal handler may call it."""
        bell = self._bell
        if bell is not None:
            with suppress(OSError):  # it rings already, or the client is closed
                bell[1].send(b"\0")

    def close(self, close: Callable[[], None]) -> None:
        """With the lock: end all waits for good, and call ``close`` once no thread watches the sockets."""
        self.closed = True
        self.wake()
        self._changed.notify_all()
        while self._watcher is not None and self._watcher != get_ident():
            self.wait(1.0)
        try:
            self.discard(close)
        finally:
            self._changed.notify_all()

    def discard(self, close: Callable[[], None]) -> None:
        """Call ``close``, for a client that no thread is inside of."""
        self.closed = True
        try:
            close()
        finally:
            if self._bell is not None:
                for end in self._bell:
                    end.close()


def _drain(bell: socket.socket) -> None:
    try:
        while len(bell.recv(4096)) == 4096:
            pass
    except BlockingIOError:
        pass


class SharedSelector(selectors.BaseSelector):
    """A selector of one client, whose waits release the client's lock."""

    def __init__(self, inner: selectors.BaseSelector, lock: ClientLock) -> None:
        self._inner = inner
        self._lock = lock
        self.register = inner.register  # type: ignore[method-assign]
        self.unregister = inner.unregister  # type: ignore[method-assign]
        self.modify = inner.modify  # type: ignore[method-assign]
        self.close = inner.close  # type: ignore[method-assign]
        self.get_map = inner.get_map  # type: ignore[method-assign]

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def get_map(self) -> Any:
        return self._inner.get_map()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return self._lock.select(self._inner, 0.0 if timeout is None else timeout)


class SharedClock(SystemClock):
    """The machine's clock, whose ``sleep`` releases the lock of a client."""

    def __init__(self, lock: ClientLock) -> None:
        self._lock = lock

    def sleep(self, seconds: float) -> None:
        self._lock.sleep(seconds)
