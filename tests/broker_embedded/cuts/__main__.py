"""The command: ``python -m tests.broker_embedded.cuts [--seed 1] [--loads 10] [--steps 400] [--images 2]``.

Of each load power is cut at every point of its trace. With ``--refusals`` the disk refuses the first, the second, ...
of so many calls instead, in every way, and power is cut at the end.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.broker_embedded.cuts.checker import Cuts, recorded, refused
from tests.broker_embedded.cuts.refusals import KINDS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the first load; the others have the next ones")
    parser.add_argument("--loads", type=int, default=10)
    parser.add_argument("--steps", type=int, default=400, help="of each load")
    parser.add_argument("--images", type=int, default=2, help="of each cut")
    parser.add_argument("--refusals", type=int, default=0, help="calls that are refused in turn")
    parser.add_argument("--keep", type=Path, help="where the first wrong image is left (an empty folder)")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)  # what a start says of torn files
    started, cuts, images = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        for number in range(1, given.refusals + 1):
            for kind in KINDS:
                problems = refused(folder / f"{number} {kind}", given.seed, kind, number, given.steps)
                if problems:
                    print("\n".join(problems))
                    return 1
                shutil.rmtree(folder / f"{number} {kind}")
        if given.refusals:
            print(f"{given.refusals} refusals of {len(KINDS)} kinds in {time.monotonic() - started:.0f} s, 0 problems")
            return 0
        for seed in range(given.seed, given.seed + given.loads):
            made = recorded(folder / str(seed), seed, given.steps)
            events = len(made.recorder.events)
            looked = Cuts(made, folder / f"{seed}-images", seed)
            problems = looked.check(range(events + 1), given.images)
            cuts, images = cuts + events + 1, images + looked.images
            print(f"seed {seed}: {events} events, {looked.images} images, {len(problems)} problems", flush=True)
            if problems:
                print("\n".join(problems))
                return 1
    print(f"{cuts} cuts, {images} images in {time.monotonic() - started:.0f} s, 0 problems")
    return 0


if __name__ == "__main__":
    sys.exit(main())
