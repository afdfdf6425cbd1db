"""``python -m tests.regen release 4.4.0``: write what follows from a release, and list what a person has to decide.

Each table and each question gets a line, so that "nothing" is told from "not asked".
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence

import kafka_tools
from tests.against_kafka.jars import Unavailable
from tests.releases import facts, tables


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1 or not re.fullmatch(r"\d+\.\d+\.\d+", arguments[0]):
        print("give one release with its patch level, such as 4.4.0", file=sys.stderr)
        return 2
    try:
        said = facts.of(arguments[0])
    except Unavailable as reason:
        print(reason, file=sys.stderr)
        return 1
    print(scope(said.release))
    for line in tables.write(said):
        print(line, flush=True)
    # What was written is read by a process that has not imported what stood there before.
    return subprocess.run([sys.executable, "-m", "tests.releases.decisions", said.release], check=False).returncode


def scope(release: str) -> str:
    """How much of this release is compared, and why."""
    followed = kafka_tools.KAFKA_RELEASE
    if release == followed:
        return f"Kafka {release} is the release that the product follows. Everything is compared."
    if tables.number(release) > tables.number(followed):
        return f"Kafka {release} is newer than {followed}: the product follows it from now on. Everything is compared."
    return f"Kafka {release} is older than {followed}, which the product follows. Only its own facts are compared."
