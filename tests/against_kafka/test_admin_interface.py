"""What is written down of Kafka's client is what its jar has: admin operations, and who waits when throttled."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kafka_tools.protocol import registry
from tests.against_kafka.jars import ENVIRONMENT, NEWEST
from tests.against_kafka.java_programs import compiled
from tests.releases import facts

JAVA = Path(__file__).parent / "java"
LISTED = Path(__file__).parent.parent / "admin" / "kafka_admin.txt"


def told_by(program: str, folder: Path) -> list[str]:
    """The lines that a program in ``java`` prints, compiled and run with the newest release's jars."""
    command = compiled(program)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=ENVIRONMENT, check=True)
    return [line.strip() for line in done.stdout.splitlines()]


def test_listed_operations_are_those_of_kafka(tmp_path: Path) -> None:
    listed = [line for line in LISTED.read_text().splitlines() if not line.startswith("#")]
    assert listed == told_by("AdminInterface", tmp_path)


@pytest.mark.req("NET-10")
def test_a_throttled_client_waits_after_the_same_versions_as_kafka_s() -> None:
    theirs = {api["key"]: api for api in facts.of(NEWEST).apis if api["throttles"] is not None}
    assert len(theirs) > 85
    ours = {}
    for key, api in theirs.items():
        throttles = registry.api(key).response.THROTTLES
        # Kafka 4 has dropped the oldest versions of some APIs, which it cannot be asked about.
        ours[key] = [version for version in range(api["oldest"], api["newest"] + 1) if version in throttles]
    assert ours == {key: api["throttles"] for key, api in theirs.items()}
