"""Our client beside confluent-kafka, kafka-python and aiokafka, on the same broker, in turn.

``python -m benchmarks.clients --peers VENV/bin/python`` runs each library in a process of its own, round after round:
records per second and CPU time per record of producing and consuming, CPU time at rest, the time of ``close``, and
memory with a full buffer. All producers wait for all replicas, are idempotent, and have the same batch size and linger.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.broker import Broker, kafkas, ours
from benchmarks.timing import table
from kafka_tools.admin import AdminClient
from kafka_tools.admin.client import NewTopic

RUNS = Path(__file__).with_name("client_runs.py")
OURS = "kafka_tools"
TIMEOUT_S = 300
PRODUCERS = ((OURS, "send"), (OURS, "send_many"), ("confluent", ""), ("kafka-python", ""), ("aiokafka", ""))
CONSUMERS = ((OURS, "poll"), (OURS, "poll_columns"), ("confluent", ""), ("kafka-python", ""), ("aiokafka", ""))
FILLERS = ((OURS, ""), ("confluent", ""))
"""The buffers of kafka-python 3 and aiokafka have no limit for all partitions together."""
RESTING = ((OURS, ""), ("confluent", ""), ("kafka-python", ""), ("aiokafka", ""))
MIB = 1024 * 1024


class Load(NamedTuple):
    """Records of ``size`` bytes to a topic with ``partitions``."""

    size: int
    codec: str
    partitions: int

    def __str__(self) -> str:
        return f"{self.size} B, {'plain' if self.codec == 'none' else self.codec}, {self.partitions} partitions"

    @property
    def topic(self) -> str:
        return f"load-{self.size}-{self.codec}-{self.partitions}"


LOADS = [Load(*each) for each in product((100, 1000), ("none", "lz4"), (1, 50))]


class Peers:
    """Starts runs: our library in this environment, the others in the one of ``python``."""

    def __init__(self, python: str, servers: str) -> None:
        self._python = python
        self._servers = servers

    def start(self, contestant: tuple[str, str], action: str, **given: Any) -> subprocess.Popen[str]:
        library, how = contestant
        python = sys.executable if library == OURS else self._python
        line = json.dumps(given | {"servers": self._servers, "how": how})
        root = str(RUNS.resolve().parents[1])
        return subprocess.Popen(
            [python, str(RUNS), library, action, line],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": root if library == OURS else ""},
        )

    def run(self, contestant: tuple[str, str], action: str, **given: Any) -> dict[str, float]:
        process = self.start(contestant, action, **given)
        out, _ = process.communicate(timeout=TIMEOUT_S)
        if process.returncode:
            raise SystemExit(f"{' '.join(contestant)} failed in {action} {given}")
        found: dict[str, float] = json.loads(out.splitlines()[-1])
        return found


def create(broker: Broker, topics: dict[str, int]) -> None:
    """Topics with their numbers of partitions, which have their leaders when this returns."""
    with AdminClient(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name, count, 1) for name, count in topics.items()])
        for described in admin.describe_topics(list(topics)).values():
            described.get()


def rates(peers: Peers, broker: Broker, loads: Sequence[Load], count: int, rounds: int) -> Iterator[str]:
    """A table of producing and one of consuming: millions of records per second, and CPU microseconds per record."""
    found: dict[tuple[str, Load, tuple[str, str]], list[dict[str, float]]] = {}
    closes: dict[tuple[str, str], list[float]] = {}
    for turn in range(rounds):
        create(broker, {f"{load.topic}-{turn}": load.partitions for load in loads})
        for load in loads:
            many = count if load.size < 500 else count // 4
            topic = f"{load.topic}-{turn}"
            for action, contestants in (("produce", PRODUCERS), ("consume", CONSUMERS)):
                order = contestants if turn % 2 == 0 else contestants[::-1]
                for contestant in order:
                    given = {"topic": topic, "size": load.size, "codec": load.codec, "partitions": load.partitions}
                    run = peers.run(contestant, action, count=many, **given)
                    per = {"rate": many / run["wall_s"], "cpu_us": run["cpu_s"] / many * 1e6}
                    found.setdefault((action, load, contestant), []).append(per)
                    closes.setdefault((action, contestant[0]), []).append(run["close_ms"])
    for action, contestants in (("produce", PRODUCERS), ("consume", CONSUMERS)):
        rows = []
        for load in loads:
            cells = []
            for contestant in contestants:
                runs = found[action, load, contestant]
                rate, cpu = (median(run[name] for run in runs) for name in ("rate", "cpu_us"))
                cells.append(f"{rate / 1000:,.0f}k ({cpu:.1f})")
            rows.append([str(load), *cells])
        head = [f"{action}: records/s (CPU us/record)", *(" ".join(each).strip() for each in contestants)]
        yield table(head, rows)
    names = list(dict.fromkeys(library for _, library in closes))
    rows = [[action, *(f"{median(closes[action, name]):.1f}" for name in names)] for action in ("produce", "consume")]
    yield table(["close after use, ms", *names], rows)


def at_rest(peers: Peers, broker: Broker, rounds: int) -> Iterator[str]:
    """CPU milliseconds in ten seconds of clients that are not used."""
    create(broker, {"rest": 1})
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(rounds):
        for contestant in RESTING:
            found.setdefault(contestant[0], []).append(peers.run(contestant, "rest", topic="rest"))
    rows = [
        [name.removesuffix("_ms"), *(f"{median(run[name] for run in runs):.1f}" for runs in found.values())]
        for name in ("producer_ms", "consumer_ms")
    ]
    yield table(["CPU ms in 10 s at rest", *found], rows)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A broker that does not respond."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def full(peers: Peers, broker: Broker, size: int) -> Iterator[str]:
    """Memory of a producer whose buffer of 32 MiB is full, because the broker does not respond."""
    create(broker, {f"full-{size}": 1})
    rows = []
    for contestant in FILLERS:
        process = peers.start(contestant, "fill", topic=f"full-{size}", size=size)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        with stopped(broker.pid):
            process.stdin.write("\n")
            process.stdin.flush()
            run = json.loads(process.stdout.readline())
            process.kill()
            process.wait()
        records = run["count"] or 1
        per_record = run["grown_bytes"] / records
        rows.append([contestant[0], f"{records:,}", f"{run['grown_bytes'] / MIB:.0f}", f"{per_record:.0f}"])
    yield table([f"full buffer, {size} B", "records", "MiB more", "bytes a record"], rows)


def main() -> None:
    """Print a table after each part."""
    parser = argparse.ArgumentParser(prog="benchmarks.clients", description=__doc__)
    parser.add_argument("--peers", required=True, metavar="PYTHON", help="python of the environment of the others")
    parser.add_argument("--broker", choices=("bundled", "kafka", "both"), default="both")
    parser.add_argument("--count", type=int, default=200_000, help="records of 100 bytes; of 1,000 bytes a quarter")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("rates", "rest", "full"), action="append")
    given = parser.parse_args()
    only = given.only or ["rates", "rest", "full"]
    from tests.against_kafka.jars import NEWEST

    for name, start in (("bundled", ours), ("kafka", lambda: kafkas(NEWEST))):
        if given.broker not in (name, "both"):
            continue
        with start() as broker:
            peers = Peers(given.peers, broker.bootstrap)
            title = f"Kafka {NEWEST}" if name == "kafka" else "the bundled broker"
            print(f"\n{title}, {given.rounds} rounds in turn, medians", flush=True)
            if "rates" in only:
                for text in rates(peers, broker, LOADS, given.count, given.rounds):
                    print(f"\n{text}", flush=True)
            if "rest" in only:
                for text in at_rest(peers, broker, given.rounds):
                    print(f"\n{text}", flush=True)
            if "full" in only:
                for size in (100, 1000):
                    for text in full(peers, broker, size):
                        print(f"\n{text}", flush=True)


if __name__ == "__main__":
    main()
