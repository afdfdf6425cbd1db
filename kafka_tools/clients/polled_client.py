"""What consumers have in common: one thread at a time, a background thread for the group, wake-ups, and an end in time.

See ``threads`` for the parts.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING

from kafka_tools.clients.calls import Calls
from kafka_tools.clients.threads.background import LOOK_AGAIN_S, Background
from kafka_tools.clients.threads.lock import ClientLock
from kafka_tools.clients.threads.one_user import OneUser
from kafka_tools.clients.threads.sharing import share
from kafka_tools.clients.threads.unclosed import Unclosed
from kafka_tools.clock import Clock, Deadline
from kafka_tools.closing import Closing
from kafka_tools.errors import InputError, KafkaToolsError

if TYPE_CHECKING:
    from kafka_tools.clients.groups.keep_alive import KeepAlive
    from kafka_tools.metrics.client_port import ShownClient
    from kafka_tools.net.config import ClientConfig
    from kafka_tools.net.exchange import Exchange

CLOSE_TIMEOUT_S = 30.0


class ConsumerWokenUp(KafkaToolsError):
    """``wakeup`` was called."""


class PolledClient(Closing):
    """A client whose work happens inside the calls of one thread, apart from heartbeats."""

    def __init__(self, name: str, config: ClientConfig, exchange: Exchange | None, clock: Clock | None) -> None:
        """``name``: for messages."""
        self._name = name
        self._lock = ClientLock(name)
        self.use = OneUser(self._lock, self._on_exit)
        self._exchange, self._clock, is_shared = share(self._lock, config, exchange, clock)
        self._background = Background(self, self._lock, self._clock, enabled=is_shared)
        self._calls = Calls(self._exchange, self._clock, self._is_interrupted)
        self._keep_alive: KeepAlive | None = None
        """What the background thread does; None for a client that is in no group."""
        self._wakeup = False
        self._closing = False
        """Whether another thread closes the client, so that this one must leave its call."""
        self._leaving = False
        """Whether ``close`` is at work, which nothing interrupts."""
        self._held_back: KafkaToolsError | None = None
        """The error that occurred while records were returned; the next ``poll`` raises it."""
        self._broken: KafkaToolsError | None = None
        """The error of a background thread that ended. Every call but ``close`` raises it."""
        self._closed = False
        self._shown: ShownClient | None = None
        """The client at ``metrics.prometheus.port``."""
        self._unclosed = Unclosed(
            name, lambda: None, self._background.end, partial(self._lock.discard, self._exchange.close)
        )

    def wakeup(self) -> None:
        """Make the call that is waiting, or the next one, raise ConsumerWokenUp.

        Any thread and any signal handler may call it.
        """
        self._wakeup = True
        self._lock.wake()

    def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Say what has to be said, leave the group, close the connections; within ``timeout_s`` seconds.

        Any thread may call it. A call of another thread raises KafkaToolsError then.
        """
        if timeout_s < 0:
            raise InputError("The timeout cannot be negative.")
        if self._closed or self._exchange.is_foreign:
            return
        deadline = Deadline(self._clock, timeout_s)
        self._closing = self.use.by_another_thread
        if self._closing and not self.use.is_left_in(deadline):
            self._closed = True
            if self._lock.enter_within(0.0):  # else that thread is at work, and closes the connections when it leaves
                try:
                    self._end()
                finally:
                    self._lock.__exit__()
            return
        with self.use:
            self._leaving = True
            try:
                self._say_goodbye(deadline)
            finally:
                self._end()

    def keep_promises(self) -> float:
        """What the background thread does. Returns the seconds until it is needed again, infinity at rest."""
        if self._keep_alive is None:
            return float("inf")
        if not self._lock.enter_within(0.0):
            return LOOK_AGAIN_S
        try:
            return self._background.sleeps_for(self._keep_alive.work())
        finally:
            self._lock.__exit__()

    def break_promises(self, error: KafkaToolsError) -> None:
        """The background thread failed, so nobody sends heartbeats between calls: every call raises its error."""
        self._broken = error

    @abstractmethod
    def _say_goodbye(self, deadline: Deadline) -> None:
        """What remains to be sent before the connections are closed."""

    def _end(self) -> None:
        self._closed = self._unclosed.is_closed = True
        if self._shown is not None:
            self._shown.close()
        self._background.end()
        self._lock.close(self._exchange.close)

    def _on_exit(self) -> None:
        """A call ends: from now on the background thread keeps the member alive."""
        if self._closed and not self._lock.closed:
            self._end()
        if self._keep_alive is not None and not self._closed:
            due_in_s = self._keep_alive.due_in_s()
            if due_in_s < float("inf"):
                self._background.expect(self._clock.monotonic_s() + due_in_s)

    def _raise_held_back(self) -> None:
        """Raise the error of earlier work that nobody waited for."""
        if self._held_back is not None:
            error, self._held_back = self._held_back, None
            raise error
        if self._keep_alive is not None:
            self._keep_alive.raise_failure()

    def _check_open(self) -> None:
        if self._closed:
            raise KafkaToolsError("This consumer has already been closed.")
        if self._broken is not None and not self._leaving:
            raise self._broken
        self._exchange.check_process()

    def _is_interrupted(self) -> bool:
        return (self._wakeup or self._closing) and not self._leaving

    def _check_wakeup(self) -> None:
        if self._leaving:
            return
        if self._closing:
            raise KafkaToolsError(f"the {self._name} was closed by another thread while this call was in progress")
        if self._wakeup:
            self._wakeup = False
            raise ConsumerWokenUp(f"the {self._name} was woken up")
