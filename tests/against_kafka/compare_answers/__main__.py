"""The command: ``python -m tests.against_kafka.compare_answers --requests 5000 --seed 1 [--api create_topics]``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.against_kafka.compare_answers.brokers import SETUP, pair
from tests.against_kafka.compare_answers.comparison import Comparison
from tests.against_kafka.compare_answers.world import prepare
from tests.against_kafka.harness import RealKafka
from tests.protocol import codes_seen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--api", action="append", default=[], help="only this API (a stem such as create_topics)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        with RealKafka.start(SETUP, base / "kafka") as real, pair(real, base / "ours") as (theirs, ours):
            for peer in (theirs, ours):
                prepare(peer)
            comparison = Comparison(theirs, ours, given.seed)
            comparison.progress = lambda line: print(line, file=sys.stderr, flush=True)
            try:
                comparison.run(given.requests, given.api)
            except BaseException:
                print(
                    (real.folder / "server-1.log").read_text(encoding="utf-8", errors="replace")[-4000:],
                    file=sys.stderr,
                )
                raise
            finally:
                print("\n".join(comparison.report.lines()))
                codes_seen.add(comparison.report.codes)
    return 1 if comparison.report.unequal else 0


if __name__ == "__main__":
    sys.exit(main())
