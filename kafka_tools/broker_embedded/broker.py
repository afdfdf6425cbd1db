"""The bundled broker as a library: ``EmbeddedBroker``, and ``RunningBroker``, which the command runs.

``EmbeddedBroker`` runs the event loop on a thread of its own, so that tests and programs that block can
use it. The state belongs to that thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import selectors
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar, Unpack

from kafka_tools.broker_embedded.configs.endpoints import endpoints_of
from kafka_tools.broker_embedded.configs.limits import BrokerLimits
from kafka_tools.broker_embedded.configs.server_properties import data_dirs_of, given_config, resolved
from kafka_tools.broker_embedded.core import Core
from kafka_tools.broker_embedded.dispatch import Dispatcher
from kafka_tools.broker_embedded.faults.vocabulary import Faults
from kafka_tools.broker_embedded.handlers._table import load_handlers
from kafka_tools.broker_embedded.listeners.server import Server
from kafka_tools.broker_embedded.opening import KAFKA, OpeningOptions, open_core
from kafka_tools.clock import Clock, ShiftedClock, SystemClock
from kafka_tools.errors import KafkaToolsError, LogError
from kafka_tools.net.network import replace_descriptors, when_forked
from kafka_tools.values import Many, several

log = logging.getLogger(__name__)
T = TypeVar("T")

_START_TIMEOUT_S = 120.0

DEFAULTS_FOR_TESTS = {"group.initial.rebalance.delay.ms": "0"}
"""Default configs of ``EmbeddedBroker``: the first consumer of a group does not wait for others."""


class RunningBroker:
    """A broker on the running event loop: ``start`` opens everything, ``stop`` closes it."""

    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        data_dirs: Sequence[str],
        clock: Clock | None = None,
        faults: Faults | None = None,
        **opening: Unpack[OpeningOptions],
    ) -> None:
        self._opening = opening
        self._properties = dict(properties)
        self._data_dirs = list(data_dirs)
        self._clock = clock or SystemClock()
        self._faults = faults or Faults()
        self.core: Core | None = None
        self.failure: LogError | None = None
        """The error that stops the broker, or stopped it. ``on_failed`` is called when the broker must stop."""
        self.on_failed: Callable[[], object] = lambda: None
        self.server: Server | None = None

    async def start(self) -> None:
        """Replay, recover, listen. Raises ConfigError for bad settings, LogError for bad files and disks."""
        properties = resolved(self._properties)
        endpoints = endpoints_of(properties)
        load_handlers(self._opening.get("release"))  # an unknown release raises an error before any file changes
        self.core = open_core(
            properties,
            data_dirs=self._data_dirs,
            clock=self._clock,
            is_loading_held=self._faults.is_loading_held,
            **self._opening,
        )
        if self.core.group_commit is not None:
            self.core.group_commit.on_failed = self._failed
        try:
            dispatcher = Dispatcher(self.core)
            self.server = Server(self.core, dispatcher, endpoints)
            await self.server.start()
            self._faults.attach(dispatcher.handlers, self.core.load_released, self.server)
        except BaseException:
            self.core.close()
            raise
        self.core.disk_watch.start(asyncio.get_running_loop().call_later, lambda: self.on_failed())

    def _failed(self, error: BaseException) -> None:
        path = str(getattr(error, "filename", None) or self._data_dirs[0])
        text = getattr(error, "strerror", None) or str(error)
        self.failure = LogError(f"the broker stopped: cannot flush {path} to the disk: {text}", path=path)
        self.on_failed()

    async def stop(self, *, kill: bool = False) -> None:
        """Close listeners, connections and logs; after ``kill`` or a failed fsync, leave files as ``kill -9`` does."""
        if self.server:
            await self.server.stop()
        if self.core:
            clean = not kill and self.failure is None
            self.failure = self.failure or self.core.disk_watch.end()
            self.core.close(clean=clean)
        self.server = self.core = None

    def describe(self) -> dict[str, object]:
        """The contents of the ready line."""
        assert self.core and self.server
        addresses = self.server.addresses()
        return {
            "bootstrap_servers": next(iter(addresses.values())),
            "listeners": addresses,
            "cluster_id": self.core.cluster.cluster_id,
            "data_dir": self.core.dirs.paths[0],
            "data_dirs": list(self.core.dirs.paths),
            "pid": os.getpid(),
        }


class EmbeddedBroker:
    """A broker on a thread, as a context manager.

    >>> with EmbeddedBroker() as broker:
    ...     producer_config = {"bootstrap.servers": broker.bootstrap_servers}

    ``data_dir`` contains the data: an empty directory, a directory of this broker, or one that does not exist yet.
    Pass several directories as ``log.dirs`` in ``config``. Without a directory, the broker uses a temporary one, which
    ``stop`` removes.
    ``listeners`` are strings, or one string with commas, such as "PLAINTEXT://127.0.0.1:0" (the default: a free port
    of loopback).
    ``release``, such as "2.2", makes the broker advertise the API versions of that Kafka release. ``config`` contains
    the settings of a server.properties. The broker refuses names that Kafka's brokers do not have. Kafka only logs a
    warning, so a test would not notice a typing mistake. ``check_config=False`` accepts unknown names, such as names of
    a newer Kafka.
    ``fsync="always"`` acknowledges only data that is on the disk (``broker run --fsync always``). The broker stops
    after a failed fsync and after the loss of its data directory. ``restart`` starts it again with the remaining data.
    ``lost_data_dirs`` are ids of directories that are permanently lost (``broker run --lost-data-dir``). A failed start
    raises a KafkaToolsError: ConfigError for invalid settings, directories and listeners, LogError for files and disks.
    """

    limits = BrokerLimits()

    def __init__(
        self,
        data_dir: str | os.PathLike[str] | None = None,
        listeners: str | Sequence[str] = ("PLAINTEXT://127.0.0.1:0",),
        release: str | None = None,
        config: Mapping[str, object] | None = None,
        fsync: str = KAFKA,
        lost_data_dirs: Many[str] = (),
        check_config: bool = True,
    ) -> None:
        self._opening: OpeningOptions = {
            "release": release,
            "fsync": fsync,
            "lost_data_dirs": several("lost_data_dirs", lost_data_dirs, "str"),
            "limits": self.limits,
        }
        self._given_dirs = None if data_dir is None else [os.fsdecode(data_dir)]
        self._listeners = listeners.split(",") if isinstance(listeners, str) else list(listeners)
        self._config = given_config({} if config is None else config, check_names=check_config)
        if self._given_dirs is None:
            self._given_dirs = data_dirs_of(self._config) or None
        if self._given_dirs is not None:  # a restart in another working directory uses the same directories
            self._given_dirs = [os.path.abspath(path) if path else path for path in self._given_dirs]
        self._thread: threading.Thread | None = None
        self._selector: selectors.DefaultSelector | None = None
        self._process_id = os.getpid()
        self._is_foreign = False
        """Whether this object is a forked process's copy of the parent's broker; the copy cannot be used."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running: RunningBroker | None = None
        self._temporary: str | None = None
        self._stopping: asyncio.Event | None = None
        self._kill = False
        self._bound: list[str] = []
        self._failure: BaseException | None = None
        self.bootstrap_servers = ""
        self.cluster_id = ""
        self._clock = ShiftedClock()
        self.faults = Faults(self._on_broker)
        """The faults that a test adds (``faults.vocabulary``). They survive restarts."""
        when_forked(self, EmbeddedBroker._leave_to_parent)

    @property
    def data_dir(self) -> str:
        """The log directory; the first one if there are several."""
        return self._data_dirs()[0]

    def _data_dirs(self) -> list[str]:
        if self._given_dirs is not None:
            return self._given_dirs
        if self._temporary is None:
            self._temporary = tempfile.mkdtemp(prefix="kafka-tools-broker-")
        return [self._temporary]

    def __enter__(self) -> EmbeddedBroker:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> EmbeddedBroker:
        """Start and wait until clients can connect."""
        self._check_process()
        if self._thread is not None:
            raise KafkaToolsError("the broker is already running")
        ready = threading.Event()
        self._failure = None
        self._thread = threading.Thread(target=self._run, args=(ready,), name="embedded broker", daemon=True)
        self._thread.start()
        if not ready.wait(_START_TIMEOUT_S):
            raise KafkaToolsError(f"the broker was not ready after {_START_TIMEOUT_S:g} s")
        if self._failure is not None:
            self._thread.join()
            self._thread = None
            self._remove_temporary()
            raise self._failure
        return self

    def stop(self) -> None:
        """Stop cleanly and remove a temporary data directory.

        Does nothing if the broker does not run, or runs in the process that forked this one.
        """
        if self._is_foreign:
            return
        self._end(kill=self._temporary is not None)  # files that are about to be deleted need no fsync
        self._remove_temporary()

    def restart(self, *, kill: bool = False) -> None:
        """Stop and start with the same data and ports. ``kill`` leaves the files as ``kill -9`` does."""
        self._check_process()
        self._end(kill=kill)
        self._listeners = self._bound  # clients find the broker at the same addresses
        self.start()

    def call(self, function: Callable[[Core], T]) -> T:
        """Run ``function(core)`` on the broker's thread and return what it returns."""
        self._check_process()
        if self._loop is None or self._running is None:
            raise KafkaToolsError("the broker is not running")
        running = self._running

        async def on_loop() -> T:
            assert running.core is not None
            return function(running.core)

        return asyncio.run_coroutine_threadsafe(on_loop(), self._loop).result()

    def metrics(self) -> dict[str, dict[str, Any]]:
        """The broker's metrics now: Kafka's name of each bean -> attribute -> value.

        >>> broker.metrics()["kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec"]["Count"]
        """
        from kafka_tools.broker_embedded.metrics.reading import read

        running = self._running
        shared = None if running is None or running.server is None else running.server.shared
        return self.call(lambda core: read(core, shared))

    def advance(self, seconds: float) -> None:
        """Move the broker's clock forward and run in order the timers that become due (sessions, retention, ...).

        The clock continues from the new time. Clients keep their own time.
        """
        self._check_process()
        if seconds < 0:
            raise ValueError("cannot move the time backwards")
        if self._loop is None or self._running is None or self._running.server is None:
            raise KafkaToolsError("the broker is not running")
        asyncio.run_coroutine_threadsafe(self._running.server.advance(self._clock, seconds), self._loop).result()

    def _on_broker(self, function: Callable[[], T]) -> T:
        """Run ``function`` on the thread that owns the state: the current one while the broker does not run."""
        self._check_process()
        if self._thread in (None, threading.current_thread()) or self._running is None:
            return function()
        return self.call(lambda core: function())

    def _end(self, *, kill: bool) -> None:
        if self._thread is None or self._loop is None or self._stopping is None:
            return
        self._kill = kill
        with contextlib.suppress(RuntimeError):  # the broker has stopped after a failure, and its loop is closed
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._thread = self._loop = None
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _run(self, ready: threading.Event) -> None:
        try:
            self._selector = selectors.DefaultSelector()
            with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(self._selector)) as runner:
                runner.run(self._main(ready))
        except BaseException as error:  # noqa: BLE001 - the waiting thread raises it
            self._failure = error
        finally:
            ready.set()

    async def _main(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        properties = {**DEFAULTS_FOR_TESTS, "listeners": ",".join(self._listeners), **self._config}
        self._running = RunningBroker(
            properties,
            data_dirs=self._data_dirs(),
            clock=self._clock,
            faults=self.faults,
            **self._opening,
        )
        self._running.on_failed = self._stopping.set
        await self._running.start()
        assert self._running.server is not None
        self._bound = [str(endpoint) for endpoint in self._running.server.bound]
        description = self._running.describe()
        self.bootstrap_servers = str(description["bootstrap_servers"])
        self.cluster_id = str(description["cluster_id"])
        ready.set()
        try:
            await self._stopping.wait()
        finally:
            running, self._running = self._running, None
            await running.stop(kill=self._kill)

    def _check_process(self) -> None:
        """Raises KafkaToolsError in a forked process, if the parent has started the broker before."""
        if self._is_foreign:
            raise KafkaToolsError(
                f"cannot use this broker in process {os.getpid()}: it belongs to process {self._process_id}, which "
                "forked this one",
                hint="connect clients to its bootstrap_servers, or create another EmbeddedBroker after the fork",
            )

    def _leave_to_parent(self) -> None:
        """Called in a forked child: the thread does not exist, and sockets and data belong to the parent."""
        if self._thread is None and self._temporary is None:
            self._process_id = os.getpid()  # nothing to share
            return
        self._is_foreign = True
        if self._selector is None:
            return
        with contextlib.suppress(ValueError):  # the parent's loop is closed
            replace_descriptors([self._selector.fileno(), *(self._selector.get_map() or ())])
        if self._running is not None and self._running.server is not None:
            replace_descriptors(self._running.server.descriptors())

    def _remove_temporary(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None
