"""Compaction in the bundled broker: what it costs, its longest piece, and how long others wait while it goes on.

``python -m benchmarks.compaction [--codec NAME] [--records N] [--seconds S]``. First rounds are driven in this process,
and the CPU time of every piece between two yields is taken: it is what one request waits for at most, whatever else the
machine does. Then a broker of its own is filled and asked, produce and fetch in turn, while nothing is cleaned and
while a log is: milliseconds of an answer.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.timing import script, table
from kafka_tools.clock import SystemClock
from kafka_tools.protocol import registry
from kafka_tools.protocol.headers import decode_response, encode_request
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.protocol.schema import Request
from kafka_tools.records.build import build_batch
from kafka_tools.storage.cleaner.cleanable import cleanable
from kafka_tools.storage.cleaner.rounds import MapSize, clean
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog
from kafka_tools.values import parse_address

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
BATCH_RECORDS = (1, 100, 5000)
KEYS = 30_000
BACKOFF_S = 5.0


def rows(rng: random.Random, count: int) -> list[tuple[int, bytes, bytes, tuple[()]]]:
    now_ms = int(time.time() * 1000)
    return [(now_ms, b"key%d" % rng.randrange(KEYS), rng.randbytes(50) + b"x" * 100, ()) for _ in range(count)]


def pieces(codec: str, batch_records: int, records: int) -> list[str]:
    """A row of the first table: one round over a log of its own."""
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as holder:
        config = LogConfig(segment_bytes=64 << 20, compact=True, delete=False)
        log = PartitionLog.open(f"{holder}/t-0", config, SystemClock(), clean=True)
        for _ in range(records // batch_records):
            log.append(bytearray(build_batch(rows(rng, batch_records), codec=codec)), leader_epoch=0)
        log.roll()
        now_ms = int(time.time() * 1000)
        work = clean(log, cleanable(log, None, now_ms), MapSize(), now_ms)
        spent: list[float] = []
        began_s, sent = time.process_time(), None
        while True:
            piece_s = time.thread_time()
            try:
                step: Any = work.send(sent)
            except StopIteration:
                break
            finally:
                spent.append(time.thread_time() - piece_s)
            sent = step() if callable(step) else None
        total_s = time.process_time() - began_s
        log.close()
    spent.sort()
    of = [spent[int(len(spent) * share)] * 1000 for share in (0.5, 0.99)]
    return [codec, str(batch_records), f"{total_s / records * 1e6:.1f}", *(f"{ms:.2f}" for ms in of),
            f"{spent[-1] * 1000:.2f}"]  # fmt: skip


class Asking:
    """A connection that asks and waits."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, 60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")

    def ask(self, request: Request, version: int) -> Any:
        frame = encode_request(request, version, 1, "benchmark")
        self._socket.sendall(len(frame).to_bytes(4, "big") + frame)
        size = int.from_bytes(self._file.read(4), "big")
        return decode_response(registry.api(request.API_KEY).response, version, self._file.read(size))[1]

    def produce(self, topic: str, batch: bytes) -> None:
        Data = ProduceRequest.TopicProduceData
        data = Data(name=topic, partition_data=[Data.PartitionProduceData(index=0, records=batch)])
        answer = self.ask(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data]), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0

    def fetch(self, topic: str) -> None:
        Topic = FetchRequest.Topic
        wanted = Topic(topic=topic, partitions=[Topic.Partition(fetch_offset=0, partition_max_bytes=1 << 20)])
        self.ask(FetchRequest(topics=[wanted], max_wait_ms=0, min_bytes=1), 11)

    def create(self, topic: str, **configs: str) -> None:
        Topic = CreateTopicsRequest.CreatableTopic
        made = Topic(name=topic, num_partitions=1, replication_factor=1)
        made.configs = [Topic.CreatableTopicConfig(name=k.replace("_", "."), value=v) for k, v in configs.items()]
        assert self.ask(CreateTopicsRequest(topics=[made], timeout_ms=10_000), 5).topics[0].error_code == 0


def waits(asking: Asking, until: Any) -> list[str]:
    """Columns of the second table: answers until ``until()``."""
    small, spent = build_batch([(int(time.time() * 1000), b"k", b"v" * 100, ())]), []
    while not until():
        for ask in (lambda: asking.produce("plain", small), lambda: asking.fetch("plain")):
            began_s = time.perf_counter()
            ask()
            spent.append((time.perf_counter() - began_s) * 1000)
        time.sleep(0.002)
    spent.sort()
    shares = [spent[int(len(spent) * share)] for share in (0.5, 0.9, 0.99)]
    return [str(len(spent)), *(f"{ms:.2f}" for ms in (*shares, spent[-1]))]


def beside(codec: str, records: int, seconds: float) -> list[list[str]]:
    """Rows of the second table: nothing is cleaned, then a log is."""
    rng, found = random.Random(2), []
    holder = Path(tempfile.mkdtemp())
    command = [script("kafka-tools"), "broker", "run", "--listen", "127.0.0.1:0", "--data-dir", str(holder / "data"),
               "--set", f"log.cleaner.backoff.ms={int(BACKOFF_S * 1000)}", "--log-level", "warning"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
        try:
            assert broker.stdout is not None
            servers = json.loads(broker.stdout.readline())["bootstrap_servers"]
            asking, filling = (Asking(parse_address(servers)) for _ in range(2))
            asking.create("plain")
            filling.create("compacted", cleanup_policy="compact", segment_bytes="4194304")
            end_s = time.monotonic() + seconds
            found.append(["nothing is cleaned", codec, *waits(asking, lambda: time.monotonic() > end_s)])
            for _ in range(records // 2000):
                filling.produce("compacted", build_batch(rows(rng, 2000), codec=codec))
            checkpoint = holder / "data" / "cleaner-offset-checkpoint"
            time.sleep(BACKOFF_S / 2)
            last_s = time.monotonic() + 120
            done = lambda: checkpoint.exists() or time.monotonic() > last_s  # noqa: E731
            found.append(["a log is cleaned", codec, *waits(asking, done)])
        finally:
            broker.terminate()
            broker.wait()
            shutil.rmtree(holder)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codec", choices=CODECS, action="append")
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    codecs = given.codec or CODECS
    heads = ["codec", "records a batch", "µs a record", "piece p50 ms", "p99", "longest"]
    print(table(heads, [pieces(codec, many, given.records // 4) for codec in codecs for many in BATCH_RECORDS]))
    heads = ["meanwhile", "codec", "answers", "p50 ms", "p90", "p99", "longest"]
    print(table(heads, [row for codec in codecs for row in beside(codec, given.records, given.seconds)]))


if __name__ == "__main__":
    main()
