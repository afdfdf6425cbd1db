"""What is written down of Kafka's client is what its jar has: admin operations, and who waits when throttled."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kafka_tools.net.throttle import FROM_VERSION
from kafka_tools.protocol import registry
from kafka_tools.protocol.releases import max_versions
from tests.against_kafka.jars import ENVIRONMENT
from tests.against_kafka.java_programs import compiled

JAVA = Path(__file__).parent / "java"
LISTED = Path(__file__).parent.parent / "admin" / "kafka_admin.txt"
OF_BROKERS = {62, 63}
"""APIs that only brokers ask each other, and that this client never sends."""


def told_by(program: str, folder: Path) -> list[str]:
    """The lines that a program in ``java`` prints, compiled and run with the jars of 4.3.1."""
    command = compiled(program)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=ENVIRONMENT, check=True)
    return [line.strip() for line in done.stdout.splitlines()]


def test_listed_operations_are_those_of_kafka(tmp_path: Path) -> None:
    listed = [line for line in LISTED.read_text().splitlines() if not line.startswith("#")]
    assert listed == told_by("AdminInterface", tmp_path)


@pytest.mark.req("NET-10")
def test_a_throttled_client_waits_after_the_same_versions_as_kafka_s(tmp_path: Path) -> None:
    rows = [list(map(int, line.split())) for line in told_by("ClientThrottling", tmp_path)]
    theirs = {key: versions for key, *versions in rows if key not in OF_BROKERS}
    ours = {}
    for key in theirs:
        # Kafka 4 has dropped the oldest versions of some APIs, which it cannot be asked about.
        oldest = max_versions("4.3").get(key, (0, 0))[0]
        newest = registry.row_by_key(key).max_version
        first = FROM_VERSION.get(key, newest + 1)
        ours[key] = list(range(max(first, oldest), newest + 1))
    assert ours == theirs
