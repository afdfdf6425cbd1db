"""The bundled broker beside Kafka's: many connections, and many partitions.

``python -m benchmarks.scale [--connections N ...] [--partitions N] [--rounds N]``. Connections: each sends a record of
100 bytes, acks=all, and waits for the answer before the next one; how many are acknowledged a second, and how long one
waits. Partitions: how long they take to create, how soon the broker is back after a restart, what memory it takes then,
and how long ``kafka-topics --describe`` takes. The two brokers take turns; medians. Needs Java and Kafka's jars.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import selectors
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple, Protocol, cast

from benchmarks.attacks import Peer
from benchmarks.processes import running_s
from benchmarks.requests import batch, produced
from benchmarks.timing import KAFKA_SERVER_OPTIONS, RELEASE, script, table
from kafka_tools.protocol.headers import decode_response
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafka_tools.protocol.messages.produce import ProduceResponse

CREATE_VERSION, PRODUCE_VERSION = 2, 9
PARTITIONS_OF_A_TOPIC = 100
TOPICS_AT_ONCE = 50
"""Kafka's controller refuses a change of more than 10,000 records."""
REQUESTS = 20_000
"""So many records are sent in a round, whatever the number of connections."""
STOP_TIMEOUT_S = 60


class Broker(Protocol):
    """One that runs, and can be stopped and started again on its data."""

    address: str

    def pid(self) -> int: ...

    def restart(self) -> float:
        """Stop and start it; seconds from the start until it answers."""
        ...


class Ours:
    """The bundled broker, in a session of its own as Kafka's is (``benchmarks.broker``)."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.address = "127.0.0.1:0"
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [script("kafka-tools"), "broker", "run", "--listen", self.address, "--data-dir", f"{self._folder}/data",
             "--log-level", "error"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.address = json.loads(self._process.stdout.readline())["bootstrap_servers"]

    def pid(self) -> int:
        return self._process.pid

    def restart(self) -> float:
        self.stop()
        began_s = time.perf_counter()
        self._start()
        return time.perf_counter() - began_s

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(STOP_TIMEOUT_S)


class Kafkas:
    """Kafka's, with the JVM options of its own script."""

    def __init__(self, kafka: object) -> None:
        from tests.against_kafka.harness import RealKafka

        assert isinstance(kafka, RealKafka)
        self._kafka = kafka
        self.address = kafka.bootstrap_servers
        (self._node,) = kafka.node_ids

    def pid(self) -> int:
        return self._kafka.servers[self._node].pid

    def restart(self) -> float:
        self._kafka.stop_node(self._node)
        began_s = time.perf_counter()
        self._kafka.start_node(self._node)
        return time.perf_counter() - began_s


@contextmanager
def both() -> Iterator[dict[str, Broker]]:
    """One of each, on fresh data."""
    from tests.against_kafka.harness import RealKafka, Setup

    setup = Setup(RELEASE, java_options=tuple(KAFKA_SERVER_OPTIONS))
    with contextlib.ExitStack() as stack:
        bundled = Ours(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.callback(bundled.stop)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield {"ours": bundled, "kafka": Kafkas(stack.enter_context(RealKafka.start(setup, folder)))}


def place(address: str) -> tuple[str, int]:
    """Host and port."""
    host, _, port = address.rpartition(":")
    return host, int(port)


def create(address: str, topics: int, partitions: int) -> None:
    """Topics of so many partitions each."""
    Topic = CreateTopicsRequest.CreatableTopic
    wanted = [Topic(name=f"t-{number:05}", num_partitions=partitions, replication_factor=1) for number in range(topics)]
    peer = Peer(place(address))
    peer.socket.settimeout(600)
    for start in range(0, topics, TOPICS_AT_ONCE):
        some = wanted[start : start + TOPICS_AT_ONCE]
        peer.send(CreateTopicsRequest(topics=some, timeout_ms=600_000), CREATE_VERSION)
        _, answer = decode_response(CreateTopicsResponse, CREATE_VERSION, peer.receive())
        wrong = [topic for topic in answer.topics if topic.error_code]
        if wrong:
            raise SystemExit(f"{address} did not create {wrong[0].name}: error {wrong[0].error_code}")
    peer.socket.close()


def memory_bytes(pid: int) -> int:
    """Resident size of a process, now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


class Round(NamedTuple):
    """What many connections saw."""

    rate: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    """Of the broker, for a record."""


def connections(broker: Broker, count: int) -> Round:
    """``REQUESTS`` records over ``count`` connections, one in flight on each."""
    data = produced(batch(1, 100, equal=True), "t-00000")
    sockets = [socket.create_connection(place(broker.address), 60) for _ in range(count)]
    waits: list[float] = []
    with selectors.DefaultSelector() as selector:
        sent_s = {}
        for each in sockets:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(each, selectors.EVENT_READ)
        used_s = running_s(broker.pid())
        began_s = time.perf_counter()
        for each in sockets:
            sent_s[each] = time.perf_counter()
            each.sendall(data)
        left = REQUESTS - count
        while len(waits) < REQUESTS:
            for key, _ in selector.select(60) or _hang(broker):
                each = cast(socket.socket, key.fileobj)
                answer = each.recv(4096)
                now_s = time.perf_counter()
                waits.append(now_s - sent_s[each])
                _check(answer)
                if left > 0:
                    left -= 1
                    sent_s[each] = now_s
                    each.sendall(data)
        took_s = time.perf_counter() - began_s
        used_s = running_s(broker.pid()) - used_s
    for each in sockets:
        each.close()
    cuts = quantiles(waits, n=100)
    return Round(REQUESTS / took_s, cuts[49] * 1e3, cuts[98] * 1e3, used_s / REQUESTS * 1e6)


def _hang(broker: Broker) -> list[tuple[selectors.SelectorKey, int]]:
    raise SystemExit(f"{broker.address} has not answered for a minute")


def _check(answer: bytes) -> None:
    # Small answers come whole; a part of one, or an end, cannot be decoded.
    _, response = decode_response(ProduceResponse, PRODUCE_VERSION, answer[4:])
    (partition,) = response.responses[0].partition_responses
    if partition.error_code:
        raise SystemExit(f"a record was refused: error {partition.error_code}")


def describe_s(address: str) -> float:
    """Seconds that kafka-topics --describe takes."""
    began_s = time.perf_counter()
    subprocess.run(
        [script("kafka-topics"), "--bootstrap-server", address, "--describe"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    return time.perf_counter() - began_s


def row(title: str, found: dict[str, float], shown: Callable[[float], str], *, more_is_better: bool) -> list[str]:
    """One line; the last cell is how many times as good ours is."""
    ratio = found["ours"] / found["kafka"] if more_is_better else found["kafka"] / found["ours"]
    return [title, shown(found["ours"]), shown(found["kafka"]), f"{ratio:.2f}"]


def connected(counts: Sequence[int], rounds: int) -> list[list[str]]:
    """Rows about connections."""
    rows = []
    with both() as brokers:
        for broker in brokers.values():
            create(broker.address, 1, 1)
        for count in counts:
            found: dict[str, list[Round]] = {name: [] for name in brokers}
            for turn in range(rounds + 1):
                for name, broker in brokers.items():
                    seen = connections(broker, count)
                    if turn:  # the first warms up the JVM's compiler
                        found[name].append(seen)
            middle = {name: Round(*map(median, zip(*seen, strict=True))) for name, seen in found.items()}
            title = f"{count:,} connections"
            for field, text in (("rate", "{:,.0f}/s"), ("p50_ms", "{:.1f} ms"), ("p99_ms", "{:.1f} ms"),
                                ("cpu_us", "{:.0f} µs")):  # fmt: skip
                values = {name: getattr(seen, field) for name, seen in middle.items()}
                label = {"rate": "records", "cpu_us": "CPU a record"}.get(field, field.removesuffix("_ms"))
                rows.append(row(f"{title}: {label}", values, text.format, more_is_better=field == "rate"))
    return rows


def partitioned(partitions: int, rounds: int) -> list[list[str]]:
    """Rows about partitions."""
    with both() as brokers:
        created, ready, memory, described = {}, {}, {}, {}
        for name, broker in brokers.items():
            began_s = time.perf_counter()
            create(broker.address, partitions // PARTITIONS_OF_A_TOPIC, PARTITIONS_OF_A_TOPIC)
            created[name] = time.perf_counter() - began_s
            ready[name] = median(broker.restart() for _ in range(rounds))
            memory[name] = float(memory_bytes(broker.pid()))
            described[name] = median(describe_s(broker.address) for _ in range(rounds))
    title = f"{partitions:,} partitions"
    return [
        row(f"{title}: created in", created, "{:.1f} s".format, more_is_better=False),
        row(f"{title}: ready after a restart", ready, "{:.2f} s".format, more_is_better=False),
        row(f"{title}: memory then", memory, lambda value: f"{value / (1 << 20):.0f} MiB", more_is_better=False),
        row(f"{title}: kafka-topics --describe", described, "{:.2f} s".format, more_is_better=False),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 100, 1000], metavar="N")
    parser.add_argument("--partitions", type=int, default=10_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, help="rounds that count; one before them does not")
    options = parser.parse_args()
    rows = connected(options.connections, options.rounds) + partitioned(options.partitions, options.rounds)
    print(table(["medians", "ours", f"Kafka {RELEASE}", "times as good"], rows))


if __name__ == "__main__":
    main()
