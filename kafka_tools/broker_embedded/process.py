"""The broker as a separate process: signals, the ready line, a temporary directory if ``data_dirs`` is empty."""

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
from kafka_tools.broker_embedded.metrics.reading import BeanValues, in_steps
from kafka_tools.clock import SystemClock
from kafka_tools.metrics.prometheus import MetricsPort
from kafka_tools.shown_text import one_line, printable

if TYPE_CHECKING:
    from logging import _SysExcInfoType

log = logging.getLogger(__name__)

MOST_ARRIVED = 100_000
"""After so many connections, a full collection examines all objects. Connections should leave no garbage."""
_SCRAPE_S = 60.0
"""The longest time to wait for the metrics of a busy broker."""
_FULL = 2
"""The generation of a full collection."""


class LogLines(logging.Formatter):
    """Formats each message as one line; a traceback is indented below it.

    Clients choose ids, host names and client names. Without this class, a name with a line break could forge a line of
    the broker's log.
    """

    def __init__(self) -> None:
        super().__init__("[%(asctime)s] %(levelname)s %(message)s (%(name)s)")

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = one_line(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: _SysExcInfoType) -> str:
        """The indented traceback."""
        return "\n".join(f"    {line}" for line in printable(super().formatException(ei)).split("\n"))


def log_to_stderr(level: str) -> None:
    """Write log messages of ``level`` (a name such as ``info``) and above to stderr."""
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
    metrics_port: tuple[str, int] | None = None,
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP. ``ready`` gets one line of JSON once clients can connect.

    Without ``data_dirs``, the logs are in a temporary directory, which is removed at the end. ``adopt``: the log
    directories of a node of Apache Kafka, separated by commas; they are copied to the data directory first.
    ``lost_data_dirs``: as in ``EmbeddedBroker``. ``metrics_port``: the address at which the broker shows its metrics as
    Prometheus text. Raises ConfigError, LogError or OSError if the broker cannot start.
    Raises LogError if the broker had to stop.
    """
    _raise_file_limit()
    if adopt is not None:  # before the event loop starts, so that a signal ends it immediately
        _adopt(adopt.split(","), properties, data_dirs, release)
    with ExitStack() as stack:
        if not data_dirs:
            temporary = TemporaryDirectory(prefix="kafka-tools-broker-", ignore_cleanup_errors=True)
            data_dirs = [stack.enter_context(temporary)]
        broker = RunningBroker(
            properties, data_dirs=data_dirs, release=release, fsync=fsync, lost_data_dirs=lost_data_dirs
        )
        asyncio.run(_serve(broker, ready, metrics_port))


def _adopt(
    kafka_dirs: Sequence[str], properties: Mapping[str, str], data_dirs: Sequence[str], release: str | None
) -> None:
    """Copy the directories of Kafka, after a check that the start would accept the settings."""
    from kafka_tools.broker_embedded.directories.adoption import adopt

    given = resolved(properties)
    check_properties(given)
    check_together(given)
    endpoints_of(given)
    load_handlers(release)
    cluster_id = given.get("cluster.id") or None
    adopt(kafka_dirs, data_dirs, node_id=node_id_of(given), cluster_id=cluster_id, clock=SystemClock())


async def _serve(
    broker: RunningBroker, ready: Callable[[str], None], metrics_port: tuple[str, int] | None = None
) -> None:
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
    metrics = None
    if metrics_port is not None:
        try:
            metrics = MetricsPort(*metrics_port, lambda: _beans(broker, loop))
        except BaseException:
            await broker.stop()
            raise
        description["metrics"] = f"http://{metrics.address}/metrics"
    assert broker.core is not None
    places = ", ".join(f"{name}://{address}" for name, address in broker.server.addresses().items())
    log.info("ready at %s, data in %s", places, ", ".join(map(str, broker.core.dirs.paths)))
    try:
        ready(json.dumps(description))
        await stopping.wait()
    finally:
        collections.end()
        log.info("stopping")
        if metrics is not None:
            await loop.run_in_executor(None, metrics.close)
        await broker.stop()
        log.info("stopped")
    if broker.failure is not None:
        raise broker.failure


def _beans(broker: RunningBroker, loop: asyncio.AbstractEventLoop) -> BeanValues:
    """The beans of a broker that runs on ``loop``, for another thread. Requests are served in between."""

    async def collect() -> BeanValues:
        found: BeanValues = {}
        if broker.core is not None and broker.server is not None:
            for _ in in_steps(broker.core, broker.server.shared, found):
                await asyncio.sleep(0)
        return found

    return asyncio.run_coroutine_threadsafe(collect(), loop).result(_SCRAPE_S)


def give_back_memory() -> None:
    """Return free memory of the C heap to the system. glibc keeps it while memory above it is in use.

    The C heap contains requests that clients sent in parts, and OpenSSL's buffers. Does nothing without glibc.
    """
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


class ShortCollections:
    """Keeps garbage collections short: each one examines only objects created since the one before.

    Python's full collection examines every object, on the thread that serves requests: a tenth of a second for the
    offsets of some groups, repeatedly while their number grows. The broker's state is not garbage, and the broker
    creates almost no reference cycles. So later collections ignore the objects that a full collection has examined
    (``gc.freeze``). Connections break their cycles when they end (``listeners/lost.py``). After ``MOST_ARRIVED``
    connections, one collection examines all objects, because libraries may create cycles.

    Only for a process that runs nothing but a broker. ``arrived`` returns the number of connections since the start.
    """

    def __init__(self, arrived: Callable[[], int]) -> None:
        self._arrived = arrived
        self._arrived_before = 0

    def begin(self) -> None:
        """Start; collections ignore the objects that exist now."""
        gc.freeze()
        gc.callbacks.append(self._collected)

    def end(self) -> None:
        """Restore Python's garbage collection."""
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
    """Raise the limit of open files to its maximum: every segment that is read is an open file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
