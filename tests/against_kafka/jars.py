"""Real Kafka's jars: fetched once per release with Maven into a cache outside the repository.

The cache is ``$KAFKA_TOOLS_JARS``, else ``$XDG_CACHE_HOME/kafka-operator-tools`` (``~/.cache/...``), one folder
``<version>/lib`` per release. ``python -m tests.against_kafka.jars [version ...]`` fetches them ahead of time and makes
the archives with which their JVMs start sooner (``archives``).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import kafka_tools

# As it was at the start: each test has a home of its own, but Maven's settings and this cache are the user's.
ENVIRONMENT = dict(os.environ)

# Group, artifact, version. The slf4j binding makes the tools log to stderr, or (as here) not at all.
ARTIFACTS: dict[str, list[str]] = {
    "1.1.1": ["org.apache.kafka:kafka_2.12:1.1.1", "org.slf4j:slf4j-simple:1.7.25"],
    "2.2.2": ["org.apache.kafka:kafka_2.12:2.2.2", "org.apache.kafka:kafka-tools:2.2.2"],
    "2.8.2": ["org.apache.kafka:kafka_2.13:2.8.2", "org.apache.kafka:kafka-tools:2.8.2"],
    "3.9.2": ["org.apache.kafka:kafka_2.13:3.9.2", "org.apache.kafka:kafka-tools:3.9.2"],
    "4.3.1": [
        "org.apache.kafka:kafka_2.13:4.3.1",
        "org.apache.kafka:kafka-tools:4.3.1",
        "org.slf4j:slf4j-simple:1.7.36",
    ],
    "4.4.0": [
        "org.apache.kafka:kafka_2.13:4.4.0",
        "org.apache.kafka:kafka-tools:4.4.0",
        "org.slf4j:slf4j-simple:1.7.36",
    ],
}
NEWEST = kafka_tools.KAFKA_RELEASE
"""The release that the product follows: what tests compare with where they name no other."""


def with_newest(known: Iterable[str], newest: str) -> tuple[str, ...]:
    """Releases, oldest first. One that is followed for the first time has no row yet."""
    return tuple(dict.fromkeys((*known, newest)))


VERSIONS = with_newest(ARTIFACTS, NEWEST)
BEFORE = VERSIONS[VERSIONS.index(NEWEST) - 1]
"""The one before it, with which they compare as well where the two may differ."""

DEFINITIONS_ONLY = {
    version: [f"org.apache.kafka:kafka_{'2.12' if version < '2.6' else '2.13'}:{version}"]
    for version in (
        *("2.0.1", "2.1.1", "2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2"),
        *("3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1"),
    )
}
"""Releases between those above, whose classes only ``tests/config_releases.py`` asks: fetched when it runs."""

SPARK_CONNECTOR = "spark-connector"
"""Spark's own Kafka source: for a benchmark only, fetched when that runs. Spark has what else these would bring."""
CONNECTOR_ARTIFACTS = [
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.0",
]

STREAMS = f"{NEWEST}-streams"
"""Kafka Streams beside the newest release's other jars, without the native library of stores: no test keeps one."""
WITH_SHELL = "4.3.1"
"""The last release whose metadata shell is on Maven."""
SHELL = f"{WITH_SHELL}-shell"
"""Kafka's metadata shell beside the other jars of that release."""
ALONE = {
    SPARK_CONNECTOR: CONNECTOR_ARTIFACTS,
    STREAMS: [f"org.apache.kafka:kafka-streams:{NEWEST}"],
    SHELL: [f"org.apache.kafka:kafka-shell:{WITH_SHELL}", "org.jline:jline:3.30.4"],
}

# The ZooKeeper client 3.4 of these releases cannot connect under Java 17; the one that 2.8.2 brings can.
OLD_ZOOKEEPER = ("1.1.1", "2.2.2")

ATTEMPTS = 4
ATTEMPT_TIMEOUT_S = 600
MAVEN = [
    "mvn",
    "--batch-mode",
    "--no-transfer-progress",
    "-Dmaven.wagon.http.retryHandler.count=5",
    "-Dmaven.wagon.httpconnectionManager.ttlSeconds=60",
    "-Daether.connector.http.retryHandler.count=5",
    "-Daether.connector.connectTimeout=60000",
    "-Daether.connector.requestTimeout=180000",
]


JAVA_SOURCES = Path(__file__).parent / "java"
QUICK = ["-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1"]
"""For a compiler that compiles one file."""


class Unavailable(Exception):
    """Real Kafka cannot run here; the text says what is missing."""


def cache_directory() -> Path:
    """Where the jars of all releases are kept."""
    if "KAFKA_TOOLS_JARS" in ENVIRONMENT:
        return Path(ENVIRONMENT["KAFKA_TOOLS_JARS"])
    home = ENVIRONMENT.get("XDG_CACHE_HOME") or os.path.join(ENVIRONMENT.get("HOME", "/tmp"), ".cache")
    return Path(home) / "kafka-operator-tools"


def class_path(version: str) -> list[Path]:
    """The jars that ``version`` runs on, fetched if they are not here yet. Raises Unavailable."""
    jars = sorted(library(version).glob("*.jar"))
    if version in OLD_ZOOKEEPER:
        jars = [jar for jar in jars if not jar.name.startswith("zookeeper-")]
        newer = sorted(library("2.8.2").glob("*.jar"))
        jars += [jar for jar in newer if jar.name.startswith(("zookeeper-", "netty-"))]
    if any(jar.name.startswith(("slf4j-log4j12", "slf4j-reload4j")) for jar in jars):
        jars = [jar for jar in jars if not jar.name.startswith("slf4j-simple")]
    return jars


@cache
def library(version: str) -> Path:
    """The folder of ``version``'s jars (or of one of ALONE), complete. Raises Unavailable if it cannot be fetched."""
    folder = cache_directory() / version / "lib"
    if folder.is_dir():
        return folder
    if shutil.which("mvn", path=ENVIRONMENT.get("PATH")) is None:
        raise Unavailable(f"Kafka {version} is not in {cache_directory()}, and Maven (mvn) is not on PATH to fetch it")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(cache_directory() / "fetch.lock"):
        if not folder.is_dir():
            _fetch(version, folder)
    return folder


def _fetch(version: str, folder: Path) -> None:
    """Let Maven copy the jars beside ``folder``, then move them there whole."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        pom = Path(scratch) / "pom.xml"
        artifacts = {**ARTIFACTS, **DEFINITIONS_ONLY, **ALONE}.get(version) or _artifacts_of(version)
        pom.write_text(_pom(artifacts, version in ALONE), encoding="utf-8")
        command = [*MAVEN, "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={scratch}/lib"]
        problem = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(5 * 2**attempt)
            problem = _run(command)
            if not problem:
                (Path(scratch) / "lib").rename(folder)
                return
    raise Unavailable(f"Maven could not fetch Kafka {version} in {ATTEMPTS} attempts: {problem}")


def _artifacts_of(version: str) -> list[str]:
    """What a release is made of that stands in none of the tables above (``python -m tests.regen release``)."""
    return [f"org.apache.kafka:{name}:{version}" for name in ("kafka_2.13", "kafka-tools")] + [
        "org.slf4j:slf4j-simple:1.7.36"
    ]


def _run(command: Sequence[str]) -> str:
    """Empty when the command succeeded, else the reason."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ATTEMPT_TIMEOUT_S,
            env=ENVIRONMENT,
        )
    except subprocess.TimeoutExpired:
        return f"no end after {ATTEMPT_TIMEOUT_S} s"
    if done.returncode == 0:
        return ""
    errors = [line for line in done.stdout.splitlines() if line.startswith("[ERROR]")]
    return errors[0] if errors else (done.stdout + done.stderr)[-500:]


def _pom(artifacts: Sequence[str], alone: bool) -> str:
    """A project that depends on the artifacts and, unless they are to be ``alone``, on what they depend on."""
    every = "<exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
    left_out = f"<exclusions>{every}</exclusions>" if alone else ""
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        f"{left_out}</dependency>"
        for group, name, version in (artifact.split(":") for artifact in artifacts)
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>fetch</groupId><artifactId>fetch</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time; the lock goes with the process."""
    with open(path, "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@cache
def java(compiler: bool = False) -> str:
    """The path of ``java`` (or ``javac``), version 17 or later. Raises Unavailable."""
    name = "javac" if compiler else "java"
    home = ENVIRONMENT.get("JAVA_HOME")
    found = shutil.which(name, path=os.path.join(home, "bin") if home else None) if home else None
    found = found or shutil.which(name, path=ENVIRONMENT.get("PATH", ""))
    if found is None:
        raise Unavailable(f"{name} of Java 17 or later is neither in JAVA_HOME nor on PATH")
    said = version_of(found)
    stated = re.search(r'(?:version "|javac )(\d+)', said)
    if stated is None or int(stated.group(1)) < 17:
        raise Unavailable(f"{found} is not Java 17 or later: {said.strip().splitlines()[:1]}")
    return found


@cache
def version_of(executable: str) -> str:
    """What a Java program says of its version and build."""
    done = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=60, env=ENVIRONMENT)
    return done.stderr + done.stdout


@cache
def program(source: str, version: str, more_jars: tuple[Path, ...] = ()) -> Path:
    """``java/<source>.java`` compiled for that release: a jar, kept beside the release's. Raises Unavailable."""
    compiler, path = java(compiler=True), JAVA_SOURCES / f"{source}.java"
    text = _where_they_lie(path.read_text(encoding="utf-8"), version, more_jars).encode()
    paths = os.pathsep.join(map(str, (*class_path(version), *more_jars)))
    key = hashlib.sha256(text + f"{version_of(compiler)}{paths}".encode()).hexdigest()[:16]
    jar = library(version).parent / "programs" / f"{source}-{key}.jar"
    if jar.exists():
        return jar
    jar.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=jar.parent) as scratch:
        classes = Path(scratch) / "classes"
        command = [compiler, *QUICK, "-nowarn", "-proc:none", "-encoding", "UTF-8", "-cp", paths, "-d", str(classes)]
        there = Path(scratch) / path.name
        there.write_bytes(text)
        done = subprocess.run([*command, str(there)], capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
        assert done.returncode == 0, done.stderr
        made = Path(scratch) / jar.name
        with zipfile.ZipFile(made, "w") as archive:
            for compiled in sorted(classes.rglob("*.class")):
                archive.write(compiled, compiled.relative_to(classes))
        made.replace(jar)
    return jar


def _where_they_lie(source: str, version: str, more_jars: tuple[Path, ...]) -> str:
    """A Java source whose imports name the packages in which this release has the classes: they move now and then."""
    more = frozenset(name for jar in more_jars for name in _classes_in(jar))
    return re.sub(
        r"(?<=^import )((?:org\.apache\.)?kafka\.[\w.]+)(?=;)",
        lambda match: _place(match[1], _classes(version) | more),
        source,
        flags=re.MULTILINE,
    )


def main_class(name: str, version: str) -> str:
    """Where a release has a tool's main class: ``kafka.admin.ConfigCommand`` is in another package since 4.4."""
    return _place(name, _classes(version))


def _place(name: str, classes: frozenset[str]) -> str:
    """The class of this name, or the only one that is called so in another package."""
    if name in classes:
        return name
    simple = name.rpartition(".")[2]
    found = [place for place in classes if place.rpartition(".")[2] == simple]
    return found[0] if len(found) == 1 else name


@cache
def _classes(version: str) -> frozenset[str]:
    jars = (jar for jar in class_path(version) if jar.name.startswith("kafka"))
    return frozenset(name for jar in jars for name in _classes_in(jar))


def _classes_in(jar: Path) -> list[str]:
    with zipfile.ZipFile(jar) as archive:
        entries = [name for name in archive.namelist() if name.endswith(".class") and "$" not in name]
    return [name.removesuffix(".class").replace("/", ".") for name in entries]


def main(versions: Sequence[str]) -> int:
    """Fetch the named releases, all when none is named, and make their archives."""
    from tests.against_kafka.archive_making import make_archives

    for version in versions or VERSIONS:
        try:
            print(f"Kafka {version}: {len(class_path(version))} jars in {library(version)}", flush=True)
        except Unavailable as reason:
            print(f"Kafka {version}: {reason}", file=sys.stderr)
            return 1
    for version in versions or VERSIONS:
        for line in make_archives(version):
            print(f"Kafka {version}: {line}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
