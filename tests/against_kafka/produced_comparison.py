"""The same batches to Kafka's broker and to ours: accepted and refused alike, stored alike, read by anybody.

``python -m tests.against_kafka.produced_comparison [--seed N] [--count N]`` is the thorough run, on brokers of its own;
``old_clients`` beside it does so with magic 0 and 1. The suite runs a seeded part.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.errors import CorruptBatch
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.record import Record
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.produced_batches import TOPICS, Case, cases
from tests.broker_embedded.wire_client import WireClient, make_topics

KAFKAS_FAILURES = {codes.CORRUPT_MESSAGE, codes.INVALID_TIMESTAMP, codes.INVALID_RECORD,
                   codes.UNSUPPORTED_COMPRESSION_TYPE}  # fmt: skip
"""What ours says where Kafka's broker runs into an exception of Java and answers -1."""


class Judged(NamedTuple):
    """What a broker answered to a batch; ``code`` is None where it closed the connection."""

    code: int | None
    message: str | None
    records: list[tuple[int, str]]
    base_offset: int


class Broker:
    """One of the two, with topics of this run."""

    def __init__(self, address: str, run: str) -> None:
        self.address = address
        self.run = run
        self.client = WireClient(address)
        kept = {"retention.ms": "-1"}
        make_topics(self.client, {self.topic(name): kept | configs for name, configs in TOPICS.items()})
        served = self.client.call(ApiVersionsRequest(), 0).api_keys
        newest = next(api.max_version for api in served if api.api_key == FetchRequest.API_KEY)
        self._fetch_version = min(newest, 12)  # the last one that has topics' names

    def topic(self, name: str) -> str:
        return f"{self.run}-{name}"

    def produce(self, case: Case) -> Judged:
        """Send the batch; asks again while the new topic has no leader yet."""
        TopicData = ProduceRequest.TopicProduceData
        data = TopicData(
            name=self.topic(case.topic), partition_data=[TopicData.PartitionProduceData(index=0, records=case.data)]
        )
        request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data])
        while True:
            try:
                answer = self.client.call(request, case.version).responses[0].partition_responses[0]
            except ConnectionError:
                self.client = WireClient(self.address)
                return Judged(None, None, [], -1)
            if answer.error_code not in (codes.UNKNOWN_TOPIC_OR_PARTITION, codes.NOT_LEADER_OR_FOLLOWER):
                told = [(error.batch_index, error.batch_index_error_message) for error in answer.record_errors]
                return Judged(answer.error_code, answer.error_message, told, answer.base_offset)

    def stored(self, name: str) -> dict[int, BatchView]:
        """Every batch of a topic by its base offset."""
        found: dict[int, BatchView] = {}
        Topic = FetchRequest.Topic
        offset = 0
        while True:
            wanted = Topic.Partition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 24)
            request = FetchRequest(
                topics=[Topic(topic=self.topic(name), partitions=[wanted])], max_wait_ms=0, max_bytes=1 << 24
            )
            answer = self.client.call(request, self._fetch_version).responses[0].partitions[0]
            assert answer.error_code == 0, answer.error_code
            views = list(batches(bytes(answer.records or b"")))
            if not views:
                assert offset == answer.high_watermark
                return found
            found |= {view.base_offset: view for view in views}
            offset = views[-1].last_offset + 1

    def offset_of_newest(self, name: str) -> tuple[int, int]:
        """ListOffsets -3: (timestamp, offset)."""
        Topic = ListOffsetsRequest.Topic
        topic = Topic(name=self.topic(name), partitions=[Topic.Partition(partition_index=0, timestamp=-3)])
        answer = self.client.call(ListOffsetsRequest(topics=[topic]), 7).topics[0].partitions[0]
        return answer.timestamp, answer.offset


class Comparison:
    """What both brokers did with some cases. ``differences`` is empty where all is as it should be."""

    def __init__(self, real: str, ours: str) -> None:
        run = uuid.uuid4().hex[:8]
        self.real, self.ours = Broker(real, run), Broker(ours, run)
        self.differences: list[str] = []
        self.counts: Counter[str] = Counter()

    def compare(self, sent: Iterable[Case]) -> None:
        kept: list[tuple[Case, int, int]] = []
        for case in sent:
            theirs, mine = self.real.produce(case), self.ours.produce(case)
            verdict = self._verdict(case, theirs, mine)
            self.counts[verdict or "different"] += 1
            if verdict is None:
                self.differences.append(f"{case.name} to {case.topic}: theirs {theirs}, ours {mine}")
            elif theirs.code == 0 and mine.code == 0:
                if theirs.base_offset >= 0 and mine.base_offset >= 0:
                    kept.append((case, theirs.base_offset, mine.base_offset))
                elif theirs.base_offset != mine.base_offset:  # without a message nothing is stored
                    self.differences.append(f"{case.name} to {case.topic}: theirs {theirs}, ours {mine}")
        for name in TOPICS:
            real, ours = self.real.stored(name), self.ours.stored(name)
            for case, their_offset, my_offset in kept:
                if case.topic == name:
                    self._stored_alike(case, real[their_offset], ours[my_offset])

    def _verdict(self, case: Case, theirs: Judged, mine: Judged) -> str | None:
        if theirs.code == mine.code:
            if not theirs.records:  # ours may say more
                return "alike"
            told = [(one.message, [(at, _same_words(text)) for at, text in one.records]) for one in (theirs, mine)]
            return "alike" if _same_words(str(told[0])) == _same_words(str(told[1])) else None
        if theirs.code == -1 and mine.code in KAFKAS_FAILURES:
            return "Kafka answers -1"
        if theirs.code == 0 and mine.code == codes.INVALID_RECORD and not readable(case.data):
            return "Kafka keeps what its consumers cannot read"
        return None

    def _stored_alike(self, case: Case, theirs: BatchView, mine: BatchView) -> None:
        for name in ("attributes", "record_count", "max_timestamp", "producer_id", "producer_epoch", "base_sequence"):
            if name == "max_timestamp" and mine.timestamp_type == 1:
                continue  # the time of the append
            their_value, my_value = getattr(theirs, name), getattr(mine, name)
            if their_value != my_value and not (name == "max_timestamp" and honest(mine)):
                self.differences.append(f"{case.name} to {case.topic}: stored {name} {their_value}, ours {my_value}")
        if not mine.crc_ok():
            self.differences.append(f"{case.name} to {case.topic}: stored with a wrong CRC")
        records = list(mine.records())
        if [record.offset for record in records] != list(range(mine.base_offset, mine.last_offset + 1)):
            self.differences.append(f"{case.name} to {case.topic}: offsets that do not count one by one")
        if [_content(record, mine) for record in theirs.records()] != [_content(record, mine) for record in records]:
            self.differences.append(f"{case.name} to {case.topic}: other records are stored")


def _same_words(text: str) -> str:
    """Times are each broker's own, and a record is not described as Java's class prints it."""
    text = re.sub(r"within \[-?\d+, -?\d+\]", "within a range", text)
    return re.sub(r"message (?:Partial)?DefaultRecord\(offset=(\d+),[^)]*\)", r"message with offset \1", text)


def _content(record: Record, view: BatchView) -> tuple[object, ...]:
    """What a record holds; its time only where it is not that of the append."""
    return record.key, record.value, record.headers, 0 if view.timestamp_type == 1 else record.timestamp


def honest(view: BatchView) -> bool:
    """Whether the largest timestamp is what the records carry; with LogAppendTime set by a producer Kafka's is not."""
    return view.max_timestamp == max(-1, *(record.timestamp for record in view.records()))


def readable(data: bytes) -> bool:
    """Whether every record of every batch can be read."""
    try:
        for view in batches(data):
            for _ in view.records():
                pass
    except CorruptBatch:
        return False
    return True


def consumed(address: str, topic: str, count: int) -> int:
    """How many records confluent-kafka reads from the start of a topic, at most ``count``."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": address, "group.id": "readers", "check.crcs": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = 0
    try:
        for _ in itertools.count():
            messages: list[Any] = consumer.consume(min(500, max(1, count - found)), timeout=10.0)
            for message in messages:
                assert message.error() is None, message.error()
                assert message.offset() == found
                found += 1
            if not messages or found >= count:
                return found
    finally:
        consumer.close()
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.against_kafka.produced_comparison", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=5000)
    options = parser.parse_args(arguments)
    # More memory than usual: some of these batches make Kafka allocate what they claim to hold.
    setup = Setup(NEWEST, java_options=("-Xmx3g",))
    with (
        tempfile.TemporaryDirectory() as folder,
        RealKafka.start(setup, Path(folder)) as kafka,
        EmbeddedBroker() as ours,
    ):
        comparison = Comparison(kafka.bootstrap_servers, ours.bootstrap_servers)
        comparison.compare(cases(options.seed, options.count))
    for verdict, number in comparison.counts.most_common():
        print(f"{number:6} {verdict}")
    print("\n".join(comparison.differences))
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
