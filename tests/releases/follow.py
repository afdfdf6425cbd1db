"""``python -m tests.regen release 4.4.0``: write what follows from a release, and list what a person has to decide."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence

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
    for path in tables.write(said):
        print(f"written: {path.relative_to(tables.ROOT)}")
    # What was written is read by a process that has not imported what stood there before.
    return subprocess.run([sys.executable, "-m", "tests.releases.decisions", said.release], check=False).returncode
