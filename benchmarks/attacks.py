"""What one hostile client, and fifty of them, can do to the bundled broker: peak memory and worst ping of each attack.

``python -m benchmarks.attacks [--only NAME] [--seconds N] [--connections N] [--broker COMMAND]``: for every attack a
fresh broker with default settings is started; while the attack goes on an ordinary client asks for ApiVersions and for
one topic's metadata again and again. Then come connections that stop on their way (``connection_phases``). ``--broker``
names another tree's ``kafka-tools`` to compare with.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.timing import script, table
from kafka_tools.protocol.headers import encode_request
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.create_partitions import CreatePartitionsRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.protocol.schema import Request
from kafka_tools.records.build import build_batch
from kafka_tools.records.compression import compress

TOPIC = "t"
STORED_MB = 64
MANY = 50
PING_EVERY_S = 0.02
MOST_MIB, WORST_PING_S = 300, 0.5
SECURE = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="admin" password="admin-secret" user_admin="admin-secret";'
    ),
}


class Peer:
    """A connection that sends frames, and reads answers only if it is asked to."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, 60)

    def send(self, request: Request, version: int) -> None:
        """Send one request."""
        self.socket.sendall(frame(request, version))

    def flood(self, data: bytes | memoryview, until_s: float) -> None:
        """Send all of it, or as much as is taken until then."""
        view = memoryview(data)
        self.socket.setblocking(False)
        while view and time.monotonic() < until_s:
            try:
                view = view[self.socket.send(view) :]
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:
                return  # the broker has ended it
        self.socket.settimeout(60)

    def receive(self) -> bytes:
        """One answer."""
        return self._exactly(int.from_bytes(self._exactly(4), "big"))

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(min(size - len(data), 1 << 20))
            if not part:
                raise ConnectionError("the broker closed the connection")
            data += part
        return bytes(data)


def frame(request: Request, version: int) -> bytes:
    payload = encode_request(request, version, 1, "attacker")
    return len(payload).to_bytes(4, "big") + payload


def fetch(partitions: int = 1, *, max_bytes: int = 2**31 - 1, wait_ms: int = 0, min_bytes: int = 0) -> FetchRequest:
    Topic = FetchRequest.Topic
    asked = [
        Topic.Partition(partition=number, fetch_offset=0, partition_max_bytes=max_bytes) for number in range(partitions)
    ]
    return FetchRequest(
        replica_id=-1, max_wait_ms=wait_ms, min_bytes=min_bytes, max_bytes=max_bytes,
        topics=[Topic(topic=TOPIC, partitions=asked)],
    )  # fmt: skip


def produce(batch: bytes) -> ProduceRequest:
    Data = ProduceRequest.TopicProduceData
    return ProduceRequest(
        acks=1, timeout_ms=1000,
        topic_data=[Data(name=TOPIC, partition_data=[Data.PartitionProduceData(index=0, records=batch)])],
    )  # fmt: skip


def bomb(codec: str, plain: bytes, count: int) -> bytes:
    """A batch of magic 2 whose body is ``plain``, compressed."""
    from kafka_tools.records.compression import codec_id
    from kafka_tools.records.crc32c import crc32c

    body = struct.pack(">hiqqqhii", codec_id(codec), count - 1, 0, 0, -1, -1, -1, count) + compress(codec, plain)
    batch = struct.pack(">qiibI", 0, 9 + len(body), 0, 2, crc32c(body)) + body
    return batch


# Attacks: (address, until on the monotonic clock, connections)

Attack = Callable[[tuple[str, int], float, int], None]


def unread_fetches(address: tuple[str, int], until_s: float, many: int) -> None:
    """30 pipelined fetches of all there is; no answer is read."""
    peers = [Peer(address) for _ in range(many)]
    for peer in peers:
        peer.flood(frame(fetch(), 11) * 30, until_s)
    _wait(until_s)


def behind_parked(address: tuple[str, int], until_s: float, many: int) -> None:
    """64 frames of 100 MB behind a parked fetch, then the client goes away."""
    data = bytes(100_000_000)
    for peer in [Peer(address) for _ in range(many)]:
        peer.send(fetch(wait_ms=2**31 - 1, min_bytes=2**31 - 1, max_bytes=1 << 30), 11)
        share_s = (until_s - time.monotonic()) / many
        end_s = time.monotonic() + share_s
        for _ in range(64):
            if time.monotonic() < end_s:
                peer.flood(len(data).to_bytes(4, "big") + data, end_s)
        peer.socket.close()


def half_sent(address: tuple[str, int], until_s: float, many: int) -> None:
    """Frames of 100 MB, all but the last byte."""
    data = (100_000_000).to_bytes(4, "big") + encode_request(MetadataRequest(topics=[]), 12, 1, "x") + bytes(99_000_000)
    peers = [Peer(address) for _ in range(many)]
    for _ in range(200):
        for peer in peers:
            peer.flood(data[: 1 << 20], min(until_s, time.monotonic() + 0.05))
            if time.monotonic() >= until_s:
                return


def whole_large(address: tuple[str, int], until_s: float, many: int) -> None:
    """Whole frames of 100 MB, of no use."""
    start = encode_request(produce(b""), 9, 1, "x")
    data = (100_000_000).to_bytes(4, "big") + start + bytes(100_000_000 - len(start))
    peers = [Peer(address) for _ in range(many)]
    while time.monotonic() < until_s:
        for at, peer in enumerate(peers):
            peer.flood(data, min(until_s, time.monotonic() + 0.5))
            with contextlib.suppress(OSError):
                peer.socket.close()
                peers[at] = Peer(address)


def pipelined(address: tuple[str, int], until_s: float, many: int) -> None:
    """Thousands of small requests on a connection, answers read as they come."""
    data = frame(MetadataRequest(topics=None), 9) * 2000
    peers = [Peer(address) for _ in range(many)]
    while time.monotonic() < until_s:
        for peer in peers:
            peer.socket.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                peer.socket.send(data[: len(data) // 40 * 40])
            with contextlib.suppress(BlockingIOError):
                while peer.socket.recv(1 << 20):
                    pass


def unread_metadata(address: tuple[str, int], until_s: float, many: int) -> None:
    """Metadata of everything, asked 2,000 times, never read."""
    data = frame(MetadataRequest(topics=None), 9) * 2000
    peers = [Peer(address) for _ in range(many)]
    for peer in peers:
        peer.flood(data, time.monotonic() + 0.2)
    _wait(until_s)


def over_and_over(request: Request | bytes, version: int = 0) -> Attack:
    """One request again and again on each connection; answers are read."""

    def attack(address: tuple[str, int], until_s: float, many: int) -> None:
        data = request if isinstance(request, bytes) else frame(request, version)

        def one() -> None:
            while time.monotonic() < until_s:
                try:
                    peer = Peer(address)
                    peer.flood(data, until_s)
                    peer.socket.settimeout(max(0.1, until_s - time.monotonic()))
                    peer.receive()
                except OSError:
                    time.sleep(0.05)

        import threading

        threads = [threading.Thread(target=one, daemon=True) for _ in range(many)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, until_s - time.monotonic()))

    return attack


def names(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


def created_topics(count: int, partitions: int = 1) -> CreateTopicsRequest:
    Topic = CreateTopicsRequest.CreatableTopic
    return CreateTopicsRequest(
        topics=[Topic(name=name, num_partitions=partitions, replication_factor=1) for name in names(count)],
        timeout_ms=60_000,
    )


def listed_offsets(count: int) -> ListOffsetsRequest:
    Topic = ListOffsetsRequest.Topic
    asked = [Topic.Partition(partition_index=number, timestamp=-1) for number in range(count)]
    return ListOffsetsRequest(replica_id=-1, topics=[Topic(name=TOPIC, partitions=asked)])


def committed_offsets(count: int) -> OffsetCommitRequest:
    Topic = OffsetCommitRequest.RequestTopic
    asked = [Topic.RequestPartition(partition_index=number, committed_offset=1) for number in range(count)]
    return OffsetCommitRequest(
        group_id="g", generation_id_or_member_epoch=-1, topics=[Topic(name=TOPIC, partitions=asked)]
    )


def fetched_offsets(count: int) -> OffsetFetchRequest:
    Topic = OffsetFetchRequest.RequestTopic
    return OffsetFetchRequest(group_id="g", topics=[Topic(name=TOPIC, partition_indexes=list(range(count)))])


def described_configs(count: int) -> DescribeConfigsRequest:
    Resource = DescribeConfigsRequest.Resource
    return DescribeConfigsRequest(
        resources=[Resource(resource_type=2, resource_name=TOPIC, configuration_keys=None) for _ in range(count)],
        include_synonyms=True, include_documentation=True,
    )  # fmt: skip


def many_partitions(count: int) -> CreatePartitionsRequest:
    Topic = CreatePartitionsRequest.Topic
    return CreatePartitionsRequest(topics=[Topic(name=TOPIC, count=count, assignments=None)], timeout_ms=60_000)


def small_records(megabytes: int) -> tuple[bytes, int]:
    """Records of seven bytes."""
    record = b"\x0c\0\0\0\x01\x01\0"
    count = megabytes * 1_000_000 // len(record)
    return record * count, count


ATTACKS: dict[str, tuple[Attack, int]] = {
    "30 pipelined fetches, unread": (unread_fetches, 1),
    "30 pipelined fetches, unread, by 50 connections": (unread_fetches, MANY),
    "100 MB frames behind a parked fetch, client gone": (behind_parked, 1),
    "100 MB frames behind a parked fetch, client gone, by 50 connections": (behind_parked, MANY),
    "100 MB frames, never whole, by 50 connections": (half_sent, MANY),
    "100 MB frames, whole, of no use, by 50 connections": (whole_large, MANY),
    "thousands of pipelined Metadata": (pipelined, 1),
    "thousands of pipelined Metadata, by 50 connections": (pipelined, MANY),
    "2,000 Metadata unread, by 50 connections": (unread_metadata, MANY),
}


def lazily() -> dict[str, tuple[Callable[[], Attack], int]]:
    """Attacks whose requests take a moment to make."""
    zeros = lambda codec: over_and_over(produce(bomb(codec, bytes(400_000_000), 1)), 9)  # noqa: E731
    elements = (100_000_000).to_bytes(4, "big") + encode_request(MetadataRequest(topics=None), 1, 1, "x")[:-4]
    found: dict[str, tuple[Callable[[], Attack], int]] = {
        "fetch of 300,000 partitions": (lambda: over_and_over(fetch(300_000), 11), 1),
        "ListOffsets of 300,000 partitions": (lambda: over_and_over(listed_offsets(300_000), 5), 1),
        "OffsetCommit of 300,000 partitions": (lambda: over_and_over(committed_offsets(300_000), 8), 1),
        "OffsetFetch of 300,000 partitions": (lambda: over_and_over(fetched_offsets(300_000), 7), 1),
        "Metadata of 300,000 topics": (
            lambda: over_and_over(
                MetadataRequest(
                    topics=[MetadataRequest.RequestTopic(name=name) for name in names(300_000)],
                    allow_auto_topic_creation=False,
                ),
                9,
            ),
            1,
        ),
        "Metadata of 2,000 new topics": (
            lambda: over_and_over(
                MetadataRequest(topics=[MetadataRequest.RequestTopic(name=name) for name in names(2_000)]), 9
            ),
            1,
        ),
        "CreateTopics of 5,000 topics": (lambda: over_and_over(created_topics(5_000), 5), 1),
        "CreateTopics of a topic of 300,000 partitions": (lambda: over_and_over(created_topics(1, 300_000), 5), 1),
        "CreateTopics of a topic of 5,000 partitions": (lambda: over_and_over(created_topics(1, 5_000), 5), 1),
        "CreatePartitions to 300,000": (lambda: over_and_over(many_partitions(300_000), 2), 1),
        "DescribeConfigs of 20,000 resources": (lambda: over_and_over(described_configs(20_000), 4), 1),
        "DeleteTopics of 300,000 names": (
            lambda: over_and_over(DeleteTopicsRequest(topic_names=names(300_000), timeout_ms=1000), 4), 1,
        ),
        "50,000,000 elements in one request": (
            lambda: over_and_over(
                elements + (49_000_000).to_bytes(4, "big") + bytes(100_000_000 - len(elements))
            ),
            1,
        ),
        "zstd bomb of 400 MB": (lambda: zeros("zstd"), 1),
        "gzip bomb of 400 MB": (lambda: zeros("gzip"), 1),
        "lz4 bomb of 200 MB": (lambda: over_and_over(produce(bomb("lz4", bytes(200_000_000), 1)), 9), 1),
        "zstd bomb of 30 MB in records of 7 bytes": (
            lambda: over_and_over(produce(bomb("zstd", *small_records(30))), 9), 1,
        ),
    }  # fmt: skip
    both = {}
    for name, (make, _) in found.items():
        both[name] = (make, 1)
        both[f"{name}, by 50 connections"] = (make, MANY)
    return both


def before_login(address: tuple[str, int], until_s: float, many: int) -> None:
    """100 MB before the login."""
    half_sent(address, until_s, many)


def _wait(until_s: float) -> None:
    time.sleep(max(0.0, until_s - time.monotonic()))


# The measure


@contextlib.contextmanager
def running(broker: str, settings: dict[str, str]) -> Iterator[tuple[int, tuple[str, int]]]:
    """A fresh broker: its process id and address."""
    folder = tempfile.mkdtemp(prefix="attacks-")
    options = ["--log-level", "error", "--data-dir", str(Path(folder) / "data")]
    options += ["--listen", "127.0.0.1:0"] if not settings else []
    for key, value in settings.items():
        options += ["--set", f"{key}={value}"]
    process = subprocess.Popen(
        [broker, "broker", "run", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"{broker} broker run did not start")
        host, _, port = json.loads(line)["bootstrap_servers"].rpartition(":")
        yield process.pid, (host, int(port))
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def fill(address: tuple[str, int]) -> None:
    """The topic that is attacked, and a hundred others."""
    peer = Peer(address)
    Topic = CreateTopicsRequest.CreatableTopic
    wanted = [Topic(name=TOPIC, num_partitions=1, replication_factor=1)]
    wanted += [Topic(name=f"other-{number}", num_partitions=10, replication_factor=1) for number in range(100)]
    peer.send(CreateTopicsRequest(topics=wanted, timeout_ms=60_000), 2)
    peer.receive()
    batch = build_batch([(1_700_000_000_000, None, bytes(1_000_000), ())])
    for _ in range(STORED_MB):
        peer.send(produce(batch), 9)
        peer.receive()


def peak_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmHWM")


def pings(address: tuple[str, int], until_s: float, *, logged_in: bool) -> tuple[float, int]:
    """(worst time of a ping in seconds, pings)"""
    asked = [frame(ApiVersionsRequest(), 0)]
    if logged_in:
        asked.append(frame(MetadataRequest(topics=[MetadataRequest.RequestTopic(name=TOPIC)]), 9))
    peer, worst, count = Peer(address), 0.0, 0
    while time.monotonic() < until_s:
        for data in asked:
            began_s = time.monotonic()
            peer.socket.sendall(data)
            peer.receive()
            worst = max(worst, time.monotonic() - began_s)
            count += 1
        time.sleep(PING_EVERY_S)
    return worst, count


def measure(
    broker: str, attack: Callable[[], Attack], many: int, seconds: float, settings: dict[str, str]
) -> list[str]:
    """[peak memory in MiB, worst ping in seconds] of one attack."""
    with running(broker, settings) as (pid, address):
        if not settings:
            fill(address)
        context = multiprocessing.get_context("fork")
        ready = context.Event()

        def hostile() -> None:
            run = attack()
            ready.set()
            with contextlib.suppress(OSError):
                run(address, time.monotonic() + seconds, many)

        attacker = context.Process(target=hostile, daemon=True)
        attacker.start()
        ready.wait(120)
        try:
            worst, _ = pings(address, time.monotonic() + seconds + 1, logged_in=not settings)
            ping = f"{worst:.2f}"
        except OSError as error:
            ping = f"none ({error.__class__.__name__})"
        finally:
            attacker.kill()
            attacker.join()
        with contextlib.suppress(FileNotFoundError):
            return [f"{peak_mib(pid):.0f}", ping]
        return ["died", ping]


def all_attacks() -> dict[str, tuple[Callable[[], Attack], int, dict[str, str]]]:
    """Every attack by name: how it is made, connections, settings of the broker."""
    plain: dict[str, tuple[Callable[[], Attack], int, dict[str, str]]] = {}
    for name, (attack, many) in ATTACKS.items():
        plain[name] = ((lambda attack=attack: attack), many, {})  # type: ignore[misc]
    for name, (make, many) in lazily().items():
        plain[name] = (make, many, {})
    plain["before login: 100 MB frames, by 50 connections"] = (lambda: before_login, MANY, SECURE)
    return plain


def main() -> None:
    """Attack and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="attacks whose names hold this")
    parser.add_argument("--seconds", type=float, default=8.0, help="how long each attack goes on")
    parser.add_argument("--broker", default=script("kafka-tools"), help="the command to attack")
    parser.add_argument(
        "--connections", type=int, default=10_000, help="connections that stop on their way, of each kind"
    )
    options = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    rows, beyond = [], 0
    for name, (attack, many, settings) in all_attacks().items():
        if options.only not in name:
            continue
        row = measure(options.broker, attack, many, options.seconds, settings)
        with contextlib.suppress(ValueError):
            beyond += float(row[0]) > MOST_MIB or float(row[1]) > WORST_PING_S
        print(f"{name}: {row[0]} MiB, {row[1]} s", file=sys.stderr, flush=True)
        rows.append([name, *row])
    if rows:
        print(table(["attack", "peak memory (MiB)", "worst ping (s)"], rows))
        print(f"\n{beyond} beyond {MOST_MIB} MiB or {WORST_PING_S} s")
    from benchmarks import connection_phases as phases

    stopped = []
    for name, (phase, listener) in phases.PHASES.items():
        if options.only in f"connections that stop: {name}":
            stopped.append([name, *phases.measure(options.broker, phase, listener, options.connections)])
            print(*stopped[-1], file=sys.stderr, flush=True)
    if stopped:
        print(table(phases.HEADER, stopped))


if __name__ == "__main__":
    main()
