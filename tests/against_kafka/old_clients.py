"""Producers and consumers of magic 0 and 1: what Kafka 1.1 to 3.9, which convert for them, and ours make of the same.

``python -m tests.against_kafka.old_clients [RELEASE ...] [--seed N] [--count N]`` is the thorough run;
Kafka 4 has dropped Produce v0 to v2 and Fetch v0 to v3. The suite runs a seeded part.

- Messages of magic 0 and 1, right and wrong (``produced_batches.old_messages``), to both: they are taken and refused
  alike, and what is stored is the same to the byte once it is decompressed.
- Logs that Kafka wrote, read from both: batches of all three magics, transactions and their markers, topics whose
  ``message.format.version`` (before 3.0) has it store magic 0 or 1. Ours has a copy of each log. Offsets are fetched
  in every version that converts, and in one that does not, with room for all and for little.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.enums import CONTROL_BIT
from kafka_tools.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafka_tools.protocol.messages.add_partitions_to_txn import Topic as TxnTopic
from kafka_tools.protocol.messages.end_txn import EndTxnRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import build_batch
from kafka_tools.records.compression import decompress
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.produced_batches import NOW_MS, OLD_SOUND, Batch, Case, old_messages, sound
from tests.against_kafka.produced_comparison import Comparison, Judged, honest
from tests.broker_embedded.wire_client import WireClient, make_topics

RELEASES = ("3.9.2", "2.8.2", "2.2.2", "1.1.1")
CONVERTED = (0, 1, 2, 3)
STORED = (4,)
"""The first version of Fetch that sends what is stored, whatever its magic."""
LEAST_BYTES = (1 << 20, 900, 150, 5)
"""How much a fetch asks for: all, a batch or two, less than most batches, less than any message."""
TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "append-time": {"message.timestamp.type": "LogAppendTime"},
    "transactions": {},
    "gzip": {"compression.type": "gzip"},
    "lz4-append-time": {"compression.type": "lz4", "message.timestamp.type": "LogAppendTime"},
    "zstd": {"compression.type": "zstd"},
    "magic-0": {"message.format.version": "0.9.0"},
    "magic-1": {"message.format.version": "0.10.2"},
    "magic-1-append-time": {"message.format.version": "0.10.0", "message.timestamp.type": "LogAppendTime"},
    "magic-1-snappy": {"message.format.version": "0.10.2", "compression.type": "snappy"},
}
ROWS = [
    (NOW_MS, b"key", b"value" * 20, [("header", b"x")]),
    (NOW_MS + 5, None, b"no key" * 10, []),
    (NOW_MS - 7, b"no value", None, []),
    (NOW_MS + 1, b"", b"", [("a", None), ("b", b"")]),
]
LAST_CODES = {codes.INVALID_RECORD: codes.CORRUPT_MESSAGE}
"""Codes that a release before 2.4 did not have, and what it answered (KIP-467)."""


def topics_of(release: str) -> dict[str, dict[str, str]]:
    return {
        name: configs
        for name, configs in TOPICS.items()
        if (name != "zstd" or release >= "2.1") and (not name.startswith("magic") or release < "3")
    }


# What producers send


class OldComparison(Comparison):
    """Where a release before 3.9 judged otherwise, ours does as the later ones."""

    def __init__(self, real: str, ours: str, release: str) -> None:
        super().__init__(real, ours)
        self.release = release

    def _verdict(self, case: Case, theirs: Judged, mine: Judged) -> str | None:
        if self.release < "2.4":
            if theirs.code == LAST_CODES.get(mine.code or 0, -1):
                return "refused with the code of its time"
            if theirs.code is None and mine.base_offset < 0:
                return "Kafka closes the connection"
            if "mixed, none" in case.name and not theirs.code and mine.code == codes.INVALID_RECORD:
                return "Kafka takes messages of both magics at once"
        if self.release < "3" and theirs.code == codes.INVALID_TIMESTAMP and "append time" in case.name:
            return "refused for the wrapper's type of timestamp, which its messages do not share"
        return super()._verdict(case, theirs, mine)

    def _stored_alike(self, case: Case, theirs: BatchView, mine: BatchView) -> None:
        super()._stored_alike(case, theirs, mine)
        # Both have written the records anew: then the bytes are determined, too.
        if mine.timestamp_type == 0 and honest(theirs) and theirs.body() != mine.body():
            self.differences.append(f"{case.name} to {case.topic}: other bytes are stored")


# What consumers read


class Message(NamedTuple):
    """One batch of an answer, with all that a consumer sees of it; compressed content as what it unpacks to."""

    magic: int
    attributes: int
    offsets: tuple[int, int]
    header: bytes
    content: bytes


class Fetched(NamedTuple):
    """One partition of an answer. ``rest``: the bytes behind the last whole batch."""

    code: int
    high_watermark: int
    log_start: int
    messages: list[Message]
    rest: int


class Kafka:
    """A broker of an old release, and topics that it fills."""

    def __init__(self, kafka: RealKafka, run: str) -> None:
        self._kafka = kafka
        self._run = run
        self._client = WireClient(kafka.bootstrap_servers)
        self.counts: Counter[str] = Counter()
        kept = {"retention.ms": "-1"}  # what is produced has old times
        self.configs = {self.named(name): kept | configs for name, configs in topics_of(kafka.release).items()}
        make_topics(self._client, self.configs)

    def named(self, name: str) -> str:
        return f"{self._run}-{name}"

    def fill(self, seed: int, count: int) -> None:
        """So many batches for each topic, a third of them of each magic, and transactions of either end."""
        rng = random.Random(seed)
        old = old_messages(seed, 100 * count, OLD_SOUND)
        for topic in self.configs:
            if topic == self.named("transactions"):
                for number in range(max(3, count // 4)):
                    self._transaction(topic, rng, commits=number % 2 == 0)
                continue
            for number in range(count):
                if number % 3:
                    case = next(old)
                    self._produce(topic, case.data, case.version)
                else:
                    self._produce(topic, self._batch(rng, 5 if topic.endswith("zstd") else 4), 3)
            if topic.endswith("-zstd"):
                self._produce(topic, build_batch(ROWS, codec="zstd"), 7)

    def _batch(self, rng: random.Random, codecs: int) -> bytes:
        """A batch of magic 2 that Produce v3 may carry."""
        if rng.random() < 0.5:
            return build_batch(rng.sample(ROWS, rng.randint(1, 4)), codec=rng.randrange(4))
        made: Batch = sound(rng, rng.randrange(4))
        return made.encode()

    def _transaction(self, topic: str, rng: random.Random, *, commits: bool) -> None:
        """A few batches and the marker of how it ended."""
        name = f"{self._run}-id"
        while self._client.call(FindCoordinatorRequest(key=name, key_type=1), 1).error_code:
            pass  # its topic is being made
        while True:
            begun = self._client.call(InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000), 0)
            if not begun.error_code:
                break
            assert begun.error_code in (
                codes.COORDINATOR_NOT_AVAILABLE,
                codes.NOT_COORDINATOR,
                codes.COORDINATOR_LOAD_IN_PROGRESS,
                codes.CONCURRENT_TRANSACTIONS,
            ), begun
        told = {"producer_id": begun.producer_id, "producer_epoch": begun.producer_epoch}
        asked = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name, v3_and_below_topics=[TxnTopic(name=topic, partitions=[0])],
            v3_and_below_producer_id=begun.producer_id, v3_and_below_producer_epoch=begun.producer_epoch,
        )  # fmt: skip
        while self._client.call(asked, 0).results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code:
            pass  # the transaction before is not over everywhere
        for sequence in range(rng.randint(1, 3)):
            batch = build_batch(ROWS, codec=rng.randrange(4), transactional=True, base_sequence=sequence * 4, **told)
            self._produce(topic, batch, 3, name)
        assert not self._client.call(EndTxnRequest(transactional_id=name, committed=commits, **told), 0).error_code

    def _produce(self, topic: str, batch: bytes, version: int, transactional_id: str | None = None) -> None:
        TopicData = ProduceRequest.TopicProduceData
        data = TopicData(name=topic, partition_data=[TopicData.PartitionProduceData(records=batch)])
        request = ProduceRequest(acks=-1, timeout_ms=30_000, transactional_id=transactional_id, topic_data=[data])
        while True:
            code = self._client.call(request, version).responses[0].partition_responses[0].error_code
            if code not in (codes.UNKNOWN_TOPIC_OR_PARTITION, codes.NOT_LEADER_OR_FOLLOWER):
                # Of what was made, releases mind this or that: headers in old formats, a time in the far future.
                self.counts["refused" if code else "stored"] += 1
                return

    def ended(self) -> dict[str, int]:
        """The end of each topic, once every transaction has its marker."""
        ends = {}
        for topic in self.configs:
            Topic = FetchRequest.Topic
            request = FetchRequest(topics=[Topic(topic=topic, partitions=[Topic.Partition()])], isolation_level=1)
            while True:
                answer = self._client.call(request, 10 if "zstd" in topic else 4).responses[0].partitions[0]
                if answer.last_stable_offset == answer.high_watermark:
                    break
            ends[topic] = answer.high_watermark
        return ends

    def copy(self, data_dir: Path) -> None:
        """Every log into the directory of a broker that is stopped and has the same topics."""
        for topic in self.configs:
            for path in (data_dir / f"{topic}-0").iterdir():
                if path.name != "partition.metadata":
                    path.unlink()
            for path in self._kafka.partition_dir(topic, 0).iterdir():
                if path.suffix in (".log", ".txnindex"):
                    shutil.copy(path, data_dir / f"{topic}-0")


def fetched(client: WireClient, topic: str, version: int, offset: int, most_bytes: int) -> Fetched:
    Topic = FetchRequest.Topic
    wanted = Topic.Partition(partition=0, fetch_offset=offset, partition_max_bytes=most_bytes)
    request = FetchRequest(topics=[Topic(topic=topic, partitions=[wanted])], max_bytes=1 << 20)
    answer = client.call(request, version).responses[0].partitions[0]
    data = bytes(answer.records or b"")
    views = list(batches(data))
    whole = sum(view.size_bytes for view in views)
    return Fetched(
        answer.error_code, answer.high_watermark, answer.log_start_offset, list(map(_message, views)), len(data) - whole
    )


def _message(view: BatchView) -> Message:
    raw = view.raw()
    assert view.crc_ok()
    if not view.is_compressed:
        return Message(view.magic, raw[22 if view.magic == 2 else 17], (view.base_offset, view.last_offset), raw, b"")
    if view.magic == 2:
        return Message(2, raw[22], (view.base_offset, view.last_offset), raw[21:61], view.body())
    end = 26 if view.magic else 18
    header, value = (
        raw[16:end],
        raw[end + 8 :],
    )  # magic, attributes, timestamp; behind the sizes of no key and the value
    return Message(view.magic, raw[17], (view.base_offset, view.last_offset), header, decompress(view.codec, value))


class Read(NamedTuple):
    """What a comparison of fetches found."""

    differences: list[str]
    counts: Counter[str]


def compare_reading(kafka: RealKafka, folder: Path, seed: int, count: int, *, step: int) -> Read:
    """Fill topics of a real broker, give ours copies of the logs, and fetch everything from both."""
    run = uuid.uuid4().hex[:8]
    real = Kafka(kafka, run)
    real.fill(seed, count)
    ends = real.ended()
    found: list[str] = []
    counts = real.counts
    with EmbeddedBroker(data_dir=folder / "data") as ours:
        ignored = {"message.format.version"}  # 4.3 has none: the logs are of the old format, and that is enough
        with WireClient(ours.bootstrap_servers) as client:
            known = {
                name: {key: value for key, value in configs.items() if key not in ignored}
                for name, configs in real.configs.items()
            }
            make_topics(client, known)
        ours.stop()
        real.copy(folder / "data")
        ours.start()
        with WireClient(kafka.bootstrap_servers) as theirs, WireClient(ours.bootstrap_servers) as mine:
            for topic, version, offset, most_bytes in _reads(ends, step):
                told = fetched(theirs, topic, version, offset, most_bytes)
                own = fetched(mine, topic, version, offset, most_bytes)
                verdict = _verdict(told, own, version)
                counts[verdict or "different"] += 1
                if verdict is None:
                    found.append(
                        f"{topic} v{version} from {offset}, {most_bytes} bytes: theirs {_told(told)}, ours {_told(own)}"
                    )
    return Read(found, counts)


def _reads(ends: dict[str, int], step: int) -> Iterator[tuple[str, int, int, int]]:
    """What is fetched: of each topic the beginning, the end and behind it, and every so many offsets between."""
    for topic, end in ends.items():
        offsets = sorted({*range(min(5, end)), *range(5, end, step), *range(max(0, end - 2), end + 2)})
        for version in CONVERTED + STORED:
            for offset in offsets:
                for most_bytes in LEAST_BYTES:
                    yield topic, version, offset, most_bytes


def _verdict(theirs: Fetched, ours: Fetched, version: int) -> str | None:
    """What is told of two answers that an old consumer may have; None if they are not alike."""
    if theirs == ours:
        return "equal"
    if theirs.code == codes.UNSUPPORTED_COMPRESSION_TYPE and (version in STORED or not ours.messages):
        return "Kafka refuses all of a topic of zstd before Fetch v10"  # 4.3 does not
    if theirs[:3] != ours[:3]:
        return None
    if theirs.messages == ours.messages:
        if theirs.messages:
            return "equal but for the incomplete batch behind"
        # What needs no conversion (topics of an old format, and all of Kafka 1.1) is cut where the bytes end.
        said = {True: "a beginning", False: "nothing"}
        return f"no whole batch: {said[theirs.rest > 0]}, ours {said[ours.rest > 0]}"
    if version in CONVERTED and not ours.messages and all(part.attributes & CONTROL_BIT for part in theirs.messages):
        return "Kafka 1.1 sends markers with nothing behind them as they are stored"
    read = list(dict.fromkeys(theirs.messages))
    if read and ours.messages and ours.messages == read[: len(ours.messages)]:
        # Kafka takes what was asked for to the byte, ours whole batches: where they grow, less of them is sent.
        return "ours ends where the records as they are stored would end"
    if read and ours.messages[: len(read)] == read:
        if len(read) < len(theirs.messages):
            return "Kafka sends the first batch behind a marker twice"
        return "Kafka ends where the records as they are stored would end"
    return None


def _told(fetch: Fetched) -> str:
    parts = [(part.magic, part.attributes, part.offsets, len(part.header + part.content)) for part in fetch.messages]
    return f"code {fetch.code} up to {fetch.high_watermark}: {parts}, and {fetch.rest} bytes"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.against_kafka.old_clients", description=__doc__)
    parser.add_argument("releases", nargs="*", metavar="RELEASE", default=RELEASES, help=" ".join(RELEASES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000, help="of messages that are produced to both")
    options = parser.parse_args(arguments)
    differences = 0
    for release in options.releases:
        with tempfile.TemporaryDirectory() as folder:
            setup = Setup(release, java_options=("-Xmx2g",))  # damaged messages claim to hold much
            with RealKafka.start(setup, Path(folder) / "kafka") as kafka:
                with EmbeddedBroker() as ours:
                    sent = OldComparison(kafka.bootstrap_servers, ours.bootstrap_servers, release)
                    sent.compare(old_messages(options.seed, options.count))
                read = compare_reading(kafka, Path(folder), options.seed, max(12, options.count // 50), step=3)
        for what, counts, found in (("sent", sent.counts, sent.differences), ("read", read.counts, read.differences)):
            for verdict, number in counts.most_common():
                print(f"{release} {what}: {number:6} {verdict}", flush=True)
            print("\n".join(found[:20]), flush=True)
            differences += len(found)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
