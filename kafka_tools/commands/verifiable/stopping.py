"""SIGINT and SIGTERM ask a verifiable client to end. It finishes what it has begun, and prints its last events."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType

from kafka_tools.commands.console.connection import TERMINATED
from kafka_tools.commands.running import INTERRUPTED


class Stop:
    """A request to end. ``wake()`` is called with it, inside a signal handler. A second signal ends the process."""

    def __init__(self, wake: Callable[[], object] = lambda: None) -> None:
        self._wake = wake
        self._number: int | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._receive)

    @property
    def is_requested(self) -> bool:
        return self._number is not None

    @property
    def status(self) -> int:
        """The exit status for the signal; 0 without one."""
        if self._number is None:
            return 0
        return INTERRUPTED if self._number == signal.SIGINT else TERMINATED

    def _receive(self, number: int, _: FrameType | None) -> None:
        if self._number is not None:
            raise SystemExit(self.status)
        self._number = number
        self._wake()
