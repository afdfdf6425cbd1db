"""The logs that benchmarks.dump_log reads, written by a real Kafka broker and kept for the next time.

Kafka's console producer sends keys and JSON values through its own batching and codecs; ``__consumer_offsets`` holds
commits of 200 groups, sent as OffsetCommit requests on eight connections at once, which the broker's coordinator
gathered into batches. What is made is kept in ``$KAFKA_TOOLS_BENCHMARKS``, else in ``kafka-operator-tools/benchmarks``
of the user's cache. Only ``grown`` makes a file without a broker: a larger log out of a broker's batches.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import KAFKA_SERVER_OPTIONS, RELEASE, kafka_command
from kafka_tools.protocol.frames import framed
from kafka_tools.protocol.headers import decode_response, encode_request
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_tools.records.batches import BatchView
from kafka_tools.storage.segment import Segment
from tests.against_kafka.harness import RealKafka, Setup

CODECS = ("none", "lz4", "zstd")
OFFSETS = "offsets"
SEGMENT = "00000000000000000000.log"
PRODUCE_TIMEOUT_S = 600
GROUPS, TOPICS, PARTITIONS, CONNECTIONS = 200, 20, 12, 8
COMMIT_VERSION = 8
GROWN_WINDOW_BYTES = 1 << 20


def cache() -> Path:
    """Where logs are kept between runs."""
    named = os.environ.get("KAFKA_TOOLS_BENCHMARKS")
    if named:
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(Path.home(), ".cache")
    return Path(home) / "kafka-operator-tools" / "benchmarks"


def logs(records: int) -> dict[str, Path]:
    """Segments by codec, ``records`` each, and ``offsets`` with half as many commits; made if they are not there."""
    folder = cache() / f"{RELEASE}-{records}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            _write(Path(scratch), records)
            (Path(scratch) / "kept").rename(folder)
    return {name: folder / name / SEGMENT for name in (*CODECS, OFFSETS)}


def grown(log: Path, size_bytes: int) -> Path:
    """A log of at least ``size_bytes``: the batches of ``log`` again and again, with the offsets that follow."""
    path = log.with_name(f"{size_bytes}-bytes") / SEGMENT
    if path.exists():
        return path
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    with Segment(log) as segment, unfinished.open("wb") as file:
        base, written = 0, 0
        while written < size_bytes:
            for _, window, starts in segment.windows(window_bytes=GROWN_WINDOW_BYTES):
                copy = bytearray(window)
                end = 0
                for view in (BatchView(copy, start) for start in starts):
                    view.place(base, 0)
                    base = view.last_offset + 1
                    end = view.position + view.size_bytes
                written += file.write(memoryview(copy)[:end])
    unfinished.rename(path)
    return path


def _write(folder: Path, records: int) -> None:
    print(f"a Kafka {RELEASE} broker writes the logs, kept in {cache()}", file=sys.stderr, flush=True)
    setup = Setup(
        RELEASE,
        java_options=tuple(KAFKA_SERVER_OPTIONS),
        properties=(("offsets.topic.num.partitions", "1"), ("log.cleaner.enable", "false")),
    )
    with RealKafka.start(setup, folder / "broker") as kafka:
        fill(kafka, records)
        for codec in CODECS:
            _keep(kafka, codec, folder / "kept" / codec)
        for number in range(TOPICS):
            _create(kafka, f"topic-{number}", PARTITIONS)
        _commit(kafka, records // 2)
        _keep(kafka, "__consumer_offsets", folder / "kept" / OFFSETS)


def fill(kafka: RealKafka, records: int) -> None:
    """A topic of one partition per codec, named as it, with the same ``records`` from Kafka's console producer."""
    lines = kafka.folder / "lines.txt"
    with lines.open("wb") as file:
        file.writelines(_lines(random.Random(1), records))
    for codec in CODECS:
        _create(kafka, codec, 1)
        _produce(kafka, codec, lines)


def _create(kafka: RealKafka, topic: str, partitions: int) -> None:
    options = ("--create", "--topic", topic, "--partitions", str(partitions), "--replication-factor", "1")
    done = kafka.tool("org.apache.kafka.tools.TopicCommand", *options)
    if done.returncode:
        raise SystemExit(f"creating {topic} failed: {done.stdout}{done.stderr}")


def _lines(rng: random.Random, count: int) -> Iterator[bytes]:
    """Key, tab, value: JSON as orders look, 100 bytes a record give or take."""
    names = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(4, 12))) for _ in range(2000)]
    states = ("paid", "open", "shipped", "returned")
    for _ in range(count):
        amount, items = rng.randrange(10**5) / 100, rng.randrange(1, 30)
        order = f'"customer":"{rng.choice(names)}","amount":{amount},"items":{items},"state":"{rng.choice(states)}"'
        yield f'order-{rng.randrange(10**8):08d}\t{{{order},"note":"{rng.choice(names)}"}}\n'.encode()


def _produce(kafka: RealKafka, topic: str, lines: Path) -> None:
    command = kafka_command(
        "org.apache.kafka.tools.ConsoleProducer", "--bootstrap-server", kafka.bootstrap_servers, "--topic", topic,
        "--reader-property", "parse.key=true", "--compression-codec", topic,
    )  # fmt: skip
    with lines.open("rb") as file:
        done = subprocess.run(
            command, stdin=file, capture_output=True, text=True, timeout=PRODUCE_TIMEOUT_S, check=False
        )
    if done.returncode:
        raise SystemExit(f"the console producer ended with {done.returncode}: {done.stdout}{done.stderr}")


def _keep(kafka: RealKafka, topic: str, folder: Path) -> None:
    """The only segment of a topic's only partition."""
    (log,) = kafka.partition_dir(topic, 0).glob("*.log")
    folder.mkdir(parents=True)
    shutil.copyfile(log, folder / SEGMENT)


def _commit(kafka: RealKafka, count: int) -> None:
    """Commit ``count`` offsets, those of all partitions of a topic in one request."""
    rng = random.Random(2)
    kafka.tool("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--describe", "--group", "group-0")
    (host, _, port) = kafka.bootstrap_servers.partition(":")
    connections = [socket.create_connection((host, int(port)), PRODUCE_TIMEOUT_S) for _ in range(CONNECTIONS)]
    try:
        for number in range(-(-count // PARTITIONS) + CONNECTIONS):
            connection = connections[number % CONNECTIONS]
            if number >= CONNECTIONS:
                _check_commit(connection)
            if number * PARTITIONS < count:
                partitions = [
                    OffsetCommitRequest.RequestTopic.RequestPartition(
                        partition_index=partition,
                        committed_offset=rng.randrange(10**9),
                        committed_leader_epoch=rng.randrange(5),
                        committed_metadata="",
                    )
                    for partition in range(min(PARTITIONS, count - number * PARTITIONS))
                ]
                topic = OffsetCommitRequest.RequestTopic(name=f"topic-{rng.randrange(TOPICS)}", partitions=partitions)
                request = OffsetCommitRequest(group_id=f"group-{rng.randrange(GROUPS)}", topics=[topic])
                connection.sendall(framed(encode_request(request, COMMIT_VERSION, number, "benchmark")))
    finally:
        for connection in connections:
            connection.close()


def _check_commit(connection: socket.socket) -> None:
    size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
    _, response = decode_response(OffsetCommitResponse, COMMIT_VERSION, connection.recv(size, socket.MSG_WAITALL))
    codes = {partition.error_code for topic in response.topics for partition in topic.partitions}
    if codes != {0}:
        raise SystemExit(f"committing offsets failed with the error codes {sorted(codes)}")
