"""Starts and stops Spark for a command: quietly, with any suitable Java, and without leaving a process behind.

Under ``spark-submit`` or in a notebook, the running Spark is used and left running. Otherwise a JVM
is started (``jvm``).
"""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from kafka_tools.errors import KafkaToolsError
from kafka_tools.spark.java import find_java
from kafka_tools.spark.jvm import INSTALL_HINT, await_address, not_started, reason_of, start_jvm, stop_jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_LOCAL_CONF = {
    "spark.driver.host": "127.0.0.1",  # a laptop's host name often does not resolve
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "8",
}
_CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.log.level": "ERROR",
}


@contextmanager
def spark_session(
    master: str = "local[*]",
    *,
    app_name: str = "kafka-tools",
    memory_mb: int = 1024,
    conf: Mapping[str, str] | None = None,
    hands_out_only: bool = False,
) -> Iterator[SparkSession]:
    """A Spark session for the ``with`` block; stopped with its JVM at the end, unless it was running before.

    ``master`` is Spark's master URL, ``memory_mb`` the driver's heap in MiB, ``conf`` further Spark settings.
    ``hands_out_only``: the JVM gives tasks to Python workers and computes nothing itself, so it starts sooner.
    KafkaToolsError, with what to install as its hint, when PySpark or Java is missing or Spark does not start.
    """
    try:
        import pyarrow  # noqa: F401  # Spark hands columns over as Arrow; say so before a JVM is started
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise KafkaToolsError(f"Spark is not installed: {error}", hint=INSTALL_HINT) from error
    if is_running():
        running = SparkSession.builder.getOrCreate()
        with _py4j_quiet(), _signals_raise(), _failures_as_one_line():
            yield running
        return
    settings = _settings(master, app_name, conf)
    with tempfile.TemporaryDirectory(prefix="kafka-tools-spark-", ignore_cleanup_errors=True) as folder:
        settings["spark.sql.warehouse.dir"] = os.path.join(folder, "warehouse")
        if master.startswith("local"):
            settings["spark.local.dir"] = folder
        process = start_jvm(find_java(), settings, memory_mb, folder, hands_out_only=hands_out_only)
        session = None
        try:
            with _py4j_quiet(), _signals_raise(process):
                with _failures_as_one_line():
                    session = _connect(process, settings, folder)
                    yield session
                _disconnect(session)
        except (KeyboardInterrupt, SystemExit):
            # The call that was interrupted still waits for its answer, and would get it in the place of the next.
            process.terminate()
            _forget_gateway()
            raise
        except BaseException:
            if session is not None:
                _disconnect(session)
            raise
        finally:
            stop_jvm(process)


def is_running() -> bool:
    """Whether this process has a Spark already, or was started by one (``spark-submit``)."""
    loaded = sys.modules.get("pyspark")  # a process with a Spark has imported it
    return "PYSPARK_GATEWAY_PORT" in os.environ or (
        loaded is not None and loaded.SparkContext._active_spark_context is not None
    )


@contextmanager
def _failures_as_one_line() -> Iterator[None]:
    """A job that fails in Spark raises KafkaToolsError with the sentence that matters, the stack trace as its cause."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except Exception as error:
        ended = _behind(error)
        if ended is not None:
            raise ended from None
        if isinstance(error, Py4JError | PySparkException):
            raise KafkaToolsError(f"the Spark job failed: {reason_of(str(error))}") from error
        raise


def _behind(error: BaseException) -> KeyboardInterrupt | SystemExit | None:
    """The signal that is behind an error: Py4J takes one that comes while it waits for a failure of its connection,
    and what it and PySpark do next fails in ways of its own.
    """
    chain: BaseException | None = error
    while chain is not None:
        if isinstance(chain, KeyboardInterrupt):
            return KeyboardInterrupt()
        if isinstance(chain, SystemExit):
            return SystemExit(chain.code)
        chain = chain.__cause__ or chain.__context__
    return None


def _settings(master: str, app_name: str, conf: Mapping[str, str] | None) -> dict[str, str]:
    settings = dict(_CONF)
    if master.startswith("local"):
        settings |= _LOCAL_CONF
    settings |= conf or {}
    return settings | {"spark.master": master, "spark.app.name": app_name}


def _connect(process: subprocess.Popen[bytes], settings: dict[str, str], folder: str) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    port, secret = await_address(process, folder)
    python = sys.executable
    if not settings["spark.master"].startswith("local"):
        python = os.environ.get("PYSPARK_PYTHON", python)
    # PySpark takes the address of a running gateway, and its workers' Python, from the environment only.
    with _environment_variables(
        PYSPARK_GATEWAY_PORT=str(port),
        PYSPARK_GATEWAY_SECRET=secret,
        PYSPARK_PYTHON=python,
        PYSPARK_DRIVER_PYTHON=sys.executable,
    ):
        try:
            gateway = launch_gateway()  # type: ignore[no-untyped-call]  # PySpark has no types there
            conf = SparkConf(loadDefaults=False, _jvm=gateway.jvm)
            for key, value in settings.items():
                conf.set(key, value)
            handler = signal.getsignal(signal.SIGINT)
            context = SparkContext(gateway=gateway, conf=conf)
            if threading.current_thread() is threading.main_thread():
                # Keep our handling of Ctrl-C: PySpark's own talks to the JVM from within the handler, during a call.
                signal.signal(signal.SIGINT, handler)
            if not settings["spark.master"].startswith("local"):
                context.addPyFile(_packed(folder))
            return SparkSession(context)
        except (Py4JError, PySparkException, OSError) as error:
            _forget_gateway()
            raise not_started(folder, str(error)) from error


def _packed(folder: str) -> str:
    """Our package as a zip file for executors. They must have its dependencies."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.path.join(folder, "kafka_tools.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sorted(glob.glob(os.path.join(package, "**", "*.py"), recursive=True)):
            archive.write(source, os.path.relpath(source, os.path.dirname(package)))
    return path


def _disconnect(session: SparkSession) -> None:
    """Stop the session and let PySpark forget its gateway, so that this process can start another Spark."""
    from py4j.protocol import Py4JError

    gateway: Any = session.sparkContext._gateway
    with suppress(Py4JError, OSError):  # a JVM that died already has nothing left to stop
        session.stop()
    if gateway is not None:
        with suppress(Py4JError, OSError):
            gateway.shutdown()
    _forget_gateway()


def _forget_gateway() -> None:
    from pyspark import SparkContext

    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None


@contextmanager
def _py4j_quiet() -> Iterator[None]:
    """Py4J logs a stack trace before it raises, through the root logger, which without handlers writes to stderr."""
    import logging

    root, silence = logging.getLogger(), logging.NullHandler()
    root.addHandler(silence)
    try:
        yield
    finally:
        root.removeHandler(silence)


@contextmanager
def _signals_raise(jvm: subprocess.Popen[bytes] | None = None) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the block as exceptions, so that what was started and written is taken away again.

    PySpark's own handler of Ctrl-C talks to the JVM in the middle of whatever call is interrupted. A handler for
    SIGTERM that the program has itself stays. ``jvm`` is ended first: on the way out of a job PySpark asks it once
    more, and would wait until the job is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return

    def ended(number: int, frame: object) -> NoReturn:
        if jvm is not None:
            jvm.terminate()
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    interrupt, terminate = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    if interrupt not in (signal.SIG_IGN, signal.SIG_DFL, None):
        signal.signal(signal.SIGINT, ended)
    if terminate == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, ended)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, interrupt)
        signal.signal(signal.SIGTERM, terminate)


@contextmanager
def _environment_variables(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def tasks_done(session: SparkSession) -> tuple[int, int]:
    """(finished, all) tasks of the stages that run now, for a progress bar; (0, 0) when none does."""
    from py4j.protocol import Py4JError

    done = total = 0
    with suppress(Py4JError, OSError):  # a bar that cannot ask has nothing to show
        tracker = session.sparkContext.statusTracker()
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None:
                done += info.numCompletedTasks
                total += info.numTasks
    return done, total
