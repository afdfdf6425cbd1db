"""The bundled broker beside Kafka 4.3.1's, under Kafka's own ProducerPerformance and ConsumerPerformance.

``python -m benchmarks.broker [--records N] [--rounds N]``: time from start to ready, then produce and fetch throughput,
one partition, ours and Kafka's in turn on the same machine. Needs Java and Kafka's jars (see CONTRIBUTING.md).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.timing import KAFKA_SERVER_OPTIONS, RELEASE, kafka_command, run, script, table

READY_TIMEOUT_S = 60
QUIET = ("--log-level", "warning")
LOADS = ((100, 1), (100, -1), (1000, 1))
"""Record size in bytes, acks."""


@contextmanager
def ours() -> Iterator[str]:
    """The bundled broker on a fresh data directory; its bootstrap address."""
    folder = tempfile.mkdtemp()
    process = subprocess.Popen(
        [script("kafka-tools"), "broker", "run", "--listen", "127.0.0.1:0", "--data-dir", folder, *QUIET],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise SystemExit("the bundled broker did not start; try 'kafka-tools broker run'")
        yield json.loads(line)["bootstrap_servers"]
    finally:
        process.terminate()
        process.wait(READY_TIMEOUT_S)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def kafkas() -> Iterator[str]:
    """Kafka's broker, with the JVM options of its own script, on a formatted fresh data directory."""
    from tests.against_kafka.harness import RealKafka, Setup

    setup = Setup(RELEASE, java_options=tuple(KAFKA_SERVER_OPTIONS))
    with tempfile.TemporaryDirectory() as folder, RealKafka.start(setup, Path(folder)) as kafka:
        yield kafka.bootstrap_servers


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


def produce(bootstrap: str, topic: str, records: int, size: int, acks: int) -> float:
    """Records per second of ProducerPerformance."""
    done = run(
        kafka_command(
            "org.apache.kafka.tools.ProducerPerformance", "--bootstrap-server", bootstrap, "--topic", topic,
            "--num-records", str(records), "--record-size", str(size), "--throughput", "-1",
            "--command-property", f"acks={acks}", "linger.ms=5", "batch.size=65536",
        ),
        timeout_s=600,
    )  # fmt: skip
    rates = re.findall(r"([\d.]+) records/sec", done.stdout)
    if done.returncode or not rates:
        raise SystemExit(f"ProducerPerformance against {bootstrap} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return float(rates[-1])


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


def throughput(records: int, rounds: int) -> list[list[str]]:
    """Rows of the table: each load on both brokers in turn, each round on a topic of its own."""
    rows = []
    with ours() as our_address, kafkas() as their_address:
        addresses = {"ours": our_address, "kafka": their_address}
        for size, acks in LOADS:
            count = max(1, records * 100 // size)
            produced: dict[str, list[float]] = {name: [] for name in addresses}
            consumed: dict[str, list[float]] = {name: [] for name in addresses}
            for turn in range(rounds):
                topic = f"load-{size}-{acks}-{turn}".replace("--", "-all-")
                for name, address in addresses.items():
                    produced[name].append(produce(address, topic, count, size, acks))
                    consumed[name].append(consume(address, topic, count))
            acks_text = "all" if acks < 0 else str(acks)
            rows.append(row(f"produce {count} x {size} B, acks={acks_text}", produced, size))
            rows.append(row(f"consume {count} x {size} B", consumed, size))
    return rows


def row(title: str, rates: dict[str, list[float]], size: int) -> list[str]:
    """One line: records per second and MB per second of both, and ours as a share of Kafka's."""
    mine, theirs = median(rates["ours"]), median(rates["kafka"])
    cells = [f"{rate:,.0f}/s ({rate * size / 1e6:.0f} MB/s)" for rate in (mine, theirs)]
    return [title, *cells, f"{mine / theirs:.2f}"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=500_000, help="records of 100 bytes; larger ones are fewer")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ready = ready_seconds(options.rounds)
    rows = throughput(options.records, options.rounds)
    print(table(["medians", "ours", f"Kafka {RELEASE}", "ours / Kafka"], rows))
    print(
        f"\nready after: ours {ready['ours']:.2f} s, Kafka {ready['kafka']:.2f} s"
        f" ({ready['kafka'] / ready['ours']:.1f} times as fast)"
    )


if __name__ == "__main__":
    main()
