"""The background thread of a client: it keeps the client's promises while no thread of the application is inside.

Records leave after ``linger.ms``, responses are processed and members send heartbeats, although the application
computes. While a thread of the application is inside a call, that thread does the work, so that the two do not compete
for the interpreter. The thread has no strong reference to the client between two pieces of work.
"""

from __future__ import annotations

import logging
import threading
import weakref
from queue import Empty, SimpleQueue
from typing import Protocol

from kafka_tools.clients.threads.lock import ClientLock
from kafka_tools.clock import Clock
from kafka_tools.errors import KafkaToolsError

log = logging.getLogger(__name__)
LOOK_AGAIN_S = 0.05
"""How soon the thread looks again after it found a thread of the application inside."""


class Kept(Protocol):
    """A client that makes promises."""

    def keep_promises(self) -> float:
        """Do what is due. Returns the seconds until something is due, infinity if the client is at rest."""
        ...

    def break_promises(self, error: KafkaToolsError) -> None:
        """``keep_promises`` failed for a reason that nobody expected: fail everything that was promised with it."""
        ...


class Background:
    """Starts the thread when the first promise is made.

    ``enabled``: False for a client in virtual time, which has no thread: its test calls ``keep_promises``.
    """

    def __init__(self, client: Kept, lock: ClientLock, clock: Clock, *, enabled: bool) -> None:
        self._client = weakref.ref(client)
        self._lock = lock
        self._clock = clock
        self._bell: SimpleQueue[None] = SimpleQueue()
        """Its ``put`` is safe in signal handlers and finalizers."""
        self._thread: threading.Thread | None = None
        self._process_id = lock.process_id
        self._wakes_at_s = float("inf")
        self.ended = not enabled

    def expect(self, at_s: float) -> None:
        """With the lock: something will be due at ``at_s``, of the monotonic clock."""
        if self.ended or (at_s >= self._wakes_at_s and self._thread is not None):
            return
        self._wakes_at_s = at_s
        if self._thread is None or self._process_id != self._lock.process_id:
            self._start()
        else:
            self._bell.put(None)

    def sleeps_for(self, seconds: float) -> float:
        """With the lock: the thread looks again in ``seconds``. Returns them."""
        self._wakes_at_s = self._clock.monotonic_s() + seconds
        return seconds

    def end(self) -> None:
        """End the thread, without waiting for it. May be called by any thread, signal handler and finalizer."""
        self.ended = True
        self._bell.put(None)
        self._lock.wake()

    def _start(self) -> None:
        self._process_id = self._lock.process_id
        self._bell = SimpleQueue()
        self._thread = threading.Thread(target=self.run, name=f"kafka-tools {self._lock.name}", daemon=True)
        self._thread.start()

    def run(self) -> None:
        """The thread's work."""
        self._lock.is_background()
        while not self.ended:
            client = self._client()
            if client is None:
                return
            try:
                wait_s = client.keep_promises()
            except BaseException as error:  # noqa: BLE001 - the client raises it in the thread of the application
                self._fail(client, error)
                return
            del client
            self._pause(wait_s)

    def _fail(self, client: Kept, cause: BaseException) -> None:
        name = self._lock.name
        log.error("the background thread of a %s failed, and ends", name, exc_info=cause)
        self.ended = True
        error = KafkaToolsError(
            f"the background thread of the {name} failed: {type(cause).__name__}: {cause}",
            hint=f"close this {name} and create another one",
        )
        error.__cause__ = cause
        client.break_promises(error)

    def _pause(self, wait_s: float) -> None:
        try:
            if wait_s < float("inf"):
                self._bell.get(timeout=min(max(0.0, wait_s), threading.TIMEOUT_MAX))
            else:
                self._bell.get()
            while not self._bell.empty():
                self._bell.get_nowait()
        except Empty:
            pass  # nobody rang: the time is over
