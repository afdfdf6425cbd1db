"""The bundled broker beside Kafka's, under Kafka's own ProducerPerformance and ConsumerPerformance.

``python -m benchmarks.broker [--records N] [--rounds N] [--only TEXT] [--beside PATH]``: time from start to ready, then
produce and fetch throughput, the brokers' CPU time for it, and latency, one partition, ours and Kafka's in turn on the
same machine. ``--beside`` names another checkout (with its environment in ``.venv``), whose broker takes part as well.
Topics are made before: a client that has its topic made waits and asks again, which is a tenth of a short run. Needs
Java and Kafka's jars (see CONTRIBUTING.md).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.processes import running_s
from benchmarks.timing import KAFKA_SERVER_OPTIONS, RELEASE, kafka_command, run, script, table
from kafka_tools.admin import AdminClient
from kafka_tools.admin.calls.topics import TopicDescription
from kafka_tools.admin.client import NewTopic
from kafka_tools.admin.outcomes import Outcome

READY_TIMEOUT_S = 60
QUIET = ("--log-level", "warning")
DEFAULT_RECORD_BYTES = 100
STEADY_RECORDS, STEADY_RATE = 10_000, 1000
"""Latency is that of so many records, so many a second."""
SETTLE_S, SETTLE_LIMIT_S = 0.2, 5
OURS, KAFKA, BESIDE = "ours", "kafka", "beside"


class Load(NamedTuple):
    """What one producer sends: ``varied`` is lines of words from a half to one and a half of ``size`` bytes."""

    size: int
    acks: int
    codec: str = "none"
    varied: bool = False
    transactional: bool = False

    def __str__(self) -> str:
        words = [f"{self.size} B", f"acks={'all' if self.acks < 0 else self.acks}"]
        words += ["varied"] * self.varied + [self.codec] * (self.codec != "none")
        return ", ".join(words + ["transactions of 100 ms"] * self.transactional)


LOADS = (
    *(Load(size, acks) for size in (100, 1000) for acks in (1, -1)),
    *(Load(size, -1, varied=True) for size in (100, 1000)),
    *(Load(size, -1, codec, varied=True) for codec in ("lz4", "zstd") for size in (100, 1000)),
    Load(100, -1, transactional=True),
    Load(1000, -1, transactional=True),
)


class Broker(NamedTuple):
    """One that runs: its address, and its process."""

    bootstrap: str
    pid: int

    def create(self, topic: str) -> None:
        """A topic of one partition, which has its leader when this returns."""
        with AdminClient(self.bootstrap) as admin:
            admin.create_topics([NewTopic(topic, 1, 1)])
            while not led(admin.outcomes.describe_topics([topic])[topic]):
                time.sleep(0.01)


def led(described: Outcome[TopicDescription]) -> bool:
    """Whether a topic's partition has its leader, as this broker knows it."""
    return described.error is None and described.get().partitions[0].leader is not None


@contextmanager
def ours(command: str | None = None) -> Iterator[Broker]:
    """The bundled broker, or that of another ``kafka-tools``, on a fresh data directory.

    In a session of its own, as Kafka's is here and as services are: Linux shares out its time by sessions first, and
    the client has many threads.
    """
    folder = tempfile.mkdtemp()
    process = subprocess.Popen(
        [command or script("kafka-tools"), "broker", "run", "--listen", "127.0.0.1:0", "--data-dir", folder, *QUIET],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise SystemExit("the bundled broker did not start; try 'kafka-tools broker run'")
        yield Broker(json.loads(line)["bootstrap_servers"], process.pid)
    finally:
        process.terminate()
        process.wait(READY_TIMEOUT_S)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def kafkas(release: str = RELEASE) -> Iterator[Broker]:
    """Kafka's broker, with the JVM options of its own script, on a formatted fresh data directory."""
    from tests.against_kafka.harness import RealKafka, Setup

    setup = Setup(release, java_options=tuple(KAFKA_SERVER_OPTIONS))
    with tempfile.TemporaryDirectory() as folder, RealKafka.start(setup, Path(folder)) as kafka:
        (server,) = kafka.servers.values()
        yield Broker(kafka.bootstrap_servers, server.pid)


def ready_seconds(rounds: int) -> dict[str, float]:
    """Process start to "ready", formatted data directories; medians."""
    from tests.against_kafka.harness import RealKafka, Setup

    found: dict[str, list[float]] = {"ours": [], "kafka": []}
    setup = Setup(RELEASE, java_options=tuple(KAFKA_SERVER_OPTIONS))
    with tempfile.TemporaryDirectory() as folder, RealKafka.start(setup, Path(folder)) as kafka:
        for _ in range(rounds):
            start = time.perf_counter()
            with ours():
                found["ours"].append(time.perf_counter() - start)
            (node,) = kafka.node_ids
            kafka.stop_node(node)
            start = time.perf_counter()
            kafka.start_node(node)
            found["kafka"].append(time.perf_counter() - start)
    return {name: median(values) for name, values in found.items()}


def produce(bootstrap: str, topic: str, records: int, load: Load, words: Path, rate: int = -1) -> dict[str, float]:
    """Records per second, and milliseconds until an acknowledgement, of ProducerPerformance."""
    content = ["--payload-file", str(words)] if load.varied else ["--record-size", str(load.size)]
    if load.transactional:
        content += ["--transactional-id", topic, "--transaction-duration-ms", "100"]
    done = run(
        kafka_command(
            "org.apache.kafka.tools.ProducerPerformance", "--bootstrap-server", bootstrap, "--topic", topic,
            "--num-records", str(records), "--throughput", str(rate), *content, "--command-property",
            f"acks={load.acks}", "linger.ms=5", "batch.size=65536", f"compression.type={load.codec}",
        ),
        timeout_s=600,
    )  # fmt: skip
    rates = re.findall(r"([\d.]+) records/sec", done.stdout)
    if done.returncode or not rates:
        raise SystemExit(f"ProducerPerformance against {bootstrap} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    percentiles = re.findall(r"([\d.]+) ms (50|99)th", done.stdout)
    return {"rate": float(rates[-1])} | {f"p{which}": float(value) for value, which in percentiles[-2:]}


def consume(bootstrap: str, topic: str, records: int) -> float:
    """Records per second while fetching, of ConsumerPerformance."""
    done = run(
        kafka_command(
            "org.apache.kafka.tools.ConsumerPerformance", "--bootstrap-server", bootstrap, "--topic", topic,
            "--num-records", str(records), "--timeout", "60000",
        ),
        timeout_s=600,
    )  # fmt: skip
    lines = [line.split(", ") for line in done.stdout.splitlines() if ", " in line]
    if done.returncode or len(lines) < 2:
        raise SystemExit(f"ConsumerPerformance against {bootstrap} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    result = dict(zip(lines[0], lines[-1], strict=True))
    if int(result["data.consumed.in.nMsg"]) < records:
        raise SystemExit(f"only {result['data.consumed.in.nMsg']} of {records} records came back from {bootstrap}")
    return float(result["fetch.nMsg.sec"])


def lines_of_words(folder: Path, size: int) -> Path:
    """A file of lines of varied lengths, from which ProducerPerformance draws its records."""
    rng = random.Random(size)
    words = [rng.randbytes(4).hex() for _ in range(200)]
    lines = []
    for _ in range(5000):
        long = rng.randint(size // 2, size * 3 // 2)
        lines.append(" ".join(rng.choices(words, k=long // 9 + 1))[:long].strip())
    path = folder / f"words-{size}"
    path.write_text("\n".join(lines) + "\n")
    return path


def in_turn(names: Iterable[str], turn: int) -> list[str]:
    """The contestants in another order each time: each comes first, and behind each other one, as often as the others.

    Whoever comes later finds the machine warmer, by up to a tenth, and whoever comes behind a JVM the rest of its work.
    """
    orders = list(permutations(names))
    return list(orders[turn % len(orders)])


def settle(brokers: Iterable[Broker]) -> None:
    """Wait until no broker works on what is over: a JVM compiles and collects garbage for a while."""
    pids = [broker.pid for broker in brokers]
    deadline_s = time.monotonic() + SETTLE_LIMIT_S
    while time.monotonic() < deadline_s:
        before_s = sum(map(running_s, pids))
        time.sleep(SETTLE_S)
        if sum(map(running_s, pids)) - before_s < SETTLE_S / 50:
            return


class Measured(NamedTuple):
    """Of one broker, a value a round: records a second, and microseconds of its CPU time a record."""

    rates: list[float]
    cpu_us: list[float]


def throughput(
    commands: dict[str, str | None], records: int, rounds: int, only: str
) -> tuple[list[list[str]], list[list[str]]]:
    """Rows of the tables of rates and of CPU time: each load on all brokers in turn, a topic for each round."""
    rows, costs = [], []
    with contextlib.ExitStack() as stack:
        brokers = {name: stack.enter_context(ours(command)) for name, command in commands.items()}
        brokers[KAFKA] = stack.enter_context(kafkas())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        turns = 0
        for load in LOADS:
            if only not in str(load) or (load.transactional and BESIDE in brokers):  # old ones may have none
                continue
            words = lines_of_words(folder, load.size)
            count = max(1, records * DEFAULT_RECORD_BYTES // load.size)
            produced = {name: Measured([], []) for name in brokers}
            consumed = {name: Measured([], []) for name in brokers}
            for turn in range(rounds + 1):
                turns += 1
                for name in in_turn(brokers, turn):
                    broker, topic = brokers[name], f"load-{turns}"
                    broker.create(topic)
                    settle(brokers.values())
                    began_s = running_s(broker.pid)
                    sent = produce(broker.bootstrap, topic, count, load, words)["rate"]
                    between_s = running_s(broker.pid)
                    read = consume(broker.bootstrap, topic, count)
                    if turn:  # the first warms up the JVM's compiler
                        produced[name].rates.append(sent)
                        produced[name].cpu_us.append((between_s - began_s) / count * 1e6)
                        consumed[name].rates.append(read)
                        consumed[name].cpu_us.append((running_s(broker.pid) - between_s) / count * 1e6)
            for verb, found in (("produce", produced), ("consume", consumed)):
                title = f"{verb} {count} x {load}"
                rows.append(row(title, {name: each.rates for name, each in found.items()}, load.size))
                cpu = {name: median(each.cpu_us) for name, each in found.items()}
                costs.append([title, *(f"{value:.2f} µs" for value in cpu.values())])
                print("  ".join([*rows[-1], *costs[-1][1:]]), file=sys.stderr, flush=True)
    return rows, costs


def latency(commands: dict[str, str | None], rounds: int) -> list[list[str]]:
    """Rows of the table: milliseconds until a record is acknowledged, at a steady rate."""
    load = Load(DEFAULT_RECORD_BYTES, -1)
    with contextlib.ExitStack() as stack:
        brokers = {name: stack.enter_context(ours(command)) for name, command in commands.items()}
        brokers[KAFKA] = stack.enter_context(kafkas())
        found: dict[str, list[dict[str, float]]] = {name: [] for name in brokers}
        for turn in range(rounds + 1):
            for name in in_turn(brokers, turn):
                brokers[name].create(f"steady-{turn}")
                settle(brokers.values())
                sent = produce(brokers[name].bootstrap, f"steady-{turn}", STEADY_RECORDS, load, Path(), STEADY_RATE)
                if turn:
                    found[name].append(sent)
    rows = []
    for which in ("p50", "p99"):
        values = {name: median(each[which] for each in sent) for name, sent in found.items()}
        cells = [f"{value:.1f} ms" for value in values.values()]
        ratios = [f"{values[OURS] / value:.2f}" for name, value in values.items() if name != OURS]
        rows.append([f"{which} at {STEADY_RATE} records/s", *cells, *ratios])
    return rows


def row(title: str, rates: dict[str, list[float]], size: int) -> list[str]:
    """One line: records per second and MB per second of each, and ours as a share of the others'.

    The share is the median of the rounds' shares, with the smallest and the largest.
    """
    medians = {name: median(values) for name, values in rates.items()}
    cells = [f"{rate:,.0f}/s ({rate * size / 1e6:.0f} MB/s)" for rate in medians.values()]
    for name, values in rates.items():
        if name != OURS:
            shares = [mine / other for mine, other in zip(rates[OURS], values, strict=True)]
            cells.append(f"{median(shares):.2f} ({min(shares):.2f} to {max(shares):.2f})")
    return [title, *cells]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=500_000, help="records of 100 bytes; larger ones are fewer")
    parser.add_argument("--rounds", type=int, default=3, help="rounds that count; one before them does not")
    parser.add_argument("--only", default="", metavar="TEXT", help="loads whose name holds this")
    parser.add_argument("--beside", type=Path, metavar="PATH", help="another checkout, with its environment in .venv")
    options = parser.parse_args()
    commands: dict[str, str | None] = {OURS: None}
    if options.beside:
        commands[BESIDE] = str(options.beside / ".venv" / "bin" / "kafka-tools")
    rows, costs = throughput(commands, options.records, options.rounds, options.only)
    others = [name for name in (*commands, KAFKA) if name != OURS]
    head = ["medians", *commands, f"Kafka {RELEASE}", *(f"ours / {name}" for name in others)]
    if not options.only:
        rows += latency(commands, options.rounds)
    print(table(head, rows))
    print("\n" + table(["the broker's CPU time a record", *commands, f"Kafka {RELEASE}"], costs))
    if not options.only:
        ready = ready_seconds(options.rounds)
        print(
            f"\nready after: ours {ready[OURS]:.2f} s, Kafka {ready[KAFKA]:.2f} s"
            f" ({ready[KAFKA] / ready[OURS]:.1f} times as fast)"
        )


if __name__ == "__main__":
    main()
