"""The threads beside the broker's: long work on bytes, fsyncs for which answers wait, files that are replaced.

Each is one thread, created when it is first needed. It runs its functions in the order of the requests.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from kafka_tools.broker_embedded.slices import Done, Offload, at_once

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.core import Core

_SWITCH_S = 0.0005
_LONG_WORK, _FSYNC, _CHECKPOINTS = "long work", "fsync", "checkpoints"
"""Names of threads. The disk has its own, so that long work does not wait for it, nor answers for checkpoints."""


class Threads:
    """Runs functions of a core on other threads while the core uses this event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._made: dict[str, ThreadPoolExecutor] = {}

    def serve(self, core: Core) -> None:
        """Run functions for this core until ``stop``."""
        submit = self._submit
        core.slices.offload = lambda function, done: submit(_LONG_WORK, lambda: _yielding(function), done)
        core.slices.disk = self._on(_CHECKPOINTS)
        if core.group_commit is not None:
            core.group_commit.offload = self._on(_FSYNC)

    async def stop(self, core: Core) -> None:
        """Start nothing more. The threads for the disk complete their current functions.

        If a round of fsyncs fails, the logs must not be marked as complete. Files that are being replaced are replaced
        again when the logs are closed, or soon by another broker.
        """
        worker = self._made.get(_LONG_WORK)
        if worker is not None:
            worker.shutdown(wait=False, cancel_futures=True)
        core.slices.disk = at_once
        if core.group_commit is not None:
            core.group_commit.offload = lambda function, done: None  # no answer waits for another fsync
        for name, cancels in ((_FSYNC, False), (_CHECKPOINTS, True)):
            if name in self._made:
                self._made[name].shutdown(cancel_futures=cancels)
        await asyncio.sleep(0)  # deliver the results of the disk

    def _on(self, name: str) -> Offload:
        return lambda function, done: self._submit(name, function, done)

    def _submit(self, name: str, function: Callable[[], Any], done: Done) -> None:
        def finished(future: Future[Any]) -> None:
            if not future.cancelled() and not self._loop.is_closed():
                error = future.exception()
                result = None if error is not None else future.result()
                self._loop.call_soon_threadsafe(done, result, error)

        if name not in self._made:
            self._made[name] = ThreadPoolExecutor(1, name)
        self._made[name].submit(function).add_done_callback(finished)


def _yielding(function: Callable[[], Any]) -> Any:
    """Run ``function`` with a short switch interval, so that it releases the interpreter often.

    The broker's thread releases the interpreter with every read and write, and waits a switch interval to get it back.
    With Python's 5 ms, 50 connections would wait for a quarter of a second.
    """
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        return function()
    finally:
        sys.setswitchinterval(interval_s)
