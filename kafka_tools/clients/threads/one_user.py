"""A client for one thread at a time: a call of a second thread raises, as Java's ConcurrentModificationException."""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import get_ident
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from kafka_tools.clients.threads.lock import ClientLock
from kafka_tools.clock import Deadline
from kafka_tools.errors import KafkaToolsError

_LEFT_CHECK_S = 0.01
P = ParamSpec("P")
R = TypeVar("R")


class OneUser:
    """Use as a context manager around each call. It also holds the client's lock, and may be nested."""

    def __init__(self, lock: ClientLock, on_exit: Callable[[], None]) -> None:
        """``on_exit`` is called with the lock when a thread leaves its outermost call."""
        self._lock = lock
        self._on_exit = on_exit
        self._thread: int | None = None
        self._took_lock: list[bool] = []

    @property
    def by_another_thread(self) -> bool:
        """Whether another thread is inside a call."""
        return self._thread not in (None, get_ident())

    def is_left_in(self, deadline: Deadline) -> bool:
        """Wake the other thread that is inside, and wait. Returns whether it left its call before the deadline."""
        self._lock.wake()
        while self.by_another_thread:
            if deadline.expired or not self._lock.enter_within(deadline.left_s()):
                return False
            try:
                self._lock.wait(min(deadline.left_s(), _LEFT_CHECK_S))
            finally:
                self._lock.__exit__()
        return True

    def __enter__(self) -> None:
        is_nested = self._thread == get_ident()
        takes_lock = not (is_nested and self._lock.is_owned)  # a listener runs without the lock
        if takes_lock:
            self._lock.__enter__()
        if self._thread is not None and not is_nested:
            self._lock.__exit__()
            raise KafkaToolsError(
                f"cannot use this {self._lock.name}: another thread is in a call of it",
                hint="use one client per thread; only wakeup and close may be called by other threads",
            )
        self._thread = get_ident()
        self._took_lock.append(takes_lock)

    def __exit__(self, *_: object) -> None:
        takes_lock = self._took_lock.pop()
        try:
            if not self._took_lock:
                self._thread = None
                self._on_exit()
        finally:
            if takes_lock:
                self._lock.__exit__()


class Used(Protocol):
    """A client with a ``use``."""

    @property
    def use(self) -> OneUser:
        """Entered by each call."""


C = TypeVar("C", bound=Used)


def one_thread(method: Callable[Concatenate[C, P], R]) -> Callable[Concatenate[C, P], R]:
    """A method that only one thread at a time may be in."""

    @functools.wraps(method)
    def call(self: C, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.use:
            return method(self, *args, **kwargs)

    return call
