"""The command: ``python -m tests.broker_embedded.kills --kills 300 --seed 1 [--fsync always] [--keep DIR]``."""

from __future__ import annotations

import argparse
import faulthandler
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.broker_embedded.kills.checker import Checker


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fsync", choices=("kafka", "always"), default="kafka", help="as the broker's own option")
    parser.add_argument("--keep", type=Path, help="where the broker's data and log are left (an empty folder)")
    given = parser.parse_args()
    faulthandler.register(signal.SIGUSR1)  # shows where every load is
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        with Checker(
            folder, given.seed, lambda line: print(line, file=sys.stderr, flush=True), fsync=given.fsync
        ) as checker:
            problems = checker.run(given.kills)
    lasted = time.monotonic() - started
    print(f"seed {given.seed}: {checker.kills} kills in {lasted:.0f} s, {len(problems)} problems")
    print("\n".join([*checker.lines(), *problems]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
