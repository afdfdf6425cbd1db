"""The list of Kafka's admin operations and options is what Kafka 4.3.1's jar has."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.against_kafka.jars import ENVIRONMENT, Unavailable, class_path, java
from tests.against_kafka.jvm import QUIET, TOOL_OPTIONS

SOURCE = Path(__file__).parent / "java" / "AdminInterface.java"
LISTED = Path(__file__).parent.parent / "admin" / "kafka_admin.txt"


def test_listed_operations_are_those_of_kafka(tmp_path: Path) -> None:
    try:
        compiler, runtime, jars = java(compiler=True), java(), class_path("4.3.1")
    except Unavailable as reason:
        pytest.skip(str(reason))
    paths = os.pathsep.join(map(str, jars))
    compile_it = [compiler, "-nowarn", "-proc:none", "-cp", paths, "-d", str(tmp_path), str(SOURCE)]
    subprocess.run(compile_it, check=True, timeout=300, env=ENVIRONMENT)
    run_it = [runtime, *TOOL_OPTIONS, *QUIET, "-cp", os.pathsep.join((str(tmp_path), paths)), "AdminInterface"]
    done = subprocess.run(run_it, capture_output=True, text=True, timeout=300, env=ENVIRONMENT, check=True)
    listed = [line for line in LISTED.read_text().splitlines() if not line.startswith("#")]
    assert listed == [line.strip() for line in done.stdout.splitlines()]
