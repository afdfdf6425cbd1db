"""The command: ``python -m tests.broker_embedded.poisoned --tries 1000 --seed 1``."""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.broker_embedded.poisoned.trial import Trial


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    logging.getLogger("kafka_tools").addHandler(logging.NullHandler())
    logging.getLogger("kafka_tools").propagate = False
    started, wrong, reasons = time.monotonic(), 0, Counter[str]()
    for number in range(given.tries):
        seed = f"{given.seed}.{number}"
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(Path(folder), seed)
            problems = trial.run()
        wrong += bool(problems)
        reasons.update(what.partition("was skipped: ")[2][:25] for _, what in trial.left_out)
        for problem in problems:
            print(f"{seed}: {problem}")
    for reason, times in reasons.most_common(20):
        print(f"left out {times} times: {reason}...")
    print(f"seed {given.seed}: {given.tries} tries in {time.monotonic() - started:.0f} s, {wrong} of them wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
