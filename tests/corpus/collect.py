"""``python -m tests.corpus.collect 4.4.0``: a small set of golden files, written by a real broker of that release.

It has a partition of everything that Kafka writes by itself, and what Kafka's own dump prints of it, in the form of the
large set (``golden``). Takes two minutes, Java and Maven; writes ``golden-4.4.tar.xz`` beside this module.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.against_kafka.filled_cluster import each
from tests.against_kafka.harness import RealKafka, Setup, eventually
from tests.against_kafka.jars import class_path, java
from tests.against_kafka.side_by_side import done, ours
from tests.against_kafka.test_commands_streams_groups import Application
from tests.broker_embedded.wire_client import WireClient

DUMP = "org.apache.kafka.tools.DumpLogSegments"
PROPERTIES = (
    *((f"{topic}.num.partitions", "1") for topic in
      ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")),
    ("metadata.log.max.record.bytes.between.snapshots", "6000"),
    ("group.streams.initial.rebalance.delay.ms", "0"),
)  # fmt: skip
DECODERS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__share_group_state": "--share-group-state-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
}
MOST_BYTES = 1 << 20
LOGS, INDEXES = (".log", ".txnindex", ".snapshot", ".checkpoint"), (".index", ".timeindex")


def fill(kafka: RealKafka) -> None:
    """Records of every codec, transactions of each end, groups of every protocol, and changes of the cluster."""
    server = kafka.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": server})
    stamped = {"message.timestamp.type": "LogAppendTime"}
    each(admin.create_topics([
        NewTopic("orders", 1, 2), NewTopic("paid", 1, 2), NewTopic("stamped", 1, 2, config=stamped),
        NewTopic("shared", 1, 2), NewTopic("streamed", 2, 2), NewTopic("gone", 1, 2),
    ]))  # fmt: skip
    each(admin.delete_topics(["gone"]))
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        producer = Producer({"bootstrap.servers": server, "enable.idempotence": codec != "none", "acks": "all",
                             "compression.type": codec, "linger.ms": 50})  # fmt: skip
        for number in range(30):
            value = None if number == 7 else f"värde {number} {codec}".encode() * (number % 5)
            headers = [("h", b"1"), ("h", None), ("", b"")] if number % 6 == 0 else []
            for topic in ("orders", "stamped", "shared"):
                producer.produce(topic, value, b"k%d" % number if number % 4 else None, headers=headers, partition=0)
        assert producer.flush(60) == 0
    _transactions(server)
    for group, protocol in (("classic", "classic"), ("modern", "consumer"), ("removed", "classic")):
        _read(server, group, protocol)
    done(ours(kafka, "consumer-groups", "--delete", "--group", "removed"))
    done(ours(kafka, "share-groups", "--reset-offsets", "--group", "sharers", "--topic", "shared", "--to-earliest",
              "--execute"))  # fmt: skip
    words = ("--topic", "shared", "--group", "sharers", "--max-messages", "40", "--timeout-ms", "60000")
    shared = kafka.tool("org.apache.kafka.tools.consumer.ConsoleShareConsumer", *words)
    assert shared.stdout.count("\n") >= 40, shared.stdout + shared.stderr
    application = Application(_coordinator(server, "streaming"), "streaming", "streamed")
    application.join()
    application.leave()
    scram = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    each(admin.alter_user_scram_credentials([UserScramCredentialUpsertion("alice", scram, b"made up")]))
    for words in (
        ("users", "--entity-name", "alice", "--add-config", "producer_byte_rate=1000000"),
        ("topics", "--entity-name", "orders", "--add-config", "retention.ms=-1"),
        ("client-metrics", "--entity-name", "m", "--add-config", "interval.ms=30000"),
        ("groups", "--entity-name", "sharers", "--add-config", "share.auto.offset.reset=earliest"),
    ):
        done(ours(kafka, "configs", "--alter", "--entity-type", *words))
    status = done(ours(kafka, "metadata-quorum", "describe", "--status"))
    leader = int(re.findall(r"LeaderId: +(\d+)", status)[0])
    other = next(node for node in kafka.node_ids if node != leader)
    done(ours(kafka, "cluster", "unregister-controller", "--id", other))  # which registers again: it lives
    eventually(lambda: _has_snapshot(kafka))


def _coordinator(servers: str, group: str) -> str:
    """The address of the node that a group's members speak to."""
    found: list[str] = []

    def asked() -> None:
        with WireClient(servers.split(",")[0]) as client:
            answer = client.call(FindCoordinatorRequest(key=group), 1)
        assert answer.error_code == 0
        found.append(f"{answer.host}:{answer.port}")

    eventually(asked)
    return found[0]


def _has_snapshot(kafka: RealKafka) -> None:
    found = list((kafka.log_dirs[0] / "__cluster_metadata-0").glob("*[1-9]-*.checkpoint"))
    assert found


def _transactions(server: str) -> None:
    for id, ends in (("done", (True, False, True)), ("left open", (None,))):
        producer = Producer({"bootstrap.servers": server, "transactional.id": id, "transaction.timeout.ms": 600_000})
        producer.init_transactions(60)
        for turn, commit in enumerate(ends):
            producer.begin_transaction()
            for number in range(5):
                producer.produce("paid", b"in transaction %d" % turn, b"%d" % number, partition=0)
            if turn == 2:
                reader = Consumer({"bootstrap.servers": server, "group.id": "by transaction"})
                producer.send_offsets_to_transaction(
                    [TopicPartition("orders", 0, 17)], reader.consumer_group_metadata(), 60
                )
                reader.close()
            assert producer.flush(60) == 0
            if commit is not None:
                (producer.commit_transaction if commit else producer.abort_transaction)(60)


def _read(server: str, group: str, protocol: str) -> None:
    reader = Consumer({"bootstrap.servers": server, "group.id": group, "group.protocol": protocol,
                       "auto.offset.reset": "earliest", "enable.auto.commit": False})  # fmt: skip
    reader.subscribe(["orders"])
    assert len(reader.consume(50, 60)) == 50
    reader.commit(asynchronous=False)
    reader.close()


class Collection:
    """The cases of one release in a folder."""

    def __init__(self, release: str, folder: Path) -> None:
        self.release = release
        self.folder = folder
        self.cases: list[dict[str, Any]] = []
        self._suffix = "".join(release.split(".")[:2])

    def partition(self, source: Path) -> None:
        """A case of a partition's directory, with the runs that its files suit."""
        topic = source.name.rpartition("-")[0]
        case, data = self._begin(topic.strip("_").replace("_", "-"))
        (data / source.name).mkdir()
        # The indexes of the metadata log keep the size that they were made with: megabytes of zeros.
        kept = sorted(path for path in source.iterdir() if path.stat().st_size <= MOST_BYTES)
        for path in kept:
            shutil.copy(path, data / source.name)
        names = [f"{source.name}/{path.name}" for path in kept if path.stat().st_size]
        logs = [name for name in names if Path(name).suffix in LOGS]
        indexes = [name for name in names if Path(name).suffix in INDEXES]
        decoder = DECODERS.get(topic)
        options = [(), ("--deep-iteration",), ("--print-data-log",), *([(decoder,)] if decoder else [])]
        runs = [self._run(data, *option, "--files", ",".join(logs)) for option in options]
        if indexes:
            for option in ("--index-sanity-check", "--verify-index-only"):
                runs.append(self._run(data, option, "--files", ",".join(indexes)))
        self._end(case, data, f"{source.name}, as its broker left it", "a partition of a cluster of two nodes", runs)

    def damaged(self, source: Path) -> None:
        """Indexes that this release reads otherwise than those before it."""
        case, data = self._begin("damaged-indexes")
        entries = [struct.pack(">hqqqq", version, 7, 1, 2, 3) for version in (0, 1)]
        shutil.copy(source / f"{0:020d}.log", data)
        (data / f"{0:020d}.txnindex").write_bytes(b"".join(entries))
        (data / f"{0:020d}.index").write_bytes(struct.pack(">ii", 1, 0) + b"\0" * 3)
        runs = [
            self._run(data, "--files", f"{0:020d}.txnindex"),
            self._run(data, "--index-sanity-check", "--files", f"{0:020d}.index"),
        ]
        (data / f"{0:020d}.index").write_bytes(struct.pack(">ii", 1, 0) + b"\0" * 3)  # should Kafka have cut it
        self._end(case, data, "a .txnindex with an entry of version 1, an .index of an odd size", "by hand", runs)

    def _begin(self, name: str) -> tuple[str, Path]:
        case = f"{name}-{self._suffix}"
        data = self.folder / case / "data"
        data.mkdir(parents=True)
        (self.folder / case / "expected").mkdir()
        return case, data

    def _end(self, case: str, data: Path, title: str, how: str, runs: list[dict[str, Any]]) -> None:
        files = sorted(str(path.relative_to(data.parent)) for path in data.rglob("*") if path.is_file())
        self.cases.append({
            "id": case, "title": title, "how": how, "kafka_version": self.release, "magic": 2, "codec": "mixed",
            "cwd": f"{case}/data", "files": files, "runs": runs,
        })  # fmt: skip

    def _run(self, data: Path, *arguments: str) -> dict[str, Any]:
        jars = ":".join(map(str, class_path(self.release)))
        # In a JVM of its own, in whose working directory the files are: Kafka prints paths as they are given.
        command = [java(), "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC", "-cp", jars, DUMP, *arguments]
        ended = subprocess.run(command, cwd=data, capture_output=True, timeout=120)
        return {
            "tool_version": self.release, "args": arguments, "exit_code": ended.returncode,
            "stdout": self._kept(data, ended.stdout, ".out"), "stderr": self._kept(data, ended.stderr, ".err"),
        }  # fmt: skip

    def _kept(self, data: Path, output: bytes, suffix: str) -> str | None:
        output = output.replace(str(data).encode(), b"${CWD}")
        if not output:
            return None
        name = f"expected/{hashlib.sha256(output).hexdigest()[:16]}{suffix}"
        (data.parent / name).write_bytes(output)
        return name


def collect(release: str, folder: Path) -> Collection:
    """Run a cluster of the release, and keep what its first node has left. Raises Unavailable or StartFailed."""
    found = Collection(release, folder / "golden")
    with RealKafka.start(Setup(release, nodes=2, properties=PROPERTIES), folder / "kafka") as kafka:
        fill(kafka)
        kafka.stop_node(kafka.node_ids[0])  # first, as long as there is a controller that lets it go
        directory = kafka.log_dirs[0]
        for path in sorted(directory.glob("*-0")):
            if any(log.stat().st_size for log in path.glob("*.log")):
                found.partition(path)
        found.damaged(directory / "orders-0")
    note = f"Written by Kafka {release}; collected by tests/corpus/collect.py"
    text = json.dumps({"note": note, "cases": found.cases}, indent=1)
    (found.folder / "CASES.json").write_text(text + "\n", encoding="utf-8")
    return found


def main(arguments: Sequence[str]) -> int:
    (release,) = arguments
    target = Path(__file__).with_name(f"golden-{release.rpartition('.')[0]}.tar.xz")
    with tempfile.TemporaryDirectory() as scratch:
        found = collect(release, Path(scratch))
        with tarfile.open(target, "w:xz") as archive:
            for path in sorted(found.folder.iterdir()):
                archive.add(path, path.name, filter=_anybodys)
        print(f"{target}: {len(found.cases)} cases, {sum(len(case['runs']) for case in found.cases)} runs")
    return 0


def _anybodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.isdir() else 0o644
    return entry


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
