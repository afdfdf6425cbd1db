"""The broker as a process of its own: signals, the ready line, a temporary directory if none was given."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import resource
import signal
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.broker import RunningBroker
from kafka_tools.broker_embedded.configs.endpoints import endpoints_of
from kafka_tools.broker_embedded.configs.server_properties import resolved
from kafka_tools.broker_embedded.configs.store import check_properties
from kafka_tools.broker_embedded.configs.together import check_together
from kafka_tools.broker_embedded.core import node_id_of
from kafka_tools.broker_embedded.handlers._table import load_handlers
from kafka_tools.clock import SystemClock
from kafka_tools.shown_text import one_line, printable

if TYPE_CHECKING:
    from logging import _SysExcInfoType

log = logging.getLogger(__name__)

MOST_ARRIVED = 100_000
"""After so many connections everything is looked at: nothing should be left of them, and if it is, it is little."""
_FULL = 2
"""The generation of a full collection."""


class LogLines(logging.Formatter):
    """One line for each thing that is said; what a traceback adds is indented below it.

    Ids, host names and client names in a message are what clients chose: without this they could end the line and
    begin another that looks like one of the broker's own.
    """

    def __init__(self) -> None:
        super().__init__("[%(asctime)s] %(levelname)s %(message)s (%(name)s)")

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = one_line(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: _SysExcInfoType) -> str:
        """The traceback, indented."""
        return "\n".join(f"    {line}" for line in printable(super().formatException(ei)).split("\n"))


def log_to_stderr(level: str) -> None:
    """Send what the broker says, from ``level`` on (a name such as ``info``), to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogLines())
    logging.basicConfig(level=level.upper(), handlers=[handler])


def run(
    properties: Mapping[str, str],
    data_dirs: Sequence[str],
    *,
    release: str | None,
    fsync: str,
    adopt: str | None = None,
    lost_data_dirs: Collection[str] = (),
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP. ``ready`` gets one line of JSON once clients can connect.

    Without ``data_dirs`` the logs live in a temporary directory that is removed at the end. ``adopt``: the log
    directories of a node of Apache Kafka, with commas between them, that are copied to the data directory first.
    ``lost_data_dirs``: as ``EmbeddedBroker`` has it. Raises ConfigError, LogError or OSError if the broker cannot
    start; LogError if it had to stop.
    """
    _raise_file_limit()
    if adopt is not None:  # before there is a loop, so that a signal ends it at once
        _adopt(adopt.split(","), properties, data_dirs, release)
    with ExitStack() as stack:
        if not data_dirs:
            temporary = TemporaryDirectory(prefix="kafka-tools-broker-", ignore_cleanup_errors=True)
            data_dirs = [stack.enter_context(temporary)]
        broker = RunningBroker(
            properties, data_dirs=data_dirs, release=release, fsync=fsync, lost_data_dirs=lost_data_dirs
        )
        asyncio.run(_serve(broker, ready))


def _adopt(
    kafka_dirs: Sequence[str], properties: Mapping[str, str], data_dirs: Sequence[str], release: str | None
) -> None:
    """Copy the directories of Kafka, once it is clear that the settings are none that the start would refuse."""
    from kafka_tools.broker_embedded.directories.adoption import adopt

    given = resolved(properties)
    check_properties(given)
    check_together(given)
    endpoints_of(given)
    load_handlers(release)
    cluster_id = given.get("cluster.id") or None
    adopt(kafka_dirs, data_dirs, node_id=node_id_of(given), cluster_id=cluster_id, clock=SystemClock())


async def _serve(broker: RunningBroker, ready: Callable[[str], None]) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        log.info("Terminating process due to signal %s", number.name)
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop, number)
    broker.on_failed = stopping.set
    await broker.start()
    assert broker.server is not None
    shared = broker.server.shared
    collections = ShortCollections(lambda: shared.arrived)
    collections.begin()
    shared.on_many_ended = give_back_memory
    description = broker.describe()
    assert broker.core is not None
    places = ", ".join(f"{name}://{address}" for name, address in broker.server.addresses().items())
    log.info("ready at %s, data in %s", places, ", ".join(map(str, broker.core.dirs.paths)))
    try:
        ready(json.dumps(description))
        await stopping.wait()
    finally:
        collections.end()
        log.info("stopping")
        await broker.stop()
        log.info("stopped")
    if broker.failure is not None:
        raise broker.failure


def give_back_memory() -> None:
    """Give the system what is free of the heap of C, which glibc keeps as long as something above it is in use.

    What clients sent in parts, and OpenSSL's buffers, lie there. Nothing happens with another library.
    """
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


class ShortCollections:
    """Collections of garbage that hold nobody up: each looks at what was made since the one before.

    Python's full collection looks at every object there is, on the thread that does the work: a tenth of a second for
    the offsets of some groups, again and again while they become more. What a broker knows is no garbage, and it makes
    next to none in circles, so what a full collection has seen is left out of those that follow (``gc.freeze``). That
    holds for connections too, however early they end: they break their circles themselves (``listeners/lost.py``).
    After very many of them all is looked at once more, for what a library might leave.

    For a process that is nothing but a broker. ``arrived`` tells how many connections there have been.
    """

    def __init__(self, arrived: Callable[[], int]) -> None:
        self._arrived = arrived
        self._arrived_before = 0

    def begin(self) -> None:
        """From now on; what is there already is left out."""
        gc.freeze()
        gc.callbacks.append(self._collected)

    def end(self) -> None:
        """As Python does it from now on."""
        gc.callbacks.remove(self._collected)
        gc.unfreeze()

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] != _FULL:
            return
        if phase == "stop":
            gc.freeze()
        elif self._arrived() - self._arrived_before >= MOST_ARRIVED:
            self._arrived_before = self._arrived()
            gc.unfreeze()


def _raise_file_limit() -> None:
    """Every segment that is read is an open file: use what the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
