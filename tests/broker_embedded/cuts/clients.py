"""Clients that take turns with the broker: each is a thread that runs only while everybody else waits for it."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

from kafka_tools.protocol.schema import Request
from tests.broker_embedded.disk_broker import DiskBroker, Pending


class Stopped(BaseException):
    """The client is not needed any more."""


class Turns:
    """One client of a broker without listeners. ``work`` is what it does, over ``call``, until it is stopped."""

    def __init__(
        self, broker: DiskBroker, seed: str, work: Callable[[Turns], None], *, may_be_refused: bool = False
    ) -> None:
        """``may_be_refused``: the disk may refuse, and the client then ends."""
        self.may_be_refused = may_be_refused
        self._broker = broker
        self.dice = random.Random(seed)
        self._wanted: tuple[Request, int] | None = None
        self._pending: Pending | None = None
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._stopped = False
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), name=seed, daemon=True)
        self._thread.start()
        self._hand_over()

    def _run(self, work: Callable[[Turns], None]) -> None:
        self._go.acquire()
        try:
            work(self)
        except Stopped:
            pass
        except BaseException as error:  # noqa: BLE001 - told by whoever gives the turns
            self.failure = error
        self._wanted = None
        self._back.release()

    def _hand_over(self) -> None:
        self._go.release()
        self._back.acquire()
        if self.failure is not None:
            raise AssertionError(f"{self._thread.name}: {self.failure!r}") from self.failure

    # For the client

    def call(self, request: Request, version: int) -> Any:
        """The answer, once the broker has given it."""
        self._wanted = request, version
        self._back.release()
        self._go.acquire()
        if self._stopped:
            raise Stopped
        assert self._pending is not None
        response, self._pending = self._pending.response, None
        return response

    def batch(self, *values: bytes, **fields: Any) -> bytes:
        """A batch of records with these values."""
        return self._broker.batch(*values, **fields)

    def now_ms(self) -> int:
        """The broker's time."""
        return self._broker.clock.now_ms()

    # For whoever gives the turns

    @property
    def may_send(self) -> bool:
        """Whether it has something to ask."""
        return self._pending is None and self._wanted is not None

    def send(self) -> None:
        """Let the broker have what the client asks."""
        assert self._wanted is not None
        self._pending = self._broker.send(*self._wanted)

    def take(self) -> bool:
        """Go on if there is an answer; whether there was."""
        if self._pending is None or self._pending.response is None:
            return False
        self._hand_over()
        return True

    def stop(self) -> None:
        """End the thread."""
        if self._thread.is_alive():
            self._stopped = True
            self._go.release()
            self._thread.join()
