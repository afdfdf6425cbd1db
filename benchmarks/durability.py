"""What ``broker run --fsync always`` costs, beside the default: the same load on both brokers, in turn.

``python -m benchmarks.durability [--rounds N] [--dir DIR]``. The disk decides: give a directory on the one that counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import median

from confluent_kafka import Producer

from benchmarks.timing import script, table

LEVELS = ("kafka", "always")


@contextmanager
def broker(level: str, folder: str) -> Iterator[str]:
    """The address of a broker of its own."""
    command = [script("kafka-tools"), "broker", "run", "--listen", "127.0.0.1:0", "--fsync", level]
    with tempfile.TemporaryDirectory(dir=folder) as data_dir:
        process = subprocess.Popen(
            [*command, "--data-dir", f"{data_dir}/data", "--log-level", "error"], stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["bootstrap_servers"]
        finally:
            process.terminate()
            process.wait()


def one_by_one(address: str) -> float:
    """Seconds for a record of 100 bytes that is waited for before the next is sent."""
    producer = Producer({"bootstrap.servers": address, "linger.ms": 0, "acks": "all"})
    return _each(200, lambda: _sent(producer, b"x" * 100, 1))


def in_parallel(address: str) -> float:
    """The same of 16 producers at once, for each record of all of them."""
    threads = [threading.Thread(target=one_by_one, args=(address,)) for _ in range(16)]
    began_s = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.monotonic() - began_s) / (16 * 200)


def batched(address: str) -> float:
    """Seconds for 10,000 records of 1,000 bytes, as many at once as the producer takes."""
    producer = Producer({"bootstrap.servers": address, "linger.ms": 5, "acks": "all"})
    return _each(4, lambda: _sent(producer, os.urandom(500) * 2, 10_000))


def transactions(address: str) -> float:
    """Seconds for a transaction of two records."""
    producer = Producer({"bootstrap.servers": address, "linger.ms": 0, "transactional.id": "id"})
    producer.init_transactions()

    def transact() -> None:
        producer.begin_transaction()
        _sent(producer, b"x" * 100, 2)
        producer.commit_transaction()

    return _each(50, transact)


def _sent(producer: Producer, value: bytes, times: int) -> None:
    for _ in range(times):
        producer.produce("t", value)
    assert producer.flush(60) == 0


def _each(times: int, run: Callable[[], None]) -> float:
    run()
    began_s = time.monotonic()
    for _ in range(times):
        run()
    return (time.monotonic() - began_s) / times


LOADS: Mapping[str, Callable[[str], float]] = {
    "a record at a time": one_by_one,
    "16 producers, a record at a time": in_parallel,
    "10,000 records of 1,000 bytes": batched,
    "a transaction of two records": transactions,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir", default=tempfile.gettempdir())
    given = parser.parse_args()
    spent: dict[tuple[str, str], list[float]] = {}
    for _ in range(given.rounds):
        for level in LEVELS:
            with broker(level, given.dir) as address:
                for name, load in LOADS.items():
                    spent.setdefault((name, level), []).append(load(address))
    rows = []
    for name in LOADS:
        default_s, always_s = (median(spent[name, level]) for level in LEVELS)
        rows.append([name, f"{default_s * 1000:.2f}", f"{always_s * 1000:.2f}", f"{always_s / default_s:.1f}"])
    print(table(["load", "kafka, ms", "always, ms", "ratio"], rows))


if __name__ == "__main__":
    main()
