"""Handles Ctrl-C during work that runs until it is stopped."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class Interrupts:
    """Ctrl-C and SIGTERM call ``stop`` once, so that no batch is cut. The second one ends the process."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._kept: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._kept[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *problem: object) -> None:
        for number, handler in self._kept.items():
            signal.signal(number, handler)
        self._kept.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        for each, handler in self._kept.items():
            signal.signal(each, handler)
        self._stop()
