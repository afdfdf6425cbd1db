"""Executors need this package as a zip file only; on a real cluster, a master and two workers on this machine.

The cluster takes six JVMs and minutes on a busy machine: it is run with KAFKA_TOOLS_THOROUGH=1.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the Spark packages are not installed")

from kafka_tools.records.build import build_batch

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 240

# What docs/spark.md tells operators to write, and where it ran.
JOB = """
import json, os, sys
import kafka_tools.spark
from kafka_tools.spark.session import spark_session

def where(_):
    import kafka_tools.spark
    return os.getcwd(), kafka_tools.spark.__file__

with spark_session(sys.argv[2] if len(sys.argv) > 2 else "local[*]", conf={"spark.executor.memory": "512m"}) as spark:
    kafka_tools.spark.register(spark)
    records = spark.read.format("kafka_log_records").option("rangeBytes", "1024").load(sys.argv[1])
    found = records.groupBy("partition").count().collect()
    places = spark.sparkContext.parallelize(range(8), 8).map(where).distinct().collect()
    print(json.dumps({"counts": dict(map(tuple, found)), "places": places}))
"""


@pytest.fixture(scope="module")
def spark_home(java: str) -> Path:
    """Spark's folder; skipped where the Java at hand does not run Spark's own scripts."""
    from kafka_tools.spark.jvm import spark_home

    modules = subprocess.run([java, "--list-modules"], capture_output=True, text=True, timeout=120, check=False).stdout
    if "jdk.incubator.vector" not in modules:
        pytest.skip("spark-submit needs a Java with the module jdk.incubator.vector")
    home = Path(spark_home())
    if not (home / "bin" / "spark-submit").exists():
        pytest.skip("this PySpark has no spark-submit")
    return home


@pytest.fixture(scope="module")
def environment(java: str, spark_home: Path) -> dict[str, str]:
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "PYTHONPATH"))
    } | {
        "JAVA_HOME": str(Path(java).resolve().parents[1]),
        "SPARK_HOME": str(spark_home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        # The pip package lacks the file that tells a worker this.
        "SPARK_SCALA_VERSION": next((spark_home / "jars").glob("spark-core_*.jar")).name.split("_")[1].split("-")[0],
        "PYSPARK_PYTHON": sys.executable,
    }


@pytest.fixture(scope="module")
def master(
    java: str, spark_home: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of a master with two workers."""
    folder = tmp_path_factory.mktemp("cluster")
    settings = folder / "log4j2.properties"
    settings.write_text(
        "rootLogger.level = info\nrootLogger.appenderRef.out.ref = out\nappender.out.type = Console\n"
        "appender.out.name = out\nappender.out.layout.type = PatternLayout\nappender.out.layout.pattern = %m%n\n"
    )
    processes: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> Path:
        log = folder / f"{name}.log"
        command = [java, "-Xmx256m", "-cp", str(spark_home / "jars" / "*"), f"-Dlog4j2.configurationFile={settings}"]
        with open(log, "wb") as out:
            processes.append(
                subprocess.Popen([*command, *arguments], stdout=out, stderr=out, env=environment, cwd=folder)
            )
        return log

    def await_line(log: Path, pattern: str) -> str:
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            match = re.search(pattern, log.read_text(errors="replace"))
            if match:
                return match[0]
            time.sleep(0.1)
        raise AssertionError(f"{log.name}: {log.read_text(errors='replace')[-2000:]}")

    try:
        package = "org.apache.spark.deploy"
        log = start("master", f"{package}.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        address = await_line(log, r"spark://127\.0\.0\.1:\d+")
        for name in ("first", "second"):
            place = ("--host", "127.0.0.1", "--webui-port", "0", "--work-dir", str(folder / name))
            size = ("--cores", "1", "--memory", "600m")
            log = start(name, f"{package}.worker.Worker", *place, *size, address)
            await_line(log, "Successfully registered with master")
        yield address
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


# What an executor does, in a Python that has nothing of this checkout but the zip file it was sent.
EXECUTOR = """
import pickle, sys
sys.path = [sys.argv[1]] + [path for path in sys.path if path != sys.argv[2]]
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
import kafka_tools
measured, ranges, file_findings, directory = pickle.load(sys.stdin.buffer)
((_, measures),), findings = measured(ranges), file_findings(directory)
print(kafka_tools.__file__, measures.summary.records, measures.records.records, len(findings))
"""


def test_an_executor_needs_the_package_sent_along_and_nothing_else_of_ours(tmp_path: Path) -> None:
    from kafka_tools.spark.engine import file_findings, measured
    from kafka_tools.spark.findings.files import Directory
    from kafka_tools.spark.measures.partition import Depth
    from kafka_tools.spark.segments import segments
    from kafka_tools.spark.session import _packed

    folder = tmp_path / "logs" / "orders-0"
    folder.mkdir(parents=True)
    made = [build_batch([(1, None, bytes(300), ())] * 4, base_offset=4 * n, codec="lz4") for n in range(10)]
    (folder / f"{0:020d}.log").write_bytes(b"".join(made))
    package = _packed(str(tmp_path))
    ranges, directory = (
        list(segments(str(tmp_path / "logs"), ())),
        Directory(str(tmp_path / "logs"), "orders", 0, str(folder)),
    )
    work = partial(measured, Depth(10**13)), ranges, file_findings, directory
    answer = subprocess.run(
        [sys.executable, "-P", "-c", EXECUTOR, package, str(ROOT)],
        input=pickle.dumps(work), capture_output=True, cwd=tmp_path, timeout=WAIT_S,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, check=False,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr.decode()[-2000:]
    assert answer.stdout.decode().split() == [f"{package}/kafka_tools/__init__.py", "40", "40", "0"]


@pytest.mark.skipif(not os.environ.get("KAFKA_TOOLS_THOROUGH"), reason="six JVMs: set KAFKA_TOOLS_THOROUGH=1")
@pytest.mark.timeout(900)
@pytest.mark.req("SPARK-2")
def test_executors_need_the_wheel_only(
    master: str, spark_home: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    for partition in range(4):
        directory = tmp_path / "logs" / f"orders-{partition}"
        directory.mkdir(parents=True)
        data = [build_batch([(1, None, bytes(300), ())] * 4, base_offset=4 * n, codec="lz4") for n in range(10)]
        (directory / f"{0:020d}.log").write_bytes(b"".join(data))
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*build, "-w", str(tmp_path), str(ROOT)], check=True, timeout=300, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    # A wheel is a zip file, and only with that ending Spark lets executors import from it.
    package = wheel.rename(tmp_path / "wheel.zip")
    job = tmp_path / "job.py"
    job.write_text(JOB)

    def counted(*command: object) -> list[list[str]]:
        answer = subprocess.run(
            [str(part) for part in command],
            env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=WAIT_S, check=False,
        )  # fmt: skip
        assert answer.returncode == 0, answer.stderr[-4000:]
        said = json.loads(answer.stdout)
        assert said["counts"] == {str(partition): 40 for partition in range(4)}
        places: list[list[str]] = said["places"]
        # Which worker gets which task is Spark's affair.
        assert {Path(folder).parents[1].name for folder, _ in places} <= {"first", "second"}
        return places

    settings = {
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    }
    options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    submit = spark_home / "bin" / "spark-submit"
    places = counted(submit, "--master", master, *options, "--py-files", package, job, tmp_path / "logs")
    assert all("wheel.zip" in file for _, file in places)
    # Without spark-submit the package is sent along.
    (tmp_path / "direct.py").write_text(JOB.replace('conf={"spark.executor.memory": "512m"}', f"conf={settings!r}"))
    direct = dict(environment)
    environment["PYTHONPATH"] = str(ROOT)
    try:
        places = counted(sys.executable, tmp_path / "direct.py", tmp_path / "logs", master)
    finally:
        environment.clear()
        environment.update(direct)
    assert all("kafka_tools.zip" in file for _, file in places)
