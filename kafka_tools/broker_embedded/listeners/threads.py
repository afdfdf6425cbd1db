"""The threads beside the broker's: long work on bytes, fsyncs that answers wait for, files that are replaced.

Each is one thread, made when it is first needed: what is done there is done in the order in which it was asked for.
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
"""Threads. The disk has its own: it waits, and long work does not wait for it, nor answers for what needs none."""


class Threads:
    """What a core has done elsewhere while it serves on this event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._made: dict[str, ThreadPoolExecutor] = {}

    def serve(self, core: Core) -> None:
        """Do what this core asks for, until ``stop``."""
        submit = self._submit
        core.slices.offload = lambda function, done: submit(_LONG_WORK, lambda: _yielding(function), done)
        core.slices.disk = self._on(_CHECKPOINTS)
        if core.group_commit is not None:
            core.group_commit.offload = self._on(_FSYNC)

    async def stop(self, core: Core) -> None:
        """Begin nothing more. The disk ends what it is at.

        If a round of fsyncs fails the logs may not be called complete, and files that are being replaced are replaced
        again by whoever closes the logs, or soon by another broker.
        """
        worker = self._made.get(_LONG_WORK)
        if worker is not None:
            worker.shutdown(wait=False, cancel_futures=True)
        core.slices.disk = at_once
        if core.group_commit is not None:
            core.group_commit.offload = lambda function, done: None  # nobody is left who waits for another
        for name, cancels in ((_FSYNC, False), (_CHECKPOINTS, True)):
            if name in self._made:
                self._made[name].shutdown(cancel_futures=cancels)
        await asyncio.sleep(0)  # what the disk said is told

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
    """Run ``function``, and let go of the interpreter often meanwhile.

    The broker's thread gives it up with every read and write; to get it back takes a switch interval each time, and 50
    connections with Python's 5 ms would wait for a quarter of a second.
    """
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        return function()
    finally:
        sys.setswitchinterval(interval_s)
