"""What requests cost the bundled broker: CPU time of its process for each, over one socket.

``python -m benchmarks.requests [--beside PATH] [--without WAY...] [--only TEXT] [--rounds N] [--ahead N]``: Produce
requests of many shapes, plain, compressed and idempotent, Fetch requests, and small ones. ``--beside`` names another
checkout (with its environment in ``.venv``), whose broker gets the same requests in turn, block by block, so that a
busy machine weighs on both alike; all share one core, where that can be said. ``--without`` does the same with brokers
that lack one of the quick ways for produced batches (``WAYS``). ``--ahead 5`` sends so many requests before the first
is answered, as Kafka's producer does; on a core of their own then, as the client must not wait for the broker.
Shown are microseconds a request, of the best block and of the median one, and the ratios of both: this checkout beside
each other broker. A response with an error stops the run.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.attacks import Peer, frame, running
from benchmarks.processes import running_s
from benchmarks.timing import script, table
from kafka_tools.protocol.headers import decode_response
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_tools.protocol.schema import Response
from kafka_tools.records.build import build_batch
from kafka_tools.records.crc32c import crc32c

PRODUCED, FETCHED = "produced", "fetched"
PRODUCE_VERSION, FETCH_VERSION, METADATA_VERSION, API_VERSIONS_VERSION = 9, 11, 9, 3
BATCHES = 8
"""How many batches of each shape are sent over and over."""
BLOCK_BYTES, MOST_IN_BLOCK, LEAST_IN_BLOCK = 5_000_000, 200, 10
STORED = 600
"""Batches of 2 kB that fetches find."""
WORST_RATIO = 1.05

PRODUCER_AT, SEQUENCE_AT, CRC_AT, CHECKED_FROM = 43, 53, 17, 21
"""Where a batch of magic 2 keeps its producer id and epoch, its base sequence, its CRC, and what the CRC covers."""

WAYS = {
    "runs": "records.check.in_runs = never",
    "keyless": "records.check.without_keys = never",
    "columns": "records.check.COLUMNS_FROM = 1 << 31",
    "edges": "records.check_columns._edges = never",
    "at-once": "broker_embedded.handlers.produce.AT_ONCE = None",
}
"""How a broker is started without one of the quick ways."""

Frames = Callable[[int], Iterable[bytes]]
"""How many -> the frames of one block."""


class Shape(NamedTuple):
    """Requests of one kind: ``frames`` makes them for one broker, ``kind`` and ``version`` are those of the answers."""

    title: str
    frames: Callable[[], Frames]
    kind: type[Response]
    version: int


# Produce


def batch(count: int, size: int, *, equal: bool, codec: str = "none", keys: bool = False, seed: int = 0) -> bytes:
    """``count`` records with values of about ``size`` bytes.

    ``equal``: each is as long as the others and has the same time, as load tools make them. Otherwise lengths and
    times vary, as those of a service do.
    """
    rng = random.Random(seed)
    words = [rng.randbytes(4).hex() for _ in range(200)]
    now_ms = time.time_ns() // 1_000_000
    rows = []
    for number in range(count):
        long = size if equal else rng.randint(size // 2, size * 3 // 2)
        value = " ".join(rng.choices(words, k=long // 9 + 1)).encode()[:long]
        key = f"key-{rng.randrange(1000)}".encode() if keys else None
        rows.append((now_ms + (0 if equal else number // 3), key, value, ()))
    return build_batch(rows, codec=codec)


def produced(data: bytes, topic: str = PRODUCED) -> bytes:
    """A frame with a Produce request of one batch."""
    Data = ProduceRequest.TopicProduceData
    partition = Data.PartitionProduceData(index=0, records=data)
    request = ProduceRequest(acks=1, timeout_ms=10_000, topic_data=[Data(name=topic, partition_data=[partition])])
    return frame(request, PRODUCE_VERSION)


class Idempotent:
    """Frames of an idempotent producer: the same batches, each with the sequence that is due."""

    def __init__(self, producer_id: int, batches: Iterable[bytes], count: int) -> None:
        self._producer_id = producer_id
        self._batches = cycle(bytearray(data) for data in batches)
        self._count = count
        self._sequence = 0

    def __call__(self, many: int) -> list[bytes]:
        found = []
        for data in islice(self._batches, many):
            struct.pack_into(">qhi", data, PRODUCER_AT, self._producer_id, 0, self._sequence)
            struct.pack_into(">I", data, CRC_AT, crc32c(bytes(data[CHECKED_FROM:])))
            found.append(produced(bytes(data)))
            self._sequence = (self._sequence + self._count) & 0x7FFFFFFF
        return found


def repeated(frames: Iterable[bytes]) -> Frames:
    """The same frames over and over."""
    endless = cycle(frames)
    return lambda many: list(islice(endless, many))


def produce_shapes() -> list[Shape]:
    """(count, size) as one record, as many as a millisecond brings, 64 KiB of each kind, and the largest batch."""
    found = []
    ids = iter(range(1000, 2000))

    def add(title: str, count: int, size: int, *, equal: bool, idempotent: bool = False, **how: str | bool) -> None:
        def frames() -> Frames:
            batches = [batch(count, size, equal=equal, seed=seed, **how) for seed in range(BATCHES)]  # type: ignore[arg-type]
            if idempotent:
                return Idempotent(next(ids), batches, count)
            return repeated([produced(data) for data in batches])

        found.append(Shape(f"produce {title}", frames, ProduceResponse, PRODUCE_VERSION))

    for count, size in ((1, 100), (20, 100), (60, 1000), (66, 1000), (570, 100), (1000, 1000), (9000, 100)):
        for equal in (True, False):
            text = f"{count} x {size:,} B, {'equal' if equal else 'varied'}"
            add(text, count, size, equal=equal)
            if count < 1000:
                add(f"{text}, idempotent", count, size, equal=equal, idempotent=True)
    for count, size in ((20, 100), (60, 1000), (570, 100)):
        add(f"{count} x {size:,} B, varied, with keys", count, size, equal=False, keys=True)
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        for count, size in ((20, 100), (60, 1000), (570, 100)):
            add(f"{count} x {size:,} B, varied, {codec}", count, size, equal=False, codec=codec)
    return found


# Others


def fetched(max_bytes: int) -> bytes:
    """A frame with a Fetch request from the start of a log."""
    Topic = FetchRequest.Topic
    asked = Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=max_bytes)
    request = FetchRequest(
        replica_id=-1, max_wait_ms=500, min_bytes=1, max_bytes=max_bytes,
        topics=[Topic(topic=FETCHED, partitions=[asked])],
    )  # fmt: skip
    return frame(request, FETCH_VERSION)


def other_shapes() -> list[Shape]:
    """Fetches of one small batch and of a mebibyte, and the questions that every client begins with."""
    asked = MetadataRequest(topics=[MetadataRequest.RequestTopic(name=PRODUCED)])
    greeting = ApiVersionsRequest(client_software_name="benchmark", client_software_version="1")
    return [
        Shape("fetch of one batch", lambda: repeated([fetched(1)]), FetchResponse, FETCH_VERSION),
        Shape("fetch of 64 KiB", lambda: repeated([fetched(1 << 16)]), FetchResponse, FETCH_VERSION),
        Shape("fetch of 1 MiB", lambda: repeated([fetched(1 << 20)]), FetchResponse, FETCH_VERSION),
        Shape("Metadata of one topic", lambda: repeated([frame(asked, METADATA_VERSION)]), MetadataResponse,
              METADATA_VERSION),
        Shape("ApiVersions", lambda: repeated([frame(greeting, API_VERSIONS_VERSION)]), ApiVersionsResponse,
              API_VERSIONS_VERSION),
    ]  # fmt: skip


def fault(shape: Shape, payload: bytes) -> str:
    """What is wrong with an answer, "" if nothing is."""
    _, answer = decode_response(shape.kind, shape.version, payload)
    if isinstance(answer, ProduceResponse):
        (partition,) = answer.responses[0].partition_responses
        return f"error {partition.error_code} {partition.error_message}" if partition.error_code else ""
    if isinstance(answer, FetchResponse):
        (records,) = answer.responses[0].partitions
        return "" if records.records and not records.error_code else f"error {records.error_code}"
    if isinstance(answer, MetadataResponse):
        return f"error {answer.topics[0].error_code}" if answer.topics[0].error_code else ""
    if isinstance(answer, ApiVersionsResponse):
        return f"error {answer.error_code}" if answer.error_code else ""
    return ""


# The measure


class Contestant:
    """A running broker and a connection to it."""

    def __init__(self, pid: int, address: tuple[str, int], ahead: int) -> None:
        self._pid = pid
        self._ahead = ahead
        self._peer = Peer(address)
        Topic = CreateTopicsRequest.CreatableTopic
        topics = [Topic(name=name, num_partitions=1, replication_factor=1) for name in (PRODUCED, FETCHED)]
        self._ask(frame(CreateTopicsRequest(topics=topics, timeout_ms=60_000), 2))
        stored = produced(batch(20, 100, equal=True), FETCHED)
        for _ in range(STORED):
            self._ask(stored)

    def _ask(self, data: bytes) -> bytes:
        self._peer.socket.sendall(data)
        return self._peer.receive()

    def block(self, shape: Shape, frames: Iterable[bytes]) -> float:
        """Microseconds of CPU time for each of ``frames``."""
        ready = list(frames)
        answer = b""
        before_s = running_s(self._pid)
        sender = self._peer.socket.sendall
        for number, data in enumerate(ready, 1):
            sender(data)
            if number >= self._ahead:
                answer = self._peer.receive()
        for _ in range(min(self._ahead, len(ready) + 1) - 1):
            answer = self._peer.receive()
        took_s = running_s(self._pid) - before_s
        wrong = fault(shape, answer)
        if wrong:
            raise SystemExit(f"{shape.title}: {wrong}")
        return took_s / len(ready) * 1e6


def measure(shape: Shape, contestants: dict[str, Contestant], rounds: int) -> list[str]:
    """A row of the table: each contestant's best and median block in turn, and how the first compares."""
    frames = {name: shape.frames() for name in contestants}
    size = len(next(iter(frames["now"](1))))
    many = max(LEAST_IN_BLOCK, min(MOST_IN_BLOCK, BLOCK_BYTES // size))
    found: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        for name, contestant in contestants.items():
            took_us = contestant.block(shape, frames[name](many))
            if turn:  # the first fills caches
                found[name].append(took_us)
    row = [shape.title]
    for blocks in found.values():
        row += [f"{min(blocks):.0f}", f"{median(blocks):.0f}"]
    now, *others = found.values()
    for other in others:
        row += [f"{min(now) / min(other):.2f}", f"{median(now) / median(other):.2f}"]
    print("  ".join(row), file=sys.stderr, flush=True)
    return row


def without(way: str, folder: str) -> str:
    """The path of a script that starts a broker without one of the quick ways."""
    module = WAYS[way].rpartition(" = ")[0].rpartition(".")[0]
    path = Path(folder) / way
    path.write_text(
        f"#!{sys.executable}\nimport sys, kafka_tools.{module}\nfrom kafka_tools.scripts import main\n"
        f"sys.argv[0] = 'kafka-tools'\nnever = lambda *given: None\nkafka_tools.{WAYS[way]}\nmain()\n"
    )
    path.chmod(0o700)
    return str(path)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", type=Path, metavar="PATH", help="another checkout, with its environment in .venv")
    parser.add_argument("--without", nargs="+", default=[], choices=WAYS, metavar="WAY", help="brokers without a way")
    parser.add_argument("--only", default="", metavar="TEXT", help="requests whose title holds this")
    parser.add_argument("--rounds", type=int, default=15, help="blocks of each contestant that count")
    parser.add_argument("--ahead", type=int, default=1, help="requests on their way at once")
    options = parser.parse_args()
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()
    if cores:  # all brokers on one core, and the client too: where the system puts each is half of a figure
        os.sched_setaffinity(0, {max(cores)})
    brokers = {"now": script("kafka-tools")}
    if options.beside:
        brokers["beside"] = str(options.beside / ".venv" / "bin" / "kafka-tools")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        brokers |= {f"no {way}": without(way, folder) for way in options.without}
        contestants = {
            name: Contestant(*stack.enter_context(running(path, {})), options.ahead) for name, path in brokers.items()
        }
        if cores and options.ahead > 1:
            os.sched_setaffinity(0, {min(cores)})
        wanted = [shape for shape in produce_shapes() + other_shapes() if options.only in shape.title]
        rows = [measure(shape, contestants, options.rounds) for shape in wanted]
    head = ["CPU, µs a request", *(f"{name} {which}" for name in brokers for which in ("best", "median"))]
    head += ["ratio of best", "of medians"] * (len(brokers) - 1)
    print(table(head, rows))
    if options.beside:
        slower = [row[0] for row in rows if float(row[1 + 2 * len(brokers)]) > WORST_RATIO]
        print(
            f"\n{len(slower)} of {len(rows)} slower by more than {WORST_RATIO - 1:.0%}"
            + "".join(f"\n  {title}" for title in slower)
        )


if __name__ == "__main__":
    main()
