"""Our clients while a broker is killed: ``python -m tests.clients.kills --kills 200 --seed 1 [--kafka RELEASE]``.

Without ``--kafka`` it is the bundled broker, with it a real one of that release. The same directory and port are used
after each kill. An idempotent producer writes numbers, and a copier with transactions copies them: at the end, what was
acknowledged must stand exactly once in both topics, in its order.
"""

from __future__ import annotations

import argparse
import faulthandler
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jvm import StartFailed
from tests.broker_embedded.kills.killed_broker import KilledBroker
from tests.clients.kills.run import KillRun


class Bundled:
    """The bundled broker."""

    def __init__(self, folder: Path) -> None:
        self._broker = KilledBroker(
            folder, {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}, "kafka"
        )
        self.address = self._broker.address
        self.start()

    def kill(self) -> None:
        self._broker.end()

    def start(self) -> None:
        self._broker.spawn()
        self._broker.wait_until_ready()

    def close(self) -> None:
        self._broker.close()


class Real:
    """A node of a real release."""

    def __init__(self, kafka: RealKafka) -> None:
        self._kafka = kafka
        self.address = kafka.bootstrap_servers

    def kill(self) -> None:
        self._kafka.stop_node(1, sharply=True)

    def start(self) -> None:
        """With ZooKeeper, the id of a killed broker stays registered until its session ends."""
        end_s = time.monotonic() + 60
        while True:
            try:
                self._kafka.start_node(1)
                return
            except StartFailed:
                if time.monotonic() > end_s:
                    raise


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kafka", metavar="RELEASE")
    given = parser.parse_args()
    faulthandler.register(signal.SIGUSR1)  # shows where every thread is
    began_s = time.monotonic()

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        if given.kafka:
            with RealKafka.start(Setup(given.kafka), Path(folder)) as kafka:
                run = KillRun(Real(kafka), given.seed, say)
                run.run(given.kills, most_up_s=4.0)
        else:
            broker = Bundled(Path(folder))
            run = KillRun(broker, given.seed, say)
            try:
                run.run(given.kills, most_up_s=1.5)
            finally:
                broker.close()
    print(f"seed {given.seed}: {given.kills} kills in {time.monotonic() - began_s:.0f} s, {len(run.problems)} problems")
    print("\n".join([f"{run.counts()}, {run.copied} records copied", *run.problems[:30]]))
    return 1 if run.problems else 0


if __name__ == "__main__":
    sys.exit(main())
