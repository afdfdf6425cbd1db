"""The command: ``python -m tests.against_kafka.compare_commands [--cluster 3.9.2] [--scenario topics] [--seed 1]``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.against_kafka.compare_commands import old_releases
from tests.against_kafka.compare_commands.comparison import Report, run
from tests.against_kafka.compare_commands.generated import questions
from tests.against_kafka.compare_commands.lines import SCENARIOS
from tests.against_kafka.compare_commands.world import CLUSTERS, prepare, values
from tests.against_kafka.harness import RealKafka, Setup

OLD = {f"{release}, its own tools": Setup(release) for release in old_releases.RELEASES}
GENERATED = "generated"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cluster", action="append", default=[], help="clusters whose name begins so; all without it")
    parser.add_argument("--scenario", action="append", default=[], choices=[*SCENARIOS, GENERATED], help="or all")
    parser.add_argument("--questions", type=int, default=150, help="how many are generated for each cluster")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    wanted = given.scenario or [*SCENARIOS, GENERATED]
    lines = {name: list(SCENARIOS[name]) for name in SCENARIOS if name in wanted}
    if GENERATED in wanted:
        lines[GENERATED] = questions(given.seed, given.questions)
    report = Report()
    for name, setup in {**CLUSTERS, **OLD}.items():
        if given.cluster and not name.startswith(tuple(given.cluster)):
            continue
        with tempfile.TemporaryDirectory() as folder, RealKafka.start(setup, Path(folder) / "kafka") as kafka:
            os.environ["XDG_STATE_HOME"] = folder  # where throttles are recorded
            if name in OLD:
                named = old_releases.values(Path(folder))
                old_releases.prepare(kafka, named)
                steps = old_releases.run(kafka, old_releases.STEPS, named)
                report.add(name, "changes and state", steps)
                continue
            prepare(kafka)
            known = values(kafka, Path(folder))
            for scenario in lines:
                report.add(name, scenario, run(kafka, lines[scenario], known))
                print(f"{name}: {scenario}", file=sys.stderr, flush=True)
    print("\n".join(report.lines()))
    return 1 if report.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
